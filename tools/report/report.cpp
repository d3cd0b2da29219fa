#include "tools/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "tools/output_format.hpp"
#include "tools/report/chart_data.hpp"
#include "tools/report/headline.hpp"
#include "tools/report/html.hpp"
#include "tools/report/summary_table.hpp"

namespace vtrain {

namespace embedded {
extern const std::string_view report_template;
extern const std::string_view report_css;
extern const std::string_view format_js;
extern const std::string_view report_js;
extern const std::string_view uplot_js;
extern const std::string_view uplot_css;
extern const std::string_view uplot_license;
}  // namespace embedded

namespace report {
namespace {

using nlohmann::json;

/// A picture that report.js will draw into. `extra` is HTML below it.
struct Figure {
  std::string_view id;
  std::string_view title;
  std::string caption;
  std::string_view width;  ///< class: `half` or `full`
  std::string extra;
};

std::string figure_html(const Figure& figure) {
  return fmt::format(
      "<figure id=\"{0}\" class=\"{1}\" aria-labelledby=\"{0}-title\">\n<figcaption><h2 "
      "id=\"{0}-title\">{2}</h2>\n"
      "<p>{3}</p></figcaption>\n<div class=\"chart\" role=\"img\" aria-label=\"Chart: {2}. "
      "{3}\"></div>\n{4}</figure>\n",
      figure.id, figure.width, escape_html(figure.title), escape_html(figure.caption), figure.extra);
}

std::string distribution_caption(std::string_view subject, const json& distribution) {
  std::string text(subject);
  if (!distribution["exact"].get<bool>()) text += " Read off at 500 durations.";
  return text;
}

std::string time_caption(std::string_view subject, const json& series) {
  std::string text(subject);
  if (series["exact"].get<bool>()) return text + " Every change is drawn.";
  const double span = series["x"][1].get<double>() - series["x"][0].get<double>();
  return text + fmt::format(
                    " Downsampled to {} spans of {}: the line is the mean of a span, the shade around it "
                    "reaches from its "
                    "smallest to its largest value.",
                    series["x"].size() - 1, as_duration(span));
}

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
  double gpu_seconds = 0;
  for (const Job& job : jobs)
    gpu_seconds += to_seconds(job.duration) * job.num_gpus.value;
  const double span = to_seconds(jobs.back().submit - jobs.front().submit);
  text += fmt::format(" submitted over {}, {} GPU-hours of work", as_days(span),
                      short_number(gpu_seconds / 3600));
  const double capacity = span * input.cluster.total_gpus().value;
  if (capacity > 0) text += fmt::format(", offered load {:.2f}", gpu_seconds / capacity);
  return text;
}

/// Draws a picture from `value` unless there is nothing to draw.
void add_figure(std::string& html, json& data, std::string_view key, json value, Figure figure) {
  if (value.is_null()) return;
  html += figure_html(figure);
  data[std::string(key)] = std::move(value);
}

void add_distributions(const ReportInput& input, json& data, std::string& html) {
  const auto add = [&](std::string_view id, std::string_view title, std::string_view subject,
                       const SortedSamples& samples) {
    json distribution = distribution_json(samples);
    if (distribution.is_null()) {
      html += fmt::format("<p class=\"note half\">{}: 0 s for every job under every policy.</p>\n",
                          escape_html(title));
      return;
    }
    Figure figure{id, title, distribution_caption(subject, distribution), "half",
                  percentile_table(input.runs, samples, title)};
    add_figure(html, data, id, std::move(distribution), std::move(figure));
  };
  add("jct", "Job completion time",
      "Share of the completed jobs, in per cent, whose JCT is at most this long.", sorted_jcts(input));
  add("wait", "Queueing delay",
      "Share of the started jobs, in per cent, that first waited at most this long; the left edge "
      "counts all that waited less.",
      sorted_queueing_delays(input));
}

void add_time_series(const ReportInput& input, json& data, std::string& html) {
  json series = time_series_json(input);
  if (series.is_null()) return;
  const bool anyone_waits = std::ranges::any_of(input.runs, [](const ReportRun& run) {
    return std::ranges::any_of(run.result->samples,
                               [](const ClusterSample& sample) { return sample.waiting_jobs > 0; });
  });
  if (!anyone_waits) {
    html += "<p class=\"note full\">No picture of the queue: no job waits under any policy.</p>\n";
  } else {
    html += figure_html(
        {"waiting", "Queue length",
         time_caption("Number of jobs that wait, over time since the trace's origin.", series), "full", ""});
  }
  html += figure_html(
      {"gpus", "GPUs in use",
       time_caption(fmt::format("Number of GPUs that jobs hold, of {}, over time since the trace's origin.",
                                with_thousands(input.cluster.total_gpus().value)),
                    series),
       "full", ""});
  data["time"] = std::move(series);
}

void add_deadlines(const ReportInput& input, json& data, std::string& html) {
  json by_size = deadlines_by_size_json(input);
  json by_tenant = deadlines_by_tenant_json(input);
  add_figure(html, data, "bySize", std::move(by_size),
             {"bySize", "Deadlines met by job size",
              "Share of the jobs with a deadline that met it, in per cent, by number of GPUs.",
              by_tenant.is_null() ? "full" : "half", ""});
  add_figure(
      html, data, "byTenant", std::move(by_tenant),
      {"byTenant", "Deadlines met by tenant",
       "Share of the jobs with a deadline that met it, in per cent; tenants with most deadlines first.",
       "half", ""});
}

void add_gantt(const ReportInput& input, json& data, std::string& html) {
  json gantt = gantt_json(input);
  if (gantt.is_null()) {
    html +=
        has_recorded_runs(input)
            ? "<p class=\"note full\">No Gantt chart: there are more stretches of jobs on GPUs than can be "
              "told apart.</p>\n"
            : "<p class=\"note full\">No Gantt chart: the stretches of jobs on GPUs were not recorded.</p>\n";
    return;
  }
  const bool on_nodes = std::ranges::any_of(input.runs, [](const ReportRun& run) {
    return !run.result->runs.empty() && !run.result->runs.front().nodes.empty();
  });
  add_figure(
      html, data, "gantt", std::move(gantt),
      {"gantt", "Gantt chart",
       std::string("Each bar is a job on its GPUs: time since the trace's origin across, GPU number down.") +
           (on_nodes ? " GPUs are numbered node after node."
                     : " Placement by count knows no nodes, so bars are on the lowest free GPUs."),
       "full", ""});
}

std::string provenance_html(const ReportInput& input) {
  std::string html;
  for (const auto& [label, value] : input.provenance) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(label), escape_html(value));
  }
  return html;
}

std::string assumptions_html(const ReportInput& input) {
  if (input.assumptions.empty()) return "";
  std::string html = "<section aria-labelledby=\"assumed\"><h2 id=\"assumed\">Assumed</h2>\n<ul>\n";
  for (const std::string& assumption : input.assumptions)
    html += fmt::format("<li>{}</li>\n", escape_html(assumption));
  return html + "</ul></section>\n";
}

std::string page_title(const ReportInput& input) {
  std::string names;
  for (const ReportRun& run : input.runs)
    names += (names.empty() ? "" : ", ") + run.summary.policy;
  return escape_html(fmt::format("{} on {}", names, input.trace_name));
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
  add_deadlines(input, data, figures);
  add_gantt(input, data, figures);

  const std::string title = page_title(input);
  const std::string answer = escape_html(headline(input.runs));
  const std::string trace = escape_html(input.trace_name);
  const std::string jobs = escape_html(describe_jobs(input));
  const std::string cluster = escape_html(input.cluster.describe());
  const std::string summary = summary_table(input.runs) + loss_table(input.runs);
  const std::string assumptions = assumptions_html(input);
  const std::string provenance = provenance_html(input);
  const std::string chart_data = embed_json(data);
  const std::array<std::pair<std::string_view, std::string_view>, 16> values{{
      {"title", title},
      {"answer", answer},
      {"trace", trace},
      {"jobs", jobs},
      {"cluster", cluster},
      {"summary", summary},
      {"assumptions", assumptions},
      {"figures", figures},
      {"provenance", provenance},
      {"data", chart_data},
      {"uplot_license", embedded::uplot_license},
      {"uplot_css", embedded::uplot_css},
      {"report_css", embedded::report_css},
      {"uplot_js", embedded::uplot_js},
      {"format_js", embedded::format_js},
      {"report_js", embedded::report_js},
  }};
  return fill_template(embedded::report_template, values);
}

}  // namespace vtrain
