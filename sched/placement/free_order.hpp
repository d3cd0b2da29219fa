/// Parts of a cluster (islands, nodes, racks) in order of their free GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

namespace vtrain {

/// Finds the part with the least room that suffices, or with the most, in O(log parts). Parts without free
/// GPUs are not kept.
class FreeOrder {
 public:
  /// A part, and what is free in it.
  struct Part {
    std::uint32_t number = 0;
    std::int32_t free = 0;
  };

  /// Tells of a change of a part's free GPUs.
  void change(std::uint32_t part, std::int32_t from, std::int32_t to) {
    if (from == to) return;
    if (from <= 0) {
      order_.insert({to, part});
      return;
    }
    auto entry = order_.extract({from, part});
    if (to <= 0) return;
    entry.value() = {to, part};
    order_.insert(std::move(entry));
  }
  /// The part with the fewest free GPUs, but at least `gpus` (at least 1); of equal ones that of the lowest
  /// number.
  std::optional<Part> tightest(std::int32_t gpus) const {
    const auto entry = order_.lower_bound({gpus, 0});
    if (entry == order_.end()) return std::nullopt;
    return Part{entry->second, entry->first};
  }
  /// The part with the most free GPUs, if any has some; of equal ones that of the lowest number.
  std::optional<Part> largest() const {
    if (order_.empty()) return std::nullopt;
    return tightest(order_.rbegin()->first);
  }

 private:
  std::set<std::pair<std::int32_t, std::uint32_t>> order_;  ///< (free, part)
};

}  // namespace vtrain
