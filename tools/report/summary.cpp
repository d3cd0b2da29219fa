#include "tools/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <string>
#include <vector>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "sched/metrics/metrics.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/metric.hpp"
#include "tools/report/page.hpp"
#include "tools/report/report.hpp"

namespace vtrain::report {
namespace {

std::string table_cell(const Metric& metric, const Summary& summary, Mark mark) {
  const double value = metric.value(summary);
  const std::string text = escape_html(metric_text(metric, value));
  const std::string exact = std::isnan(value) ? "" : fmt::format(" title=\"{:.10g}\"", value);
  if (mark == Mark::NotCompared)
    return fmt::format(
        "<td{}>{}<span aria-hidden=\"true\">\u202f†</span>"
        "<span class=\"unseen\"> (not compared)</span></td>",
        exact, text);
  if (mark == Mark::Best) {
    return fmt::format(
        "<td class=\"best\"{}><strong>{}</strong><span aria-hidden=\"true\">\u202f*</span>"
        "<span class=\"unseen\"> (best)</span></td>",
        exact, text);
  }
  return fmt::format("<td{}>{}</td>", exact, text);
}

std::string row_head(std::size_t index, const Summary& summary) {
  return fmt::format("<tr><th scope=\"row\">{} <span>{}</span></th>", line_key(index),
                     escape_html(summary.policy));
}

}  // namespace

std::vector<const Summary*> summaries_of(std::span<const ReportRun> runs) {
  std::vector<const Summary*> replays;
  for (const ReportRun& run : runs)
    replays.push_back(&run.summary);
  return replays;
}

std::string line_key(std::size_t index) {
  // As many as report.css has; the two cycles have no common factor, so that pairs repeat late.
  constexpr std::size_t kNumColours = 7;
  constexpr std::size_t kNumDashes = 5;
  return fmt::format(
      "<svg class=\"key\" viewBox=\"0 0 34 8\" aria-hidden=\"true\"><line class=\"colour{} dash{}\" x1=\"0\" "
      "y1=\"4\" x2=\"34\" y2=\"4\"/></svg>",
      index % kNumColours, index % kNumDashes);
}

namespace {

/// Table of the informative columns, with their meaning; empty without any.
std::string column_table(std::span<const Metric> all, std::span<const ReportRun> runs, std::string_view id,
                         std::string_view label) {
  const std::vector<const Summary*> replays = summaries_of(runs);
  std::vector<const Metric*> columns;
  std::vector<std::vector<Mark>> marks;
  for (const Metric& column : all) {
    if (column.title.empty() || !is_shown(column, replays)) continue;
    columns.push_back(&column);
    marks.push_back(marks_of(column, replays));
  }
  if (columns.empty()) return {};
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table id=\"{}\">\n"
      "<thead><tr><th scope=\"col\">Policy</th>",
      escape_html(label), id);
  for (const Metric* column : columns) {
    html += fmt::format("<th scope=\"col\" title=\"{}\">{}</th>", escape_html(column->meaning),
                        escape_html(column->title));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    html += row_head(i, runs[i].summary);
    for (std::size_t column = 0; column < columns.size(); ++column)
      html += table_cell(*columns[column], runs[i].summary, marks[column][i]);
    html += "</tr>\n";
  }
  html += "</tbody>\n</table>\n</div>\n";
  if (const std::string meaning = meaning_of_marks(marks); !meaning.empty())
    html += fmt::format("<p class=\"note\">{}</p>\n", meaning);
  html += "<details><summary>What the columns mean</summary>\n<dl>\n";
  for (const Metric* column : columns) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(column->title), escape_html(column->meaning));
  }
  return html + "</dl>\n</details>\n";
}

}  // namespace

std::string summary_table(std::span<const ReportRun> runs) {
  return column_table(run_metrics(), runs, "summary", "Summary of all policies");
}

std::string loss_table(std::span<const ReportRun> runs) {
  const bool any = std::ranges::any_of(runs, [](const ReportRun& run) {
    const auto& disruptions = run.summary.disruptions;
    return disruptions && (disruptions->total_lost_gpu_hours() > 0 || disruptions->outages > 0);
  });
  if (!any) return {};
  const std::string table = column_table(loss_metrics(), runs, "losses", "What jobs lost under each policy");
  return table.empty() ? table
                       : "<h2>GPU-hours lost to interruptions, checkpoints and failures</h2>\n" + table;
}

std::string percentile_table(std::span<const ReportRun> runs, const SortedSamples& samples,
                             std::string_view what) {
  constexpr std::array kPercents{10, 25, 50, 75, 90, 95, 99, 100};
  std::string html = fmt::format(
      "<details><summary>{0} in numbers</summary>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"{0} "
      "percentiles\">\n<table>\n<thead><tr><th scope=\"col\">Policy</th><th scope=\"col\">Jobs</th>",
      escape_html(what));
  for (const int percent : kPercents) {
    html += percent == 100  ? "<th scope=\"col\">largest</th>"
            : percent == 50 ? "<th scope=\"col\">median</th>"
                            : fmt::format("<th scope=\"col\">p{}</th>", percent);
  }
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<double> values = samples[i];
    html += row_head(i, runs[i].summary);
    html += fmt::format("<td>{}</td>", with_thousands(static_cast<std::int64_t>(values.size())));
    for (const int percent : kPercents) {
      html += values.empty() ? "<td>-</td>"
                             : fmt::format("<td>{}</td>", as_duration(percentile(values, percent)));
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n</details>\n";
}

}  // namespace vtrain::report
