/// Lower bounds on the begin of slots, learnt from earlier searches.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// While GPUs are only taken, a slot for more GPUs or a longer time begins no earlier than an earlier result
/// for fewer GPUs and a shorter time. GPUs are distinguished by powers of two, lengths exactly.
class SlotBounds {
 public:
  /// Forgets all bounds, because GPUs have become free.
  void reset() { bounds_.clear(); }
  /// Lower bound of the begin of slots of this size for jobs that request this type. O(log n).
  SimTime lower_bound(GpuTypeId asked, GpuCount num_gpus, SimDuration length) const {
    SimTime bound = SimTime::min();
    const auto found = bounds_.find(asked);
    if (found == bounds_.end()) return bound;
    const auto largest = static_cast<std::size_t>(std::bit_width(unsigned_of(num_gpus)) - 1);
    for (std::size_t size = 0; size <= largest; ++size) {
      const Staircase& stairs = found->second[size];
      const auto longer = stairs.upper_bound(length);
      if (longer != stairs.begin()) bound = std::max(bound, std::prev(longer)->second);
    }
    return bound;
  }
  /// Records that the earliest slot of this size begins at `begin`. Amortised O(log n).
  void add(GpuTypeId asked, GpuCount num_gpus, SimDuration length, SimTime begin) {
    Staircase& stairs = bounds_[asked][static_cast<std::size_t>(std::bit_width(unsigned_of(num_gpus) - 1))];
    const auto longer = stairs.upper_bound(length);
    if (longer != stairs.begin() && std::prev(longer)->second >= begin) return;
    const auto added = stairs.insert_or_assign(length, begin).first;
    for (auto next = std::next(added); next != stairs.end() && next->second <= begin;)
      next = stairs.erase(next);
  }

 private:
  /// Begins by length; both ascend.
  using Staircase = std::map<SimDuration, SimTime>;
  static constexpr std::size_t kSizes = 32;

  static std::uint32_t unsigned_of(GpuCount num_gpus) { return static_cast<std::uint32_t>(num_gpus.value); }

  std::map<GpuTypeId, std::array<Staircase, kSizes>> bounds_;  ///< [powers of two of GPUs]
};

}  // namespace vtrain
