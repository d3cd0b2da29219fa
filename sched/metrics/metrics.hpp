/// The metrics of a replay; each formula is defined here and nowhere else. `run_metrics` is their table.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "sched/metrics/disruption_summary.hpp"
#include "sched/metrics/job_groups.hpp"
#include "sched/simulation/policy.hpp"
#include "sched/simulation/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// JCT, job completion time: end - submission. For jobs that ended.
SimDuration job_completion_time(const Job& job, const JobOutcome& outcome);
/// Queueing delay: first start - submission. For jobs that started.
SimDuration queueing_delay(const Job& job, const JobOutcome& outcome);
/// Time without GPUs between submission and end: the queueing delay, and what it waited after it had been
/// stopped. For jobs that ended.
SimDuration waiting_time(const Job& job, const JobOutcome& outcome);
/// Whether a job came to an end on the cluster, by itself or at its requested time.
bool has_ended(const JobOutcome& outcome);
/// Whether it ever had GPUs to work on.
bool has_started(const JobOutcome& outcome);
/// Whether a job with a deadline completed by it. Rejected, failed and unfinished jobs have missed theirs.
bool deadline_met(const Job& job, const JobOutcome& outcome);
/// Nearest-rank percentile (the smallest value with at least `percent` % of the values at or below it) of
/// values in any order; NaN for none. Reorders `values`.
double percentile(std::vector<double>& values, double percent);

/// The rate from the first submission to the last end, a step function of time.
struct FragmentationSummary {
  double mean_rate = 0;  ///< over time
  double max_rate = 0;
  double interval_s = 0;  ///< length of each of the intervals below
  std::vector<double> mean_rate_by_interval{};
};

/// Intervals into which the time is divided: equal ones of whole nanoseconds, but for the last, which has the
/// rest.
inline constexpr int kFragmentationIntervals = 100;

/// `samples` in order of time, the first not after `begin`; `end` after `begin`.
FragmentationSummary summarize_fragmentation(std::span<const FragmentationSample> samples, SimTime begin,
                                             SimTime end);

/// The value of a metric over no jobs.
inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// Run times below it count as this long in `JobFigures::bounded_slowdown`.
inline constexpr SimDuration kSlowdownThreshold = std::chrono::seconds(10);

/// Figures over a set of jobs. Averages and percentiles of JCT are over completed jobs, those of queueing
/// delay over started ones. Averages over an empty set are NaN. `run_metrics` has a row for each member.
struct JobFigures {
  std::int64_t jobs = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;
  std::int64_t rejected = 0;
  std::int64_t turned_away = 0;   ///< of the rejected, those that the policy turned away
  std::int64_t lacking_type = 0;  ///< of the rejected, those of a GPU type that the cluster lacks
  std::int64_t unfinished = 0;
  std::int64_t deadline_jobs = 0;  ///< jobs that have a deadline
  std::int64_t deadline_met = 0;
  /// deadline_met / deadline_jobs; nothing when no job has a deadline.
  std::optional<double> deadline_satisfactory_ratio{};
  /// Ratio of the jobs' GPU-hours: GPUs requested x run time on them, met / with a deadline.
  std::optional<double> deadline_satisfactory_ratio_by_gpu_hours{};
  double avg_jct_s = kNoValue;
  double p50_jct_s = kNoValue;
  double p99_jct_s = kNoValue;
  double avg_queueing_delay_s = kNoValue;
  double avg_waiting_time_s = kNoValue;  ///< over jobs that ended
  double p50_waiting_time_s = kNoValue;
  double p99_waiting_time_s = kNoValue;
  /// Mean over completed jobs of max(1, JCT / max(run time, `kSlowdownThreshold`)), the run time being that
  /// on the gang that the job asked for (Feitelson and Rudolph, JSSPP 1998).
  double bounded_slowdown = kNoValue;
  /// Largest finish-time fairness over completed jobs (Themis, NSDI'20): JCT / T_iso, T_iso being the run
  /// time on an equal share of GPUs / (average number of active jobs during the job's life), with linear
  /// scaling below the gang's size.
  double finish_time_fairness_max = kNoValue;
  /// Jain's index (1984) of 1 / finish-time fairness over completed jobs, in (0, 1]; 1 is equal treatment.
  double jain_index = kNoValue;
  std::int64_t preemptions = 0;
  std::int64_t resizes = 0;  ///< times that a running job was given another number of GPUs
};

/// Figures over the jobs of one group.
struct GroupFigures {
  std::string name{};    ///< empty for the jobs without a tenant, user, ...
  double gpu_hours = 0;  ///< GPUs held x hours
  JobFigures figures{};
};

/// Figures by a property of jobs, in the order in which the trace names the groups.
struct GroupedFigures {
  JobGrouping grouping{};
  std::vector<GroupFigures> groups{};  ///< those with jobs
  bool is_asked = false;               ///< whether tables are to show it
};

/// One replay in numbers: the figures over all jobs, and those of the whole cluster.
struct Summary : JobFigures {
  std::string policy;            ///< the spec as given
  bool stopped_early = false;    ///< `SimulationResult::stopped_early`
  double makespan_s = kNoValue;  ///< last end - first submission
  /// GPU-seconds held / (GPUs x time from the first submission until the last job gave its GPUs back), in
  /// [0, 1]. That is the makespan, unless a job that never ended held GPUs after the last end, or a policy
  /// dates ends earlier than it takes the GPUs back.
  double gpu_utilization = kNoValue;
  /// Share of the GPUs that jobs hold, in whole or in part, from the first to the last submission, in the
  /// mean over time; in [0, 1]. Without the drain tail, in which a queue that is no longer filled runs empty.
  double gpu_utilization_without_drain = kNoValue;
  /// Under placements that keep it.
  std::optional<FragmentationSummary> fragmentation;
  std::int64_t events = 0;
  std::optional<DisruptionSummary> disruptions;  ///< none where nothing could cost jobs time
  std::vector<PolicyFigure> figures;             ///< what the policy tells of its own work
  /// By tenant, where there are several, and by the property that was asked for, if it was.
  std::vector<GroupedFigures> grouped;
};

/// Computes them from a schedule of these jobs under the policy of this spec, and by a property of jobs.
/// O(jobs log jobs).
Summary summarize(const Workload& workload, const ClusterSpec& cluster, const SimulationResult& result,
                  std::string policy, std::optional<JobGrouping> by = std::nullopt);

}  // namespace vtrain
