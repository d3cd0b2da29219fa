/// The discrete-event simulation of one cluster, one workload and one policy.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sched/accounting/gpu_time.hpp"
#include "sched/accounting/lost_time.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/disruption/disruptions.hpp"
#include "sched/placement/fragmentation_summary.hpp"
#include "sched/placement/placement.hpp"
#include "sched/simulation/policy.hpp"
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

/// What became of one job. `start` and `end` mean something only in states that have them.
struct JobOutcome {
  SimTime start{};  ///< first start
  SimTime end{};
  SimTime finished{};       ///< when its work was done; `end` is later where the policy works in slots
  SimDuration attained{0};  ///< time for which it held GPUs
  GpuTime gpu_time;         ///< the same times their number, and the part of each where GPUs are shared
  std::uint32_t preemptions = 0;
  std::uint32_t resizes = 0;
  std::uint32_t failures = 0;  ///< times that a failing node stopped it
  JobState state = JobState::NotSubmitted;
  bool turned_away = false;  ///< `Rejected` by the policy, not for want of room on the empty cluster
};

/// One interval in which a job held its gang.
struct JobSegment {
  JobId job;
  SimTime begin{};
  SimTime end{};
  GpuCount num_gpus{0};
  std::vector<NodeId> nodes;  ///< empty under `count` placement, which has no nodes
};

/// The cluster right after the pass of one instant; a step function between samples.
struct ClusterSample {
  SimTime time{};
  std::uint32_t waiting_jobs = 0;
  GpuCount gpus_in_use{0};  ///< as a whole or in part
};

/// What came of a replay.
struct SimulationResult {
  std::vector<JobOutcome> outcomes;    ///< by `JobId`
  std::vector<ClusterSample> samples;  ///< in order of time, one per instant at which something changed
  std::vector<JobSegment> segments;    ///< in order of their ends, if asked for
  bool segments_recorded = false;      ///< whether they were
  /// In order of time, under placements that keep the rate.
  std::vector<FragmentationSample> fragmentation;
  std::int64_t events = 0;          ///< arrivals, ends, timers and changes of nodes handled
  std::vector<LostGpuTime> losses;  ///< by `JobId`; empty if nothing could cost jobs time
  std::vector<Outage> outages;      ///< that began during the replay, in this order
  /// When a job last gave GPUs back that it had held. Later than the last end where a job that never ended
  /// held some, or where ends are booked earlier than GPUs come back.
  SimTime last_release{};
  std::vector<PolicyFigure> figures;  ///< what the policy tells of its own work
  /// Whether the replay ended `kLongestAfterLastSubmission`, though more could have happened.
  bool stopped_early = false;
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
