#include "sched/metrics/schedule_validation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/rng.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sim_time.hpp"

namespace vtrain {
namespace {

/// Jobs with recorded starts, and a schedule of them with one segment a job.
struct TwoSchedules {
  Workload workload;
  SimulationResult result;

  void add(std::int64_t submit_s, std::int64_t recorded_s, std::int64_t start_s, std::int64_t duration_s,
           std::int32_t num_gpus) {
    Job job;
    job.submit = at(submit_s);
    job.original_start = at(recorded_s);
    job.duration = std::chrono::seconds(duration_s);
    job.num_gpus = GpuCount(num_gpus);
    JobOutcome outcome;
    outcome.start = at(start_s);
    outcome.end = at(start_s + duration_s);
    outcome.state = JobState::Completed;
    JobSegment segment;
    segment.job = JobId(static_cast<std::uint32_t>(workload.jobs.size()));
    segment.begin = outcome.start;
    segment.end = outcome.end;
    segment.num_gpus = job.num_gpus;
    workload.jobs.push_back(job);
    result.outcomes.push_back(outcome);
    result.segments.push_back(segment);
  }
  /// Errors of all jobs.
  WaitErrors errors() const { return compare_waits(workload, result.outcomes); }
};

TwoSchedules random_schedules(std::uint64_t round) {
  RandomStream random(round, "schedules");
  TwoSchedules schedules;
  std::int64_t submit = static_cast<std::int64_t>(random.below(1000));
  const std::uint64_t gap = round % 2 == 0 ? 500 : 20000;
  for (std::uint64_t i = 0, count = 1 + random.below(40); i < count; ++i) {
    submit += static_cast<std::int64_t>(random.below(gap));
    const auto later = [&] { return submit + static_cast<std::int64_t>(random.below(30000)); };
    schedules.add(submit, later(), later(), static_cast<std::int64_t>(1 + random.below(40000)),
                  static_cast<std::int32_t>(1 + random.below(8)));
  }
  return schedules;
}

/// Seconds of an interval within another.
double overlap_s(SimTime begin, SimTime end, SimTime from, SimTime to) {
  return std::max(0.0, to_seconds(std::min(end, to) - std::max(begin, from)));
}

}  // namespace

TEST_CASE("schedule_validation: figures agree with sums over all pairs") {
  constexpr std::int32_t kGpus = 16;
  for (std::uint64_t round = 0; round < testing::rounds(200); ++round) {
    const TwoSchedules schedules = random_schedules(round);
    const auto& jobs = schedules.workload.jobs;
    const WaitErrors errors = schedules.errors();
    CHECK(errors.compared == std::ssize(jobs));
    double sum = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      sum += std::abs(to_seconds(schedules.result.outcomes[i].start - jobs[i].original_start));
    CHECK(errors.mean_error_s == doctest::Approx(sum / static_cast<double>(jobs.size())));
    // As many errors as the percentile says are no larger, and fewer are smaller.
    const auto share = [&](auto holds) {
      double count = 0;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        const double error =
            std::abs(to_seconds(schedules.result.outcomes[i].start - jobs[i].original_start));
        count += holds(error) ? 1 : 0;
      }
      return count / static_cast<double>(jobs.size());
    };
    CHECK(share([&](double error) { return error <= errors.p90_error_s; }) >= 0.9);
    CHECK(share([&](double error) { return error < errors.p90_error_s; }) < 0.9);
    CHECK(share([&](double error) { return error <= errors.median_error_s; }) >= 0.5);
    CHECK(share([&](double error) { return error < errors.median_error_s; }) < 0.5);
    // The mean of the differences is the difference of the means.
    CHECK(std::abs(errors.mean_wait_s - errors.recorded_mean_wait_s) <= errors.mean_error_s * (1 + 1e-12));

    const SubmissionIntervals intervals = submission_intervals(schedules.workload);
    const UseOverTime recorded = recorded_use(schedules.workload, intervals, GpuCount(kGpus), false);
    const UseOverTime simulated = simulated_use(schedules.result, intervals, GpuCount(kGpus));
    REQUIRE(recorded.shares.size() == intervals.size());
    double off = 0;
    for (std::size_t k = 0; k < intervals.size(); ++k) {
      const SimTime begin = intervals.begin + intervals.length * static_cast<std::int64_t>(k);
      const SimTime end = std::min(begin + intervals.length, intervals.end);
      double in_log = 0;
      double now = 0;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        const SimTime start = schedules.result.outcomes[i].start;
        in_log += jobs[i].num_gpus.value *
                  overlap_s(jobs[i].original_start, jobs[i].original_start + jobs[i].duration, begin, end);
        now += jobs[i].num_gpus.value * overlap_s(start, start + jobs[i].duration, begin, end);
      }
      const double area = kGpus * to_seconds(end - begin);
      CHECK(recorded.shares[k] == doctest::Approx(in_log / area).epsilon(1e-9));
      CHECK(simulated.shares[k] == doctest::Approx(now / area).epsilon(1e-9));
      off += std::abs(in_log - now) / kGpus;
    }
    if (intervals.size() == 0) continue;
    CHECK(mean_difference(recorded, simulated, intervals) ==
          doctest::Approx(off / to_seconds(intervals.end - intervals.begin)).epsilon(1e-9));
    CHECK(mean_difference(recorded, recorded, intervals) == 0);
  }
}

TEST_CASE("schedule_validation: intervals are hours, or 24 parts of less than a day") {
  const auto intervals_of = [](std::int64_t last_s) {
    TwoSchedules schedules;
    schedules.add(100, 100, 100, 1, 1);
    schedules.add(100 + last_s, 100 + last_s, 100 + last_s, 1, 1);
    return submission_intervals(schedules.workload);
  };
  CHECK(intervals_of(0).size() == 0);
  CHECK(intervals_of(2400).length == std::chrono::seconds(100));
  CHECK(intervals_of(2400).size() == 24);
  CHECK(intervals_of(86399).size() == 24);
  CHECK(intervals_of(86400).length == std::chrono::hours(1));
  CHECK(intervals_of(86400).size() == 24);
  CHECK(intervals_of(86401).size() == 25);
  CHECK(submission_intervals({}).size() == 0);
  const UseOverTime none = recorded_use({}, {}, GpuCount(8), false);
  CHECK(none.shares.empty());
  CHECK(std::isnan(none.mean));
  CHECK(std::isnan(mean_difference(none, none, {})));
}

TEST_CASE("schedule_validation: jobs without two waits are left out, with the reason") {
  TwoSchedules schedules;
  for (int i = 0; i < 6; ++i)
    schedules.add(10, 10, 10, 1, 1);
  auto& jobs = schedules.workload.jobs;
  auto& outcomes = schedules.result.outcomes;
  jobs[0].original_start = Job::kNoStart;
  jobs[0].status = JobStatus::Cancelled;
  jobs[1].original_start = Job::kNoStart;
  jobs[2].original_start = at(9);
  outcomes[3].state = JobState::Rejected;
  outcomes[4].state = JobState::Waiting;
  outcomes[4].attained = SimDuration(0);
  CHECK(left_out(jobs[0], outcomes[0]) == LeftOut::CancelledWhileWaiting);
  CHECK(left_out(jobs[1], outcomes[1]) == LeftOut::NoRecordedStart);
  CHECK(left_out(jobs[2], outcomes[2]) == LeftOut::StartBeforeSubmission);
  CHECK(left_out(jobs[3], outcomes[3]) == LeftOut::Rejected);
  CHECK(left_out(jobs[4], outcomes[4]) == LeftOut::NeverStarted);
  CHECK(!left_out(jobs[5], outcomes[5]));
  const WaitErrors errors = schedules.errors();
  CHECK(errors.compared == 1);
  CHECK(errors.left_out == std::array<std::int64_t, kNumLeftOut>{1, 1, 1, 1, 1});
  CHECK(!errors.rank_correlation);
  const WaitErrors none = compare_waits(schedules.workload, outcomes, std::vector<std::size_t>{0, 1});
  CHECK(none.compared == 0);
  CHECK(std::isnan(none.median_error_s));
  CHECK(std::isnan(none.mean_wait_s));
  CHECK(verdict_on(none) == Verdict::FewJobs);
}

TEST_CASE("schedule_validation: verdicts at their limits") {
  WaitErrors errors{.jobs = 100, .compared = 100};
  errors.mean_run_time_s = 1000;
  errors.rank_correlation = 0.8;
  const auto verdict = [&](double mean, double recorded) {
    errors.mean_wait_s = mean;
    errors.recorded_mean_wait_s = recorded;
    return verdict_on(errors);
  };
  CHECK(verdict(125, 100) == Verdict::Close);
  CHECK(verdict(100, 125) == Verdict::Close);
  CHECK(verdict(126, 100) == Verdict::Rough);
  CHECK(verdict(200, 100) == Verdict::Rough);
  CHECK(verdict(100, 201) == Verdict::Far);
  CHECK(verdict(0, 100) == Verdict::Far);
  CHECK(verdict(9.9, 0) == Verdict::NoWaits);
  CHECK(verdict(10, 0) == Verdict::Far);
  errors.rank_correlation = 0.79;
  CHECK(verdict(100, 100) == Verdict::Rough);
  errors.rank_correlation = 0.49;
  CHECK(verdict(100, 100) == Verdict::Far);
  errors.rank_correlation.reset();
  CHECK(verdict(100, 100) == Verdict::Far);
  errors.rank_correlation = 1;
  errors.compared = 90;
  CHECK(verdict(100, 100) == Verdict::Close);
  errors.compared = 89;
  CHECK(verdict(100, 100) == Verdict::Rough);
  errors.compared = 29;
  CHECK(verdict(100, 100) == Verdict::FewJobs);
  CHECK(std::isnan(WaitErrors{.mean_wait_s = 0, .recorded_mean_wait_s = 0}.factor_of_means()));
  CHECK(name_of(Verdict::NoWaits) == "no-waits");
}

}  // namespace vtrain
