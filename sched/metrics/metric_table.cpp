#include "sched/metrics/metric_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/base/fields.hpp"
#include "sched/metrics/metrics.hpp"

namespace vtrain {
namespace {

/// Value of a member as a number; NaN if it does not exist.
template <auto member>
double value_of(const typename MemberTypes<decltype(member)>::Struct& of) {
  if constexpr (std::is_same_v<decltype(member), std::optional<double> JobFigures::*>)
    return (of.*member).value_or(kNoValue);
  else
    return static_cast<double>(of.*member);
}

/// Value of a member over the shares of tenants; NaN without a tree of tenants.
template <auto member>
double of_shares(const Summary& summary) {
  return summary.shares ? *summary.shares.*member : kNoValue;
}

double not_completed(const JobFigures& of) {
  return static_cast<double>(of.jobs - of.completed);
}

constexpr std::array kRunMetrics{
    Metric{.key = "jobs", .of_jobs = value_of<&JobFigures::jobs>},
    Metric{.key = "completed", .of_jobs = value_of<&JobFigures::completed>},
    Metric{.key = "failed", .of_jobs = value_of<&JobFigures::failed>},
    Metric{.key = "rejected",
           .title = "Rejected",
           .short_title = "rejected",
           .meaning = "jobs that the policy rejected, or that do not fit the cluster",
           .of_jobs = value_of<&JobFigures::rejected>,
           .hides_zero = true},
    Metric{.key = "rejected_by_policy", .of_jobs = value_of<&JobFigures::rejected_by_policy>},
    Metric{.key = "rejected_for_gpu_type", .of_jobs = value_of<&JobFigures::lacking_type>},
    Metric{.key = "unfinished", .of_jobs = value_of<&JobFigures::unfinished>},
    Metric{.key = "stopped_early", .unit = MetricUnit::Flag, .of_run = value_of<&Summary::stopped_early>},
    Metric{.key = "deadline_jobs", .of_jobs = value_of<&JobFigures::deadline_jobs>},
    Metric{.key = "deadline_met", .of_jobs = value_of<&JobFigures::deadline_met>},
    Metric{.key = "deadline_satisfactory_ratio",
           .title = "Deadlines met",
           .short_title = "deadlines\nmet",
           .meaning = "share of the jobs with a deadline that completed by it",
           .unit = MetricUnit::Share,
           .better = Better::Higher,
           .of_jobs = value_of<&JobFigures::deadline_satisfactory_ratio>},
    Metric{.key = "deadline_satisfactory_ratio_by_gpu_hours",
           .title = "By GPU-hours",
           .short_title = "by GPU-\nhours",
           .meaning =
               "deadlines met, each job counted by its GPU-hours: GPUs that it requests x run time on them",
           .unit = MetricUnit::Share,
           .better = Better::Higher,
           .of_jobs = value_of<&JobFigures::deadline_satisfactory_ratio_by_gpu_hours>},
    Metric{.key = "avg_tardiness_s",
           .title = "Average tardiness",
           .meaning = "time from the deadline to the end of the work, 0 in time; mean over completed jobs "
                      "with a deadline",
           .unit = MetricUnit::Duration,
           .better = Better::Lower,
           .depends_on_completed = true,
           .of_jobs = value_of<&JobFigures::avg_tardiness_s>},
    Metric{.key = "p95_tardiness_s",
           .title = "p95 tardiness",
           .short_title = "p95 tar-\ndiness",
           .meaning = "95 % of the completed jobs with a deadline were at most this late",
           .unit = MetricUnit::Duration,
           .better = Better::Lower,
           .depends_on_completed = true,
           .of_jobs = value_of<&JobFigures::p95_tardiness_s>,
           .dropped_in_turn = 5},
    Metric{.key = "promises_given",
           .title = "Promises given",
           .meaning = "jobs with a deadline that the policy admitted, and so promised to finish by it; "
                      "policies without admission give none",
           .of_jobs = value_of<&JobFigures::promises_given>,
           .hides_zero = true},
    Metric{.key = "promises_kept",
           .title = "Promises kept",
           .meaning = "promises to jobs that completed by their deadline",
           .of_jobs = value_of<&JobFigures::promises_kept>,
           .hides_zero = true},
    Metric{.key = "promises_broken",
           .title = "Promises broken",
           .short_title = "promises\nbroken",
           .meaning = "promises to jobs that ended after their deadline, failed or never completed",
           .of_jobs = value_of<&JobFigures::promises_broken>,
           .hides_zero = true},
    Metric{.key = "avg_jct_s",
           .title = "Average JCT",
           .short_title = "avg JCT",
           .meaning = "job completion time, end minus submission, over completed jobs",
           .unit = MetricUnit::Duration,
           .better = Better::Lower,
           .depends_on_completed = true,
           .of_jobs = value_of<&JobFigures::avg_jct_s>},
    Metric{.key = "p50_jct_s",
           .title = "Median JCT",
           .meaning = "half of the completed jobs took at most this long",
           .unit = MetricUnit::Duration,
           .better = Better::Lower,
           .depends_on_completed = true,
           .of_jobs = value_of<&JobFigures::p50_jct_s>},
    Metric{.key = "p99_jct_s",
           .title = "p99 JCT",
           .short_title = "p99 JCT",
           .meaning = "99 % of the completed jobs took at most this long",
           .unit = MetricUnit::Duration,
           .better = Better::Lower,
           .depends_on_completed = true,
           .of_jobs = value_of<&JobFigures::p99_jct_s>,
           .dropped_in_turn = 4},
    Metric{.key = "avg_queueing_delay_s",
           .unit = MetricUnit::Duration,
           .of_jobs = value_of<&JobFigures::avg_queueing_delay_s>},
    Metric{
        .key = "avg_waiting_time_s",
        .title = "Average wait",
        .short_title = "avg wait",
        .meaning =
            "time without GPUs between submission and end, including after preemption, over jobs that ended",
        .unit = MetricUnit::Duration,
        .better = Better::Lower,
        .depends_on_completed = true,
        .of_jobs = value_of<&JobFigures::avg_waiting_time_s>,
        .dropped_in_turn = 7},
    Metric{.key = "p50_waiting_time_s",
           .unit = MetricUnit::Duration,
           .of_jobs = value_of<&JobFigures::p50_waiting_time_s>},
    Metric{.key = "p99_waiting_time_s",
           .unit = MetricUnit::Duration,
           .of_jobs = value_of<&JobFigures::p99_waiting_time_s>},
    Metric{.key = "bounded_slowdown",
           .title = "Bounded slowdown",
           .short_title = "slow-\ndown",
           .meaning = "JCT divided by the run time on the GPUs requested (at least 10 s), at least 1; mean "
                      "over completed jobs",
           .unit = MetricUnit::Ratio,
           .better = Better::Lower,
           .depends_on_completed = true,
           .of_jobs = value_of<&JobFigures::bounded_slowdown>,
           .dropped_in_turn = 3},
    Metric{.key = "makespan_s",
           .title = "Makespan",
           .short_title = "makespan",
           .meaning = "last end minus first submission",
           .unit = MetricUnit::Period,
           .better = Better::Lower,
           .depends_on_completed = true,
           .of_run = value_of<&Summary::makespan_s>,
           .dropped_in_turn = 1},
    Metric{.key = "gpu_utilization_without_drain",
           .title = "GPUs in use until the last submission",
           .short_title = "in use to\nlast submit",
           .meaning = "share of GPUs that jobs hold, mean from the first to the last submission: without the "
                      "drain tail, in which the queue runs empty",
           .unit = MetricUnit::Share,
           .of_run = value_of<&Summary::gpu_utilization_without_drain>,
           .dropped_in_turn = 6},
    Metric{
        .key = "gpu_utilization",
        .title = "GPUs in use to the end",
        .short_title = "in use to\nthe end",
        .meaning = "share of GPUs that jobs hold, mean until the last GPU is released: with the drain tail",
        .unit = MetricUnit::Share,
        .of_run = value_of<&Summary::gpu_utilization>,
        .dropped_in_turn = 2},
    Metric{.key = "preemptions",
           .title = "Preemptions",
           .short_title = "preemp-\ntions",
           .meaning = "number of times that a running job lost its GPUs",
           .of_jobs = value_of<&JobFigures::preemptions>},
    Metric{.key = "resizes",
           .title = "Resizes",
           .short_title = "resizes",
           .meaning = "number of times that a running job's number of GPUs changed",
           .of_jobs = value_of<&JobFigures::resizes>,
           .hides_zero = true},
    Metric{.key = "useful_gpu_hours",
           .unit = MetricUnit::GpuHours,
           .of_jobs = value_of<&JobFigures::useful_gpu_hours>},
    Metric{.key = "total_lost_gpu_hours",
           .unit = MetricUnit::GpuHours,
           .of_jobs = value_of<&JobFigures::total_lost_gpu_hours>},
    Metric{.key = "runtime_goodput",
           .unit = MetricUnit::Share,
           .of_jobs = value_of<&JobFigures::runtime_goodput>},
    Metric{.key = "cost",
           .title = "Cost",
           .short_title = "cost",
           .meaning = "GPU-hours that jobs hold x their price; idle GPUs cost nothing",
           .unit = MetricUnit::Dollars,
           .better = Better::Lower,
           .depends_on_completed = true,
           .of_jobs = value_of<&JobFigures::cost>},
    Metric{.key = "unpriced_jobs",
           .title = "Of unknown cost",
           .meaning = "jobs that held GPUs without a price; the cost is unknown where there are any",
           .of_jobs = value_of<&JobFigures::unpriced_jobs>,
           .hides_zero = true},
    Metric{.key = "finish_time_fairness_max",
           .title = "Worst fairness",
           .meaning = "largest finish-time fairness of a job: its JCT divided by that on an equal share of "
                      "the cluster; 1 is fair",
           .unit = MetricUnit::Ratio,
           .better = Better::Lower,
           .depends_on_completed = true,
           .of_jobs = value_of<&JobFigures::finish_time_fairness_max>},
    Metric{.key = "jain_index",
           .title = "Jain index",
           .meaning = "evenness of finish-time fairness over the jobs, in (0, 1]; 1 is equal treatment",
           .unit = MetricUnit::Index,
           .better = Better::Higher,
           .depends_on_completed = true,
           .of_jobs = value_of<&JobFigures::jain_index>},
    Metric{.title = "Jain over tenants",
           .short_title = "Jain of\ntenants",
           .meaning = "evenness over tenants of GPU-hours received / GPU-hours due, in (0, 1]; 1 is equal "
                      "treatment",
           .unit = MetricUnit::Index,
           .better = Better::Higher,
           .of_run = of_shares<&TenantShareSummary::jain_index>},
    Metric{.title = "p95 deficit of shares",
           .short_title = "p95\ndeficit",
           .meaning = "for 95 % of the time tenants lacked at most this part of the GPUs due to them",
           .unit = MetricUnit::Share,
           .better = Better::Lower,
           .of_run = of_shares<&TenantShareSummary::deficit_p95>},
    Metric{.title = "Borrowed GPU-hours",
           .meaning = "GPU-hours that tenants held beyond their quotas",
           .unit = MetricUnit::GpuHours,
           .of_run = of_shares<&TenantShareSummary::borrowed_gpu_hours>},
    Metric{.title = "Lent GPU-hours",
           .meaning = "GPU-hours of quotas that other tenants held",
           .unit = MetricUnit::GpuHours,
           .of_run = of_shares<&TenantShareSummary::lent_gpu_hours>},
    Metric{.title = "Reclaimed GPU-hours",
           .meaning = "GPU-hours of runs that were preempted while their tenant held more than its share",
           .unit = MetricUnit::GpuHours,
           .of_run = of_shares<&TenantShareSummary::reclaimed_gpu_hours>},
    Metric{.title = "Not completed",
           .meaning = "jobs rejected, failed or unfinished; averages leave them out",
           .of_jobs = not_completed,
           .hides_zero = true},
    Metric{.key = "events", .of_run = value_of<&Summary::events>},
};

constexpr auto kRowsOfJobs = std::count_if(kRunMetrics.begin(), kRunMetrics.end(), [](const Metric& row) {
  return !row.key.empty() && row.of_jobs != nullptr;
});
static_assert(kRowsOfJobs == static_cast<std::ptrdiff_t>(num_members<JobFigures>()),
              "a member of JobFigures lacks a row");

/// Value of a member over a replay; NaN if nothing could cost jobs time.
template <auto member>
double disrupted(const Summary& summary) {
  return summary.disruptions ? static_cast<double>(*summary.disruptions.*member) : kNoValue;
}

/// GPU-hours lost to one cause.
template <std::size_t cause>
double lost_to(const Summary& summary) {
  return summary.disruptions ? summary.disruptions->lost_gpu_hours[cause] : kNoValue;
}

template <std::size_t... causes>
constexpr auto make_loss_metrics(std::index_sequence<causes...> /*causes*/) {
  return std::array{
      Metric{.title = "Goodput",
             .meaning = "useful GPU-hours / GPU-hours of all GPUs until the last one is released",
             .unit = MetricUnit::Share,
             .better = Better::Higher,
             .of_run = disrupted<&DisruptionSummary::goodput>},
      Metric{.title = "Runtime goodput",
             .meaning = "useful GPU-hours / GPU-hours held",
             .unit = MetricUnit::Share,
             .better = Better::Higher,
             .of_run = [](const Summary& summary) { return summary.runtime_goodput; }},
      Metric{.title = "Useful GPU-hours",
             .meaning = "GPU-hours of useful work",
             .unit = MetricUnit::GpuHours,
             .of_run = disrupted<&DisruptionSummary::useful_gpu_hours>},
      Metric{.title = kLossCauses[causes].title,
             .meaning = kLossCauses[causes].meaning,
             .unit = MetricUnit::GpuHours,
             .better = Better::Lower,
             .of_run = lost_to<causes>}...,
      Metric{.title = "Out of service",
             .meaning = "GPU-hours of nodes out of service",
             .unit = MetricUnit::GpuHours,
             .of_run = disrupted<&DisruptionSummary::out_of_service_gpu_hours>},
      Metric{.title = "Jobs stopped",
             .meaning = "number of times that a failing node stopped a job",
             .of_run = disrupted<&DisruptionSummary::interruptions>},
  };
}

constexpr auto kLossMetrics = make_loss_metrics(std::make_index_sequence<kNumLossCauses>());

}  // namespace

double Metric::value(const Summary& summary) const {
  return of_jobs != nullptr ? of_jobs(summary) : of_run(summary);
}

std::span<const Metric> run_metrics() {
  return kRunMetrics;
}

std::span<const Metric> loss_metrics() {
  return kLossMetrics;
}

}  // namespace vtrain
