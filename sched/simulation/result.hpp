/// The result of a replay: each job's outcome, the segments of gangs, and the cluster over time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sched/accounting/gpu_time.hpp"
#include "sched/disruption/outage.hpp"
#include "sched/placement/placement.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// The outcome of one job. `start` and `end` mean something only in states that have them.
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

/// The part of a gang that is on one node.
struct GangPart {
  NodeId node;
  GpuCount gpus{0};

  friend bool operator==(const GangPart&, const GangPart&) = default;
};

/// One interval in which a job held its gang.
struct JobSegment {
  JobId job;
  SimTime begin{};
  SimTime end{};
  GpuCount num_gpus{0};
  std::vector<GangPart> parts;         ///< by node; empty under `count` placement, which has no nodes
  std::int16_t gpu_share = kWholeGpu;  ///< thousandths of each of the GPUs
};

/// The cluster right after the pass of one instant; a step function between samples.
struct ClusterSample {
  SimTime time{};
  std::uint32_t waiting_jobs = 0;
  GpuCount gpus_in_use{0};  ///< as a whole or in part
};

/// The rate of fragmentation (`sched/placement/fragmentation.hpp`) from one instant on.
struct FragmentationSample {
  SimTime time{};
  double rate = 0;  ///< in [0, 1]; 0 when nothing is free
};

/// Everything that a replay brings forth.
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
  /// held some, or where ends are dated earlier than GPUs come back.
  SimTime last_release{};
  std::vector<PolicyFigure> figures;  ///< what the policy tells of its own work
  /// Whether the replay ended `kLongestAfterLastSubmission`, though more could have happened.
  bool stopped_early = false;
};

/// The parts of a gang, each node once.
std::vector<GangPart> parts_of(std::span<const NodeShare> shares);

/// Appends a sample of the cluster, unless it is as it was, and of its fragmentation where that is kept.
void record_sample(SimulationResult& result, const ClusterSample& sample, const Placement& placement);

}  // namespace vtrain
