/// Which hosts will be free when, for policies that reserve.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "policies/backfill/host_set.hpp"

namespace vtrain {

/// Hosts over a span of time, `[begin, end)`.
struct Slot {
  SimTime begin{};
  SimTime end{};
  HostRanges hosts;

  friend bool operator==(const Slot&, const Slot&) = default;
};

/// The future of a cluster as consecutive slices of time, each with its set of free hosts. The last slice has
/// no end. Neighbouring slices differ in their sets, so there are at most two a reserved slot.
class AvailabilityProfile {
 public:
  /// A cluster whose hosts are all free from `begin` on, but those of slots that have begun by then.
  /// O(slots x (log slots + hosts / 64)).
  AvailabilityProfile(GpuCount num_hosts, SimTime begin, std::span<const Slot* const> taken = {});

  /// Forgets what lies before `now`, which never goes back.
  void advance(SimTime now);
  /// The earliest slot at which `num_hosts` hosts are free for `length` on end, with the lowest such hosts;
  /// nothing when there is none (slots without an end are in the way). O(slices) when counts decide, at worst
  /// O(slices^2 x hosts / 64).
  std::optional<Slot> earliest_slot(GpuCount num_hosts, SimDuration length) const;
  /// False if, going by the numbers of free hosts up to `reserved`, no slot of `num_hosts` hosts and `length`
  /// can begin before `bound`. `reserved` is where the reservation begins that such a slot would replace.
  /// O(slices).
  bool may_begin_before(SimTime bound, SimTime reserved, GpuCount num_hosts, SimDuration length) const;
  /// Takes the hosts of a slot, all of which must be free in it.
  void reserve(const Slot& slot);
  /// Gives back what of a reserved slot is not past.
  void release(const Slot& slot);
  /// Hosts that are free now.
  const HostSet& free_hosts() const { return slices_.front().free; }
  /// Whether a host that is free stays so. O(slices).
  bool only_gains() const;
  std::size_t num_slices() const { return slices_.size(); }

 private:
  struct Slice {
    SimTime begin{};  ///< it ends where the next begins
    HostSet free;
    bool only_gains = false;  ///< whether `free` includes that of the slice before
  };

  /// The first of the most slices up to `last` that have `num_hosts` free hosts in common, which `common` is
  /// set to. Not all slices up to `last` have.
  std::size_t latest_first(std::size_t last, GpuCount num_hosts, HostSet& common) const;
  /// Makes a slice begin at `time`, which is not before the first, and returns its position.
  std::size_t split(SimTime time);
  /// Finds out what the slice at `position` has of the hosts of the one before it; joins them if both have
  /// the same.
  void compare_with_last(std::size_t position);
  /// Applies `change` to the free hosts of each slice in `[begin, end)`.
  template <class Change>
  void change(SimTime begin, SimTime end, Change change);

  std::vector<Slice> slices_;
};

}  // namespace vtrain
