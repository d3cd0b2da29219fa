#include "tools/report/trace_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string_view>

#include "core/base/numbers.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/chart_data.hpp"
#include "tools/report/page.hpp"
#include "tools/report/summary.hpp"
#include "tools/report/trace_charts.hpp"

namespace vtrain {
namespace report {
namespace {

using nlohmann::json;

double part(const JobShare& share, const TraceStatistics& statistics) {
  return static_cast<double>(share.jobs) / static_cast<double>(statistics.jobs);
}

/// The main sentence: amount and kind of jobs.
std::string answer(const TraceStatistics& statistics) {
  const auto by = [](auto value) {
    return [value](const auto& a, const auto& b) { return value(a.second) < value(b.second); };
  };
  const auto& sizes = statistics.by_num_gpus;
  const auto& commonest =
      *std::max_element(sizes.begin(), sizes.end(), by([](const JobShare& share) { return share.jobs; }));
  const auto& largest = *std::max_element(sizes.begin(), sizes.end(),
                                          by([](const JobShare& share) { return share.gpu_hours; }));
  const auto gpus = [](std::int32_t count) {
    return fmt::format("{} GPU{}", with_thousands(count), count == 1 ? "" : "s");
  };
  std::string text = fmt::format(
      "{} {} for {} in {}", count_of(statistics.jobs, "job"), statistics.jobs == 1 ? "asks" : "ask",
      count_of(std::llround(statistics.gpu_hours), "GPU-hour"), as_days(to_seconds(statistics.span())));
  text += fmt::format("; {} of them use {}", as_percent(part(commonest.second, statistics)),
                      gpus(commonest.first));
  if (statistics.gpu_hours > 0 && largest.first != commonest.first) {
    text += fmt::format(", those of {} take {} of the GPU time", gpus(largest.first),
                        as_percent(largest.second.gpu_hours / statistics.gpu_hours));
  }
  return text + ".";
}

std::string facts(const TraceReportInput& input) {
  const double first = to_seconds(input.statistics->first_submit.time_since_epoch());
  std::string text = fmt::format("First submission {} after the trace's origin", as_duration(first));
  if (!input.cluster) return text + "; no cluster given, so no offered load.";
  return text + fmt::format("; offered load {} on {}.",
                            as_load(input.statistics->offered_load(input.cluster->total_gpus())),
                            input.cluster->describe());
}

/// Percentiles of the run time, over jobs and over GPU-hours; also the legend of the pictures.
std::string summary_html(const TraceReportInput& input) {
  std::vector<std::string> header = {"Run time over", "Total"};
  for (const int percent : Distribution::kPercents)
    header.push_back(percent == 50 ? "median" : fmt::format("p{}", percent));
  header.emplace_back("largest");
  const WeightedDurations durations = weighted_durations(*input.workload);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < kWorkNames.size(); ++i) {
    const double total = i == 0 ? static_cast<double>(input.statistics->jobs) : input.statistics->gpu_hours;
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(fmt::format("{} <span>{}</span>", line_key(i), kWorkNames[i]));
    row.push_back(with_thousands(std::llround(total)));
    for (const int percent : Distribution::kPercents)
      row.push_back(durations.seconds.empty() ? "-" : as_duration(durations.percentile(i, percent)));
    row.push_back(durations.seconds.empty() ? "-" : as_duration(durations.seconds.back()));
  }
  return table_html(" id=\"summary\"", "Run times over jobs and over GPU-hours", header, rows) +
         "<p class=\"note\">A percentile over GPU-hours counts each job by its GPU time.</p>\n";
}

/// A list of shares below a fold; shares after the first twenty are added up.
std::string shares_html(std::string_view title, std::span<const NamedShare> shares,
                        const TraceStatistics& statistics) {
  if (shares.empty()) return {};
  constexpr std::size_t kShown = 20;
  const std::vector<std::string> header = {std::string(title), "jobs", "of jobs", "GPU-hours",
                                           "of GPU-hours"};
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& name, const JobShare& share) {
    rows.push_back({fmt::format("<span>{}</span>", escape_html(name)), with_thousands(share.jobs),
                    as_percent(part(share, statistics)), with_thousands(std::llround(share.gpu_hours)),
                    as_percent(share.gpu_hours / statistics.gpu_hours)});
  };
  const auto [shown, others, num_others] = first_shares(shares, kShown);
  for (const NamedShare& share : shown)
    add(short_name(share.name), share.share);
  if (num_others > 0) add(fmt::format("{} others", with_thousands(num_others)), others);
  return fmt::format("<details><summary>{} in numbers</summary>\n{}</details>\n", escape_html(title),
                     table_html("", title, header, rows));
}

std::vector<NamedShare> size_shares(const TraceStatistics& statistics) {
  std::vector<NamedShare> shares;
  for (const auto& [num_gpus, share] : statistics.by_num_gpus)
    shares.push_back({fmt::format("{} GPU{}", with_thousands(num_gpus), num_gpus == 1 ? "" : "s"), share});
  return shares;
}

void add_distributions(const TraceReportInput& input, json& data, std::string& html) {
  if (json durations = duration_json(*input.workload); !durations.is_null()) {
    const Figure figure{
        "duration", "Run time",
        distribution_caption(
            "CDF of run time: per cent of jobs, and of GPU-hours, with at most this run time.", durations),
        "half"};
    add_figure(html, data, "duration", std::move(durations), figure);
  }
  if (json gaps = gap_json(*input.workload); !gaps.is_null()) {
    const Figure figure{"gap", "Gaps between submissions",
                        distribution_caption("CDF of the time between submissions, in per cent.", gaps),
                        "half"};
    add_figure(html, data, "gap", std::move(gaps), figure);
  }
  if (json waits = recorded_wait_json(*input.workload); !waits.is_null()) {
    const Figure figure{"recordedWait", "Recorded wait",
                        distribution_caption("CDF of the recorded waiting time: per cent of jobs.", waits),
                        "half"};
    add_figure(html, data, "recordedWait", std::move(waits), figure);
  }
}

void add_bars(const TraceReportInput& input, json& data, std::string& html) {
  const TraceStatistics& statistics = *input.statistics;
  add_figure(html, data, "workBySize", work_by_size_json(statistics),
             {"workBySize", "Work by job size",
              "Share of the jobs, and of the GPU-hours, in per cent, by number of GPUs.", "half",
              shares_html("GPUs", size_shares(statistics), statistics)});
  add_figure(html, data, "workByTenant", work_by_name_json(statistics.tenants, statistics),
             {"workByTenant", "Work by tenant",
              "Share of the jobs, and of the GPU-hours, in per cent; tenants with most GPU-hours first.",
              "half", shares_html("Tenant", statistics.tenants, statistics)});
  add_figure(
      html, data, "workByStatus", work_by_name_json(statistics.statuses, statistics),
      {"workByStatus", "Work by outcome",
       "Share of the jobs, and of the GPU-hours, in per cent, by how jobs ended where they were recorded.",
       "half", shares_html("Status", statistics.statuses, statistics)});
  // It fills its row, whether that has room for two pictures or is half taken by those before.
  constexpr std::size_t kOtherKeys = 2;
  const std::string_view width = (data.size() - kOtherKeys) % 2 == 0 ? "full" : "half";
  add_figure(
      html, data, "workByHour", work_by_hour_json(*input.workload),
      {"workByHour", "Submissions by hour of the day",
       "Share of the jobs, and of the GPU-hours, in per cent, by the hour of their submission, counted "
       "in days from the trace's origin.",
       width});
}

void add_time_series(const TraceReportInput& input, json& data, std::string& html) {
  if (json submitted = submitted_json(*input.workload); !submitted.is_null()) {
    const double span = submitted["x"][1].get<double>() - submitted["x"][0].get<double>();
    const Figure figure{"submitted", "Submissions over time",
                        fmt::format("Share of all jobs, and of all GPU-hours, in per cent, that is submitted "
                                    "within {}; time since the trace's origin.",
                                    as_duration(span)),
                        "full"};
    add_figure(html, data, "submitted",
               json{{"exact", true}, {"x", submitted["x"]}, {"submitted", submitted["submitted"]}}, figure);
  }
  if (json demand = demand_json(*input.workload); !demand.is_null()) {
    const Figure figure{"demand", "GPUs wanted",
                        time_caption("Number of GPUs in use if every job started when it is submitted, over "
                                     "time since the trace's origin.",
                                     demand),
                        "full"};
    add_figure(html, data, "demand", std::move(demand), figure);
  }
}

}  // namespace
}  // namespace report

std::string render_trace_report(const TraceReportInput& input) {
  using namespace report;
  if (input.workload == nullptr || input.statistics == nullptr || input.workload->jobs.empty())
    throw std::logic_error("a report of a trace without jobs");
  const TraceStatistics& statistics = *input.statistics;
  json data = {{"policies", kWorkNames},
               {"totalGpus", input.cluster ? input.cluster->total_gpus().value : 0}};
  std::string figures;
  add_distributions(input, data, figures);
  add_bars(input, data, figures);
  add_time_series(input, data, figures);
  return render_page(
      {.title = input.trace_name,
       .eyebrow = input.trace_name,
       .answer = answer(statistics),
       .facts = facts(input),
       .summary_html = summary_html(input) + shares_html("User", statistics.users, statistics) +
                       shares_html("GPU type", statistics.gpu_types, statistics) +
                       shares_html("Model", statistics.models, statistics),
       .help = "Press jobs or GPU-hours below a chart to hide them in all charts.",
       .figures_html = std::move(figures),
       .assumptions = input.assumptions,
       .provenance = input.provenance},
      data);
}

}  // namespace vtrain
