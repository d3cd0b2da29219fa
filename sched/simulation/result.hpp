/// The result of a replay: each job's outcome, the segments of gangs, and the cluster over time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sched/accounting/gpu_time.hpp"
#include "sched/accounting/segment_accounting.hpp"
#include "sched/disruption/outage.hpp"
#include "sched/placement/placement.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// The outcome of one job. `start` and `end` are valid only in states that have them.
struct JobOutcome {
  SimTime start{};                ///< first start
  SimTime end{};                  ///< instant at which it left the cluster
  SimTime finished{};             ///< end of its work; `end` is later where the policy works in slots
  SimDuration attained{0};        ///< time for which it held GPUs
  GpuTime gpu_time;               ///< time held x GPUs held, x the part of each GPU where GPUs are shared
  std::uint32_t preemptions = 0;  ///< times that the policy took all its GPUs
  std::uint32_t resizes = 0;      ///< times that it got another number of GPUs while it ran
  std::uint32_t failures = 0;     ///< number of times that a failing node stopped it
  SimTime promised = kNoPromise;  ///< instant at which the policy promised to meet its deadline
  JobState state = JobState::NotSubmitted;  ///< state at the end of the replay
  bool rejected_by_policy = false;  ///< `Rejected` by the policy, not as too large for the empty cluster

  /// `promised` of a job without a promise.
  static constexpr SimTime kNoPromise = SimTime::max();

  /// True if the policy promised to meet the job's deadline (`SchedulingPass::promise`).
  bool has_promise() const { return promised != kNoPromise; }
};

/// The part of a gang on one node.
struct GangPart {
  NodeId node;       ///< node with the GPUs
  GpuCount gpus{0};  ///< GPUs on this node

  friend bool operator==(const GangPart&, const GangPart&) = default;
};

/// One interval in which a job held its gang.
struct JobSegment {
  JobId job;                    ///< job that held the gang
  SimTime begin{};              ///< instant at which it got the gang
  SimTime end{};                ///< instant at which it released the gang
  GpuCount num_gpus{0};         ///< GPUs of the gang
  std::vector<GangPart> parts;  ///< the gang by node; empty under `count` placement, which has no nodes
  std::int16_t gpu_share = kWholeGpu;  ///< thousandths used of each GPU
  SegmentEnd how = SegmentEnd::Done;   ///< way in which it ended
};

/// GPUs of one type that a job held from one instant to another.
struct JobHolding {
  JobId job;                          ///< job that held them
  SimTime begin{};                    ///< instant at which it got them
  SimTime end{};                      ///< instant at which it released them
  GpuCount gpus{0};                   ///< number of GPUs
  std::uint32_t type = 0;             ///< number of the type in `GpuTypes`; 0 where types are not known
  SegmentEnd how = SegmentEnd::Done;  ///< way in which the segment ended
  bool is_first_part = true;          ///< false for further types of one gang
};

/// The cluster right after the pass of one instant; a step function between samples.
struct ClusterSample {
  SimTime time{};                  ///< instant of the sample
  std::uint32_t waiting_jobs = 0;  ///< jobs that wait
  GpuCount gpus_in_use{0};         ///< GPUs held as a whole or in part
};

/// The rate of fragmentation (`sched/placement/fragmentation.hpp`) from one instant on.
struct FragmentationSample {
  SimTime time{};   ///< instant of the sample
  double rate = 0;  ///< range [0, 1]; 0 when nothing is free
};

/// All results of a replay.
struct SimulationResult {
  std::vector<JobOutcome> outcomes;            ///< by `JobId`
  std::vector<ClusterSample> samples;          ///< sorted by time, one per instant at which something changed
  std::vector<JobSegment> segments;            ///< sorted by end, if recording was requested
  bool segments_recorded = false;              ///< true if `segments` were recorded
  std::vector<JobSegment> explained_segments;  ///< segments of the job that is watched, sorted by end
  /// Rates in order of time, under placements that keep the rate.
  std::vector<FragmentationSample> fragmentation;
  std::int64_t events = 0;          ///< number of arrivals, ends, timers and changes of nodes
  std::vector<LostGpuTime> losses;  ///< losses by `JobId`; empty if nothing could cost jobs time
  /// False under a policy that computes progress itself, with costs of its own: `losses` then says nothing.
  bool losses_known = true;
  /// `JobOutcome::gpu_time` by type, [jobs][types as `GpuTypes` numbers them]. Empty unless it was requested
  /// and is known, see `SimulationOptions::count_gpu_types`.
  std::vector<GpuTime> gpu_time_by_type;
  /// True over predicted time of each job on the GPUs that it requests; empty where jobs run as predicted.
  std::vector<double> time_factors;
  std::vector<JobHolding> holdings;  ///< sorted by end, if recording was requested
  bool holdings_by_type = false;     ///< true if types of holdings are known, on a cluster of several types
  std::vector<Outage> outages;       ///< outages that began during the replay, in this order
  /// Last instant at which a job released GPUs. It is later than the last end if a job that never ended held
  /// some, or if ends are dated before the release of their GPUs.
  SimTime last_release{};
  std::vector<PolicyFigure> figures;  ///< numbers that the policy reports about its own work
  /// True if the replay ended `kLongestAfterLastSubmission` with events left.
  bool stopped_early = false;
};

/// The parts of a gang, each node once.
std::vector<GangPart> parts_of(std::span<const NodeShare> shares);

/// Appends a sample of the cluster unless nothing changed, and of its fragmentation where that is kept.
void record_sample(SimulationResult& result, const ClusterSample& sample, const Placement& placement);

}  // namespace vtrain
