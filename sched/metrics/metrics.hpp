/// The metrics of a replay, each formula defined once. `run_metrics` is their table.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "sched/metrics/disruption_summary.hpp"
#include "sched/metrics/gpu_prices.hpp"
#include "sched/metrics/job_groups.hpp"
#include "sched/metrics/tenant_shares.hpp"
#include "sched/simulation/policy.hpp"
#include "sched/simulation/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// JCT, job completion time: end - submission. Only for jobs that ended.
SimDuration job_completion_time(const Job& job, const JobOutcome& outcome);
/// Queueing delay: first start - submission. Only for jobs that started.
SimDuration queueing_delay(const Job& job, const JobOutcome& outcome);
/// Time without GPUs between submission and end: the queueing delay plus waits after stops. Only for jobs
/// that ended.
SimDuration waiting_time(const Job& job, const JobOutcome& outcome);
/// True if a job ended on the cluster, by itself or at its time limit.
bool has_ended(const JobOutcome& outcome);
/// True if the job ever held GPUs.
bool has_started(const JobOutcome& outcome);
/// True if a job with a deadline completed by it. Rejected, failed and unfinished jobs have missed theirs.
bool deadline_met(const Job& job, const JobOutcome& outcome);
/// Tardiness: time from the deadline to the end of the work, 0 if in time (Pinedo, "Scheduling", 2.1). None
/// for a job without a deadline, and for one that did not complete, whose work never ended.
std::optional<SimDuration> tardiness(const Job& job, const JobOutcome& outcome);

/// The fate of a policy's promise to meet the deadline of a job.
enum class PromiseFate : std::uint8_t {
  None,   ///< no promise was given, or the job was withdrawn
  Kept,   ///< the job completed by its deadline
  Broken  ///< the job ended later, failed, or never completed
};
/// The fate of the promise on a job at the end of a replay.
PromiseFate promise_fate(const Job& job, const JobOutcome& outcome);

/// Nearest-rank percentile: the smallest value with at least `percent` % of the values at or below it. NaN
/// for no values. Reorders `values`.
double percentile(std::vector<double>& values, double percent);

/// The rate of fragmentation from the first submission to the last end, a step function of time.
struct FragmentationSummary {
  double mean_rate = 0;                         ///< mean over time
  double max_rate = 0;                          ///< largest rate
  double interval_s = 0;                        ///< length of each interval below, seconds
  std::vector<double> mean_rate_by_interval{};  ///< mean over time within each interval
};

/// Number of intervals into which the period is divided: equal ones of whole nanoseconds, except the last,
/// which has the rest.
inline constexpr int kFragmentationIntervals = 100;

/// `samples` are in order of time, the first not after `begin`; `end` lies after `begin`.
FragmentationSummary summarize_fragmentation(std::span<const FragmentationSample> samples, SimTime begin,
                                             SimTime end);

/// Value of a metric over no jobs.
inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// Shortest run time in `JobFigures::bounded_slowdown`; shorter ones count as this.
inline constexpr SimDuration kSlowdownThreshold = std::chrono::seconds(10);

/// Figures over a set of jobs. Averages and percentiles of JCT are over completed jobs, those of queueing
/// delay over started ones. Averages over an empty set are NaN. `run_metrics` has a row for each member.
struct JobFigures {
  std::int64_t jobs = 0;                ///< all jobs of the set
  std::int64_t completed = 0;           ///< jobs whose work was done
  std::int64_t failed = 0;              ///< jobs ended at their time limit before their work was done
  std::int64_t rejected = 0;            ///< jobs too large for the cluster, or rejected by the policy
  std::int64_t rejected_by_policy = 0;  ///< jobs rejected by the policy
  std::int64_t lacking_type = 0;        ///< rejected jobs that request a GPU type that the cluster lacks
  std::int64_t unfinished = 0;          ///< jobs that still waited when no event was left
  std::int64_t deadline_jobs = 0;       ///< jobs that have a deadline
  std::int64_t deadline_met = 0;        ///< jobs with a deadline that completed by it
  /// deadline_met / deadline_jobs; absent if no job has a deadline.
  std::optional<double> deadline_satisfactory_ratio{};
  /// GPU-hours (GPUs requested x run time on them) of jobs that met their deadline / of jobs with a deadline.
  std::optional<double> deadline_satisfactory_ratio_by_gpu_hours{};
  double avg_tardiness_s = kNoValue;       ///< mean tardiness over completed jobs with a deadline, seconds
  double p95_tardiness_s = kNoValue;       ///< 95th percentile of the tardiness, seconds
  std::int64_t promises_given = 0;         ///< jobs whose deadline the policy promised to meet
  std::int64_t promises_kept = 0;          ///< such jobs that completed by their deadline
  std::int64_t promises_broken = 0;        ///< such jobs that did not
  double avg_jct_s = kNoValue;             ///< mean JCT, seconds
  double p50_jct_s = kNoValue;             ///< median JCT, seconds
  double p99_jct_s = kNoValue;             ///< 99th percentile of JCT, seconds
  double avg_queueing_delay_s = kNoValue;  ///< mean queueing delay, seconds
  double avg_waiting_time_s = kNoValue;    ///< mean waiting time over jobs that ended, seconds
  double p50_waiting_time_s = kNoValue;    ///< median waiting time over jobs that ended, seconds
  double p99_waiting_time_s = kNoValue;    ///< 99th percentile of the waiting time, seconds
  /// Mean over completed jobs of max(1, JCT / max(run time, `kSlowdownThreshold`)). The run time is the one
  /// on the requested gang (Feitelson and Rudolph, JSSPP 1998).
  double bounded_slowdown = kNoValue;
  /// Largest finish-time fairness over completed jobs (Themis, NSDI'20): JCT / T_iso. T_iso is the run time
  /// on an equal share: GPUs / (average number of active jobs during the job's life). Below the gang's size,
  /// scaling is linear.
  double finish_time_fairness_max = kNoValue;
  /// Jain's index (1984) of 1 / finish-time fairness over completed jobs, in (0, 1]; 1 is equal treatment.
  double jain_index = kNoValue;
  std::int64_t preemptions = 0;  ///< times that a policy took all GPUs from a running job
  std::int64_t resizes = 0;      ///< times that a running job got another number of GPUs
  /// GPU-hours held minus `total_lost_gpu_hours`.
  double useful_gpu_hours = kNoValue;
  /// GPU-hours without lasting work, for all of `kLossCauses`. NaN if they are not known
  /// (`SimulationResult::losses_known`), as are the figures around it.
  double total_lost_gpu_hours = kNoValue;
  /// Useful GPU-hours / GPU-hours held, in [0, 1]: the "runtime goodput" of Wongpanich et al. (2025).
  double runtime_goodput = kNoValue;
  /// Cost of the GPU-hours held, dollars. NaN without prices, and if `unpriced_jobs` is above 0.
  double cost = kNoValue;
  /// Jobs whose cost is not known although there are prices (`GpuPrices::cost`).
  std::int64_t unpriced_jobs = 0;
};

/// Figures over the jobs of one group.
struct GroupFigures {
  std::string name{};    ///< group's name; empty for the jobs without a tenant, user, ...
  double gpu_hours = 0;  ///< GPUs held x hours
  JobFigures figures{};  ///< figures over the jobs of the group
};

/// Figures by a property of jobs, in the order in which the trace names the groups.
struct GroupedFigures {
  JobGrouping grouping{};              ///< property that groups the jobs
  std::vector<GroupFigures> groups{};  ///< groups with jobs
  bool is_asked = false;               ///< true if tables show it
};

/// One replay in numbers: figures over all jobs and over the whole cluster.
struct Summary : JobFigures {
  std::string policy;            ///< policy's spec as given
  bool stopped_early = false;    ///< copy of `SimulationResult::stopped_early`
  double makespan_s = kNoValue;  ///< last end - first submission
  /// GPU-seconds held / (GPUs x time from the first submission to the last release of GPUs), in [0, 1]. That
  /// time is the makespan, unless a job that never ended held GPUs after the last end, or a policy dates ends
  /// before the release of GPUs.
  double gpu_utilization = kNoValue;
  /// Mean over time of the share of GPUs held, in whole or in part, from the first to the last submission, in
  /// [0, 1]. It excludes the drain tail, in which no job arrives and the queue runs empty.
  double gpu_utilization_without_drain = kNoValue;
  /// Fragmentation, under placements that keep it.
  std::optional<FragmentationSummary> fragmentation;
  std::int64_t events = 0;                       ///< events that the simulation handled
  std::optional<DisruptionSummary> disruptions;  ///< absent if nothing could cost jobs time
  std::optional<TenantShareSummary> shares;      ///< absent if the cluster has no tree of tenants
  std::vector<PolicyFigure> figures;             ///< numbers that the policy reports about its own work
  /// Figures by tenant if there are several, and by the requested property, if any.
  std::vector<GroupedFigures> grouped;
};

/// Computes the summary of a schedule of these jobs. `policy` is the policy's spec. `by` adds figures by a
/// property of jobs; `prices` are those of the cluster. O(jobs log jobs).
Summary summarize(const Workload& workload, const ClusterSpec& cluster, const SimulationResult& result,
                  std::string policy, std::optional<JobGrouping> by = std::nullopt,
                  const GpuPrices& prices = {});

}  // namespace vtrain
