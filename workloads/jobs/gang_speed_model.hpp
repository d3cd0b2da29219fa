/// How fast jobs are on the gangs that they get.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Where a gang is, as far as its speed depends on it.
struct GangSite {
  std::uint32_t gpu_type = 0;  ///< number of its GPUs' type, in the order in which the cluster names types
  /// For a gang on more nodes than it needs: the largest power of two that divides its GPUs of every node, so
  /// that so many ranks in a row share a node. 0 for a packed gang, which is on the fewest nodes.
  std::int32_t ranks_together = 0;

  friend auto operator<=>(const GangSite&, const GangSite&) = default;
};

/// Speeds relative to the one that a job's run time and curve tell of.
struct GangSpeed {
  double here = 1;    ///< on the gang as it is; above 0 and at most `packed`
  double packed = 1;  ///< on as many GPUs of the same type on the fewest nodes
};

/// Tells how fast jobs are where their gangs are. One instance may serve several threads.
class GangSpeedModel {
 public:
  virtual ~GangSpeedModel() = default;
  /// Whether it can tell of a job at all; only then may the others be asked.
  virtual bool knows(JobId job) const = 0;
  /// The speed of a job on a gang of so many GPUs.
  virtual GangSpeed at(JobId job, GpuCount num_gpus, const GangSite& site) = 0;
  /// The least that `GangSpeed::here` can be on GPUs that the job may use: of all gangs, or of packed ones.
  virtual double slowest(JobId job, GpuCount num_gpus, bool may_spread) = 0;
};

}  // namespace vtrain
