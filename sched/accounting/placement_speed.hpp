/// Where gangs are, as far as the speed of their jobs depends on it.
#pragma once

#include <span>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sched/cluster/node_table.hpp"
#include "sched/disruption/segment_timing.hpp"
#include "sched/placement/placement.hpp"
#include "workloads/jobs/gang_speed_model.hpp"

namespace vtrain {

/// Tells how fast jobs are on the gangs of one cluster and placement.
class PlacementSpeed {
 public:
  /// `speeds` and `placement` outlive it.
  PlacementSpeed(const ClusterSpec& cluster, const Workload& workload, GangSpeedModel& speeds,
                 const Placement& placement);

  /// Whether gangs of a job may come to be anywhere but packed on the first type that the job may use.
  /// Otherwise, and where gangs have no nodes, nothing depends on where they are.
  bool matter() const { return matter_; }
  /// Whether the speed of a job is known here.
  bool knows(JobId job) const { return speeds_.knows(job); }

  /// The site of a gang with these shares of nodes, one at least, of one type. A gang is packed if it has no
  /// more nodes than its GPUs fill of the largest ones of the type. O(shares).
  GangSite of(std::span<const NodeShare> shares) const;
  /// The speed of a job that is known on a gang.
  SegmentSpeed speed(JobId job, std::span<const NodeShare> shares) const;
  /// The speed on a packed gang of one type, as a multiple of what its run time and curve tell of.
  double packed_speed(JobId job, GpuCount num_gpus, std::uint32_t type) const {
    return speeds_.at(job, num_gpus, {.gpu_type = type, .ranks_together = 0}).here;
  }
  /// The least that it can be with so many GPUs.
  SegmentSpeed slowest(JobId job, GpuCount num_gpus) const;

 private:
  NodeTable nodes_;
  GangSpeedModel& speeds_;
  bool may_spread_;
  bool matter_;
};

}  // namespace vtrain
