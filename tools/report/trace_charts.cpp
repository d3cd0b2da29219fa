#include "tools/report/trace_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/numbers.hpp"
#include "sched/metrics/job_groups.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/chart_data.hpp"
#include "tools/report/page.hpp"
#include "tools/report/step_series.hpp"

namespace vtrain::report {
namespace {

using nlohmann::json;

constexpr double kHour = 3600;
constexpr double kDay = 24 * kHour;
constexpr int kDigits = 5;

double gpu_hours(const Job& job) {
  return to_seconds(job.duration) * job.num_gpus.value / kHour;
}

/// Labelled groups that will become bars.
struct Groups {
  json labels = json::array();
  json jobs = json::array();
  json gpu_hours = json::array();

  void add(std::string label, const JobShare& share) {
    labels.push_back(std::move(label));
    jobs.push_back(share.jobs);
    gpu_hours.push_back(round_to_digits(share.gpu_hours, kDigits));
  }
  json finish(double all_jobs, double all_gpu_hours) && {
    // A total of 0 would divide by it: of no GPU-hours each group has no share.
    return {{"labels", std::move(labels)},
            {"amounts", {std::move(jobs), std::move(gpu_hours)}},
            {"totals", {all_jobs, all_gpu_hours > 0 ? all_gpu_hours : 1}}};
  }
};

/// Smallest of some round spans such that at most 300 spans cover the time.
double round_span(double seconds) {
  constexpr std::array<double, 11> kSpans = {60,   600,      kHour,    3 * kHour, 6 * kHour, 12 * kHour,
                                             kDay, 2 * kDay, 7 * kDay, 28 * kDay, 364 * kDay};
  constexpr double kMostSpans = 300;
  const auto found =
      std::find_if(kSpans.begin(), kSpans.end(), [&](double span) { return seconds / span <= kMostSpans; });
  return found == kSpans.end() ? kSpans.back() : *found;
}

}  // namespace

double WeightedDurations::percentile(std::size_t name, int percent) const {
  const std::vector<double>& sums = up_to[name];
  const auto found = std::lower_bound(sums.begin(), sums.end(), sums.back() * percent / 100);
  return seconds[static_cast<std::size_t>(found - sums.begin())];
}

WeightedDurations weighted_durations(const Workload& workload) {
  std::vector<std::pair<double, double>> jobs;
  for (const Job& job : workload.jobs) {
    if (job.duration.count() > 0) jobs.emplace_back(to_seconds(job.duration), gpu_hours(job));
  }
  std::sort(jobs.begin(), jobs.end());
  WeightedDurations result;
  double sum = 0;
  for (const auto& [seconds, hours] : jobs) {
    sum += hours;
    result.seconds.push_back(seconds);
    result.up_to[0].push_back(static_cast<double>(result.seconds.size()));
    result.up_to[1].push_back(sum);
  }
  return result;
}

json duration_json(const Workload& workload) {
  const WeightedDurations durations = weighted_durations(workload);
  json distribution = distribution_json({durations.seconds});
  if (distribution.is_null()) return distribution;
  json work = json::array();
  for (const json& at : distribution["x"]) {
    const auto above = std::upper_bound(durations.seconds.begin(), durations.seconds.end(), at.get<double>());
    const auto count = static_cast<std::size_t>(above - durations.seconds.begin());
    const double below = count == 0 ? 0 : durations.up_to[1][count - 1];
    work.push_back(round_to_digits(100 * below / durations.up_to[1].back(), kDigits));
  }
  distribution["percent"].push_back(std::move(work));
  return distribution;
}

json gap_json(const Workload& workload) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < workload.jobs.size(); ++i)
    gaps.push_back(to_seconds(workload.jobs[i].submit - workload.jobs[i - 1].submit));
  std::sort(gaps.begin(), gaps.end());
  return distribution_json({gaps});
}

json recorded_wait_json(const Workload& workload) {
  std::vector<double> waits;
  for (const Job& job : workload.jobs) {
    if (job.original_start != Job::kNoStart) waits.push_back(to_seconds(job.original_start - job.submit));
  }
  std::sort(waits.begin(), waits.end());
  return distribution_json({waits});
}

json work_by_size_json(const TraceStatistics& statistics) {
  std::map<std::size_t, JobShare> classes;
  for (const auto& [num_gpus, share] : statistics.by_num_gpus) {
    JobShare& sum = classes[size_class(GpuCount(num_gpus))];
    sum.jobs += share.jobs;
    sum.gpu_hours += share.gpu_hours;
  }
  Groups groups;
  for (const auto& [index, share] : classes)
    groups.add(size_class_label(index), share);
  return std::move(groups).finish(static_cast<double>(statistics.jobs), statistics.gpu_hours);
}

json work_by_name_json(std::span<const NamedShare> shares, const TraceStatistics& statistics) {
  constexpr std::size_t kMostNames = 10;
  if (shares.size() < 2) return nullptr;
  Groups groups;
  const auto [shown, others, num_others] = first_shares(shares, kMostNames);
  for (const NamedShare& share : shown)
    groups.add(short_name(share.name), share.share);
  if (num_others > 0) groups.add(fmt::format("{} others", with_thousands(num_others)), others);
  return std::move(groups).finish(static_cast<double>(statistics.jobs), statistics.gpu_hours);
}

json work_by_hour_json(const Workload& workload) {
  const double span = to_seconds(workload.jobs.back().submit - workload.jobs.front().submit);
  if (span < 2 * kDay) return nullptr;
  std::array<JobShare, 24> hours{};
  JobShare all;
  for (const Job& job : workload.jobs) {
    const double time_of_day = std::fmod(to_seconds(job.submit), kDay);
    for (JobShare* const share : {&hours[static_cast<std::size_t>(time_of_day / kHour)], &all}) {
      ++share->jobs;
      share->gpu_hours += gpu_hours(job);
    }
  }
  Groups groups;
  for (std::size_t i = 0; i < hours.size(); ++i)
    groups.add(std::to_string(i), hours[i]);
  return std::move(groups).finish(static_cast<double>(all.jobs), all.gpu_hours);
}

json submitted_json(const Workload& workload) {
  const double first = to_seconds(workload.jobs.front().submit);
  const double last = to_seconds(workload.jobs.back().submit);
  if (last <= first) return nullptr;
  const double span = round_span(last - first);
  const double begin = std::floor(first / span) * span;
  const auto count = static_cast<std::size_t>((last - begin) / span) + 1;
  std::vector<JobShare> spans(count);
  JobShare all;
  for (const Job& job : workload.jobs) {
    const auto at = static_cast<std::size_t>((to_seconds(job.submit) - begin) / span);
    for (JobShare* const share : {&spans[std::min(at, count - 1)], &all}) {
      ++share->jobs;
      share->gpu_hours += gpu_hours(job);
    }
  }
  json x = json::array();
  json jobs = json::array();
  json hours = json::array();
  for (std::size_t i = 0; i < count; ++i) {
    x.push_back(begin + span * static_cast<double>(i));
    jobs.push_back(
        round_to_digits(100.0 * static_cast<double>(spans[i].jobs) / static_cast<double>(all.jobs), kDigits));
    hours.push_back(
        round_to_digits(all.gpu_hours > 0 ? 100 * spans[i].gpu_hours / all.gpu_hours : 0, kDigits));
  }
  x.push_back(begin + span * static_cast<double>(count));
  return {{"x", std::move(x)}, {"submitted", {{{"mean", std::move(jobs)}}, {{"mean", std::move(hours)}}}}};
}

json demand_json(const Workload& workload) {
  constexpr std::size_t kMostExact = 1000;
  constexpr std::size_t kSpans = 500;
  std::vector<std::pair<SimTime, std::int64_t>> changes;
  for (const Job& job : workload.jobs) {
    if (job.duration.count() <= 0) continue;
    changes.emplace_back(job.submit, job.num_gpus.value);
    changes.emplace_back(job.submit + job.duration, -std::int64_t{job.num_gpus.value});
  }
  if (changes.empty()) return nullptr;
  std::sort(changes.begin(), changes.end());
  SimulationResult all;
  std::int64_t wanted = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    wanted += changes[i].second;
    if (i + 1 < changes.size() && changes[i + 1].first == changes[i].first) continue;
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    ClusterSample& sample = all.samples.emplace_back();
    sample.time = changes[i].first;
    sample.gpus_in_use = GpuCount(static_cast<std::int32_t>(std::min(wanted, kMost)));
  }
  const std::array<const SimulationResult*, 1> runs = {&all};
  const SampleTimes grid = make_sample_times(runs, kMostExact, kSpans);
  json x = json::array();
  for (const SimTime time : grid.times)
    x.push_back(to_seconds(time));
  x.push_back(to_seconds(grid.end));
  json demand = json::array();
  demand.push_back(step_series_json(reduce_samples(all.samples, SampleField::GpusInUse, grid), grid.exact));
  return {{"exact", grid.exact}, {"x", std::move(x)}, {"demand", std::move(demand)}};
}

}  // namespace vtrain::report
