#include "tools/report/group_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "core/base/numbers.hpp"
#include "sched/metrics/metrics.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/metric.hpp"
#include "tools/report/page.hpp"

namespace vtrain {
namespace {

constexpr std::size_t kMostGroups = 10;

/// Metrics of the columns, by key.
constexpr std::array<std::string_view, 6> kColumns = {
    "deadline_satisfactory_ratio", "avg_jct_s",        "avg_waiting_time_s",
    "p99_waiting_time_s",          "bounded_slowdown", "preemptions"};

const GroupedFigures* asked_groups(const Summary& summary) {
  const auto found = std::ranges::find_if(summary.grouped, &GroupedFigures::is_asked);
  return found == summary.grouped.end() ? nullptr : &*found;
}

std::string title_of(const Metric& metric) {
  return metric.short_title.empty() ? "p99 wait" : std::string(metric.short_title);
}

/// Metrics that have a value for some group.
std::vector<const Metric*> columns_of(std::span<const Summary* const> replays) {
  std::vector<const Metric*> columns;
  for (const std::string_view key : kColumns) {
    const auto metric = std::ranges::find(run_metrics(), key, &Metric::key);
    const bool any = std::ranges::any_of(replays, [&](const Summary* replay) {
      return std::ranges::any_of(asked_groups(*replay)->groups, [&](const GroupFigures& group) {
        const double value = metric->of_jobs(group.figures);
        return metric->unit == MetricUnit::Count ? value > 0 : value == value;
      });
    });
    if (any) columns.push_back(&*metric);
  }
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
                                const std::vector<const Metric*>& columns) {
  std::vector<std::string> row = {"", replay.policy, with_thousands(group.figures.jobs),
                                  short_number(group.gpu_hours)};
  for (const Metric* const metric : columns)
    row.push_back(metric_text(*metric, metric->of_jobs(group.figures)));
  return row;
}

}  // namespace

std::optional<GroupTable> group_table(std::span<const Summary* const> replays) {
  const GroupedFigures* const first = replays.empty() ? nullptr : asked_groups(*replays.front());
  if (first == nullptr) return std::nullopt;
  const std::string_view grouping = name_of(first->grouping);
  const std::vector<const Metric*> columns = columns_of(replays);
  GroupTable table;
  table.header = {std::string(grouping), "policy", "jobs", "GPU-hours"};
  for (const Metric* const metric : columns)
    table.header.push_back(title_of(*metric));
  const std::vector<std::size_t> order = order_of(*first);
  const std::size_t shown = first->grouping == JobGrouping::Size ? order.size() : kMostGroups;
  for (std::size_t rank = 0; rank < order.size() && rank < shown; ++rank) {
    // The jobs are the same under all policies, and so are the groups.
    for (const Summary* const replay : replays)
      table.rows.push_back(row_of(asked_groups(*replay)->groups[order[rank]], *replay, columns));
    const std::string& name = first->groups[order[rank]].name;
    table.rows[rank * replays.size()].front() = name.empty() ? fmt::format("no {}", grouping) : name;
  }
  if (order.size() > shown) {
    table.left_out = fmt::format(
        "{} with fewer GPU-hours are in summary.json",
        count_of(static_cast<std::int64_t>(order.size() - shown), fmt::format("other {}", grouping)));
  }
  return table;
}

std::string group_table_text(std::span<const Summary* const> replays) {
  auto cells = group_table(replays);
  if (!cells) return {};
  // Names are flush left.
  std::size_t width = display_width(cells->header[1]);
  for (const std::vector<std::string>& row : cells->rows)
    width = std::max(width, display_width(row[1]));
  const auto merge = [&](std::vector<std::string>& row) {
    row[1] += std::string(width - std::min(width, display_width(row[1])), ' ');
  };
  merge(cells->header);
  TextTable table(std::move(cells->header));
  for (std::vector<std::string>& row : cells->rows) {
    merge(row);
    table.add_row(std::move(row));
  }
  return "\n" + table.to_string() + (cells->left_out.empty() ? "" : cells->left_out + "\n");
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
