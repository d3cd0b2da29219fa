/// Adds up nodes of tables into a cluster.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"

namespace vtrain {

/// More GPUs or nodes than any cluster has; keeps counts far from overflow and memory bounded.
inline constexpr std::int64_t kMaxClusterGpus = 10'000'000;

/// Whether a text can be the name of a GPU type: 1 to 64 letters, digits, `-`, `_` and `.`.
bool is_gpu_type_name(std::string_view text);

/// Nodes on their way into groups of equal ones, which come out in the order in which their kind was first
/// seen. Nodes without GPU are counted and left out. Errors carry only the message.
class NodeCounter {
 public:
  /// A name of one node, which must not come twice. At most a million nodes have names.
  Result<void> name(std::string_view node);
  /// Whether a name was given before.
  bool knows(std::string_view node) const { return names_.contains(node); }
  /// `num_nodes` equal nodes; `gpu_type` may be empty.
  Result<void> add(std::int64_t num_nodes, std::int64_t gpus_per_node, std::string_view gpu_type);

  /// The cluster, with a note on the nodes left out. An error if no node has a GPU.
  Result<ClusterSpec> finish();

 private:
  ClusterSpec cluster_;
  std::map<std::pair<std::int64_t, std::string>, std::size_t> groups_;  ///< by GPUs and type
  std::set<std::string, std::less<>> names_;
  std::int64_t num_gpus_ = 0;
  std::int64_t num_nodes_ = 0;
  std::int64_t without_gpu_ = 0;
};

}  // namespace vtrain
