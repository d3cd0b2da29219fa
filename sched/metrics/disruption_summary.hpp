/// What interruptions, checkpoints and outages came to in one replay.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "sched/accounting/gpu_time.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/disruption/outage.hpp"
#include "sched/simulation/result.hpp"

namespace vtrain {

/// Times are GPU-hours. `useful_gpu_hours` and all of `lost_gpu_hours` together are what jobs held.
struct DisruptionSummary {
  std::int64_t outages = 0;           ///< failures and drains of nodes that began during the replay
  std::int64_t interruptions = 0;     ///< times that a failing node stopped a job
  std::int64_t interrupted_jobs = 0;  ///< jobs to which that happened
  std::int64_t resizes = 0;           ///< times that a running job was given another number of GPUs
  std::array<double, kNumLossCauses> lost_gpu_hours{};  ///< by `LossCause`
  double useful_gpu_hours = 0;
  /// Of nodes out of service from the first submission until the last job gave its GPUs back, whether jobs
  /// held them or not.
  double out_of_service_gpu_hours = 0;
  /// Useful GPU-hours / (GPUs x the same time), in [0, 1]: the cluster's goodput.
  double goodput = 0;

  double total_lost_gpu_hours() const;
};

/// GPU-seconds of nodes out of service in `[begin, end)`; where outages of a node overlap, time counts once.
double out_of_service_gpu_seconds(std::span<const Outage> outages, const ClusterSpec& cluster, SimTime begin,
                                  SimTime end);

/// `begin` is the first submission, `end` when the last job gave its GPUs back. The replay must have been
/// disrupted: its `losses` are there.
DisruptionSummary summarize_disruptions(const SimulationResult& result, const ClusterSpec& cluster,
                                        SimTime begin, SimTime end);

}  // namespace vtrain
