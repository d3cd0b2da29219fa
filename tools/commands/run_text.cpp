#include "tools/commands/run_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "sched/metrics/metrics.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/report/group_table.hpp"
#include "tools/report/metric.hpp"
#include "tools/results/results.hpp"
#include "traces/editing/statistics.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

/// The hints, a line each.
std::string hint_lines(const Scenario& scenario, const std::vector<RunResult>& runs) {
  std::string text;
  for (const std::string& hint : hints_on(scenario, runs))
    text += wrap_text(hint, text_columns()) + "\n";
  return text;
}

/// Jobs that did not complete, a line for each policy that has any.
std::string incomplete_jobs(const std::vector<RunResult>& runs) {
  std::string text;
  for (const RunResult& run : runs) {
    const Summary& summary = run.summary;
    if (summary.completed == summary.jobs) continue;
    std::vector<std::string> others;
    const auto add = [&others](std::int64_t count, std::string_view what) {
      if (count > 0) others.push_back(fmt::format("{} {}", with_thousands(count), what));
    };
    add(summary.rejected - summary.rejected_by_policy - summary.lacking_type,
        "rejected as too large for the cluster");
    add(summary.lacking_type, "rejected for a GPU type that the cluster lacks");
    add(summary.rejected_by_policy, "rejected by the policy");
    add(summary.failed,
        summary.failed == 1 ? "stopped at its requested time" : "stopped at their requested times");
    add(summary.unfinished, "never finished");
    text += fmt::format("{}: {} of {} completed; {}", summary.policy, with_thousands(summary.completed),
                        count_of(summary.jobs, "job"), fmt::join(others, ", "));
    if (summary.stopped_early) text += ": the replay ends ten years after the last submission";
    text += "\n";
  }
  return text;
}

/// Promises to meet deadlines, a line for each policy that gave any.
std::string promises(const std::vector<RunResult>& runs) {
  std::string text;
  for (const RunResult& run : runs) {
    const Summary& summary = run.summary;
    if (summary.promises_given == 0) continue;
    text += fmt::format("{}: promised to meet {}, kept {}, broke {}\n", summary.policy,
                        count_of(summary.promises_given, "deadline"), with_thousands(summary.promises_kept),
                        with_thousands(summary.promises_broken));
  }
  return text;
}

/// Jobs whose cost is not known, a line for each policy that has any.
std::string unknown_costs(const Scenario& scenario, const std::vector<RunResult>& runs) {
  std::string text;
  for (const RunResult& run : runs) {
    if (run.summary.unpriced_jobs == 0) continue;
    const std::vector<std::string> without = scenario.prices().types_without_price();
    // Where types are counted, all jobs on types with prices have a cost.
    const bool types_known =
        GpuTypes(scenario.cluster(), {}).names().size() == 1 || !run.result.gpu_time_by_type.empty();
    text += fmt::format("{}: cost unknown, as {} held GPUs {}\n", run.summary.policy,
                        count_of(run.summary.unpriced_jobs, "job"),
                        types_known ? fmt::format("without a price ({})", fmt::join(without, ", "))
                                    : fmt::format("of a type that placement {} does not tell",
                                                  info_of(scenario.placement()).name));
  }
  return text;
}

/// Figures of the policies on their own work, a line for each policy that has any. Figures of 0 are left out.
std::string policy_figures(const std::vector<RunResult>& runs) {
  constexpr std::string_view kPercent = "_percent";
  std::string text;
  for (const RunResult& run : runs) {
    std::string line;
    for (const PolicyFigure& figure : run.summary.figures) {
      if (figure.value == 0) continue;
      const bool percent = figure.name.ends_with(kPercent);
      std::string name(figure.name.substr(0, figure.name.size() - (percent ? kPercent.size() : 0)));
      std::replace(name.begin(), name.end(), '_', ' ');
      const std::string value = figure.value == std::trunc(figure.value)
                                    ? with_thousands(static_cast<std::int64_t>(figure.value))
                                    : fmt::format("{:.3g}", figure.value);
      line += fmt::format("{} {} {}{}", line.empty() ? "" : ",", name, value, percent ? " %" : "");
    }
    if (!line.empty()) text += fmt::format("{}:{}\n", run.summary.policy, line);
  }
  return text;
}

/// Share of the free GPUs that was too fragmented, a line for each policy whose placement measures it.
std::string fragmentation_rates(const std::vector<RunResult>& runs) {
  std::string text;
  for (const RunResult& run : runs) {
    if (!run.summary.fragmentation) continue;
    text += fmt::format("{}: {} of the free GPUs were too fragmented to use, mean over time; largest {}\n",
                        run.summary.policy, as_percent(run.summary.fragmentation->mean_rate),
                        as_percent(run.summary.fragmentation->max_rate));
  }
  return text;
}

}  // namespace

std::string answer_lines(const Scenario& scenario, const std::vector<RunResult>& runs) {
  return wrap_text(answer_of(scenario, runs), text_columns());
}

std::string describe_scenario(const Scenario& scenario) {
  const TraceTotals totals = trace_totals(scenario.workload());
  const PlacementInfo& placement = info_of(scenario.placement());
  const bool shared = placement.shares_gpus;
  const std::string format =
      scenario.trace_format().empty() ? "" : fmt::format(" ({})", scenario.trace_format());
  const double load = totals.offered_load(scenario.cluster().total_gpus(), shared);
  return labelled_lines("trace",
                        {printable(scenario.trace_name()) + format, count_of(totals.jobs, "job"),
                         as_days(to_seconds(totals.span())), as_gpu_hours(totals.gpu_hours_of(shared)),
                         "offered load " + as_load(load)}) +
         skipped_line(scenario.skipped()) +
         labelled_lines("cluster",
                        {scenario.cluster().describe(), fmt::format("placement {}", placement.name)}) +
         assumed_lines(texts_of(scenario.notes()));
}

namespace {

/// A column of the table: its title, and a cell for each run.
struct Column {
  std::vector<std::string> cells{};
  std::vector<Mark> marks{};
  const Metric* metric = nullptr;  ///< null: the names of the policies
};

/// A column of these replays. Where one of its values has a mark, all its lines have room for one.
Column column_of(const Metric& metric, std::span<const Summary* const> replays) {
  Column column{.marks = marks_of(metric, replays), .metric = &metric};
  const bool has_marks = std::ranges::any_of(column.marks, [](Mark mark) { return mark != Mark::None; });
  const auto sign = [has_marks](Mark mark) { return has_marks ? sign_of(mark) : ""; };
  std::string title;
  for (const std::string_view line : split(metric.short_title, '\n'))
    title += fmt::format("{}{}{}", title.empty() ? "" : "\n", line, sign(Mark::None));
  column.cells.push_back(std::move(title));
  for (std::size_t i = 0; i < replays.size(); ++i) {
    column.cells.push_back(
        fmt::format("{}{}", metric_text(metric, metric.value(*replays[i])), sign(column.marks[i])));
  }
  return column;
}

/// The columns as a table.
TextTable table_of(const std::vector<Column>& columns) {
  std::vector<std::vector<std::string>> rows(columns.front().cells.size());
  for (const Column& column : columns) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].push_back(column.cells[i]);
  }
  TextTable table(std::move(rows.front()));
  for (std::size_t i = 1; i < rows.size(); ++i)
    table.add_row(std::move(rows[i]));
  return table;
}

}  // namespace

Comparison comparison_of(const std::vector<RunResult>& runs) {
  std::vector<const Summary*> replays;
  Column names{{"policy"}};
  for (const RunResult& run : runs) {
    replays.push_back(&run.summary);
    names.cells.push_back(run.summary.policy);
  }
  Comparison comparison;
  std::vector<Column> columns = {std::move(names)};
  for (const Metric& metric : run_metrics()) {
    if (metric.short_title.empty() || !is_shown(metric, replays)) continue;
    columns.push_back(column_of(metric, replays));
  }
  TextTable table = table_of(columns);
  std::vector<std::string> left_out;
  const int last_turn = std::ranges::max(run_metrics(), {}, &Metric::dropped_in_turn).dropped_in_turn;
  for (int turn = 1; turn <= last_turn && table.width() > text_columns(); ++turn) {
    std::erase_if(columns, [&](const Column& column) {
      const bool is_dropped = column.metric != nullptr && column.metric->dropped_in_turn == turn;
      if (is_dropped) left_out.emplace_back(column.metric->title);
      return is_dropped;
    });
    table = table_of(columns);
  }
  comparison.table = table.to_string();
  if (!left_out.empty())
    comparison.left_out =
        wrap_text(fmt::format("no room for {}: see --json", fmt::join(left_out, ", ")), text_columns()) +
        "\n";
  std::vector<std::vector<Mark>> marks;
  for (const Column& column : columns)
    marks.push_back(column.marks);
  comparison.marks = meaning_of_marks(marks);
  if (!comparison.marks.empty()) comparison.marks += "\n";
  return comparison;
}

std::string lost_gpu_hours(const std::vector<RunResult>& runs) {
  std::vector<std::pair<std::string, const DisruptionSummary*>> disrupted;
  for (const RunResult& run : runs) {
    if (run.summary.disruptions) disrupted.emplace_back(run.summary.policy, &*run.summary.disruptions);
  }
  if (disrupted.empty()) return {};
  std::vector<std::string> header = {"GPU-hours lost to"};
  std::vector<std::size_t> causes;
  for (std::size_t cause = 0; cause < kNumLossCauses; ++cause) {
    if (std::all_of(disrupted.begin(), disrupted.end(),
                    [cause](const auto& row) { return row.second->lost_gpu_hours[cause] == 0; }))
      continue;
    causes.push_back(cause);
    header.push_back(lower_case(kLossCauses[cause].title));
  }
  const bool nodes_fail = std::ranges::any_of(disrupted, [](const auto& row) {
    return row.second->out_of_service_gpu_hours > 0 || row.second->interruptions > 0;
  });
  if (causes.empty() && !nodes_fail) return {};
  header.emplace_back("of those held");
  if (nodes_fail) header.insert(header.end(), {"out of service", "jobs stopped"});
  header.emplace_back("goodput");
  TextTable table(std::move(header));
  for (const auto& [policy, summary] : disrupted) {
    std::vector<std::string> row = {policy};
    for (const std::size_t cause : causes)
      row.push_back(short_number(summary->lost_gpu_hours[cause]));
    const double lost = summary->total_lost_gpu_hours();
    const double held = lost + summary->useful_gpu_hours;
    row.push_back(as_percent(held > 0 ? lost / held : 0));
    if (nodes_fail) {
      row.push_back(short_number(summary->out_of_service_gpu_hours));
      row.push_back(with_thousands(summary->interruptions));
    }
    row.push_back(as_percent(summary->goodput));
    table.add_row(std::move(row));
  }
  return "\n" + table.to_string() + "goodput: useful GPU-hours / available GPU-hours\n";
}

std::string figures_by_group(const std::vector<RunResult>& runs) {
  std::vector<const Summary*> replays;
  for (const RunResult& run : runs)
    replays.push_back(&run.summary);
  return group_table_text(replays);
}

std::string notes_on_runs(const Scenario& scenario, const std::vector<RunResult>& runs) {
  return hint_lines(scenario, runs) + fragmentation_rates(runs) + incomplete_jobs(runs) + promises(runs) +
         unknown_costs(scenario, runs) + policy_figures(runs);
}

}  // namespace vtrain
