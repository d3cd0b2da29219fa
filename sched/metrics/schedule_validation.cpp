#include "sched/metrics/schedule_validation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/rank_correlation.hpp"

namespace vtrain {
namespace {

constexpr std::array<std::string_view, 5> kVerdicts = {"close", "rough", "far", "no-waits", "few-jobs"};
constexpr std::int64_t kFewJobs = 30;
constexpr double kShareOfRunTime = 0.01;
constexpr double kMostlyCompared = 0.9;
constexpr double kCloseRanks = 0.8;
constexpr double kRoughRanks = 0.5;
constexpr std::size_t kLeastRanked = 3;

constexpr SimDuration kHour = std::chrono::hours(1);
constexpr SimDuration kDay = std::chrono::hours(24);
constexpr std::int64_t kPartsOfShortTimes = 24;

/// Mean in seconds.
double mean_of(std::span<const SimDuration> times) {
  double sum = 0;
  for (const SimDuration time : times)
    sum += to_seconds(time);
  return sum / static_cast<double>(times.size());
}

std::vector<double> seconds_of(std::span<const SimDuration> times) {
  std::vector<double> seconds;
  for (const SimDuration time : times)
    seconds.push_back(to_seconds(time));
  return seconds;
}

/// Change of the GPUs that are held, in thousandths of a GPU.
struct UseChange {
  SimTime time{};
  std::int64_t thousandths = 0;
};

/// Adds a gang that is held for some time.
void add_gang(std::vector<UseChange>& changes, SimTime begin, SimTime end, GpuCount gpus,
              std::int16_t gpu_share) {
  const std::int64_t thousandths = std::int64_t{gpus.value} * gpu_share;
  changes.push_back({begin, thousandths});
  changes.push_back({end, -thousandths});
}

/// Means over the intervals of the step function that these changes make.
UseOverTime use_of(std::vector<UseChange> changes, const SubmissionIntervals& intervals, GpuCount num_gpus) {
  std::ranges::sort(changes, {}, &UseChange::time);
  UseOverTime use;
  std::size_t next = 0;
  std::int64_t held = 0;
  const double capacity = static_cast<double>(num_gpus.value) * kWholeGpu;
  double total = 0;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    SimTime since = intervals.begin + intervals.length * static_cast<std::int64_t>(i);
    const SimTime begin = since;
    const SimTime end = std::min(since + intervals.length, intervals.end);
    double area = 0;
    const auto hold_until = [&](SimTime until) {
      if (until <= since) return;
      area += static_cast<double>(held) * to_seconds(until - since);
      since = until;
    };
    for (; next < changes.size() && changes[next].time < end; ++next) {
      hold_until(changes[next].time);
      held += changes[next].thousandths;
    }
    hold_until(end);
    use.shares.push_back(area / (capacity * to_seconds(end - begin)));
    total += area;
  }
  if (intervals.size() > 0) use.mean = total / (capacity * to_seconds(intervals.end - intervals.begin));
  return use;
}

}  // namespace

std::optional<LeftOut> left_out(const Job& job, const JobOutcome& outcome) {
  if (job.original_start == Job::kNoStart)
    return job.status == JobStatus::Cancelled ? LeftOut::CancelledWhileWaiting : LeftOut::NoRecordedStart;
  if (job.original_start < job.submit) return LeftOut::StartBeforeSubmission;
  if (outcome.state == JobState::Rejected) return LeftOut::Rejected;
  if (!has_started(outcome)) return LeftOut::NeverStarted;
  return std::nullopt;
}

SimDuration recorded_wait(const Job& job) {
  return job.original_start - job.submit;
}

double WaitErrors::factor_of_means() const {
  const double more = std::max(mean_wait_s, recorded_mean_wait_s);
  const double less = std::min(mean_wait_s, recorded_mean_wait_s);
  if (less > 0) return more / less;
  return more > 0 ? std::numeric_limits<double>::infinity() : kNoValue;
}

WaitErrors compare_waits(const Workload& workload, std::span<const JobOutcome> outcomes,
                         std::span<const std::size_t> jobs) {
  WaitErrors errors{.jobs = std::ssize(jobs)};
  std::vector<SimDuration> waits;
  std::vector<SimDuration> recorded;
  std::vector<SimDuration> run_times;
  for (const std::size_t i : jobs) {
    const Job& job = workload.jobs[i];
    if (const auto reason = left_out(job, outcomes[i])) {
      ++errors.left_out[static_cast<std::size_t>(*reason)];
      continue;
    }
    waits.push_back(queueing_delay(job, outcomes[i]));
    recorded.push_back(recorded_wait(job));
    run_times.push_back(job.duration);
  }
  errors.compared = std::ssize(waits);
  if (waits.empty()) return errors;
  std::vector<SimDuration> error_times;
  std::vector<double> differences;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    differences.push_back(to_seconds(waits[i] - recorded[i]));
    error_times.push_back(std::chrono::abs(waits[i] - recorded[i]));
  }
  std::vector<double> error_seconds = seconds_of(error_times);
  errors.median_error_s = percentile(error_seconds, 50);
  errors.p90_error_s = percentile(error_seconds, 90);
  errors.mean_error_s = mean_of(error_times);
  errors.median_difference_s = percentile(differences, 50);
  errors.mean_wait_s = mean_of(waits);
  errors.recorded_mean_wait_s = mean_of(recorded);
  errors.mean_run_time_s = mean_of(run_times);
  if (waits.size() >= kLeastRanked)
    errors.rank_correlation = rank_correlation(seconds_of(recorded), seconds_of(waits));
  return errors;
}

WaitErrors compare_waits(const Workload& workload, std::span<const JobOutcome> outcomes) {
  std::vector<std::size_t> all(workload.jobs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return compare_waits(workload, outcomes, all);
}

std::string_view name_of(Verdict verdict) {
  return kVerdicts[static_cast<std::size_t>(verdict)];
}

Verdict verdict_on(const WaitErrors& errors) {
  if (errors.compared < kFewJobs) return Verdict::FewJobs;
  if (std::max(errors.mean_wait_s, errors.recorded_mean_wait_s) < kShareOfRunTime * errors.mean_run_time_s)
    return Verdict::NoWaits;
  const double factor = errors.factor_of_means();
  const double ranks = errors.rank_correlation.value_or(0);
  const bool is_whole =
      static_cast<double>(errors.compared) >= kMostlyCompared * static_cast<double>(errors.jobs);
  if (is_whole && factor <= kCloseFactor && ranks >= kCloseRanks) return Verdict::Close;
  return factor <= kRoughFactor && ranks >= kRoughRanks ? Verdict::Rough : Verdict::Far;
}

std::size_t SubmissionIntervals::size() const {
  if (length.count() == 0) return 0;
  return static_cast<std::size_t>((end - begin + length - SimDuration(1)) / length);
}

SubmissionIntervals submission_intervals(const Workload& workload) {
  if (workload.jobs.empty()) return {};
  SubmissionIntervals intervals{workload.jobs.front().submit, workload.jobs.back().submit};
  const SimDuration span = intervals.end - intervals.begin;
  // Rounded up, so that there are never more parts.
  const SimDuration part((span.count() + kPartsOfShortTimes - 1) / kPartsOfShortTimes);
  intervals.length = span < kDay ? part : kHour;
  return intervals;
}

UseOverTime recorded_use(const Workload& workload, const SubmissionIntervals& intervals, GpuCount num_gpus,
                         bool gpus_are_shared) {
  std::vector<UseChange> changes;
  for (const Job& job : workload.jobs) {
    if (job.original_start == Job::kNoStart) continue;
    add_gang(changes, job.original_start, saturating_sum(job.original_start, job.duration), job.num_gpus,
             gpus_are_shared ? job.gpu_share : kWholeGpu);
  }
  return use_of(std::move(changes), intervals, num_gpus);
}

UseOverTime simulated_use(const SimulationResult& result, const SubmissionIntervals& intervals,
                          GpuCount num_gpus) {
  std::vector<UseChange> changes;
  for (const JobSegment& segment : result.segments)
    add_gang(changes, segment.begin, segment.end, segment.num_gpus, segment.gpu_share);
  return use_of(std::move(changes), intervals, num_gpus);
}

double mean_difference(const UseOverTime& a, const UseOverTime& b, const SubmissionIntervals& intervals) {
  if (intervals.size() == 0) return kNoValue;
  double sum = 0;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const SimTime begin = intervals.begin + intervals.length * static_cast<std::int64_t>(i);
    const SimTime end = std::min(begin + intervals.length, intervals.end);
    sum += std::abs(a.shares[i] - b.shares[i]) * to_seconds(end - begin);
  }
  return sum / to_seconds(intervals.end - intervals.begin);
}

}  // namespace vtrain
