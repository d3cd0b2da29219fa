/// `yarn`: a gang no larger than the largest node goes to the first node with room. A larger one takes wholly
/// free nodes in index order, each no larger than its remaining need. The rest goes to the first other node
/// with room (Tiresias, NSDI'19, the simulator's "yarn" scheme, for which all nodes are equal).
#include <algorithm>
#include <bit>
#include <optional>

#include "sched/placement/node_placement.hpp"
#include "sched/placement/placements.hpp"

namespace vtrain {
namespace {

/// Free GPUs of every node under a tree of maxima, which finds the first node with room in O(log nodes).
class FreeGpuTree {
 public:
  explicit FreeGpuTree(const std::vector<std::int32_t>& free_by_node)
      : capacity_(std::bit_ceil(std::max<std::size_t>(free_by_node.size(), 1))), tree_(2 * capacity_, -1) {
    std::copy(free_by_node.begin(), free_by_node.end(),
              tree_.begin() + static_cast<std::ptrdiff_t>(capacity_));
    for (std::size_t i = capacity_ - 1; i >= 1; --i)
      tree_[i] = std::max(tree_[2 * i], tree_[2 * i + 1]);
  }

  std::int32_t at(std::uint32_t node) const { return tree_[capacity_ + node]; }

  void add(std::uint32_t node, std::int32_t gpus) {
    std::size_t i = capacity_ + node;
    tree_[i] += gpus;
    for (i /= 2; i >= 1; i /= 2) {
      const std::int32_t both = std::max(tree_[2 * i], tree_[2 * i + 1]);
      if (tree_[i] == both) return;
      tree_[i] = both;
    }
  }

  /// First node at or after `from` with at least `gpus` (at least 1) free.
  std::optional<std::uint32_t> first_with(std::uint32_t from, std::int32_t gpus) const {
    if (from >= capacity_) return std::nullopt;
    std::size_t i = capacity_ + from;
    while (true) {
      if (tree_[i] >= gpus) {
        if (i >= capacity_) return static_cast<std::uint32_t>(i - capacity_);
        i *= 2;
        continue;
      }
      // Continue with the later nodes: up while these end their parent's, then to the right.
      while (i % 2 == 1)
        i /= 2;
      if (i == 0) return std::nullopt;
      ++i;
    }
  }

 private:
  std::size_t capacity_;
  /// [2 * capacity]: i has children 2i and 2i + 1; -1 means no node.
  std::vector<std::int32_t> tree_;
};

class YarnPlacement final : public NodePlacement {
 public:
  YarnPlacement(const ClusterSpec& cluster, const Workload& workload)
      : NodePlacement(PlacementKind::Yarn, cluster, workload), homes_(table_.nodes().size()) {
    for (const NodesOfType& nodes : table_.by_type()) {
      std::vector<std::int32_t> sizes;
      std::vector<Stretch>& stretches = stretches_.emplace_back();
      for (const std::uint32_t node : nodes.nodes) {
        const auto place = static_cast<std::uint32_t>(sizes.size());
        const std::int32_t size = table_[node].num_gpus;
        if (stretches.empty() || stretches.back().gpus_per_node != size)
          stretches.push_back({place, place, size});
        ++stretches.back().end;
        homes_[node] = {.type = table_[node].type, .place = place};
        sizes.push_back(size);
      }
      free_by_type_.emplace_back(sizes);
    }
  }

  bool place(const GangRequest& request, std::vector<NodeShare>& shares) override {
    if (request.num_gpus > free_) return false;
    const std::int32_t gpus = request.num_gpus.value;
    if (!fits_a_node(request)) {
      const auto types = allowed(request);
      return std::any_of(types.begin(), types.end(),
                         [&](std::uint32_t type) { return place_on_nodes(type, gpus, shares); });
    }
    std::optional<std::uint32_t> first;
    for (const std::uint32_t type : allowed(request)) {
      const auto node = first_with(type, gpus);
      if (node && (!first || *node < *first)) first = node;
    }
    if (!first) return false;
    take(*first, gpus, shares);
    return true;
  }

  bool has_room(const GangRequest& request) const override {
    const std::int32_t gpus = request.num_gpus.value;
    const bool needs_one = fits_a_node(request);
    const auto types = allowed(request);
    return std::any_of(types.begin(), types.end(), [&](std::uint32_t type) {
      return needs_one ? first_with(type, gpus).has_value() : has_room_on_nodes(type, gpus);
    });
  }

  void release(const GangRequest&, const std::vector<NodeShare>& shares) override {
    for (const NodeShare& share : shares) {
      if (std::optional<GpuCount>& withheld = homes_[share.node.value].withheld) {
        *withheld += share.gpus;
      } else {
        add(share.node.value, share.gpus.value);
      }
    }
  }

  bool reacquire(const GangRequest&, const std::vector<NodeShare>& shares) override {
    const bool free = std::ranges::all_of(shares, [this](const NodeShare& share) {
      const Home& home = homes_[share.node.value];
      return share.first_gpu == 0 && share.gpus.value <= free_by_type_[home.type].at(home.place);
    });
    if (!free) return false;
    for (const NodeShare& share : shares)
      add(share.node.value, -share.gpus.value);
    return true;
  }

  void set_in_service(NodeId node, bool in_service) override {
    Home& home = homes_[node.value];
    std::optional<GpuCount>& withheld = home.withheld;
    if (in_service != withheld.has_value()) return;
    if (in_service) {
      add(node.value, withheld->value);
      withheld.reset();
    } else {
      withheld = GpuCount(free_by_type_[home.type].at(home.place));
      add(node.value, -withheld->value);
    }
  }

 private:
  void add(std::uint32_t node, std::int32_t gpus) {
    const Home& home = homes_[node];
    free_by_type_[home.type].add(home.place, gpus);
    free_ += GpuCount(gpus);
  }

  void take(std::uint32_t node, std::int32_t gpus, std::vector<NodeShare>& shares) {
    add(node, -gpus);
    shares.push_back({NodeId(node), GpuCount(gpus)});
  }

  /// First node of a type with at least `gpus` free.
  std::optional<std::uint32_t> first_with(std::uint32_t type, std::int32_t gpus) const {
    const auto place = free_by_type_[type].first_with(0, gpus);
    if (!place) return std::nullopt;
    return table_.by_type()[type].nodes[*place];
  }

  bool place_on_nodes(std::uint32_t type, std::int32_t gpus, std::vector<NodeShare>& shares) {
    const std::size_t first_share = shares.size();
    const std::int32_t rest = take_whole_nodes(type, gpus, shares);
    if (rest == 0) return true;
    if (const auto node = first_with(type, rest)) {
      take(*node, rest, shares);
      return true;
    }
    for (std::size_t i = first_share; i < shares.size(); ++i)
      add(shares[i].node.value, shares[i].gpus.value);
    shares.resize(first_share);
    return false;
  }

  /// True if `place_on_nodes` would find a place.
  bool has_room_on_nodes(std::uint32_t type, std::int32_t needed) const {
    const FreeGpuTree& free = free_by_type_[type];
    std::vector<std::uint32_t> taken;
    for (const Stretch& stretch : stretches_[type]) {
      std::uint32_t from = stretch.begin;
      while (needed >= stretch.gpus_per_node) {
        const auto place = free.first_with(from, stretch.gpus_per_node);
        if (!place || *place >= stretch.end) break;
        taken.push_back(*place);
        needed -= stretch.gpus_per_node;
        from = *place + 1;
      }
    }
    if (needed == 0) return true;
    auto host = free.first_with(0, needed);
    while (host && std::ranges::binary_search(taken, *host))
      host = free.first_with(*host + 1, needed);
    return host.has_value();
  }

  /// Takes wholly free nodes no larger than the remaining need, in index order. Returns the remaining need.
  std::int32_t take_whole_nodes(std::uint32_t type, std::int32_t needed, std::vector<NodeShare>& shares) {
    for (const Stretch& stretch : stretches_[type]) {
      std::uint32_t from = stretch.begin;
      while (needed >= stretch.gpus_per_node) {
        const auto place = free_by_type_[type].first_with(from, stretch.gpus_per_node);
        if (!place || *place >= stretch.end) break;
        take(table_.by_type()[type].nodes[*place], stretch.gpus_per_node, shares);
        needed -= stretch.gpus_per_node;
        from = *place + 1;
      }
    }
    return needed;
  }

  /// Place of a node: its type, and its position among the nodes of that type.
  struct Home {
    std::uint32_t type = 0;
    std::uint32_t place = 0;
    std::optional<GpuCount> withheld{};  ///< unheld GPUs, while the node is out of service
  };

  /// Consecutive nodes of equal size among those of a type.
  struct Stretch {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::int32_t gpus_per_node = 0;
  };

  std::vector<FreeGpuTree> free_by_type_;
  std::vector<std::vector<Stretch>> stretches_;  ///< by type
  std::vector<Home> homes_;                      ///< [nodes]
};

}  // namespace

std::unique_ptr<Placement> make_yarn_placement(const ClusterSpec& cluster, const Workload& workload) {
  return std::make_unique<YarnPlacement>(cluster, workload);
}

}  // namespace vtrain
