/// Numbers of GPUs over time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace vtrain {

/// A step function of time: a number of GPUs from each key to the next, and from the last key on without end.
/// It suits few steps: every operation is linear in them.
class GpuTimeline {
 public:
  /// A point in time, in a unit that the owner of the timeline chooses, such as whole seconds.
  using Time = std::int64_t;
  /// A number of GPUs from `time` on.
  struct Step {
    Time time = 0;
    std::int64_t gpus = 0;
    friend bool operator==(const Step&, const Step&) = default;
  };

  /// Makes a timeline without steps.
  GpuTimeline() = default;
  /// Makes a timeline of `gpus` from `start` on.
  GpuTimeline(Time start, std::int64_t gpus) : steps_{{start, gpus}} {}

  /// All steps in order of time.
  std::span<const Step> steps() const { return steps_; }
  bool empty() const { return steps_.empty(); }
  /// Index of the first step not before `time`; the number of steps if there is none.
  std::size_t index_from(Time time) const;
  /// True if a step begins at `time`.
  bool has(Time time) const;
  /// Number of GPUs at `time`: that of the last step not after it, or of the first step.
  std::int64_t at(Time time) const;
  /// Fewest GPUs from the second step on, or of the only step.
  std::int64_t least_after_first() const;
  /// Sets the number of the step at `time`, which begins if it is not there.
  void set(Time time, std::int64_t gpus);
  /// Begins a step at `time` with the present number there, unless one begins there already.
  void split(Time time);
  /// Adds `gpus` (which may be negative) to every step that begins in [from, to).
  void add(Time from, Time to, std::int64_t gpus);
  /// Adds `gpus` to the steps with indexes in [first, last).
  void add_to_steps(std::size_t first, std::size_t last, std::int64_t gpus);
  /// Inserts a step before the one with this index.
  void insert_step(std::size_t index, const Step& step);
  void erase_step(std::size_t index);
  /// Drops steps that change nothing.
  void merge();
  /// Drops the time before `start`, which is not before the first step.
  void begin_at(Time start);
  /// Resets to one number from `start` on. Keeps its memory.
  void assign(Time start, std::int64_t gpus) { steps_.assign(1, {start, gpus}); }
  void clear() { steps_.clear(); }
  /// Continues with this number from `time` on, which is not before the last step. Begins no step that
  /// changes nothing.
  void append(Time time, std::int64_t gpus);
  /// Sets this to `base` + `times` x `part`, where `part` counts only until `part_until`. Both begin at one
  /// time and have no steps that change nothing; neither has the sum.
  void assign_sum(const GpuTimeline& base, const GpuTimeline& part, Time part_until, std::int64_t times);

  /// Adds `times` x `part`, where `part` counts only until `part_until`. Neither begins before this timeline.
  /// Returns the fewest GPUs where the sum changes something. No step changes nothing, before and after.
  /// O(log steps + changed steps).
  std::int64_t add_part(const GpuTimeline& part, Time part_until, std::int64_t times);

  /// Lists the members for `core/io/json_members.hpp`.
  template <class Archive>
  void members(Archive& archive) {
    std::vector<std::pair<Time, std::int64_t>> pairs;
    for (const Step& step : steps_)
      pairs.emplace_back(step.time, step.gpus);
    archive("steps", pairs);
    archive.check(std::ranges::is_sorted(pairs, std::less_equal{}, &std::pair<Time, std::int64_t>::first),
                  "steps", "ascending times");
    steps_.clear();
    for (const auto& [time, gpus] : pairs)
      steps_.push_back({time, gpus});
  }

 private:
  std::vector<Step>::iterator lower_bound(Time time);
  /// Index of the step at `time`, which begins if it is not there.
  std::size_t split_at(Time time);
  /// Drops a step if it changes nothing.
  void merge_at(std::size_t index);

  std::vector<Step> steps_;  ///< ordered by time
};

}  // namespace vtrain
