/// How many GPUs are free from when on, in whole seconds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/elasticflow/slotted_arrivals.hpp"

namespace vtrain {

/// The smallest `start` + k x `slot`, k whole, that is not before `time`.
WholeSeconds align_to_slot(WholeSeconds start, WholeSeconds time, WholeSeconds slot);

/// A step function of time: a number of GPUs that holds from a key to the next, and from the last key for
/// ever. Few steps: every operation is linear in them.
class GpuTimeline {
 public:
  struct Step {
    WholeSeconds time = 0;
    std::int64_t gpus = 0;
    friend bool operator==(const Step&, const Step&) = default;
  };

  /// Of no steps.
  GpuTimeline() = default;
  /// So many GPUs from `start` on.
  GpuTimeline(WholeSeconds start, std::int64_t gpus) : steps_{{start, gpus}} {}

  /// In order of time.
  std::span<const Step> steps() const { return steps_; }
  bool empty() const { return steps_.empty(); }
  /// Index of the first step not before `time`; their number if there is none.
  std::size_t index_from(WholeSeconds time) const;
  /// Whether a step begins at `time`.
  bool has(WholeSeconds time) const;
  /// The number that holds at `time`: that of the last step not after it, or of the first step.
  std::int64_t at(WholeSeconds time) const;
  /// The fewest GPUs from the second step on, or of the only step.
  std::int64_t least_after_first() const;
  /// Begins a step at `time` with this number, or gives the one that is there this number.
  void set(WholeSeconds time, std::int64_t gpus);
  /// Begins a step at `time` with the number that holds there, unless one begins there already.
  void split(WholeSeconds time);
  /// Adds `gpus` (which may be negative) to every step that begins in [from, to).
  void add(WholeSeconds from, WholeSeconds to, std::int64_t gpus);
  /// Drops steps that change nothing.
  void merge();
  /// Begins anew: one number from `start` on. Keeps its memory.
  void assign(WholeSeconds start, std::int64_t gpus) { steps_.assign(1, {start, gpus}); }
  /// Goes on with this number from `time` on, which is not before the last step; begins no step that changes
  /// nothing.
  void append(WholeSeconds time, std::int64_t gpus);
  /// Becomes `base` + `times` x `part`, where `part` counts until `part_until` only. Both begin at the same
  /// time and have no steps that change nothing; neither has the sum.
  void assign_sum(const GpuTimeline& base, const GpuTimeline& part, WholeSeconds part_until,
                  std::int64_t times);

 private:
  std::vector<Step>::iterator lower_bound(WholeSeconds time);

  std::vector<Step> steps_;  ///< ordered by time
};

}  // namespace vtrain
