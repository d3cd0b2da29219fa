/// Free GPUs of a cluster at every level of its topology: NVLink islands, nodes, racks, GPU types.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sched/cluster/node_table.hpp"

namespace vtrain {

/// Parts of a cluster (islands, nodes, racks) in order of their free GPUs. Finds the part with the least
/// sufficient room, or with the most, in O(log parts). Parts without free GPUs are not kept.
class FreeOrder {
 public:
  /// A part with its free GPUs.
  struct Part {
    std::uint32_t number = 0;
    std::int32_t free = 0;
  };

  /// Records a change of a part's free GPUs.
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
  /// The part with the fewest free GPUs that are at least `gpus` (at least 1); of equal ones the lowest
  /// number.
  std::optional<Part> tightest(std::int32_t gpus) const {
    const auto entry = order_.lower_bound({gpus, 0});
    if (entry == order_.end()) return std::nullopt;
    return Part{entry->second, entry->first};
  }
  /// The part with the most free GPUs, if any has some; of equal ones the lowest number.
  std::optional<Part> largest() const {
    if (order_.empty()) return std::nullopt;
    return tightest(order_.rbegin()->first);
  }

 private:
  std::set<std::pair<std::int32_t, std::uint32_t>> order_;  ///< (free, part)
};

/// Free GPUs of all islands, nodes, racks and types. A change on one node costs O(log nodes).
class FreeByTopology {
 public:
  /// The nodes of one type in one rack. Racks are numbered by type, in index order.
  struct Rack {
    std::uint32_t type = 0;
    std::int32_t free = 0;
    std::int32_t idle_nodes = 0;  ///< wholly free nodes as large as the type's largest
    FreeOrder nodes;
  };
  /// One GPU type.
  struct Type {
    std::int64_t free = 0;
    std::vector<std::uint32_t> racks;  ///< ascending
    FreeOrder racks_by_free;
    bool has_islands = false;  ///< true if some node has several islands
    FreeOrder nodes;           ///< nodes of all racks, if there are several racks
    FreeOrder islands;         ///< islands, if `has_islands`
  };

  /// Begins with all GPUs free. `table` outlives it.
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
  /// The island of a type with the fewest free GPUs that are at least `gpus`.
  std::optional<FreeOrder::Part> tightest_island(std::uint32_t type, std::int32_t gpus) const;
  /// Node of an island.
  std::uint32_t node_of(std::uint32_t island) const { return node_of_[island]; }
  /// The number of a node's first island; its others follow.
  std::uint32_t first_island(std::uint32_t node) const { return first_island_[node]; }
  /// Free GPUs of an island whose node is in service.
  std::int32_t free_in_island(std::uint32_t island) const { return free_in_island_[island]; }

  /// Adds GPUs to an island's free ones, or takes some (`gpus` below 0). Returns the change of the free GPUs
  /// in service.
  std::int32_t add(std::uint32_t island, std::int32_t gpus);
  /// Sets a node's service. Returns the change of the free GPUs in service.
  std::int32_t set_in_service(std::uint32_t node, bool in_service);

 private:
  /// Updates the orders above the islands after a change of a node's free GPUs in service.
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
