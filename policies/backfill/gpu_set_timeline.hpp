/// Sets of free virtual GPUs over time, for policies that make reservations.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "policies/backfill/gpu_set.hpp"

namespace vtrain {

/// GPUs over a span of time, `[begin, end)`.
struct Slot {
  SimTime begin{};
  SimTime end{};
  GpuRanges gpus;

  friend bool operator==(const Slot&, const Slot&) = default;
};

/// The future of a cluster as consecutive slices of time, each with its set of free GPUs. The last slice has
/// no end. Neighbouring slices differ in their sets, so there are at most two slices per reserved slot.
class GpuSetTimeline {
 public:
  /// Begins with all GPUs free from `begin` on, except those of slots that have begun by then. O(slots x (log
  /// slots + GPUs / 64)).
  GpuSetTimeline(GpuCount num_gpus, SimTime begin, std::span<const Slot* const> taken = {});

  /// Forgets the time before `now`, which never goes back.
  void advance(SimTime now);
  /// The earliest slot at which `num_gpus` GPUs are free for `length` without a break, with the lowest such
  /// GPUs. Nothing if slots without an end leave none. O(slices) if counts decide, at worst O(slices^2 x GPUs
  /// / 64).
  std::optional<Slot> earliest_slot(GpuCount num_gpus, SimDuration length) const;
  /// False if the numbers of free GPUs up to `reserved` exclude a slot of `num_gpus` GPUs and `length` that
  /// begins before `bound`. `reserved` is the begin of the reservation that such a slot would replace.
  /// O(slices).
  bool may_begin_before(SimTime bound, SimTime reserved, GpuCount num_gpus, SimDuration length) const;
  /// Takes the GPUs of a slot. All must be free in it.
  void reserve(const Slot& slot);
  /// Returns the part of a reserved slot that is not past.
  void release(const Slot& slot);
  /// GPUs that are free now.
  const GpuSet& free_gpus() const { return slices_.front().free; }
  /// True if every GPU that is free now stays free. O(slices).
  bool only_gains() const;
  std::size_t num_slices() const { return slices_.size(); }

 private:
  struct Slice {
    SimTime begin{};  ///< its end is the begin of the next
    GpuSet free;
    bool only_gains = false;  ///< true if `free` includes that of the slice before
  };

  /// The first of the longest row of slices up to `last` that have `num_gpus` free GPUs in common. Sets
  /// `common` to these. Not all slices up to `last` have such.
  std::size_t latest_first(std::size_t last, GpuCount num_gpus, GpuSet& common) const;
  /// Makes a slice begin at `time`, which is not before the first, and returns its position.
  std::size_t split(SimTime time);
  /// Compares the slice at `position` with the one before it; joins them if their sets are equal.
  void compare_with_last(std::size_t position);
  /// Applies `change` to the free GPUs of each slice in `[begin, end)`.
  template <class Change>
  void change(SimTime begin, SimTime end, Change change);

  std::vector<Slice> slices_;
};

}  // namespace vtrain
