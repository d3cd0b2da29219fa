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

std::vector<const Summary*> summaries_of(std::span<const ReportRun> runs) {
  std::vector<const Summary*> replays;
  for (const ReportRun& run : runs)
    replays.push_back(&run.summary);
  return replays;
}

std::string table_cell(const Metric& metric, const Summary& summary, bool is_best) {
  const double value = metric.value(summary);
  const std::string text = escape_html(metric_text(metric, value));
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

/// What the policy did to running jobs.
std::string with_interruptions(const Summary& summary) {
  if (summary.preemptions + summary.resizes == 0) return "without preemptions";
  const std::string preemptions = count_of(summary.preemptions, "preemption");
  if (summary.resizes == 0) return "with " + preemptions;
  const std::string resizes = count_of(summary.resizes, "resize");
  return summary.preemptions == 0 ? "with " + resizes : fmt::format("with {} and {}", resizes, preemptions);
}

std::string join_names(std::span<const Summary* const> summaries) {
  std::vector<std::string> names;
  for (const Summary* const summary : summaries)
    names.push_back(summary->policy);
  return join_with_and(names);
}

/// The lead of the better of two ratios: the difference of the percentages as tables show them, with one
/// digit, so that a reader who subtracts finds the same, but never a difference of nothing.
std::string percentage_points(double better, double other) {
  const auto shown = [](double ratio) { return std::round(1000 * ratio) / 10; };
  const double points = shown(better) - shown(other);
  return points >= 0.05 ? fmt::format("{:.1f} points", points)
                        : fmt::format("{:.1g} points", 100 * (better - other));
}

double met_ratio(const Summary& summary) {
  return summary.deadline_satisfactory_ratio.value_or(0);
}

bool completed_nothing(const Summary& summary) {
  return std::isnan(summary.avg_jct_s);
}

std::string single_answer(const Summary& only) {
  if (completed_nothing(only)) return fmt::format("{} completed no job.", only.policy);
  const std::string jct = as_duration(only.avg_jct_s);
  if (!only.deadline_satisfactory_ratio) {
    return fmt::format("{} finished {} of {} jobs with an average JCT of {}, {}.", only.policy,
                       with_thousands(only.completed), with_thousands(only.jobs), jct,
                       with_interruptions(only));
  }
  return fmt::format("{} met {} of the deadlines, with an average JCT of {}, {}.", only.policy,
                     as_percent(met_ratio(only)), jct, with_interruptions(only));
}

/// `ranked` is best first; at least two.
std::string deadline_answer(std::span<const Summary* const> ranked) {
  const Summary& best = *ranked.front();
  const auto ties = static_cast<std::size_t>(std::ranges::count_if(
      ranked, [&](const Summary* summary) { return met_ratio(*summary) == met_ratio(best); }));
  if (ties == 1) {
    return fmt::format("{} met {} of the deadlines, {} more than {}, {}.", best.policy,
                       as_percent(met_ratio(best)), percentage_points(met_ratio(best), met_ratio(*ranked[1])),
                       ranked[1]->policy, with_interruptions(best));
  }
  std::string text = fmt::format("{} {} met {} of the deadlines", join_names(ranked.first(ties)),
                                 ties == 2 ? "both" : "all", as_percent(met_ratio(best)));
  if (best.completed == ranked[1]->completed && best.avg_jct_s < ranked[1]->avg_jct_s) {
    text += fmt::format("; {} has the shortest average JCT of them, {}, {}", best.policy,
                        as_duration(best.avg_jct_s), with_interruptions(best));
  }
  return text + ".";
}

/// `ranked` is best first; at least two.
std::string jct_answer(std::span<const Summary* const> ranked) {
  const Summary& best = *ranked.front();
  const Summary& second = *ranked[1];
  if (completed_nothing(best)) return "No policy completed a job.";
  if (second.completed < best.completed) {
    return fmt::format("{} completed the most jobs, {} of {}, with an average JCT of {}, {}.", best.policy,
                       with_thousands(best.completed), with_thousands(best.jobs), as_duration(best.avg_jct_s),
                       with_interruptions(best));
  }
  const double saved = 1 - best.avg_jct_s / second.avg_jct_s;
  if (!(saved > 0)) {
    return fmt::format("{} and {} have the same average JCT, {}.", best.policy, second.policy,
                       as_duration(best.avg_jct_s));
  }
  return fmt::format("{} has the shortest average JCT, {}, which is {} less than {} ({}), {}.", best.policy,
                     as_duration(best.avg_jct_s), saved >= 0.0005 ? as_percent(saved) : "under 0.1 %",
                     second.policy, as_duration(second.avg_jct_s), with_interruptions(best));
}

}  // namespace

std::string headline(std::span<const ReportRun> runs) {
  if (runs.size() == 1) return single_answer(runs.front().summary);
  std::vector<const Summary*> ranked;
  for (const ReportRun& run : runs)
    ranked.push_back(&run.summary);
  const bool by_deadlines = runs.front().summary.deadline_satisfactory_ratio.has_value();
  std::ranges::stable_sort(ranked, [by_deadlines](const Summary* a, const Summary* b) {
    if (by_deadlines && met_ratio(*a) != met_ratio(*b)) return met_ratio(*a) > met_ratio(*b);
    // Who turns jobs away has short JCTs.
    if (a->completed != b->completed) return a->completed > b->completed;
    if (completed_nothing(*a)) return false;
    return a->avg_jct_s < b->avg_jct_s;
  });
  return by_deadlines ? deadline_answer(ranked) : jct_answer(ranked);
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

/// The table of those columns that say something, and what they mean; empty if none does.
std::string column_table(std::span<const Metric> all, std::span<const ReportRun> runs, std::string_view id,
                         std::string_view label) {
  const std::vector<const Summary*> replays = summaries_of(runs);
  std::vector<const Metric*> columns;
  std::vector<std::vector<bool>> best;
  for (const Metric& column : all) {
    if (column.title.empty() || !is_shown(column, replays)) continue;
    columns.push_back(&column);
    best.push_back(best_replays(column, replays));
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
      html += table_cell(*columns[column], runs[i].summary, best[column][i]);
    html += "</tr>\n";
  }
  html += "</tbody>\n</table>\n</div>\n";
  const bool any_best = std::ranges::any_of(
      best, [](const std::vector<bool>& column) { return std::ranges::find(column, true) != column.end(); });
  if (any_best) html += fmt::format("<p class=\"note\">{}</p>\n", meaning_of_stars(replays));
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
