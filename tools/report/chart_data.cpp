#include "tools/report/chart_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "sched/metrics/metrics.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/gantt.hpp"
#include "tools/report/report.hpp"
#include "tools/report/step_series.hpp"

namespace vtrain::report {
namespace {

using nlohmann::json;

/// More cannot be told apart on a screen, and would make the page large.
constexpr std::size_t kMaxPoints = 500;
constexpr std::size_t kMaxExactTimes = 1000;
constexpr std::size_t kMaxRuns = 2000;
constexpr std::size_t kMaxBars = 12000;
constexpr std::size_t kMaxOutages = 2000;
constexpr std::size_t kMaxTenants = 10;
/// Names in the chart data are cut to this many bytes, so that a hostile trace does not make a hostile page.
constexpr std::size_t kMaxNameBytes = 60;
/// For all policies together, so that many policies have coarser series instead of a larger page.
constexpr std::size_t kMaxSpans = 6000;

/// Samples of the jobs for which `value` has one, over all policies.
template <class ValueOf>
SortedSamples sorted_samples(const ReportInput& input, const ValueOf& value_of) {
  const std::vector<Job>& jobs = input.workload->jobs;
  SortedSamples samples;
  for (const ReportRun& run : input.runs) {
    std::vector<double>& values = samples.emplace_back();
    values.reserve(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::optional<SimDuration> value = value_of(jobs[i], run.result->outcomes[i]);
      if (value) values.push_back(to_seconds(*value));
    }
    std::ranges::sort(values);
  }
  return samples;
}

/// All distinct values from `low` on (what lies below counts as `low`), or nothing if there are more than
/// `max_count`.
std::vector<double> distinct_values(const SortedSamples& samples, double low, std::size_t max_count) {
  std::vector<double> distinct;
  for (const std::vector<double>& values : samples) {
    double last = -1;
    std::size_t count = 0;
    for (const double value : values) {
      const double shown = std::max(value, low);
      if (shown == last) continue;
      if (++count > max_count) return {};
      distinct.push_back(last = shown);
    }
  }
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  return distinct.size() <= max_count ? distinct : std::vector<double>{};
}

std::vector<double> equal_ratios(double low, double high, std::size_t count) {
  std::vector<double> x;
  for (std::size_t i = 0; i < count; ++i) {
    const double fraction = static_cast<double>(i) / static_cast<double>(count - 1);
    x.push_back(round_to_digits(low * std::pow(high / low, fraction), 6));
  }
  x.back() = high;
  return x;
}

/// A group of jobs whose deadlines are counted together.
struct DeadlineGroup {
  std::string label;
  std::int64_t jobs = 0;
  std::vector<std::int64_t> met;  ///< by policy
};

/// Counts each job with a deadline in the group that `group_of` says; groups that stay empty are left out.
template <class GroupOf>
json deadline_groups_json(const ReportInput& input, std::vector<DeadlineGroup> groups,
                          const GroupOf& group_of) {
  const std::vector<Job>& jobs = input.workload->jobs;
  for (DeadlineGroup& group : groups)
    group.met.assign(input.runs.size(), 0);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].has_deadline()) continue;
    DeadlineGroup& group = groups[group_of(jobs[i])];
    ++group.jobs;
    for (std::size_t run = 0; run < input.runs.size(); ++run) {
      group.met[run] += deadline_met(jobs[i], input.runs[run].result->outcomes[i]) ? 1 : 0;
    }
  }
  std::erase_if(groups, [](const DeadlineGroup& group) { return group.jobs == 0; });
  if (groups.empty()) return nullptr;
  json out = {{"labels", json::array()}, {"jobs", json::array()}};
  out["met"] = std::vector<json>(input.runs.size(), json::array());
  for (const DeadlineGroup& group : groups) {
    out["labels"].push_back(group.label);
    out["jobs"].push_back(group.jobs);
    for (std::size_t run = 0; run < input.runs.size(); ++run)
      out["met"][run].push_back(group.met[run]);
  }
  return out;
}

std::string tenant_name(const Workload& workload, const Job& job) {
  return job.tenant ? short_name(workload.tenants[job.tenant.value]) : std::string();
}

json gantt_job_json(const Workload& workload, const Job& job) {
  return {short_name(job.name),
          tenant_name(workload, job),
          job.model ? short_name(workload.models[job.model.value]) : std::string(),
          job.num_gpus.value,
          to_seconds(job.submit),
          job.has_deadline() ? json(to_seconds(job.deadline)) : json()};
}

/// The outages of every policy, or null when there are none, or more than can be told apart.
json outages_json(const ReportInput& input) {
  std::size_t num_outages = 0;
  json all = json::array();
  for (const ReportRun& run : input.runs) {
    num_outages += run.result->outages.size();
    if (num_outages > kMaxOutages) return nullptr;
    json& mine = all.emplace_back(json::array());
    for (const OutageBar& bar : lay_out_outages(input.cluster, run.result->outages)) {
      const Outage& outage = bar.outage;
      mine.push_back({outage.node.value, to_seconds(outage.begin),
                      outage.end == Outage::kNeverEnds ? json() : json(to_seconds(outage.end)),
                      outage.kind == OutageKind::Drain ? 1 : 0, bar.first_lane, bar.num_lanes});
    }
  }
  return num_outages == 0 ? json() : all;
}

}  // namespace

std::string short_name(std::string_view name) {
  return name.size() <= kMaxNameBytes ? std::string(name)
                                      : std::string(first_bytes(name, kMaxNameBytes)) + "...";
}

json step_series_json(const StepSeries& series, bool exact) {
  json mean = json::array();
  for (const double value : series.mean)
    mean.push_back(round_to_digits(value, 5));
  json out = {{"mean", std::move(mean)}};
  if (!exact) {
    out["low"] = series.low;
    out["high"] = series.high;
  }
  return out;
}

SortedSamples sorted_jcts(const ReportInput& input) {
  return sorted_samples(input, [](const Job& job, const JobOutcome& outcome) -> std::optional<SimDuration> {
    if (outcome.state != JobState::Completed) return std::nullopt;
    return job_completion_time(job, outcome);
  });
}

SortedSamples sorted_waiting_times(const ReportInput& input) {
  return sorted_samples(input, [](const Job& job, const JobOutcome& outcome) -> std::optional<SimDuration> {
    if (!has_ended(outcome)) return std::nullopt;
    return waiting_time(job, outcome);
  });
}

json distribution_json(const SortedSamples& samples) {
  constexpr double kDecades = 1e6;
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (const std::vector<double>& values : samples) {
    const auto positive = std::ranges::upper_bound(values, 0.0);
    if (positive != values.end()) smallest = std::min(smallest, *positive);
    if (!values.empty()) largest = std::max(largest, values.back());
  }
  if (largest <= 0) return nullptr;
  const double low = std::max(smallest, largest / kDecades);
  std::vector<double> x = distinct_values(samples, low, kMaxPoints);
  const bool exact = !x.empty();
  if (!exact) x = equal_ratios(low, largest, kMaxPoints);
  json percent = json::array();
  for (const std::vector<double>& values : samples) {
    json& line = percent.emplace_back(json::array());
    for (const double at : x) {
      const auto below = std::ranges::upper_bound(values, at) - values.begin();
      const double share = static_cast<double>(below) / static_cast<double>(values.size());
      line.push_back(values.empty() ? json() : json(round_to_digits(100 * share, 5)));  // null: no line
    }
  }
  return {{"exact", exact}, {"x", std::move(x)}, {"percent", std::move(percent)}};
}

json time_series_json(const ReportInput& input) {
  std::vector<const SimulationResult*> results;
  for (const ReportRun& run : input.runs)
    results.push_back(run.result);
  const std::size_t spans = std::clamp(kMaxSpans / results.size(), std::size_t{50}, kMaxPoints);
  const SampleTimes grid = make_sample_times(results, std::min(kMaxExactTimes, 2 * spans), spans);
  if (grid.times.empty()) return nullptr;
  json x = json::array();
  for (const SimTime time : grid.times)
    x.push_back(to_seconds(time));
  x.push_back(to_seconds(grid.end));
  json out = {{"exact", grid.exact}, {"x", std::move(x)}};
  for (const SimulationResult* result : results) {
    out["waiting"].push_back(
        step_series_json(reduce_samples(result->samples, SampleField::WaitingJobs, grid), grid.exact));
    out["gpus"].push_back(
        step_series_json(reduce_samples(result->samples, SampleField::GpusInUse, grid), grid.exact));
  }
  return out;
}

json deadlines_by_size_json(const ReportInput& input) {
  constexpr std::size_t kNumClasses = 32;
  std::vector<DeadlineGroup> groups(kNumClasses);
  for (std::size_t i = 0; i < groups.size(); ++i)
    groups[i].label = size_class_label(i);
  return deadline_groups_json(input, std::move(groups),
                              [](const Job& job) { return size_class(job.num_gpus); });
}

json deadlines_by_tenant_json(const ReportInput& input) {
  const Workload& workload = *input.workload;
  const std::size_t num_tenants = workload.tenants.size();
  std::vector<std::int64_t> deadlines(num_tenants + 1, 0);  // the last counts jobs without a tenant
  const auto tenant_of = [num_tenants](const Job& job) {
    return job.tenant ? job.tenant.value : num_tenants;
  };
  for (const Job& job : workload.jobs)
    deadlines[tenant_of(job)] += job.has_deadline() ? 1 : 0;
  if (std::ranges::count_if(deadlines, [](std::int64_t count) { return count > 0; }) < 2) return nullptr;

  std::vector<std::size_t> order(num_tenants + 1);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t tenant) { return deadlines[tenant]; });
  std::vector<std::size_t> group_of_tenant(num_tenants + 1);
  std::vector<DeadlineGroup> groups;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    group_of_tenant[order[rank]] = std::min(rank, kMaxTenants);
    if (rank < kMaxTenants) {
      const std::size_t tenant = order[rank];
      groups.push_back(
          {tenant < num_tenants ? short_name(workload.tenants.names()[tenant]) : "no tenant", 0, {}});
    }
  }
  if (order.size() > kMaxTenants) {
    const auto others = std::count_if(order.begin() + kMaxTenants, order.end(),
                                      [&](std::size_t tenant) { return deadlines[tenant] > 0; });
    groups.push_back({fmt::format("{} others", with_thousands(others)), 0, {}});
  }
  return deadline_groups_json(input, std::move(groups),
                              [&](const Job& job) { return group_of_tenant[tenant_of(job)]; });
}

bool has_recorded_runs(const ReportInput& input) {
  return std::ranges::all_of(input.runs, [](const ReportRun& run) {
    return !run.result->segments.empty() || run.result->samples.empty();
  });
}

json gantt_json(const ReportInput& input) {
  std::size_t num_runs = 0;
  for (const ReportRun& run : input.runs)
    num_runs += run.result->segments.size();
  if (num_runs == 0 || num_runs > kMaxRuns || !has_recorded_runs(input)) return nullptr;
  const Workload& workload = *input.workload;
  std::map<JobId, std::size_t> place;  // in the list of jobs below
  json jobs = json::array();
  json bars = json::array();
  json met = json::array();
  std::size_t num_bars = 0;
  for (const ReportRun& run : input.runs) {
    json& mine = bars.emplace_back(json::array());
    for (const GanttBar& bar : lay_out_gantt(input.cluster, run.result->segments)) {
      if (++num_bars > kMaxBars) return nullptr;
      const auto [entry, is_new] = place.emplace(bar.job, place.size());
      if (is_new) jobs.push_back(gantt_job_json(workload, workload.jobs[bar.job.value]));
      mine.push_back(
          {entry->second, to_seconds(bar.begin), to_seconds(bar.end), bar.first_lane, bar.num_lanes});
    }
  }
  // Whether the job met its deadline, by policy and place in the list of jobs.
  for (const ReportRun& run : input.runs) {
    std::vector<int> met_by_job(place.size());
    for (const auto& [job, index] : place) {
      met_by_job[index] = deadline_met(workload.jobs[job.value], run.result->outcomes[job.value]) ? 1 : 0;
    }
    met.push_back(met_by_job);
  }
  json gantt = {{"jobs", std::move(jobs)}, {"bars", std::move(bars)}, {"met", std::move(met)}};
  if (json outages = outages_json(input); !outages.is_null()) gantt["outages"] = std::move(outages);
  return gantt;
}

}  // namespace vtrain::report
