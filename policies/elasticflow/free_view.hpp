/// GPUs that are free for one job while its own plan still holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "policies/base/gpu_timeline.hpp"

namespace vtrain {

/// GPUs that a job is to hold over time, in whole seconds.
struct SharePlan {
  GpuTimeline gpus;                ///< held from each step on, up to `end`
  GpuTimeline::Time end = 0;       ///< when they are free again: a whole number of slots from now
  GpuTimeline::Time finished = 0;  ///< when the work is done

  /// GPU-seconds of the plan: a step counts up to the next one, the last up to `end`.
  double gpu_seconds() const;
  /// By how much the GPUs held change at `time`, later than the plan's beginning.
  std::int64_t change_at(GpuTimeline::Time time) const;
};

/// The sum of what no plan holds and what one plan holds, without writing it down. A step is where the sum
/// changes. Every question is O(log steps), and O(steps) where the two often cancel each other.
class FreeView {
 public:
  static constexpr GpuTimeline::Time kNever = std::numeric_limits<GpuTimeline::Time>::max();

  /// `least`: the fewest GPUs that `free` has after its first step. Both must outlive the view.
  FreeView(const GpuTimeline& free, std::int64_t least, const SharePlan* own)
      : free_(free.steps()), timeline_(&free), least_(least), own_(own) {}

  /// Writes the sum down.
  void write(GpuTimeline& sum) const;
  /// GPUs that are free from `time` on, at least.
  std::int64_t least_from(GpuTimeline::Time time) const {
    return free_.size() > 1 && time >= free_[1].time ? least_ : std::min(least_, free_[0].gpus);
  }
  /// The last step not after `time`; the first step lies before. `place` becomes the index of the last step
  /// of what no plan holds that is not after `time`.
  GpuTimeline::Time last_step_until(GpuTimeline::Time time, std::size_t& place) const;
  GpuTimeline::Time last_step_until(GpuTimeline::Time time) const {
    std::size_t place = 0;
    return last_step_until(time, place);
  }
  /// The first step not before `time`, later than the first one; `kNever` if there is none. `place` becomes
  /// the index of the first step of what no plan holds that is not before `time`.
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
