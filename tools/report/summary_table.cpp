#include "tools/report/summary_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>

#include "sched/metrics.hpp"
#include "tools/output_format.hpp"
#include "tools/report/html.hpp"
#include "tools/report/metric.hpp"

namespace vtrain::report {
namespace {

struct Column {
  std::string_view title;
  std::string_view meaning;
  Metric metric;
};

std::string as_count(double value) {
  return with_thousands(std::llround(value));
}
std::string as_ratio(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.3f}", value);
}
std::string as_fairness(double value) {
  return value < 100 ? fmt::format("{:.2f}", value) : short_number(value);
}

constexpr std::array kColumns{
    Column{
        "Deadlines met",
        "share of the jobs with a deadline that completed by it",
        {Better::Higher,
         [](const Summary& s) { return s.deadline_satisfactory_ratio.value_or(std::nan("")); }, as_percent}},
    Column{"Average JCT",
           "job completion time, end minus submission, over completed jobs",
           {Better::Lower, [](const Summary& s) { return s.avg_jct_s; }, as_duration}},
    Column{"Median JCT",
           "half of the completed jobs took at most this long",
           {Better::Lower, [](const Summary& s) { return s.p50_jct_s; }, as_duration}},
    Column{"p99 JCT",
           "99 % of the completed jobs took at most this long",
           {Better::Lower, [](const Summary& s) { return s.p99_jct_s; }, as_duration}},
    Column{"Average wait",
           "time without GPUs between submission and end, also after being stopped, over jobs that ended",
           {Better::Lower, [](const Summary& s) { return s.avg_waiting_time_s; }, as_duration}},
    Column{"Makespan",
           "last end minus first submission",
           {Better::Lower, [](const Summary& s) { return s.makespan_s; }, as_days}},
    Column{"GPUs in use",
           "GPU-seconds held, of all GPUs until the last one is given back",
           {Better::Higher, [](const Summary& s) { return s.gpu_utilization; }, as_percent}},
    Column{"Worst fairness",
           "largest finish-time fairness of a job: its JCT divided by that on an equal share of the cluster; "
           "1 is fair",
           {Better::Lower, [](const Summary& s) { return s.finish_time_fairness_max; }, as_fairness}},
    Column{"Jain index",
           "evenness of finish-time fairness over the jobs, in (0, 1]; 1 is equal treatment",
           {Better::Higher, [](const Summary& s) { return s.jain_index; }, as_ratio}},
    Column{"Preemptions",
           "times that a running job lost its GPUs",
           {Better::Neither, [](const Summary& s) { return static_cast<double>(s.preemptions); }, as_count}},
    Column{"Not completed",
           "jobs rejected, failed or unfinished. Averages do not count them; of times, the best are those of "
           "the policies that completed the most jobs",
           {Better::Neither, [](const Summary& s) { return static_cast<double>(s.jobs - s.completed); },
            as_count}},
};

/// What a replay says of its disruptions; NaN for one in which nothing could cost jobs time.
double disrupted(const Summary& summary, double (*value)(const DisruptionSummary&)) {
  return summary.disruptions ? value(*summary.disruptions) : std::nan("");
}

/// GPU-hours lost to one cause.
double lost_to(const Summary& summary, LossCause cause) {
  return summary.disruptions ? summary.disruptions->lost_gpu_hours[static_cast<std::size_t>(cause)]
                             : std::nan("");
}

constexpr std::array kLossColumns{
    Column{
        "Goodput",
        "GPU-hours of work that lasts, of all GPUs until the last one is given back",
        {Better::Higher,
         [](const Summary& s) { return disrupted(s, [](const auto& d) { return d.goodput; }); }, as_percent}},
    Column{"Useful GPU-hours",
           "held by jobs for work that lasts",
           {Better::Neither,
            [](const Summary& s) { return disrupted(s, [](const auto& d) { return d.useful_gpu_hours; }); },
            short_number}},
    Column{"Lost work",
           "GPU-hours since the last complete checkpoint, lost with failing nodes",
           {Better::Lower, [](const Summary& s) { return lost_to(s, LossCause::LostWork); }, short_number}},
    Column{"Failure restarts",
           "GPU-hours of noticing failures and starting again",
           {Better::Lower, [](const Summary& s) { return lost_to(s, LossCause::FailureRestart); },
            short_number}},
    Column{"Preemptions",
           "GPU-hours of saving and starting again after preemptions",
           {Better::Lower, [](const Summary& s) { return lost_to(s, LossCause::Preemption); }, short_number}},
    Column{"Resizes",
           "GPU-hours of saving and starting again on another number of GPUs",
           {Better::Lower, [](const Summary& s) { return lost_to(s, LossCause::Resize); }, short_number}},
    Column{"Checkpoints",
           "GPU-hours of writing periodic checkpoints",
           {Better::Lower, [](const Summary& s) { return lost_to(s, LossCause::Checkpoint); }, short_number}},
    Column{"Spread",
           "GPU-hours of training slower than on one node",
           {Better::Lower, [](const Summary& s) { return lost_to(s, LossCause::Spread); }, short_number}},
    Column{"Out of service",
           "GPU-hours of nodes that were away",
           {Better::Neither,
            [](const Summary& s) {
              return disrupted(s, [](const auto& d) { return d.out_of_service_gpu_hours; });
            },
            short_number}},
    Column{"Jobs stopped",
           "times that a failing node stopped a job",
           {Better::Neither,
            [](const Summary& s) {
              return disrupted(s, [](const auto& d) { return static_cast<double>(d.interruptions); });
            },
            as_count}},
};

bool is_shown(const Column& column, std::span<const ReportRun> runs) {
  const auto known = [&](const ReportRun& run) { return !std::isnan(column.metric.value(run.summary)); };
  if (column.title == "Not completed") {
    return std::ranges::any_of(runs,
                               [&](const ReportRun& run) { return column.metric.value(run.summary) > 0; });
  }
  return std::ranges::any_of(runs, known);
}

std::vector<const Summary*> summaries_of(std::span<const ReportRun> runs) {
  std::vector<const Summary*> replays;
  for (const ReportRun& run : runs)
    replays.push_back(&run.summary);
  return replays;
}

std::string table_cell(const Metric& metric, const Summary& summary, bool is_best) {
  const double value = metric.value(summary);
  const std::string text = escape_html(metric.show(value));
  const std::string exact = std::isnan(value) ? "" : fmt::format(" title=\"{:.10g}\"", value);
  if (is_best) {
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

/// The table of those columns that say something, and what they mean; empty if none does.
std::string column_table(std::span<const Column> all, std::span<const ReportRun> runs, std::string_view id,
                         std::string_view label) {
  const std::vector<const Summary*> replays = summaries_of(runs);
  std::vector<const Column*> columns;
  std::vector<std::vector<bool>> best;
  for (const Column& column : all) {
    if (!is_shown(column, runs)) continue;
    columns.push_back(&column);
    best.push_back(best_replays(column.metric, replays));
  }
  if (columns.empty()) return {};
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table id=\"{}\">\n"
      "<thead><tr><th scope=\"col\">Policy</th>",
      escape_html(label), id);
  for (const Column* column : columns) {
    html += fmt::format("<th scope=\"col\" title=\"{}\">{}</th>", escape_html(column->meaning),
                        escape_html(column->title));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    html += row_head(i, runs[i].summary);
    for (std::size_t column = 0; column < columns.size(); ++column)
      html += table_cell(columns[column]->metric, runs[i].summary, best[column][i]);
    html += "</tr>\n";
  }
  html += "</tbody>\n</table>\n</div>\n";
  const bool any_best = std::ranges::any_of(
      best, [](const std::vector<bool>& column) { return std::ranges::find(column, true) != column.end(); });
  if (any_best) html += fmt::format("<p class=\"note\">{}</p>\n", meaning_of_stars(replays));
  html += "<details><summary>What the columns mean</summary>\n<dl>\n";
  for (const Column* column : columns) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(column->title), escape_html(column->meaning));
  }
  return html + "</dl>\n</details>\n";
}

}  // namespace

std::string summary_table(std::span<const ReportRun> runs) {
  return column_table(kColumns, runs, "summary", "Summary of all policies");
}

std::string loss_table(std::span<const ReportRun> runs) {
  const std::string table = column_table(kLossColumns, runs, "losses", "What jobs lost under each policy");
  return table.empty() ? table : "<h2>What interruptions, checkpoints and failures cost</h2>\n" + table;
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
