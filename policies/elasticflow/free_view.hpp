/// GPUs that are free for one job while its own plan is still in force.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "policies/base/gpu_timeline.hpp"

namespace vtrain {

/// GPUs that a job will hold over time, in whole seconds.
struct SharePlan {
  GpuTimeline gpus;                ///< GPUs held from each step on, until `end`
  GpuTimeline::Time end = 0;       ///< time at which they are free again: a whole number of slots from now
  GpuTimeline::Time finished = 0;  ///< end of the work

  /// GPU-seconds of the plan: a step counts up to the next one, the last up to `end`.
  double gpu_seconds() const;
  /// Change of the GPUs held at `time`, which is later than the plan's beginning.
  std::int64_t change_at(GpuTimeline::Time time) const;
};

/// The sum of the GPUs that no plan holds and those that one plan holds, without storing it. A step is where
/// the sum changes. Every query is O(log steps), or O(steps) if changes of the two often cancel.
class FreeView {
 public:
  static constexpr GpuTimeline::Time kNever = std::numeric_limits<GpuTimeline::Time>::max();

  /// `least`: the fewest GPUs that `free` has after its first step. `free` and `own` must outlive the view.
  FreeView(const GpuTimeline& free, std::int64_t least, const SharePlan* own)
      : free_(free.steps()), timeline_(&free), least_(least), own_(own) {}

  /// Stores the sum.
  void write(GpuTimeline& sum) const;
  /// Lower bound of the GPUs that are free from `time` on.
  std::int64_t least_from(GpuTimeline::Time time) const {
    return free_.size() > 1 && time >= free_[1].time ? least_ : std::min(least_, free_[0].gpus);
  }
  /// The last step not after `time`; the first step must be earlier. Sets `place` to the index of the last
  /// step of `free` that is not after `time`.
  GpuTimeline::Time last_step_until(GpuTimeline::Time time, std::size_t& place) const;
  GpuTimeline::Time last_step_until(GpuTimeline::Time time) const {
    std::size_t place = 0;
    return last_step_until(time, place);
  }
  /// The first step not before `time` except the very first; `kNever` if there is none. Sets `place` to the
  /// index of the first step of `free` that is not before `time`.
  GpuTimeline::Time step_from(GpuTimeline::Time time, std::size_t& place) const;
  GpuTimeline::Time step_from(GpuTimeline::Time time) const {
    std::size_t place = 0;
    return step_from(time, place);
  }

 private:
  std::span<const GpuTimeline::Step> free_;
  const GpuTimeline* timeline_;
  std::int64_t least_;
  const SharePlan* own_;
};

}  // namespace vtrain
