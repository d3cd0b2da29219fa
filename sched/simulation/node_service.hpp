/// Nodes in and out of service, and the gangs on them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sched/placement/placement.hpp"

namespace vtrain {

/// Tracks gangs node by node, so that a failing node's jobs are found without a search. Tells the placement
/// which nodes are in service.
class NodeService {
 public:
  /// Begins with all nodes in service. `placement` outlives it.
  NodeService(Placement& placement, const ClusterSpec& cluster);

  /// Records that a job has got a gang or releases it, after the placement. `gpu_share`: thousandths that it
  /// uses of each GPU; parts of one GPU have its number in their shares.
  void occupy(JobId job, std::span<const NodeShare> shares, std::int16_t gpu_share);
  void vacate(JobId job, std::span<const NodeShare> shares);
  /// Jobs with GPUs of a node, in the order of their ids.
  std::vector<JobId> jobs_on(NodeId node) const;

  /// Adds a reason for a node to be out of service.
  void take_out(NodeId node);
  /// Removes one reason; the node is back when none is left.
  void return_to_service(NodeId node);
  bool in_service(NodeId node) const { return nodes_[node.value].outages == 0; }
  /// Nodes out of service, ascending.
  std::span<const NodeId> out_of_service() const { return out_of_service_; }
  /// GPUs of a node out of service that gangs hold, as a whole or in part.
  GpuCount held_gpus(NodeId node) const { return nodes_[node.value].num_gpus - nodes_[node.value].withheld; }
  /// GPUs out of service that no gang holds.
  GpuCount withheld_gpus() const { return withheld_gpus_; }
  /// GPUs of one node out of service that no gang holds.
  GpuCount withheld_gpus(NodeId node) const { return nodes_[node.value].withheld; }

 private:
  struct Holding {
    JobId job;
    std::int32_t shared_gpu = kNotShared;  ///< number of the GPU that it shares
  };
  static constexpr std::int32_t kNotShared = -1;

  struct Node {
    std::vector<Holding> holdings;
    GpuCount num_gpus{0};
    std::int32_t outages = 0;  ///< outages in progress
    GpuCount withheld{0};      ///< GPUs that no gang holds, while the node is out of service
  };

  Placement& placement_;
  std::vector<Node> nodes_;
  std::vector<NodeId> out_of_service_;  ///< ascending
  GpuCount withheld_gpus_{0};
};

}  // namespace vtrain
