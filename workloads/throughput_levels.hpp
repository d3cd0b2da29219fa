/// How fast a job trains on each number of GPUs that it can use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/units.hpp"

namespace vtrain {

/// Where a gang is, as far as its speed depends on it.
struct GangSite {
  std::uint32_t gpu_type = 0;  ///< number of its GPUs' type, in the order in which the cluster names types
  /// For a gang on more nodes than it needs: the largest power of two that divides its GPUs of every node, so
  /// that so many ranks in a row share a node. 0 for other gangs.
  std::int32_t ranks_together = 0;

  friend auto operator<=>(const GangSite&, const GangSite&) = default;
};

/// T(gpus) of one job: iterations a second at some numbers of GPUs, its levels.
class ThroughputLevels {
 public:
  struct Level {
    GpuCount num_gpus{0};
    double iterations_per_s = 0;
  };

  /// Levels ascend by GPUs, which are at least 1, and have speeds above 0; `std::logic_error` otherwise.
  explicit ThroughputLevels(std::vector<Level> levels);

  /// Says how fast the job is at another site: iterations a second above 0, one for each level. Sites of
  /// which nothing was said are like the one for which the levels were made.
  void set_speeds_at(const GangSite& site, std::vector<double> iterations_per_s);

  std::span<const Level> levels() const { return levels_; }
  /// Iterations a second on exactly this many GPUs; 0 when that is not a level. O(log levels).
  double iterations_per_s(GpuCount num_gpus) const;
  /// The same for a gang at a site. O(log levels + sites).
  double iterations_per_s(GpuCount num_gpus, const GangSite& site) const;
  /// The largest level of at most this many GPUs; 0 GPUs when there is none.
  Level at_most(GpuCount num_gpus) const;
  /// The smallest level of more than this many GPUs; 0 GPUs when there is none.
  Level above(GpuCount num_gpus) const;

 private:
  struct SpeedsAtSite {
    GangSite site;
    std::vector<double> iterations_per_s;
  };

  std::vector<Level> levels_;
  std::vector<SpeedsAtSite> sites_;
};

}  // namespace vtrain
