#include "tools/report/chart_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
#include "tools/report/headline.hpp"
#include "tools/report/page.hpp"
#include "tools/report/report.hpp"
#include "tools/report/step_series.hpp"

namespace vtrain::report {
namespace {

using nlohmann::json;

/// Limits of drawn items: more are indistinguishable on a screen and make the page large.
constexpr std::size_t kMaxPoints = 500;
constexpr std::size_t kMaxExactTimes = 1000;
constexpr std::size_t kMaxSegments = 4000;
/// Bound of the Gantt chart of all policies together.
constexpr std::size_t kMaxGanttBytes = 500'000;
constexpr std::size_t kMaxOutages = 2000;
constexpr std::size_t kMaxTenants = 10;
/// Names in the chart data are cut to this many bytes, so that a hostile trace does not make a hostile page.
constexpr std::size_t kMaxNameBytes = 60;
/// Limit for all policies together: many policies have coarser series, not a larger page.
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

/// All distinct values from `low` on (smaller values count as `low`); none if there are more than
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
  std::vector<std::int64_t> met;  ///< deadlines met, by policy
};

/// Counts each job with a deadline in the group given by `group_of`; empty groups are left out.
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

/// Names in the order of their first use.
class UsedNames {
 public:
  template <class Id>
  int place_of(const NameTable& table, Id id) {
    if (!id) return -1;
    const auto [entry, is_new] = place_.emplace(id.value, static_cast<int>(place_.size()));
    if (is_new) names_.push_back(short_name(table[id.value]));
    return entry->second;
  }
  json names() const { return names_; }

 private:
  std::map<std::uint32_t, int> place_;
  std::vector<std::string> names_;
};

/// Rounds to eight digits: the error is below a millionth of a screen's resolution.
json gantt_time(SimTime time) {
  return round_to_digits(to_seconds(time), 8);
}

/// The jobs that bars belong to, in the order of their first bar.
class GanttJobs {
 public:
  explicit GanttJobs(const Workload& workload) : workload_(workload) {}

  std::size_t place_of(JobId id) {
    const auto [entry, is_new] = place_.emplace(id, place_.size());
    if (is_new) {
      const Job& job = workload_.jobs[id.value];
      jobs_.push_back({short_name(job.name), tenants_.place_of(workload_.tenants, job.tenant),
                       models_.place_of(workload_.models, job.model), job.num_gpus.value,
                       gantt_time(job.submit), job.has_deadline() ? gantt_time(job.deadline) : json()});
    }
    return entry->second;
  }

  /// A digit for each job: 1 if it met its deadline.
  std::string met(const SimulationResult& result) const {
    std::string digits(place_.size(), '0');
    for (const auto& [job, place] : place_) {
      if (deadline_met(workload_.jobs[job.value], result.outcomes[job.value])) digits[place] = '1';
    }
    return digits;
  }

  void put_into(json& gantt) const {
    gantt["jobs"] = jobs_;
    gantt["tenants"] = tenants_.names();
    gantt["models"] = models_.names();
  }

 private:
  const Workload& workload_;
  std::map<JobId, std::size_t> place_;
  UsedNames tenants_;
  UsedNames models_;
  json jobs_ = json::array();
};

/// The Gantt chart with at most `most` segments for each policy.
json gantt_of_largest(const ReportInput& input, std::size_t most) {
  GanttJobs jobs(*input.workload);
  json gantt = {{"bars", json::array()}, {"met", json::array()}, {"segments", json::array()}};
  for (const ReportRun& run : input.runs) {
    const std::vector<JobSegment>& all = run.result->segments;
    const DrawnSegments drawn = largest_segments(all, most);
    json& mine = gantt["bars"].emplace_back(json::array());
    const GanttBar* before = nullptr;
    const std::vector<GanttBar> bars = lay_out_gantt(input.cluster, drawn.segments);
    for (const GanttBar& bar : bars) {
      const bool is_same_segment = before != nullptr && before->job == bar.job && before->begin == bar.begin;
      if (!is_same_segment)
        mine.push_back({jobs.place_of(bar.job), gantt_time(bar.begin), gantt_time(bar.end)});
      mine.back().push_back(bar.first_lane);
      mine.back().push_back(bar.num_lanes);
      before = &bar;
    }
    gantt["segments"].push_back(
        {drawn.segments.size(), all.size(), round_to_digits(drawn.gpu_time_ratio, 6)});
  }
  for (const ReportRun& run : input.runs)
    gantt["met"].push_back(jobs.met(*run.result));
  jobs.put_into(gantt);
  return gantt;
}

/// Outages of every policy; null for none, or for too many to distinguish.
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

/// Most pictures of shares, and the number of spans of time in each.
constexpr std::size_t kMaxSharePictures = 12;
constexpr int kShareSpans = 120;

/// Names of the tenants with jobs of their own to which most GPU-hours were due, most first.
std::vector<std::string> largest_tenants(const TenantShareSummary& shares, std::size_t most) {
  std::vector<const TenantShareFigures*> order;
  for (const TenantShareFigures& tenant : shares.tenants) {
    if (tenant.has_jobs) order.push_back(&tenant);
  }
  std::ranges::stable_sort(order, std::greater<>{}, &TenantShareFigures::due_gpu_hours);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
    names.push_back(order[i]->tenant);
  return names;
}

/// Means over spans of time of a function that is constant in each of its intervals, and 0 after them.
json spread_over_spans(const std::vector<double>& values, double interval_s, double span_s) {
  json means = json::array();
  for (int span = 0; span < kShareSpans; ++span) {
    const double from = span * span_s;
    const double until = from + span_s;
    double sum = 0;
    for (auto i = static_cast<std::size_t>(from / interval_s); i < values.size(); ++i) {
      const double begin = static_cast<double>(i) * interval_s;
      if (begin >= until) break;
      sum += values[i] * std::max(0.0, std::min(until, begin + interval_s) - std::max(from, begin));
    }
    means.push_back(round_to_digits(sum / span_s, 4));
  }
  return means;
}

/// Fates of the promises of a policy, as the pictures over time show them.
constexpr std::array<std::string_view, 3> kPromiseLines = {"given", "kept", "broken"};

/// Instants at which promises were given, kept and broken, each ascending.
std::array<std::vector<SimTime>, 3> promise_times(const Workload& workload, const SimulationResult& result) {
  std::array<std::vector<SimTime>, 3> times;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    const JobOutcome& outcome = result.outcomes[i];
    const PromiseFate fate = promise_fate(job, outcome);
    if (fate == PromiseFate::None) continue;
    times[0].push_back(outcome.promised);
    if (fate == PromiseFate::Kept) {
      times[1].push_back(outcome.finished);
      continue;
    }
    const SimTime broken =
        outcome.state == JobState::Failed ? std::min(outcome.end, job.deadline) : job.deadline;
    times[2].push_back(std::max(outcome.promised, broken));
  }
  for (std::vector<SimTime>& each : times)
    std::ranges::sort(each);
  return times;
}

/// The number of `times` so far, as a step function from `begin` to `end` at least.
SimulationResult counted(const std::vector<SimTime>& times, SimTime begin, SimTime end) {
  SimulationResult count;
  count.samples.push_back({begin, 0, {}});
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i + 1 == times.size() || times[i + 1] != times[i])
      count.samples.push_back({times[i], static_cast<std::uint32_t>(i + 1), {}});
  }
  if (count.samples.back().time < end) count.samples.push_back({end, count.samples.back().waiting_jobs, {}});
  return count;
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

json promises_json(const ReportInput& input) {
  json policies = json::array();
  std::vector<SimulationResult> counts;  // [policies with promises][given, kept, broken]
  for (std::size_t run = 0; run < input.runs.size(); ++run) {
    const SimulationResult& result = *input.runs[run].result;
    const auto times = promise_times(*input.workload, result);
    if (times.front().empty()) continue;
    policies.push_back(run);
    const SimTime begin = std::min(input.workload->jobs.front().submit, times.front().front());
    const SimTime end = result.samples.empty() ? begin : result.samples.back().time;
    for (const std::vector<SimTime>& each : times)
      counts.push_back(counted(each, begin, end));
  }
  if (counts.empty()) return nullptr;
  std::vector<const SimulationResult*> lines;
  for (const SimulationResult& count : counts)
    lines.push_back(&count);
  const std::size_t spans = std::clamp(kMaxSpans / lines.size(), std::size_t{50}, kMaxPoints);
  const SampleTimes grid = make_sample_times(lines, std::min(kMaxExactTimes, 2 * spans), spans);
  json x = json::array();
  for (const SimTime time : grid.times)
    x.push_back(to_seconds(time));
  x.push_back(to_seconds(grid.end));
  json out = {{"exact", grid.exact}, {"x", std::move(x)}, {"policies", std::move(policies)}};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    out[std::string(kPromiseLines[i % kPromiseLines.size()])].push_back(
        step_series_json(reduce_samples(counts[i].samples, SampleField::WaitingJobs, grid), grid.exact));
  }
  return out;
}

json shares_json(const ReportInput& input) {
  std::vector<std::string> names;
  SimTime begin{};
  SimTime end{};
  for (const ReportRun& run : input.runs) {
    const auto& shares = run.summary.shares;
    if (!shares || shares->tenants.empty()) continue;
    if (names.empty())
      names = largest_tenants(*shares, std::max(kMaxSharePictures / input.runs.size(), std::size_t{1}));
    begin = shares->begin;
    end = std::max(end, shares->begin + shares->interval * kShareIntervals);
  }
  if (names.empty()) return nullptr;
  const double span_s = to_seconds(end - begin) / kShareSpans;
  json x = json::array();
  for (int i = 0; i <= kShareSpans; ++i)
    x.push_back(to_seconds(begin) + span_s * i);
  json out = {{"x", std::move(x)}, {"runs", json::array()}};
  for (const std::string& name : names) {
    for (std::size_t run = 0; run < input.runs.size(); ++run) {
      const auto& shares = input.runs[run].summary.shares;
      if (!shares) continue;
      const auto tenant = std::ranges::find(shares->tenants, name, &TenantShareFigures::tenant);
      if (tenant == shares->tenants.end()) continue;
      const double interval_s = to_seconds(shares->interval);
      out["runs"].push_back(
          {{"policy", run},
           {"tenant", name.empty() ? "no tenant" : short_name(name)},
           {"due", {{"mean", spread_over_spans(tenant->due, interval_s, span_s)}}},
           {"received", {{"mean", spread_over_spans(tenant->received, interval_s, span_s)}}}});
    }
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

bool has_segments_on_nodes(const ReportInput& input) {
  return std::ranges::any_of(input.runs, [](const ReportRun& run) {
    return !run.result->segments.empty() && !run.result->segments.front().parts.empty();
  });
}

json gantt_json(const ReportInput& input) {
  const bool has_segments =
      std::ranges::any_of(input.runs, [](const ReportRun& run) { return !run.result->segments.empty(); });
  if (!has_segments || !has_recorded_runs(input)) return nullptr;
  std::size_t most = kMaxSegments;
  json gantt = gantt_of_largest(input, most);
  for (std::size_t bytes = 0; (bytes = embed_json(gantt).size()) > kMaxGanttBytes && most > 1;) {
    // A little fewer than the bytes allow, for the segments left have more pieces.
    const double fits = 0.95 * static_cast<double>(kMaxGanttBytes) / static_cast<double>(bytes);
    std::size_t longest = 0;
    for (const json& drawn : gantt["segments"])
      longest = std::max(longest, drawn[0].get<std::size_t>());
    most = std::max<std::size_t>(1, static_cast<std::size_t>(fits * static_cast<double>(longest)));
    gantt = gantt_of_largest(input, most);
  }
  gantt["shown"] = ranking(input.runs).front();
  if (has_segments_on_nodes(input)) {
    for (const NodeGroup& group : input.cluster.groups)
      gantt["groups"].push_back({group.num_nodes, group.gpus_per_node.value});
  }
  if (json outages = outages_json(input); !outages.is_null()) gantt["outages"] = std::move(outages);
  return gantt;
}

}  // namespace vtrain::report
