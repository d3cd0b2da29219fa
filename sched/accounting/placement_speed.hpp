/// Effect of the places of gangs on the speed of their jobs.
#pragma once

#include <span>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sched/cluster/node_table.hpp"
#include "sched/disruption/segment_timing.hpp"
#include "sched/placement/placement.hpp"
#include "workloads/jobs/gang_speed_model.hpp"

namespace vtrain {

/// Speed of jobs on the gangs of one cluster and placement.
class PlacementSpeed {
 public:
  /// `speeds` and `placement` outlive it.
  PlacementSpeed(const ClusterSpec& cluster, const Workload& workload, GangSpeedModel& speeds,
                 const Placement& placement);

  /// True if gangs of some job may be anywhere but packed on the first type that the job may use. Otherwise,
  /// and where gangs have no nodes, speed does not depend on the place.
  bool depends_on_place() const { return depends_on_place_; }
  /// True if the speed of a job is known here.
  bool knows(JobId job) const { return speeds_.knows(job); }

  /// Site of a gang with these shares of nodes: at least one, all of one type. A gang is packed if it has no
  /// more nodes than its GPUs fill of the largest nodes of the type. O(shares).
  GangSite of(std::span<const NodeShare> shares) const;
  /// Speed of a known job on a gang.
  SegmentSpeed speed(JobId job, std::span<const NodeShare> shares) const;
  /// Speed on a packed gang of one type, as a multiple of the speed that its run time and curve imply.
  double packed_speed(JobId job, GpuCount num_gpus, std::uint32_t type) const {
    return speeds_.at(job, num_gpus, {.gpu_type = type, .ranks_together = 0}).here;
  }
  /// Lowest possible speed on this many GPUs.
  SegmentSpeed slowest(JobId job, GpuCount num_gpus) const;
  /// Lowest possible speed on this many GPUs of one type.
  SegmentSpeed slowest(JobId job, GpuCount num_gpus, std::uint32_t type) const;

 private:
  NodeTable nodes_;
  GangSpeedModel& speeds_;
  bool may_spread_;
  bool depends_on_place_;
};

}  // namespace vtrain
