#include "tools/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/base/numbers.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/chart_data.hpp"
#include "tools/report/group_table.hpp"
#include "tools/report/headline.hpp"
#include "tools/report/page.hpp"
#include "tools/report/summary.hpp"
#include "tools/report/trade_offs.hpp"
#include "traces/editing/statistics.hpp"

namespace vtrain {

namespace report {
namespace {

using nlohmann::json;

void check_input(const ReportInput& input) {
  if (input.workload == nullptr || input.runs.empty())
    throw std::logic_error("a report without workload or runs");
  for (const ReportRun& run : input.runs) {
    if (run.result == nullptr || run.result->outcomes.size() != input.workload->jobs.size()) {
      throw std::logic_error(fmt::format("a report of {} without its outcomes", run.summary.policy));
    }
  }
}

/// Number of jobs, span of submissions, work and load, in one line.
std::string describe_jobs(const ReportInput& input) {
  const std::vector<Job>& jobs = input.workload->jobs;
  const auto num_jobs = static_cast<std::int64_t>(jobs.size());
  std::string text = fmt::format("{} job{}", with_thousands(num_jobs), num_jobs == 1 ? "" : "s");
  if (jobs.empty()) return text;
  const TraceTotals totals = trace_totals(*input.workload);
  text += fmt::format(" submitted over {}, {} GPU-hours of work", as_days(to_seconds(totals.span())),
                      short_number(totals.gpu_hours_of(input.gpus_are_shared)));
  const double load = totals.offered_load(input.cluster.total_gpus(), input.gpus_are_shared);
  if (!std::isnan(load)) text += fmt::format(", offered load {}", as_load(load));
  return text;
}

void add_distributions(const ReportInput& input, json& data, std::string& html) {
  const auto add = [&](std::string_view id, std::string_view title, std::string_view subject,
                       const SortedSamples& samples) {
    json distribution = distribution_json(samples);
    if (distribution.is_null()) {
      const bool any = std::ranges::any_of(samples, [](const auto& values) { return !values.empty(); });
      html += fmt::format("<p class=\"note half\">{}: {}.</p>\n", escape_html(title),
                          any ? "0 s for every job under every policy" : "no job has one under any policy");
      return;
    }
    Figure figure{id, title, distribution_caption(subject, distribution), "half",
                  percentile_table(input.runs, samples, title)};
    add_figure(html, data, id, std::move(distribution), std::move(figure));
  };
  add("jct", "Job completion time",
      "CDF of job completion time: per cent of completed jobs with at most this JCT.", sorted_jcts(input));
  add("wait", "Waiting time",
      "CDF of total waiting time, including after preemption: per cent of ended jobs. The left edge counts "
      "all shorter waits.",
      sorted_waiting_times(input));
}

void add_time_series(const ReportInput& input, json& data, std::string& html) {
  json series = time_series_json(input);
  if (series.is_null()) return;
  const bool anyone_waits = std::ranges::any_of(input.runs, [](const ReportRun& run) {
    return std::ranges::any_of(run.result->samples,
                               [](const ClusterSample& sample) { return sample.waiting_jobs > 0; });
  });
  if (!anyone_waits) {
    html += "<p class=\"note full\">No chart of the queue: no job waits under any policy.</p>\n";
  } else {
    html +=
        figure_html({"waiting", "Queue length",
                     time_caption("Waiting jobs over time since the trace's origin.", series), "full", ""});
  }
  html += figure_html(
      {"gpus", input.gpus_are_shared ? "GPUs in use, whole or in part" : "GPUs in use",
       time_caption(fmt::format("Number of GPUs {}, of {}, over time since the trace's origin.",
                                input.gpus_are_shared ? "of which jobs hold all or a part" : "that jobs hold",
                                with_thousands(input.cluster.total_gpus().value)),
                    series),
       "full", ""});
  data["time"] = std::move(series);
}

void add_promises(const ReportInput& input, json& data, std::string& html) {
  json promises = promises_json(input);
  if (promises.is_null()) return;
  std::string caption = time_caption(
      "Promises to meet deadlines that a policy has given, kept and broken so far, over time since the "
      "trace's "
      "origin. A promise is kept when its job is done, and broken when its deadline passes.",
      promises);
  add_figure(html, data, "promises", std::move(promises),
             {"promises", "Promises given, kept, broken", std::move(caption), "full", ""});
}

void add_shares(const ReportInput& input, json& data, std::string& html) {
  json shares = shares_json(input);
  if (shares.is_null()) return;
  add_figure(html, data, "shares", std::move(shares),
             {"shares", "Shares due and received",
              "GPUs due to a tenant by its weight, quotas and demand, and GPUs that its jobs held: means of "
              "equal spans of time since the trace's origin. Tenants to which most GPU-hours were due.",
              "full", ""});
}

void add_deadlines(const ReportInput& input, json& data, std::string& html) {
  json by_size = deadlines_by_size_json(input);
  json by_tenant = deadlines_by_tenant_json(input);
  add_figure(html, data, "bySize", std::move(by_size),
             {"bySize", "Deadlines met by job size",
              "Per cent of jobs with a deadline that met it, by number of GPUs.",
              by_tenant.is_null() ? "full" : "half", ""});
  add_figure(
      html, data, "byTenant", std::move(by_tenant),
      {"byTenant", "Deadlines met by tenant",
       "Per cent of jobs with a deadline that met it; tenants with most deadlines first.", "half", ""});
}

void add_gantt(const ReportInput& input, json& data, std::string& html) {
  json gantt = gantt_json(input);
  if (gantt.is_null()) {
    const bool has_runs = std::ranges::any_of(input.runs, [](const ReportRun& run) {
      return !run.result->segments.empty() || !run.result->samples.empty();
    });
    if (has_runs && !has_recorded_runs(input)) {
      html +=
          "<p class=\"note full\">No Gantt chart: the segments of jobs were not recorded "
          "(--timeline always records them).</p>\n";
    }
    return;
  }
  const bool has_outages =
      std::ranges::any_of(input.runs, [](const ReportRun& run) { return !run.result->outages.empty(); });
  std::string caption = "Each bar is a job on its GPUs: time since the trace's origin across, GPUs down.";
  caption += has_segments_on_nodes(input)
                 ? " GPUs are numbered node after node."
                 : " --placement count ignores nodes; bars show the lowest free GPU numbers.";
  if (gantt.contains("outages")) {
    caption += " Behind the bars are nodes out of service.";
  } else if (has_outages) {
    caption += " Node outages are not drawn: too many.";
  }
  add_figure(html, data, "gantt", std::move(gantt), {"gantt", "Gantt chart", caption, "full", ""});
}

/// The hints as notes.
std::string hints_html(const ReportInput& input) {
  std::string html;
  for (const std::string& hint : hints(input))
    html += fmt::format("<p class=\"note\">{}</p>\n", escape_html(hint));
  return html;
}

/// The section on seeds, and the heading of what follows it.
std::string seeds_html(const ReportInput& input) {
  if (!input.seeds) return {};
  return seed_section_html(*input.seeds) + fmt::format("<h2>{} in detail</h2>\n", escape_html(input.detail));
}

std::string page_title(const ReportInput& input) {
  std::string names;
  for (const ReportRun& run : input.runs)
    names += (names.empty() ? "" : ", ") + run.summary.policy;
  return fmt::format("{} on {}", names, input.trace_name);
}

}  // namespace
}  // namespace report

std::string render_report(const ReportInput& input) {
  using namespace report;
  check_input(input);
  json data = {{"policies", json::array()}, {"totalGpus", input.cluster.total_gpus().value}};
  for (const ReportRun& run : input.runs)
    data["policies"].push_back(run.summary.policy);
  if (input.cluster.groups.size() == 1)
    data["gpusPerNode"] = input.cluster.groups.front().gpus_per_node.value;
  std::string figures;
  add_distributions(input, data, figures);
  add_time_series(input, data, figures);
  add_promises(input, data, figures);
  add_shares(input, data, figures);
  add_deadlines(input, data, figures);
  add_gantt(input, data, figures);

  return render_page(
      {.title = page_title(input),
       .eyebrow = input.trace_name,
       .answer = input.seeds ? seed_answer(*input.seeds) : headline(input),
       .facts =
           fmt::format("{}{}; cluster {}.{}{}", input.seeds ? input.detail + ": " : "", describe_jobs(input),
                       input.cluster.describe(), input.interruption_cost.empty() ? "" : " Assumed: ",
                       input.interruption_cost.empty() ? "" : input.interruption_cost + "."),
       .summary_html = seeds_html(input) + summary_table(input.runs) + hints_html(input) +
                       loss_table(input.runs) + trade_offs_html(input.runs) +
                       group_table_html(summaries_of(input.runs)),
       .help = "Press a policy's name below a chart to hide it in all charts.",
       .figures_html = std::move(figures),
       .assumptions = input.assumptions,
       .provenance = input.provenance},
      data);
}

}  // namespace vtrain
