/// The discrete-event simulation of one cluster, one workload and one policy.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/disruption/disruptions.hpp"
#include "sched/placement/placement.hpp"
#include "sched/simulation/policy.hpp"
#include "sched/simulation/result.hpp"
#include "workloads/jobs/gang_speed_model.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// How a replay is done.
struct SimulationOptions {
  PlacementKind placement = PlacementKind::Count;
  /// A job larger than the cluster is an error instead of a rejection.
  bool strict = false;
  /// Keep every interval in which a job held GPUs, for the timeline. Costs memory per start.
  bool record_segments = false;
  std::string policy_name;  ///< for messages
  /// What interrupts jobs and what that costs; null: nothing. Outlives the simulation.
  const Disruptions* disruptions = nullptr;
  /// How fast jobs are where their gangs are, if anything is known of it; may be null. Outlives the
  /// simulation. Not used under placements without nodes and under policies that cannot be disrupted.
  GangSpeedModel* gang_speed_model = nullptr;
  /// Counts the jobs that have come to their end, for whoever watches from another thread. May be null.
  std::atomic<std::int64_t>* jobs_done = nullptr;
};

/// With outages a replay ends this long after the last submission, whatever still runs then: a job
/// that loses work faster than it makes progress would never end.
inline constexpr SimDuration kLongestAfterLastSubmission = std::chrono::hours(24 * 3652);

/// Replays `workload` under `policy`. Every job ends in exactly one state. Errors: a job larger than the
/// cluster under `strict`; a job without a duration; outages under a placement without nodes, or disruptions
/// under a policy that computes progress itself; a policy that says something impossible (kind `Failed`).
Result<SimulationResult> simulate(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
                                  const SimulationOptions& options);

}  // namespace vtrain
