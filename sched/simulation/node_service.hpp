/// Which nodes are in service, and whose gangs are on them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sched/placement/placement.hpp"

namespace vtrain {

/// Follows gangs node by node, so that a failing node's jobs are found without a search, and tells the
/// placement which nodes are in service.
class NodeService {
 public:
  /// With all nodes in service. `placement` outlives it.
  NodeService(Placement& placement, const ClusterSpec& cluster);

  /// A job has got a gang, or gives it back; the placement knows already. `gpu_share`: thousandths that it
  /// uses of each GPU; parts of one GPU have the same number in their shares.
  void occupy(JobId job, std::span<const NodeShare> shares, std::int16_t gpu_share);
  void vacate(JobId job, std::span<const NodeShare> shares);
  /// Jobs with GPUs of a node, in the order of their ids.
  std::vector<JobId> jobs_on(NodeId node) const;

  /// One more reason for a node to be out of service.
  void take_out(NodeId node);
  /// One reason less; without any the node is back.
  void bring_back(NodeId node);
  bool in_service(NodeId node) const { return nodes_[node.value].outages == 0; }
  /// The nodes out of service, ascending.
  std::span<const NodeId> out_of_service() const { return out_of_service_; }
  /// GPUs of a node out of service that gangs hold, as a whole or in part.
  GpuCount held_gpus(NodeId node) const { return nodes_[node.value].num_gpus - nodes_[node.value].withheld; }
  /// GPUs out of service that no gang holds.
  GpuCount withheld_gpus() const { return withheld_gpus_; }
  /// Those of one node.
  GpuCount withheld_gpus(NodeId node) const { return nodes_[node.value].withheld; }

 private:
  struct Holding {
    JobId job;
    std::int32_t shared_gpu = kNotShared;  ///< number of the GPU of which it is a part
  };
  static constexpr std::int32_t kNotShared = -1;

  struct Node {
    std::vector<Holding> holdings;
    GpuCount num_gpus{0};
    std::int32_t outages = 0;  ///< that are going on
    GpuCount withheld{0};      ///< GPUs that no gang holds, while it is out of service
  };

  Placement& placement_;
  std::vector<Node> nodes_;
  std::vector<NodeId> out_of_service_;  ///< ascending
  GpuCount withheld_gpus_{0};
};

}  // namespace vtrain
