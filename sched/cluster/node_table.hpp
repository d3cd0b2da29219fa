/// The nodes of a cluster one by one, as placements see them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "sched/cluster/gpu_types.hpp"

namespace vtrain {

struct Workload;

/// One node.
struct Node {
  std::int32_t num_gpus = 0;         ///< GPUs on it
  std::int32_t gpus_per_island = 0;  ///< a divisor of `num_gpus`
  std::uint32_t rack = 0;            ///< number among all racks of the cluster
  std::uint32_t type = 0;            ///< number in `GpuTypes`
};

/// The nodes of one GPU type.
struct NodesOfType {
  std::vector<std::uint32_t> nodes;  ///< ascending
  std::int64_t total_gpus = 0;       ///< GPUs on all these nodes
  std::int32_t largest_node = 0;     ///< GPUs
};

/// All nodes by `NodeId`, and by GPU type.
class NodeTable {
 public:
  /// Builds the table for the jobs of a workload, which may request types.
  NodeTable(const ClusterSpec& cluster, const Workload& workload);

  /// All nodes, by `NodeId`.
  std::span<const Node> nodes() const { return nodes_; }
  /// The node of this `NodeId`.
  const Node& operator[](std::uint32_t node) const { return nodes_[node]; }
  /// Types of the nodes.
  const GpuTypes& types() const { return types_; }
  /// Nodes by number of the type.
  const std::vector<NodesOfType>& by_type() const { return by_type_; }
  /// Number of racks; nodes without a known rack count as one.
  std::uint32_t num_racks() const { return num_racks_; }
  /// GPUs of all nodes.
  GpuCount total_gpus() const { return total_; }
  /// GPUs of the largest node of some types; 0 for no types.
  std::int32_t largest_node(std::span<const std::uint32_t> types) const;

 private:
  GpuTypes types_;
  std::vector<Node> nodes_;
  std::vector<NodesOfType> by_type_;
  std::uint32_t num_racks_ = 0;
  GpuCount total_{0};
};

}  // namespace vtrain
