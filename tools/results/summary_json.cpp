/// The metrics of a run as JSON.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sched/metrics/metrics.hpp"
#include "tools/results/results.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

ordered_json disruption_summary_to_json(const DisruptionSummary& summary) {
  ordered_json lost = ordered_json::object();
  for (std::size_t cause = 0; cause < kNumLossCauses; ++cause)
    lost[std::string(kLossCauses[cause].name)] = summary.lost_gpu_hours[cause];
  return {{"outages", summary.outages},
          {"interruptions", summary.interruptions},
          {"interrupted_jobs", summary.interrupted_jobs},
          {"resizes", summary.resizes},
          {"useful_gpu_hours", summary.useful_gpu_hours},
          {"lost_gpu_hours", lost},
          {"out_of_service_gpu_hours", summary.out_of_service_gpu_hours},
          {"goodput", summary.goodput}};
}

/// What the policy told, by name.
ordered_json figures_to_json(const std::vector<PolicyFigure>& figures) {
  ordered_json json = ordered_json::object();
  for (const PolicyFigure& figure : figures) {
    const bool whole = figure.value == std::trunc(figure.value) && std::abs(figure.value) < 1e15;
    if (whole)
      json[std::string(figure.name)] = static_cast<std::int64_t>(figure.value);
    else
      json[std::string(figure.name)] = figure.value;
  }
  return json;
}

ordered_json numbers_to_json(const Summary& summary) {
  const auto number_or_null = [](double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json();
  };
  ordered_json json = {
      {"policy", summary.policy},
      {"jobs", summary.jobs},
      {"completed", summary.completed},
      {"failed", summary.failed},
      {"rejected", summary.rejected},
      {"rejected_by_policy", summary.turned_away},
      {"rejected_for_gpu_type", summary.lacking_type},
      {"unfinished", summary.unfinished},
      {"stopped_early", summary.stopped_early},
      {"deadline_jobs", summary.deadline_jobs},
      {"deadline_met", summary.deadline_met},
      {"deadline_satisfactory_ratio",
       number_or_null(summary.deadline_satisfactory_ratio.value_or(std::nan("")))},
      {"avg_jct_s", number_or_null(summary.avg_jct_s)},
      {"p50_jct_s", number_or_null(summary.p50_jct_s)},
      {"p99_jct_s", number_or_null(summary.p99_jct_s)},
      {"avg_queueing_delay_s", number_or_null(summary.avg_queueing_delay_s)},
      {"avg_waiting_time_s", number_or_null(summary.avg_waiting_time_s)},
      {"p50_waiting_time_s", number_or_null(summary.p50_waiting_time_s)},
      {"p99_waiting_time_s", number_or_null(summary.p99_waiting_time_s)},
      {"makespan_s", number_or_null(summary.makespan_s)},
      {"gpu_utilization", number_or_null(summary.gpu_utilization)},
      {"finish_time_fairness_max", number_or_null(summary.finish_time_fairness_max)},
      {"jain_index", number_or_null(summary.jain_index)},
      {"preemptions", summary.preemptions},
      {"events", summary.events},
  };
  if (summary.disruptions) json["disruptions"] = disruption_summary_to_json(*summary.disruptions);
  return json;
}

ordered_json to_json(const FragmentationSummary& fragmentation) {
  return {{"definition",
           "sum of F_n over the nodes / free GPUs, F_n being the free GPUs of a node that are of no use to a "
           "job, in the mean over the sizes of jobs (FGD, USENIX ATC'23); means over time"},
          {"mean_rate", fragmentation.mean_rate},
          {"max_rate", fragmentation.max_rate},
          {"interval_s", fragmentation.interval_s},
          {"mean_rate_by_interval", fragmentation.mean_rate_by_interval}};
}

}  // namespace

ordered_json summary_to_json(const Summary& summary) {
  ordered_json json = numbers_to_json(summary);
  if (!summary.figures.empty()) json["policy_figures"] = figures_to_json(summary.figures);
  if (summary.fragmentation) json["fragmentation"] = to_json(*summary.fragmentation);
  return json;
}

}  // namespace vtrain
