/// Effects of interruptions, checkpoints and outages in one replay.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "sched/accounting/gpu_time.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/disruption/outage.hpp"
#include "sched/simulation/result.hpp"

namespace vtrain {

/// Totals in GPU-hours. `useful_gpu_hours` plus the sum of `lost_gpu_hours` is the time that jobs held.
struct DisruptionSummary {
  std::int64_t outages = 0;           ///< failures and drains of nodes that began during the replay
  std::int64_t interruptions = 0;     ///< times that a failing node stopped a job
  std::int64_t interrupted_jobs = 0;  ///< jobs that a failing node stopped
  std::int64_t resizes = 0;           ///< times that a running job got another number of GPUs
  std::array<double, kNumLossCauses> lost_gpu_hours{};  ///< losses by `LossCause`
  double useful_gpu_hours = 0;                          ///< GPU-hours of lasting work
  /// GPU-hours of nodes out of service, held or not, from the first submission to the last release of GPUs.
  double out_of_service_gpu_hours = 0;
  /// Useful GPU-hours / (GPUs x this period), in [0, 1]: the cluster's goodput.
  double goodput = 0;

  /// Sum of `lost_gpu_hours`.
  double total_lost_gpu_hours() const;
};

/// GPU-seconds of nodes out of service in `[begin, end)`; where outages of a node overlap, time counts once.
double out_of_service_gpu_seconds(std::span<const Outage> outages, const ClusterSpec& cluster, SimTime begin,
                                  SimTime end);

/// Sums up a disrupted replay, which has `losses`. `begin` is the first submission, `end` the last release of
/// GPUs.
DisruptionSummary summarize_disruptions(const SimulationResult& result, const ClusterSpec& cluster,
                                        SimTime begin, SimTime end);

}  // namespace vtrain
