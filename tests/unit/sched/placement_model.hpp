/// A cluster's free GPUs node by node, for checking placements against their rules in words.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/rng.hpp"
#include "sched/cluster/node_table.hpp"
#include "sched/placement/fragmentation.hpp"
#include "sched/placement/placement.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::testing {

/// One node: wholly free GPUs by island, and free parts of shared GPUs by GPU number. There is one island if
/// the placement does not name islands.
struct ModelNode {
  std::vector<std::int32_t> free_in_island;
  std::map<std::int32_t, std::int32_t> shared;
  bool in_service = true;

  std::int32_t whole() const {
    std::int32_t sum = 0;
    for (const std::int32_t free : free_in_island)
      sum += free;
    return in_service ? sum : 0;
  }
  std::vector<std::int16_t> parts() const {
    std::vector<std::int16_t> result;
    for (const auto& [number, free] : shared) {
      if (in_service && free > 0) result.push_back(static_cast<std::int16_t>(free));
    }
    std::sort(result.begin(), result.end());
    return result;
  }
};

class PlacementModel {
 public:
  /// Builds the nodes. `islands` is true for placements that name a gang's island.
  PlacementModel(const ClusterSpec& cluster, const Workload& workload, bool islands)
      : table_(cluster, workload) {
    for (const Node& node : table_.nodes()) {
      const std::int32_t size = islands ? node.gpus_per_island : node.num_gpus;
      nodes_.emplace_back().free_in_island.assign(static_cast<std::size_t>(node.num_gpus / size), size);
    }
  }

  const NodeTable& table() const { return table_; }
  const std::vector<ModelNode>& nodes() const { return nodes_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  std::int32_t whole(std::uint32_t node) const { return nodes_[node].whole(); }

  bool may_use(const GangRequest& request, std::uint32_t node) const {
    const auto types = table_.types().allowed(request.gpu_type);
    return std::binary_search(types.begin(), types.end(), table_[node].type);
  }
  bool fits_a_node(const GangRequest& request) const {
    return request.num_gpus.value <= table_.largest_node(table_.types().allowed(request.gpu_type));
  }
  /// True if a node has room for the whole gang. With `sharing`, parts of a GPU share it.
  bool has_room(std::uint32_t node, const GangRequest& request, bool sharing) const {
    std::int32_t gpus = whole(node);
    if (sharing) {
      for (const std::int16_t part : nodes_[node].parts())
        gpus += part >= request.gpu_share ? 1 : 0;
    }
    return gpus >= request.num_gpus.value;
  }

  /// Books a gang. Checks that its GPUs are free, and that its nodes have one type that it may use.
  void take(const GangRequest& request, const std::vector<NodeShare>& shares, bool sharing) {
    std::int32_t gpus = 0;
    for (const NodeShare& share : shares) {
      const std::uint32_t node = share.node.value;
      REQUIRE(nodes_[node].in_service);
      REQUIRE(may_use(request, node));
      REQUIRE(table_[node].type == table_[shares.front().node.value].type);
      gpus += share.gpus.value;
      if (sharing && share.first_gpu >= 0) {
        // A new number is a GPU that was wholly free.
        const bool is_new = nodes_[node].shared.try_emplace(share.first_gpu, kWholeGpu).second;
        std::int32_t& free = nodes_[node].shared[share.first_gpu];
        if (is_new) --nodes_[node].free_in_island[0];
        REQUIRE(nodes_[node].free_in_island[0] >= 0);
        free -= request.gpu_share;
        REQUIRE(free >= 0);
      } else {
        std::int32_t& free = nodes_[node].free_in_island[island(share)];
        free -= share.gpus.value;
        REQUIRE(free >= 0);
      }
    }
    REQUIRE(gpus == request.num_gpus.value);
  }

  void give_back(const GangRequest& request, const std::vector<NodeShare>& shares, bool sharing) {
    for (const NodeShare& share : shares) {
      ModelNode& node = nodes_[share.node.value];
      if (sharing && share.first_gpu >= 0) {
        node.shared[share.first_gpu] += request.gpu_share;
        if (node.shared[share.first_gpu] < kWholeGpu) continue;
        node.shared.erase(share.first_gpu);
        ++node.free_in_island[0];
      } else {
        node.free_in_island[island(share)] += share.gpus.value;
      }
    }
  }

  void set_in_service(std::uint32_t node, bool in_service) { nodes_[node].in_service = in_service; }

  std::int32_t idle_gpus() const {
    std::int32_t sum = 0;
    for (const ModelNode& node : nodes_)
      sum += node.whole();
    return sum;
  }
  std::int32_t gpus_with_room() const {
    std::int32_t sum = idle_gpus();
    for (const ModelNode& node : nodes_)
      sum += static_cast<std::int32_t>(node.parts().size());
    return sum;
  }

 private:
  std::size_t island(const NodeShare& share) const {
    if (nodes_[share.node.value].free_in_island.size() == 1) return 0;
    return static_cast<std::size_t>(share.first_gpu / table_[share.node.value].gpus_per_island);
  }

  NodeTable table_;
  std::vector<ModelNode> nodes_;
};

}  // namespace vtrain::testing
