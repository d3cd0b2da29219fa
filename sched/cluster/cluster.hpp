/// What a cluster is made of: groups of equal nodes, and the virtual clusters that are joined in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// More GPUs or nodes than any cluster has; keeps counts far from overflow and memory bounded.
inline constexpr std::int64_t kMaxClusterGpus = 10'000'000;

/// Whether a text can be the name of a GPU type: 1 to 64 letters, digits, `-`, `_` and `.`.
bool is_gpu_type_name(std::string_view text);

/// `num_nodes` equal nodes.
struct NodeGroup {
  std::int32_t num_nodes = 0;
  GpuCount gpus_per_node{0};
  std::string gpu_type{};  ///< empty when the user did not say
  /// GPUs that NVLink joins, a divisor of `gpus_per_node`; 0: all GPUs of a node.
  GpuCount gpus_per_island{0};
  /// Nodes on one leaf switch, the last rack may have fewer; 0: not known. Nodes of all groups of which it is
  /// not known count as one rack.
  std::int32_t nodes_per_rack = 0;

  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;
};

/// Whether the nodes of two groups are alike: as many GPUs of one type, in any case, joined by NVLink alike.
bool same_nodes(const NodeGroup& a, const NodeGroup& b);

/// A part of a cluster that is set aside for one tenant.
struct VirtualCluster {
  std::string name{};
  std::int64_t num_gpus = 0;  ///< its quota; 0: the table names it, but it has none

  friend bool operator==(const VirtualCluster&, const VirtualCluster&) = default;
};

/// What a cluster is made of.
struct ClusterSpec {
  std::vector<NodeGroup> groups;
  std::string file{};  ///< the file it was read from, empty for the short form
  /// What the table that it was read from left out or left open, one sentence each.
  std::vector<std::string> notes{};
  /// The virtual clusters that are joined in it, as the table lists them; empty where it has none.
  std::vector<VirtualCluster> virtual_clusters{};

  /// Reads `16x8:a100` (nodes x GPUs per node : type), several joined by `+`, or the name of a file: JSON
  /// `{"groups": [{"num_nodes": 16, "gpus_per_node": 8, "gpu_type": "a100", "gpus_per_island": 4,
  /// "nodes_per_rack": 8}]}`, of which the last three may be left out, or a table of nodes, plain or packed
  /// (`sched/cluster/cluster_tables.hpp`). `FILE@PART` picks a part of a table that has several: a
  /// day of quotas, a virtual cluster, or both as `FILE@DAY/NAME`.
  static Result<ClusterSpec> parse(const std::string& text);

  /// GPUs and nodes of all groups.
  GpuCount total_gpus() const;
  std::int32_t total_nodes() const;
  /// GPUs of each node, by `NodeId`.
  std::vector<GpuCount> gpus_by_node() const;
  /// For people: `16 x 8 A100, 128 GPUs`.
  std::string describe() const;
};

}  // namespace vtrain
