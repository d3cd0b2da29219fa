/// The common part of placements that know nodes.
#pragma once

#include <span>

#include "sched/cluster/node_table.hpp"
#include "sched/placement/placement.hpp"

namespace vtrain {

/// Holds the nodes and counts the free GPUs.
class NodePlacement : public Placement {
 public:
  NodePlacement(PlacementKind kind, const ClusterSpec& cluster, const Workload& workload)
      : Placement(kind), table_(cluster, workload), free_(table_.total_gpus()) {}

  GpuCount free_gpus() const override { return free_; }
  /// True if the nodes of a type are of one size: a gang takes whole nodes, and one other for the rest.
  /// Placements that guarantee less override this.
  bool packs_gangs() const override;
  int levels_crossed(std::span<const NodeShare> shares) const final;
  /// 0 if the gang fits on a node. Placements that split such gangs override this.
  int most_levels(const GangRequest& request) const override;
  /// A gang no larger than the largest node that it may use needs one node. A larger one needs wholly free
  /// nodes of one type, each no larger than its remaining need, and one more. So only the type's total
  /// counts.
  bool fits_empty(const GangRequest& request) const override;

 protected:
  /// Types that a gang may use.
  std::span<const std::uint32_t> allowed(const GangRequest& request) const {
    return table_.types().allowed(request.gpu_type, request.only_type);
  }
  /// True if some node that the gang may use is large enough for it.
  bool fits_a_node(const GangRequest& request) const {
    return request.num_gpus.value <= table_.largest_node(allowed(request));
  }

  /// Most levels that any gang may cross.
  int levels_of_cluster() const { return table_.nodes().size() == 1 ? 0 : table_.num_racks() == 1 ? 1 : 2; }

  NodeTable table_;
  GpuCount free_;  ///< free GPUs in service
};

}  // namespace vtrain
