/// Speeds of jobs on the gangs that they get.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Properties of a gang's position that its speed depends on.
struct GangSite {
  std::uint32_t gpu_type = 0;  ///< type of its GPUs, numbered in the cluster's order
  /// Consecutive ranks that share a node, for a gang on more nodes than it needs: the largest power of two
  /// that divides its GPUs on every node. 0 for a packed gang, which is on the fewest nodes.
  std::int32_t ranks_together = 0;

  friend auto operator<=>(const GangSite&, const GangSite&) = default;
};

/// Speeds relative to the speed in a job's run time and curve.
struct GangSpeed {
  double here = 1;    ///< speed on the actual gang; above 0 and at most `packed`
  double packed = 1;  ///< speed on as many GPUs of this type on the fewest nodes
};

/// Gives the speeds of jobs on their gangs. Several threads may share one instance.
class GangSpeedModel {
 public:
  virtual ~GangSpeedModel() = default;
  /// True if it knows the speeds of a job; only then may the other functions be called.
  virtual bool knows(JobId job) const = 0;
  /// The speed of a job on a gang of `num_gpus` GPUs.
  virtual GangSpeed at(JobId job, GpuCount num_gpus, const GangSite& site) = 0;
  /// Smallest `GangSpeed::here` on GPUs that the job may use; over all gangs if `may_spread`, else over
  /// packed ones.
  virtual double slowest(JobId job, GpuCount num_gpus, bool may_spread) = 0;
};

}  // namespace vtrain
