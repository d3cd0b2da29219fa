/// The parts of a cluster: groups of equal nodes, and the virtual clusters that are joined in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Largest number of GPUs or nodes, more than any cluster has. Prevents overflow and bounds memory.
inline constexpr std::int64_t kMaxClusterGpus = 10'000'000;

/// True if a text can be the name of a GPU type: 1 to 64 letters, digits, `-`, `_` and `.`.
bool is_gpu_type_name(std::string_view text);

/// `num_nodes` equal nodes.
struct NodeGroup {
  std::int32_t num_nodes = 0;  ///< number of nodes, at least 1
  GpuCount gpus_per_node{0};   ///< GPUs on each node, at least 1
  std::string gpu_type{};      ///< empty if the user named none
  /// GPUs that NVLink joins, a divisor of `gpus_per_node`; 0: all GPUs of a node.
  GpuCount gpus_per_island{0};
  /// Nodes on one leaf switch; the last rack may have fewer; 0: not known. All nodes of groups without this
  /// number count as one rack.
  std::int32_t nodes_per_rack = 0;

  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;
};

/// True if nodes of two groups are equal: GPUs of one number and type (in any case), with equal islands.
bool same_nodes(const NodeGroup& a, const NodeGroup& b);

/// A part of a cluster reserved for one tenant.
struct VirtualCluster {
  std::string name{};         ///< name of the tenant
  std::int64_t num_gpus = 0;  ///< its quota; 0: named in the table without a quota

  friend bool operator==(const VirtualCluster&, const VirtualCluster&) = default;
};

/// Description of a cluster.
struct ClusterSpec {
  std::vector<NodeGroup> groups;  ///< groups of equal nodes, in the order of the text or the file
  std::string file{};             ///< file it was read from; empty for the short form
  /// Omissions and ambiguities of the table that it was read from, one sentence each.
  std::vector<std::string> notes{};
  /// Virtual clusters joined in it, as the table lists them; empty if there are none.
  std::vector<VirtualCluster> virtual_clusters{};

  /// Reads `16x8:a100` (nodes x GPUs per node : type), several joined by `+`, or the name of a file. A file
  /// is JSON `{"groups": [{"num_nodes": 16, "gpus_per_node": 8, "gpu_type": "a100", "gpus_per_island": 4,
  /// "nodes_per_rack": 8}]}`, the last three keys optional, or a table of nodes, plain or packed
  /// (`sched/cluster/cluster_tables.hpp`). `FILE@PART` selects a part of a table: a day of quotas, a virtual
  /// cluster, or both as `FILE@DAY/NAME`.
  static Result<ClusterSpec> parse(const std::string& text);

  /// GPUs of all groups.
  GpuCount total_gpus() const;
  /// Nodes of all groups.
  std::int32_t total_nodes() const;
  /// GPUs of each node, by `NodeId`.
  std::vector<GpuCount> gpus_by_node() const;
  /// Text for people: `16 x 8 A100, 128 GPUs`.
  std::string describe() const;
};

}  // namespace vtrain
