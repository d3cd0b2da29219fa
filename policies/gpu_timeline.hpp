/// How many GPUs are free from when on, in whole seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/slotted_arrivals.hpp"

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

  GpuTimeline() = default;
  GpuTimeline(WholeSeconds start, std::int64_t gpus) : steps_{{start, gpus}} {}

  std::span<const Step> steps() const { return steps_; }
  bool empty() const { return steps_.empty(); }
  /// Whether a step begins at `time`.
  bool has(WholeSeconds time) const;
  /// The number that holds at `time`: that of the last step not after it, or of the first step.
  std::int64_t at(WholeSeconds time) const;
  /// Begins a step at `time` with this number, or gives the one that is there this number.
  void set(WholeSeconds time, std::int64_t gpus);
  /// Begins a step at `time` with the number that holds there, unless one begins there already.
  void split(WholeSeconds time);
  /// Adds `gpus` (which may be negative) to every step that begins in [from, to).
  void add(WholeSeconds from, WholeSeconds to, std::int64_t gpus);
  /// Drops steps that change nothing.
  void merge();

 private:
  std::vector<Step>::iterator lower_bound(WholeSeconds time);

  std::vector<Step> steps_;  ///< ordered by time
};

}  // namespace vtrain
