/// `consolidate`: gangs as close together as the free GPUs of the topology allow. The levels are NVLink
/// island, node, rack and the nodes of a GPU type. A gang goes to the lowest level with a part that has room
/// for it, there to the part with the least sufficient room. Within it the gang takes as few parts of the
/// level below as possible: the one with the most room while no part has enough, then the tightest with room
/// for the rest (the rule of Kueue's topology-aware scheduling). So it always finds a place when a type has
/// enough free GPUs.
///
/// `consolidate-strict`: a gang no larger than the largest node waits for one node. A larger one waits for as
/// many wholly free nodes of that size as it fills, and one node with room for the rest. All are in one rack
/// if possible (the one with the fewest sufficient such nodes), otherwise over as few racks as possible.
#include <algorithm>
#include <optional>

#include "sched/placement/free_by_topology.hpp"
#include "sched/placement/node_placement.hpp"
#include "sched/placement/placements.hpp"

namespace vtrain {
namespace {

/// Common part of both: gangs that fit on a node.
class TopologyPlacement : public NodePlacement {
 public:
  TopologyPlacement(PlacementKind kind, const ClusterSpec& cluster, const Workload& workload)
      : NodePlacement(kind, cluster, workload), topology_(table_) {}

  bool place(const GangRequest& request, std::vector<NodeShare>& shares) final {
    if (request.num_gpus > free_) return false;
    return place_on_a_node(request, shares) || place_on_nodes(request, shares);
  }

  void release(const GangRequest&, const std::vector<NodeShare>& shares) final {
    for (const NodeShare& share : shares)
      free_ += GpuCount(topology_.add(island_of(share), share.gpus.value));
  }

  bool reacquire(const GangRequest&, const std::vector<NodeShare>& shares) final {
    const bool free = std::ranges::all_of(shares, [this](const NodeShare& share) {
      const Node& node = table_[share.node.value];
      if (share.first_gpu < 0 || share.first_gpu >= node.num_gpus ||
          share.first_gpu % node.gpus_per_island != 0)
        return false;
      return share.gpus.value <= topology_.free_in_island(island_of(share));
    });
    if (!free) return false;
    for (const NodeShare& share : shares)
      free_ += GpuCount(topology_.add(island_of(share), -share.gpus.value));
    return true;
  }

  void set_in_service(NodeId node, bool in_service) final {
    free_ += GpuCount(topology_.set_in_service(node.value, in_service));
  }

 protected:
  /// Places a gang for which no node has room now.
  virtual bool place_on_nodes(const GangRequest& request, std::vector<NodeShare>& shares) = 0;

  /// Takes `gpus` GPUs of one node with enough free: of the tightest island, or of as few as possible.
  void take(std::uint32_t node, std::int32_t gpus, std::vector<NodeShare>& shares) {
    while (gpus > 0) {
      const std::uint32_t island = island_for(node, gpus);
      const std::int32_t taken = std::min(gpus, topology_.free_in_island(island));
      take_of_island(island, taken, shares);
      gpus -= taken;
    }
  }

  /// Takes GPUs of as few of some nodes as possible; together the nodes have enough free.
  void take_of_nodes(const FreeOrder& nodes, std::int32_t gpus, std::vector<NodeShare>& shares) {
    while (gpus > 0) {
      const auto last = nodes.tightest(gpus);
      const FreeOrder::Part node = last ? *last : *nodes.largest();
      const std::int32_t taken = std::min(gpus, node.free);
      take(node.number, taken, shares);
      gpus -= taken;
    }
  }

  const FreeByTopology& topology() const { return topology_; }

 private:
  /// The island with the least sufficient room, otherwise the one with the most.
  std::uint32_t island_for(std::uint32_t node, std::int32_t gpus) const {
    std::uint32_t best = topology_.first_island(node);
    for (std::uint32_t island = best + 1; island < topology_.first_island(node + 1); ++island) {
      const std::int32_t free = topology_.free_in_island(island);
      const std::int32_t of_best = topology_.free_in_island(best);
      if (of_best < gpus ? free > of_best : free >= gpus && free < of_best) best = island;
    }
    return best;
  }

  /// Island of a share.
  std::uint32_t island_of(const NodeShare& share) const {
    const std::int32_t island = share.first_gpu / table_[share.node.value].gpus_per_island;
    return topology_.first_island(share.node.value) + static_cast<std::uint32_t>(island);
  }

  void take_of_island(std::uint32_t island, std::int32_t gpus, std::vector<NodeShare>& shares) {
    const std::uint32_t node = topology_.node_of(island);
    const auto first_gpu =
        static_cast<std::int32_t>(island - topology_.first_island(node)) * table_[node].gpus_per_island;
    free_ += GpuCount(topology_.add(island, -gpus));
    shares.push_back({NodeId(node), GpuCount(gpus), first_gpu});
  }

  /// The tightest of the tightest parts of the types that a gang may use.
  template <class TightestOf>
  std::optional<FreeOrder::Part> tightest(const GangRequest& request, TightestOf tightest_of) const {
    std::optional<FreeOrder::Part> best;
    for (const std::uint32_t type : allowed(request)) {
      const std::optional<FreeOrder::Part> part = tightest_of(type, request.num_gpus.value);
      if (part && (!best || part->free < best->free)) best = part;
    }
    return best;
  }

  bool place_on_a_node(const GangRequest& request, std::vector<NodeShare>& shares) {
    const auto island = tightest(request, [this](std::uint32_t type, std::int32_t gpus) {
      return topology_.tightest_island(type, gpus);
    });
    if (island) {
      take_of_island(island->number, request.num_gpus.value, shares);
      return true;
    }
    const auto node = tightest(request, [this](std::uint32_t type, std::int32_t gpus) {
      return topology_.nodes(type).tightest(gpus);
    });
    if (node) take(node->number, request.num_gpus.value, shares);
    return node.has_value();
  }

  FreeByTopology topology_;
};

class ConsolidatePlacement final : public TopologyPlacement {
 public:
  using TopologyPlacement::TopologyPlacement;

  bool has_room(const GangRequest& request) const override {
    const auto types = allowed(request);
    return std::any_of(types.begin(), types.end(), [&](std::uint32_t type) {
      return request.num_gpus.value <= topology().type(type).free;
    });
  }

  bool packs_gangs() const override { return table_.nodes().size() == 1; }
  int most_levels(const GangRequest& request) const override {
    return request.num_gpus == GpuCount(1) ? 0 : levels_of_cluster();
  }

  bool fits_empty(const GangRequest& request) const override {
    const auto types = allowed(request);
    return std::any_of(types.begin(), types.end(), [&](std::uint32_t type) {
      return request.num_gpus.value <= table_.by_type()[type].total_gpus;
    });
  }

 private:
  bool place_on_nodes(const GangRequest& request, std::vector<NodeShare>& shares) override {
    const std::int32_t gpus = request.num_gpus.value;
    std::optional<FreeOrder::Part> rack;
    for (const std::uint32_t type : allowed(request)) {
      const auto here = topology().type(type).racks_by_free.tightest(gpus);
      if (here && (!rack || here->free < rack->free)) rack = here;
    }
    if (rack) {
      take_of_nodes(topology().rack(rack->number).nodes, gpus, shares);
      return true;
    }
    for (const std::uint32_t type : allowed(request)) {
      if (topology().type(type).free < gpus) continue;
      take_of_racks(topology().type(type).racks_by_free, gpus, shares);
      return true;
    }
    return false;
  }

  void take_of_racks(const FreeOrder& racks, std::int32_t gpus, std::vector<NodeShare>& shares) {
    while (gpus > 0) {
      const auto last = racks.tightest(gpus);
      const FreeOrder::Part rack = last ? *last : *racks.largest();
      const std::int32_t taken = std::min(gpus, rack.free);
      take_of_nodes(topology().rack(rack.number).nodes, taken, shares);
      gpus -= taken;
    }
  }
};

class ConsolidateStrictPlacement final : public TopologyPlacement {
 public:
  using TopologyPlacement::TopologyPlacement;

  bool has_room(const GangRequest& request) const override {
    const auto types = allowed(request);
    const std::int32_t gpus = request.num_gpus.value;
    const bool needs_one = fits_a_node(request);
    return std::any_of(types.begin(), types.end(), [&](std::uint32_t type) {
      return topology().nodes(type).tightest(gpus) || (!needs_one && has_room_on(type, need_of(type, gpus)));
    });
  }

  bool fits_empty(const GangRequest& request) const override {
    if (fits_a_node(request)) return true;
    const auto types = allowed(request);
    return std::any_of(types.begin(), types.end(), [&](std::uint32_t type) {
      const Need need = need_of(type, request.num_gpus.value);
      std::int32_t largest = 0;
      std::int32_t largest_other = 0;
      for (const std::uint32_t node : table_.by_type()[type].nodes) {
        const std::int32_t size = table_[node].num_gpus;
        if (size == need.node_size) {
          ++largest;
        } else {
          largest_other = std::max(largest_other, size);
        }
      }
      return need.nodes < largest || (need.nodes == largest && need.rest <= largest_other);
    });
  }

 private:
  /// A gang on nodes of the largest size of a type.
  struct Need {
    std::int32_t node_size = 0;
    std::int32_t nodes = 0;
    std::int32_t rest = 0;
  };

  Need need_of(std::uint32_t type, std::int32_t gpus) const {
    const std::int32_t size = table_.by_type()[type].largest_node;
    return {size, gpus / size, gpus % size};
  }

  bool place_on_nodes(const GangRequest& request, std::vector<NodeShare>& shares) override {
    if (fits_a_node(request)) return false;
    const auto types = allowed(request);
    return std::any_of(types.begin(), types.end(), [&](std::uint32_t type) {
      return place_on_type(type, need_of(type, request.num_gpus.value), shares);
    });
  }

  /// True if some nodes, `idle` of them wholly free, have room.
  static bool has_room(const FreeOrder& nodes, std::int32_t idle, const Need& need) {
    if (idle < need.nodes) return false;
    if (need.rest == 0 || idle > need.nodes) return true;
    const auto host = nodes.tightest(need.rest);
    return host && host->free < need.node_size;
  }

  /// True if the nodes of a type, of one rack or of all, have room.
  bool has_room_on(std::uint32_t type, const Need& need) const {
    std::int32_t idle = 0;
    for (const std::uint32_t rack : topology().type(type).racks) {
      const FreeByTopology::Rack& here = topology().rack(rack);
      idle += here.idle_nodes;
      if (has_room(here.nodes, here.idle_nodes, need)) return true;
    }
    return has_room(topology().nodes(type), idle, need);
  }

  bool place_on_type(std::uint32_t type, Need need, std::vector<NodeShare>& shares) {
    const std::vector<std::uint32_t>& racks = topology().type(type).racks;
    std::int32_t idle = 0;
    std::optional<std::uint32_t> tightest;
    for (const std::uint32_t rack : racks) {
      const FreeByTopology::Rack& here = topology().rack(rack);
      idle += here.idle_nodes;
      if (has_room(here.nodes, here.idle_nodes, need) &&
          (!tightest || here.idle_nodes < topology().rack(*tightest).idle_nodes))
        tightest = rack;
    }
    if (!tightest && !has_room(topology().nodes(type), idle, need)) return false;
    const std::size_t first_share = shares.size();
    if (tightest) {
      take_idle(*tightest, need.nodes, need.node_size, shares);
    } else {
      take_idle_of_racks(racks, need, shares);
    }
    if (need.rest > 0) take(find_node_for_rest(type, need.rest, shares, first_share), need.rest, shares);
    return true;
  }

  void take_idle(std::uint32_t rack, std::int32_t nodes, std::int32_t size, std::vector<NodeShare>& shares) {
    for (; nodes > 0; --nodes)
      take(topology().rack(rack).nodes.tightest(size)->number, size, shares);
  }

  /// Takes wholly free nodes of as few racks as possible.
  void take_idle_of_racks(const std::vector<std::uint32_t>& racks, Need need,
                          std::vector<NodeShare>& shares) {
    while (need.nodes > 0) {
      std::uint32_t best = racks.front();
      for (const std::uint32_t rack : racks) {
        const std::int32_t idle = topology().rack(rack).idle_nodes;
        const std::int32_t of_best = topology().rack(best).idle_nodes;
        if (of_best < need.nodes ? idle > of_best : idle >= need.nodes && idle < of_best) best = rack;
      }
      const std::int32_t taken = std::min(need.nodes, topology().rack(best).idle_nodes);
      take_idle(best, taken, need.node_size, shares);
      need.nodes -= taken;
    }
  }

  /// The tightest node with room for the rest, in one of the gang's racks if possible.
  std::uint32_t find_node_for_rest(std::uint32_t type, std::int32_t rest,
                                   const std::vector<NodeShare>& shares, std::size_t first_share) const {
    std::optional<FreeOrder::Part> best;
    for (std::size_t i = first_share; i < shares.size(); ++i) {
      const auto here = topology().rack(topology().rack_of(shares[i].node.value)).nodes.tightest(rest);
      if (here && (!best || here->free < best->free)) best = here;
    }
    return best ? best->number : topology().nodes(type).tightest(rest)->number;
  }
};

}  // namespace

std::unique_ptr<Placement> make_consolidate_placement(const ClusterSpec& cluster, const Workload& workload) {
  return std::make_unique<ConsolidatePlacement>(PlacementKind::Consolidate, cluster, workload);
}

std::unique_ptr<Placement> make_consolidate_strict_placement(const ClusterSpec& cluster,
                                                             const Workload& workload) {
  return std::make_unique<ConsolidateStrictPlacement>(PlacementKind::ConsolidateStrict, cluster, workload);
}

}  // namespace vtrain
