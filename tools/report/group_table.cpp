#include "tools/report/group_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>

#include "core/base/numbers.hpp"
#include "sched/metrics/metrics.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/metric.hpp"
#include "tools/report/page.hpp"

namespace vtrain {
namespace {

constexpr std::size_t kMostGroups = 10;

/// A column of figures over the jobs of a group.
struct GroupColumn {
  std::string_view key;            ///< metric
  std::string_view short_title{};  ///< title in the terminal, one or two lines; empty: that of the metric
  std::string_view title{};        ///< title on the page; empty: that of the metric
  /// The column is left out unless this metric is positive for some group; empty: no such condition.
  std::string_view needs{};
  /// Turn, from 1, in which the column is dropped if the terminal is too narrow; 0: never.
  int dropped_in_turn = 0;
};

constexpr std::array<GroupColumn, 15> kColumns = {{
    {.key = "deadline_satisfactory_ratio"},
    {.key = "deadline_satisfactory_ratio_by_gpu_hours", .dropped_in_turn = 6},
    {.key = "avg_tardiness_s", .short_title = "avg tar-\ndiness", .dropped_in_turn = 1},
    {.key = "p95_tardiness_s", .dropped_in_turn = 8},
    {.key = "promises_given",
     .short_title = "promises\ngiven",
     .needs = "promises_given",
     .dropped_in_turn = 4},
    {.key = "promises_broken", .needs = "promises_given"},
    {.key = "avg_jct_s"},
    {.key = "avg_waiting_time_s", .dropped_in_turn = 5},
    {.key = "p99_waiting_time_s", .short_title = "p99 wait", .title = "p99 wait", .dropped_in_turn = 7},
    {.key = "bounded_slowdown", .dropped_in_turn = 2},
    {.key = "preemptions", .needs = "preemptions", .dropped_in_turn = 3},
    {.key = "total_lost_gpu_hours",
     .short_title = "lost GPU-\nhours",
     .title = "Lost GPU-hours",
     .needs = "total_lost_gpu_hours",
     .dropped_in_turn = 9},
    {.key = "runtime_goodput",
     .short_title = "runtime\ngoodput",
     .title = "Runtime goodput",
     .needs = "total_lost_gpu_hours"},
    {.key = "cost"},
    {.key = "unpriced_jobs", .short_title = "unknown\ncost", .needs = "unpriced_jobs"},
}};
constexpr int kLastTurn = 9;

const Metric& metric_of(std::string_view key) {
  return *std::ranges::find(run_metrics(), key, &Metric::key);
}

/// Title on the page.
std::string_view title_of(const GroupColumn& column) {
  return column.title.empty() ? metric_of(column.key).title : column.title;
}

const GroupedFigures* asked_groups(const Summary& summary) {
  const auto found = std::ranges::find_if(summary.grouped, &GroupedFigures::is_asked);
  return found == summary.grouped.end() ? nullptr : &*found;
}

/// True if `holds` for the value of a metric for some group.
template <class Holds>
bool any_group(std::span<const Summary* const> replays, const Metric& metric, const Holds& holds) {
  return std::ranges::any_of(replays, [&](const Summary* replay) {
    return std::ranges::any_of(asked_groups(*replay)->groups, [&](const GroupFigures& group) {
      return holds(metric.of_jobs(group.figures));
    });
  });
}

/// Columns that say something about some group.
std::vector<GroupColumn> informative_columns(std::span<const Summary* const> replays) {
  std::vector<GroupColumn> columns;
  std::ranges::copy_if(kColumns, std::back_inserter(columns), [&](const GroupColumn& column) {
    if (!column.needs.empty())
      return any_group(replays, metric_of(column.needs), [](double value) { return value > 0; });
    return any_group(replays, metric_of(column.key), [](double value) { return !std::isnan(value); });
  });
  return columns;
}

/// Places of the groups in the order of the rows.
std::vector<std::size_t> order_of(const GroupedFigures& grouped) {
  std::vector<std::size_t> order(grouped.groups.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  if (grouped.grouping != JobGrouping::Size) {
    std::ranges::stable_sort(order, std::greater<>{},
                             [&](std::size_t group) { return grouped.groups[group].gpu_hours; });
  }
  return order;
}

std::vector<std::string> row_of(const GroupFigures& group, const Summary& replay,
                                std::span<const GroupColumn> columns) {
  std::vector<std::string> row = {"", replay.policy, with_thousands(group.figures.jobs),
                                  short_number(group.gpu_hours)};
  for (const GroupColumn& column : columns) {
    const Metric& metric = metric_of(column.key);
    row.push_back(metric_text(metric, metric.of_jobs(group.figures)));
  }
  return row;
}

/// The table with these columns; their titles are those of the terminal or of the page.
GroupTable table_of(std::span<const Summary* const> replays, std::span<const GroupColumn> columns,
                    bool for_terminal) {
  const GroupedFigures& first = *asked_groups(*replays.front());
  const std::string_view grouping = name_of(first.grouping);
  GroupTable table;
  table.header = {std::string(grouping), "policy", "jobs", "GPU-hours"};
  for (const GroupColumn& column : columns) {
    const std::string_view in_terminal =
        column.short_title.empty() ? metric_of(column.key).short_title : column.short_title;
    table.header.emplace_back(for_terminal ? in_terminal : title_of(column));
  }
  const std::vector<std::size_t> order = order_of(first);
  const std::size_t shown = first.grouping == JobGrouping::Size ? order.size() : kMostGroups;
  for (std::size_t rank = 0; rank < order.size() && rank < shown; ++rank) {
    // The jobs are the same under all policies, and so are the groups.
    for (const Summary* const replay : replays)
      table.rows.push_back(row_of(asked_groups(*replay)->groups[order[rank]], *replay, columns));
    const std::string& name = first.groups[order[rank]].name;
    table.rows[rank * replays.size()].front() = name.empty() ? fmt::format("no {}", grouping) : name;
  }
  if (order.size() > shown) {
    table.left_out = fmt::format(
        "{} with fewer GPU-hours are in summary.json",
        count_of(static_cast<std::int64_t>(order.size() - shown), fmt::format("other {}", grouping)));
  }
  return table;
}

/// The table for a terminal, with names flush left.
TextTable text_table_of(GroupTable cells) {
  std::size_t width = display_width(cells.header[1]);
  for (const std::vector<std::string>& row : cells.rows)
    width = std::max(width, display_width(row[1]));
  const auto merge = [&](std::vector<std::string>& row) {
    row[1] += std::string(width - std::min(width, display_width(row[1])), ' ');
  };
  merge(cells.header);
  TextTable table(std::move(cells.header));
  for (std::vector<std::string>& row : cells.rows) {
    merge(row);
    table.add_row(std::move(row));
  }
  return table;
}

bool has_groups(std::span<const Summary* const> replays) {
  return !replays.empty() && asked_groups(*replays.front()) != nullptr;
}

}  // namespace

std::optional<GroupTable> group_table(std::span<const Summary* const> replays) {
  if (!has_groups(replays)) return std::nullopt;
  return table_of(replays, informative_columns(replays), false);
}

std::string group_table_text(std::span<const Summary* const> replays) {
  if (!has_groups(replays)) return {};
  std::vector<GroupColumn> columns = informative_columns(replays);
  GroupTable cells = table_of(replays, columns, true);
  TextTable table = text_table_of(cells);
  std::vector<std::string_view> dropped;
  for (int turn = 1; turn <= kLastTurn && table.width() > text_columns(); ++turn) {
    const auto column = std::ranges::find(columns, turn, &GroupColumn::dropped_in_turn);
    if (column == columns.end()) continue;
    dropped.push_back(title_of(*column));
    columns.erase(column);
    table = text_table_of(table_of(replays, columns, true));
  }
  std::string text = "\n" + table.to_string();
  if (!dropped.empty())
    text +=
        wrap_text(fmt::format("no room for {}: see --json", fmt::join(dropped, ", ")), text_columns()) + "\n";
  return text + (cells.left_out.empty() ? "" : cells.left_out + "\n");
}

std::string report::group_table_html(std::span<const Summary* const> replays) {
  const auto cells = group_table(replays);
  if (!cells) return {};
  std::string html = fmt::format(
      "<h2>By {0}</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Figures by {0}\">\n"
      "<table id=\"groups\">\n<thead><tr>",
      escape_html(cells->header.front()));
  for (const std::string& title : cells->header)
    html += fmt::format("<th scope=\"col\">{}</th>", escape_html(title));
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : cells->rows) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", escape_html(row.front()));
    for (std::size_t i = 1; i < row.size(); ++i)
      html += fmt::format("<td>{}</td>", escape_html(row[i]));
    html += "</tr>\n";
  }
  html += "</tbody>\n</table>\n</div>\n";
  if (!cells->left_out.empty())
    html += fmt::format("<p class=\"note\">{}.</p>\n", escape_html(cells->left_out));
  return html;
}

}  // namespace vtrain
