#include "sched/placement.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <stdexcept>

namespace vtrain {
namespace {

class CountPlacement final : public Placement {
 public:
  explicit CountPlacement(const ClusterSpec& cluster) : total_(cluster.total_gpus()), free_(total_) {}

  bool place(const GangRequest& request, std::vector<NodeShare>&) override {
    if (request.num_gpus > free_) return false;
    free_ -= request.num_gpus;
    return true;
  }
  void release(const GangRequest& request, const std::vector<NodeShare>&) override {
    free_ += request.num_gpus;
  }
  bool fits_empty(const GangRequest& request) const override { return request.num_gpus <= total_; }
  GpuCount free_gpus() const override { return free_; }
  bool knows_nodes() const override { return false; }
  void set_in_service(NodeId, bool) override {
    throw std::logic_error("placement: 'count' knows no nodes that could go out of service");
  }

 private:
  GpuCount total_;
  GpuCount free_;
};

/// Free GPUs of every node under a tree of maxima, so that the first node with room is found in O(log nodes).
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

  /// The first node at or after `from` with at least `gpus` (at least 1) free.
  std::optional<std::uint32_t> first_with(std::uint32_t from, std::int32_t gpus) const {
    if (from >= capacity_) return std::nullopt;
    std::size_t i = capacity_ + from;
    while (true) {
      if (tree_[i] >= gpus) {
        if (i >= capacity_) return static_cast<std::uint32_t>(i - capacity_);
        i *= 2;
        continue;
      }
      // On to the nodes that follow: up while these end their parent's, then to the right.
      while (i % 2 == 1)
        i /= 2;
      if (i == 0) return std::nullopt;
      ++i;
    }
  }

 private:
  std::size_t capacity_;
  std::vector<std::int32_t>
      tree_;  ///< [2 * capacity]: i has children 2i and 2i + 1; -1 where there is no node
};

class YarnPlacement final : public Placement {
 public:
  explicit YarnPlacement(const ClusterSpec& cluster)
      : total_(cluster.total_gpus()),
        free_gpus_(total_),
        free_(gpus_by_node(cluster)),
        withheld_(static_cast<std::size_t>(cluster.total_nodes())) {
    std::uint32_t first = 0;
    for (const NodeGroup& group : cluster.groups) {
      groups_.push_back(
          {first, first + static_cast<std::uint32_t>(group.num_nodes), group.gpus_per_node.value});
      first = groups_.back().end;
      largest_node_ = std::max(largest_node_, group.gpus_per_node.value);
    }
  }

  bool place(const GangRequest& request, std::vector<NodeShare>& shares) override {
    if (request.num_gpus > free_gpus_) return false;
    const std::size_t first_share = shares.size();
    std::int32_t rest = request.num_gpus.value;
    if (rest > largest_node_) rest = take_whole_nodes(rest, shares);
    if (rest > 0) {
      const auto node = free_.first_with(0, rest);
      if (!node) {
        for (std::size_t i = first_share; i < shares.size(); ++i)
          free_.add(shares[i].node.value, shares[i].gpus.value);
        shares.resize(first_share);
        return false;
      }
      take(*node, rest, shares);
    }
    free_gpus_ -= request.num_gpus;
    return true;
  }

  void release(const GangRequest&, const std::vector<NodeShare>& shares) override {
    for (const NodeShare& share : shares) {
      if (std::optional<GpuCount>& withheld = withheld_[share.node.value]) {
        *withheld += share.gpus;
      } else {
        free_.add(share.node.value, share.gpus.value);
        free_gpus_ += share.gpus;
      }
    }
  }

  /// On an empty cluster whole nodes are taken until the rest is smaller than each node left, so that only
  /// the total counts.
  bool fits_empty(const GangRequest& request) const override { return request.num_gpus <= total_; }
  GpuCount free_gpus() const override { return free_gpus_; }

  void set_in_service(NodeId node, bool in_service) override {
    std::optional<GpuCount>& withheld = withheld_[node.value];
    if (in_service != withheld.has_value()) return;
    if (in_service) {
      free_.add(node.value, withheld->value);
      free_gpus_ += *withheld;
      withheld.reset();
    } else {
      withheld = GpuCount(free_.at(node.value));
      free_.add(node.value, -withheld->value);
      free_gpus_ -= *withheld;
    }
  }

 private:
  struct Group {
    std::uint32_t begin;  ///< its first node
    std::uint32_t end;
    std::int32_t gpus_per_node;
  };

  static std::vector<std::int32_t> gpus_by_node(const ClusterSpec& cluster) {
    std::vector<std::int32_t> gpus;
    for (const NodeGroup& group : cluster.groups)
      gpus.insert(gpus.end(), static_cast<std::size_t>(group.num_nodes), group.gpus_per_node.value);
    return gpus;
  }

  void take(std::uint32_t node, std::int32_t gpus, std::vector<NodeShare>& shares) {
    free_.add(node, -gpus);
    shares.push_back({NodeId(node), GpuCount(gpus)});
  }

  /// Takes wholly free nodes that are no larger than what is still needed, in index order; returns what is
  /// still needed.
  std::int32_t take_whole_nodes(std::int32_t needed, std::vector<NodeShare>& shares) {
    for (const Group& group : groups_) {
      std::uint32_t from = group.begin;
      while (needed >= group.gpus_per_node) {
        const auto node = free_.first_with(from, group.gpus_per_node);
        if (!node || *node >= group.end) break;
        take(*node, group.gpus_per_node, shares);
        needed -= group.gpus_per_node;
        from = *node + 1;
      }
    }
    return needed;
  }

  GpuCount total_;
  GpuCount free_gpus_;
  FreeGpuTree free_;
  std::vector<std::optional<GpuCount>> withheld_;  ///< [nodes]: unheld GPUs of those out of service
  std::vector<Group> groups_;
  std::int32_t largest_node_ = 0;
};

}  // namespace

Result<PlacementKind> parse_placement(std::string_view name) {
  if (name == "count") return PlacementKind::Count;
  if (name == "yarn") return PlacementKind::Yarn;
  return fail({.field = "placement", .message = expected_found("'count' or 'yarn'", name)});
}

std::unique_ptr<Placement> make_placement(PlacementKind kind, const ClusterSpec& cluster, const Workload&) {
  if (kind == PlacementKind::Yarn) return std::make_unique<YarnPlacement>(cluster);
  return std::make_unique<CountPlacement>(cluster);
}

}  // namespace vtrain
