/// Distributions of the times between failures of nodes and of their repair times.
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

/// Random failures. A node that is up fails after a Weibull-distributed time (Schroeder & Gibson, "A
/// large-scale study of failures in high-performance computing systems", DSN'06: shape 0.7 to 0.8; shape 1 is
/// exponential). Its repair takes a lognormal time (ibid.). A node fails as a whole, or because one of its
/// GPUs fails: a node of n GPUs has a mean time between failures of 1 / (1 / mtbf + n / gpu-mtbf).
class FailureRates {
 public:
  /// Reads `mtbf=6300h,gpu-mtbf=50000h,mtbf:h100=3000h,repair=4h,repair-sigma=1,shape=1,detect=60s`. `mtbf`
  /// and `gpu-mtbf` are the mean times between failures of a node and of a GPU. They are for all GPU types,
  /// or for the type after the colon, in any case. At least one of them must be given. The others default to
  /// the values above: mean time to repair, sigma of its logarithm (0: always the mean), shape of the time
  /// between failures, time until a failure is noticed. Errors: unknown keys, a type that the cluster does
  /// not have.
  static Result<FailureRates> parse(std::string_view text, const ClusterSpec& cluster);

  /// Mean time between failures of a node, in seconds; infinite if it never fails.
  double mtbf_s(NodeId node) const { return mtbf_s_[group_of(node)]; }
  /// Mean time between failures of any node of a gang of `num_gpus`, in seconds, for Young's and Daly's
  /// intervals. The gang holds whole nodes of the cluster's mean size and failure rate.
  double job_mtbf_s(GpuCount num_gpus) const;
  /// Draws the up time of a node, in nanoseconds as a double: it may exceed the range of the clock.
  Nanoseconds draw_up_time(NodeId node, RandomStream& random) const;
  /// Draws the time to repair a node, in nanoseconds as a double.
  Nanoseconds draw_repair_time(RandomStream& random) const;
  /// Time until a failure is noticed.
  SimDuration detection() const { return detection_; }
  /// One sentence for people.
  std::string describe() const;

 private:
  FailureRates() = default;
  std::size_t group_of(NodeId node) const;

  std::vector<double> mtbf_s_;             ///< [groups]
  std::vector<std::uint32_t> first_node_;  ///< [groups]
  double mean_rate_ = 0;                   ///< failures per second and node, mean over all nodes
  double mean_node_gpus_ = 1;
  double shape_ = 1;
  double repair_s_ = 0;
  double repair_sigma_ = 1;
  SimDuration detection_{0};
};

}  // namespace vtrain
