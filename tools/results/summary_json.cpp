/// The metrics of a run as JSON.

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sched/metrics/metric_table.hpp"
#include "sched/metrics/metrics.hpp"
#include "tools/format/text_format.hpp"
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

/// Figures that the policy reports, by name.
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

/// A value of a metric; null where it does not exist.
ordered_json metric_to_json(const Metric& metric, double value) {
  if (metric.unit == MetricUnit::Flag) return value != 0;
  if (metric.unit == MetricUnit::Count) return static_cast<std::int64_t>(value);
  return finite_or_null(value);
}

ordered_json numbers_to_json(const Summary& summary) {
  ordered_json json = {{"policy", summary.policy}};
  for (const Metric& metric : run_metrics()) {
    if (!metric.key.empty()) json[std::string(metric.key)] = metric_to_json(metric, metric.value(summary));
  }
  if (summary.disruptions) json["disruptions"] = disruption_summary_to_json(*summary.disruptions);
  return json;
}

/// Figures of each group, under the keys of the figures over all jobs.
ordered_json groups_to_json(const GroupedFigures& grouped) {
  ordered_json json = ordered_json::array();
  for (const GroupFigures& group : grouped.groups) {
    ordered_json row = {{std::string(name_of(grouped.grouping)), group.name}, {"gpu_hours", group.gpu_hours}};
    for (const Metric& metric : run_metrics()) {
      if (!metric.key.empty() && metric.of_jobs != nullptr)
        row[std::string(metric.key)] = metric_to_json(metric, metric.of_jobs(group.figures));
    }
    json.push_back(std::move(row));
  }
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

ordered_json to_json(const TenantShareSummary& shares) {
  ordered_json tenants = ordered_json::array();
  const bool has_quotas = std::isfinite(shares.borrowed_gpu_hours);
  for (const TenantShareFigures& each : shares.tenants) {
    ordered_json row = {{"tenant", each.tenant}};
    if (!each.parent.empty()) row["parent"] = each.parent;
    row["due_gpu_hours"] = each.due_gpu_hours;
    row["received_gpu_hours"] = each.received_gpu_hours;
    row["p95_deficit"] = finite_or_null(each.deficit_p95);
    if (has_quotas) {
      row["borrowed_gpu_hours"] = each.borrowed_gpu_hours;
      row["lent_gpu_hours"] = each.lent_gpu_hours;
      row["reclaimed_gpu_hours"] = each.reclaimed_gpu_hours;
    }
    row["preemptions"] = each.preemptions;
    tenants.push_back(std::move(row));
  }
  ordered_json json = {{"jain_index", finite_or_null(shares.jain_index)},
                       {"p95_deficit", finite_or_null(shares.deficit_p95)}};
  if (has_quotas) {
    json["borrowed_gpu_hours"] = shares.borrowed_gpu_hours;
    json["lent_gpu_hours"] = shares.lent_gpu_hours;
    json["reclaimed_gpu_hours"] = shares.reclaimed_gpu_hours;
  }
  json["sampled"] = shares.is_sampled;
  json["by_tenant"] = std::move(tenants);
  return json;
}

}  // namespace

ordered_json summary_to_json(const Summary& summary) {
  ordered_json json = numbers_to_json(summary);
  if (!summary.figures.empty()) json["policy_figures"] = figures_to_json(summary.figures);
  if (summary.shares) json["shares"] = to_json(*summary.shares);
  if (summary.fragmentation) json["fragmentation"] = to_json(*summary.fragmentation);
  for (const GroupedFigures& grouped : summary.grouped)
    json[fmt::format("by_{}", name_of(grouped.grouping))] = groups_to_json(grouped);
  return json;
}

}  // namespace vtrain
