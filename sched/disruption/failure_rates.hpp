/// How often nodes fail and how long they are away, as distributions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/rng.hpp"
#include "core/base/units.hpp"
#include "sched/cluster/cluster.hpp"

namespace vtrain {

/// Random failures. A node that is up fails after a time of the Weibull distribution (Schroeder & Gibson,
/// "A large-scale study of failures in high-performance computing systems", DSN'06: shape 0.7 to 0.8; shape 1
/// is exponential), and is away for a lognormal one (ibid.). A node fails as a whole, or because one of its
/// GPUs does: the mean time between failures of a node of n GPUs is 1 / (1 / mtbf + n / gpu-mtbf).
class FailureRates {
 public:
  /// Reads `mtbf=6300h,gpu-mtbf=50000h,mtbf:h100=3000h,repair=4h,repair-sigma=1,shape=1,detect=60s`: the mean
  /// times between failures of a node and of a GPU, for all GPU types or for the one behind the colon, in any
  /// case; the mean time to repair and the sigma of its logarithm (0: always the mean); the shape of the time
  /// between failures; the time until a failure is noticed. At least one of the times between failures must
  /// be given; the others have the values above as defaults. Errors: unknown keys, a type that the cluster
  /// does not have.
  static Result<FailureRates> parse(std::string_view text, const ClusterSpec& cluster);

  /// Mean time between the failures of a node, in seconds; infinite if it never fails.
  double mtbf_s(NodeId node) const { return mtbf_s_[group_of(node)]; }
  /// The same over the nodes of a gang of `num_gpus` that holds whole nodes of the cluster's mean size and
  /// failure rate: any of them stops the job. What Young's and Daly's intervals are computed with.
  double job_mtbf_s(GpuCount num_gpus) const;
  /// Draws how long a node is up, in nanoseconds as a double: it may exceed what the clock can tell.
  Nanoseconds draw_up_time(NodeId node, RandomStream& random) const;
  Nanoseconds draw_repair_time(RandomStream& random) const;
  /// Time after which a failure is noticed.
  SimDuration detection() const { return detection_; }
  /// One sentence for people.
  std::string describe() const;

 private:
  FailureRates() = default;
  std::size_t group_of(NodeId node) const;

  std::vector<double> mtbf_s_;             ///< [groups]
  std::vector<std::uint32_t> first_node_;  ///< [groups]
  double mean_rate_ = 0;                   ///< failures a second and node, over all nodes
  double mean_node_gpus_ = 1;
  double shape_ = 1;
  double repair_s_ = 0;
  double repair_sigma_ = 1;
  SimDuration detection_{0};
};

}  // namespace vtrain
