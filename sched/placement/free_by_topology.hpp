/// Free GPUs of a cluster at every level of its topology: NVLink islands, nodes, racks, GPU types.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sched/cluster/node_table.hpp"

namespace vtrain {

/// Parts of a cluster (islands, nodes, racks) in order of their free GPUs: finds the part with the least room
/// that suffices, or with the most, in O(log parts). Parts without free GPUs are not kept.
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

/// A change on one node costs O(log nodes).
class FreeByTopology {
 public:
  /// The nodes of one type in one rack. Racks are numbered by type, in index order.
  struct Rack {
    std::uint32_t type = 0;
    std::int32_t free = 0;
    std::int32_t idle_nodes = 0;  ///< wholly free ones of the size of the type's largest
    FreeOrder nodes;
  };
  /// One GPU type.
  struct Type {
    std::int64_t free = 0;
    std::vector<std::uint32_t> racks;  ///< ascending
    FreeOrder racks_by_free;
    bool has_islands = false;  ///< whether some node has several
    FreeOrder nodes;           ///< of all racks, where there are several
    FreeOrder islands;         ///< where `has_islands`
  };

  /// With all GPUs free. `table` outlives it.
  explicit FreeByTopology(const NodeTable& table);

  /// A type by its number, a rack by its own, and the rack of a node.
  const Type& type(std::uint32_t number) const { return types_[number]; }
  const Rack& rack(std::uint32_t number) const { return racks_[number]; }
  std::uint32_t rack_of(std::uint32_t node) const { return rack_of_[node]; }
  /// All nodes of a type in order of their free GPUs.
  const FreeOrder& nodes(std::uint32_t type) const {
    const Type& here = types_[type];
    return here.racks.size() == 1 ? racks_[here.racks.front()].nodes : here.nodes;
  }
  /// The tightest island of a type with so many free GPUs.
  std::optional<FreeOrder::Part> tightest_island(std::uint32_t type, std::int32_t gpus) const;
  /// The node of an island.
  std::uint32_t node_of(std::uint32_t island) const { return node_of_[island]; }
  /// The number of a node's first island; its others follow.
  std::uint32_t first_island(std::uint32_t node) const { return first_island_[node]; }
  /// Free GPUs of an island whose node is in service.
  std::int32_t free_in_island(std::uint32_t island) const { return free_in_island_[island]; }

  /// Gives an island GPUs back, or takes some (`gpus` below 0). Returns by how much the free GPUs in service
  /// have grown.
  std::int32_t add(std::uint32_t island, std::int32_t gpus);
  /// The same for a node's service.
  std::int32_t set_in_service(std::uint32_t node, bool in_service);

 private:
  /// Brings the orders above the islands up to date after a node's free GPUs in service have changed.
  void node_changed(std::uint32_t node, std::int32_t from, std::int32_t to);

  const NodeTable& table_;
  std::vector<Type> types_;
  std::vector<Rack> racks_;
  std::vector<std::uint32_t> rack_of_;        ///< [nodes]
  std::vector<std::uint32_t> first_island_;   ///< [nodes + 1]
  std::vector<std::uint32_t> node_of_;        ///< [islands]
  std::vector<std::int32_t> free_in_island_;  ///< [islands], in service or not
  std::vector<std::int32_t> free_in_node_;    ///< [nodes], in service or not
  std::vector<bool> in_service_;              ///< [nodes]
};

}  // namespace vtrain
