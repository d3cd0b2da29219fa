#include "sched/metrics/metrics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/sim_time.hpp"

namespace vtrain {
namespace {

/// A workload and its outcomes, added job by job.
struct Replay {
  Workload workload;
  SimulationResult result;

  Job& add(std::int64_t submit_s, std::int64_t start_s, std::int64_t end_s, std::int32_t num_gpus,
           JobState state = JobState::Completed) {
    Job job;
    job.submit = at(submit_s);
    job.duration = at(end_s) - at(start_s);
    job.num_gpus = GpuCount(num_gpus);
    workload.jobs.push_back(job);
    JobOutcome outcome;
    outcome.start = at(start_s);
    outcome.end = at(end_s);
    outcome.finished = outcome.end;
    outcome.attained = job.duration;
    outcome.gpu_time.add(job.duration, job.num_gpus);
    outcome.state = state;
    result.outcomes.push_back(outcome);
    result.last_release = std::max(result.last_release, outcome.end);
    return workload.jobs.back();
  }
  Summary summary(const char* cluster = "1x8") const {
    return summarize(workload, *ClusterSpec::parse(cluster), result, "test");
  }
};

}  // namespace

TEST_CASE("metrics: nearest-rank percentiles") {
  std::vector<double> values = {15, 20, 35, 40, 50};
  // ceil(0.3 x 5) = 2nd smallest, ceil(0.4 x 5) = 2nd, ceil(0.5 x 5) = 3rd, 100 %: the 5th, 0 %: the first.
  CHECK(percentile(values, 30) == 20);
  CHECK(percentile(values, 40) == 20);
  CHECK(percentile(values, 50) == 35);
  CHECK(percentile(values, 99) == 50);
  CHECK(percentile(values, 100) == 50);
  CHECK(percentile(values, 0) == 15);
  std::vector<double> none;
  CHECK(std::isnan(percentile(none, 50)));
}

TEST_CASE("metrics: JCT, queueing delay, makespan and utilisation") {
  Replay replay;
  replay.add(2, 2, 12, 8);   // JCT 10, delay 0, 80 GPU-s
  replay.add(4, 12, 22, 4);  // JCT 18, delay 8, 40 GPU-s
  replay.result.outcomes[1].preemptions = 3;
  replay.result.events = 4;
  const Summary summary = replay.summary();
  CHECK(summary.policy == "test");
  CHECK(summary.jobs == 2);
  CHECK(summary.completed == 2);
  CHECK(summary.avg_jct_s == 14);
  CHECK(summary.p50_jct_s == 10);
  CHECK(summary.p99_jct_s == 18);
  CHECK(summary.avg_queueing_delay_s == 4);
  CHECK(summary.makespan_s == 20);
  CHECK(summary.gpu_utilization == doctest::Approx(120.0 / 160));
  CHECK(summary.preemptions == 3);
  CHECK(summary.events == 4);
  CHECK_FALSE(summary.deadline_satisfactory_ratio);
}

TEST_CASE("metrics: waiting goes on after a job has been stopped") {
  Replay replay;
  replay.add(0, 2, 12, 8);
  replay.add(0, 1, 21, 4);
  replay.result.outcomes[1].attained = std::chrono::seconds(15);  // for 5 s it was stopped
  CHECK(replay.summary().avg_queueing_delay_s == 1.5);
  CHECK(replay.summary().avg_waiting_time_s == 4);  // 2 and 1 + 5
  // Held until the end of a slot, 3 s after the end that is booked.
  replay.result.outcomes[0].attained = std::chrono::seconds(13);
  CHECK(replay.summary().avg_waiting_time_s == 4);
  replay.add(0, 4, 5, 8, JobState::Unfinished);
  CHECK(replay.summary().avg_waiting_time_s == 4);
  CHECK_FALSE(replay.summary().stopped_early);
  replay.result.stopped_early = true;
  CHECK(replay.summary().stopped_early);
}

TEST_CASE("metrics: every job is counted in one state; only completed ones have a JCT") {
  Replay replay;
  replay.add(0, 0, 10, 4);
  replay.add(0, 0, 50, 4, JobState::Failed);
  replay.add(0, 0, 0, 99, JobState::Rejected);
  replay.add(0, 0, 0, 8, JobState::Unfinished);
  replay.add(5, 7, 10, 8, JobState::Unfinished);  // ran for 3 s and was preempted
  replay.add(6, 0, 0, 8, JobState::Rejected);
  replay.result.outcomes.back().rejected_by_policy = true;
  const Summary summary = replay.summary();
  CHECK(summary.jobs == 6);
  CHECK(summary.completed == 1);
  CHECK(summary.failed == 1);
  CHECK(summary.rejected == 2);
  CHECK(summary.rejected_by_policy == 1);
  CHECK(summary.lacking_type == 0);
  CHECK(summary.unfinished == 2);
  CHECK(summary.avg_jct_s == 10);
  // Three jobs started, with delays 0, 0 and 2.
  CHECK(summary.avg_queueing_delay_s == doctest::Approx(2.0 / 3));
  CHECK(summary.makespan_s == 50);
  // 40 + 200 + 24 GPU-seconds of 8 x 50.
  CHECK(summary.gpu_utilization == doctest::Approx(264.0 / 400));
}

TEST_CASE("metrics: GPUs are in use until the last one is given back, not until the last end") {
  Replay replay;
  replay.add(0, 0, 10, 4);
  replay.add(0, 10, 510, 8, JobState::Unfinished);
  const Summary summary = replay.summary();
  CHECK(summary.makespan_s == 10);
  // 40 + 4,000 GPU-seconds of 8 x 510.
  CHECK(summary.gpu_utilization == doctest::Approx(4040.0 / 4080));
}

TEST_CASE("metrics: promises are kept by completing by the deadline") {
  Replay replay;
  for (const JobState state : {JobState::Completed, JobState::Completed, JobState::Failed, JobState::Rejected,
                               JobState::Unfinished, JobState::Cancelled}) {
    replay.add(0, 0, 10, 1, state).deadline = at(10);
    replay.result.outcomes.back().promised = at(0);
  }
  replay.workload.jobs[1].deadline = at(9);
  replay.add(0, 0, 10, 1).deadline = at(9);  // nothing was promised
  const Summary summary = replay.summary();
  CHECK(summary.promises_given == 5);
  CHECK(summary.promises_kept == 1);
  CHECK(summary.promises_broken == 4);
  // Over the three jobs that completed: 0, 1 and 1.
  CHECK(summary.avg_tardiness_s == doctest::Approx(2.0 / 3));
  CHECK(summary.p95_tardiness_s == 1);
}

TEST_CASE("metrics: losses that are not known are no zeros") {
  Replay replay;
  replay.add(0, 0, 3600, 4);
  CHECK(replay.summary().total_lost_gpu_hours == 0);
  CHECK(replay.summary().useful_gpu_hours == 4);
  CHECK(replay.summary().runtime_goodput == 1);
  replay.result.losses.resize(1);
  replay.result.losses[0][LossCause::Resize].add(std::chrono::hours(1), GpuCount(1));
  CHECK(replay.summary().total_lost_gpu_hours == 1);
  CHECK(replay.summary().runtime_goodput == 0.75);
  replay.result.losses_known = false;
  CHECK(std::isnan(replay.summary().total_lost_gpu_hours));
  CHECK(std::isnan(replay.summary().useful_gpu_hours));
  CHECK(std::isnan(replay.summary().runtime_goodput));
}

TEST_CASE("metrics: deadlines are met by completing at or before them") {
  Replay replay;
  replay.add(0, 0, 10, 4).deadline = at(10);
  replay.add(0, 0, 10, 4).deadline = at(9);
  replay.add(0, 0, 5, 4, JobState::Failed).deadline = at(100);
  replay.add(0, 0, 0, 99, JobState::Rejected).deadline = at(100);
  replay.add(0, 10, 20, 4);
  const Summary summary = replay.summary();
  CHECK(summary.deadline_jobs == 4);
  CHECK(summary.deadline_met == 1);
  REQUIRE(summary.deadline_satisfactory_ratio);
  CHECK(*summary.deadline_satisfactory_ratio == 0.25);
}

TEST_CASE("metrics: finish-time fairness compares with an equal share of the cluster") {
  // 8 GPUs. Job 0 runs alone in [0, 4), then both are active until 10, then job 1 alone until 20.
  Replay replay;
  replay.add(0, 0, 10, 8);   // JCT 10
  replay.add(4, 10, 20, 8);  // JCT 16
  // Job 0: (4 x 1 + 6 x 2) / 10 = 1.6 active on average, share 8 / 1.6 = 5 GPUs, T_iso = 10 x 8 / 5 = 16,
  // fairness 10 / 16. Job 1: (6 x 2 + 10 x 1) / 16 = 1.375 active, share 8 / 1.375, T_iso = 10 x 1.375
  // = 13.75, fairness 16 / 13.75.
  const double first = 10.0 / 16;
  const double second = 16 / 13.75;
  const Summary summary = replay.summary();
  CHECK(summary.finish_time_fairness_max == doctest::Approx(second));
  const double sum = 1 / first + 1 / second;
  CHECK(summary.jain_index ==
        doctest::Approx(sum * sum / (2 * (1 / (first * first) + 1 / (second * second)))));
}

TEST_CASE("metrics: a gang below its share is no faster on more GPUs; rejected jobs are not active") {
  Replay replay;
  replay.add(0, 0, 10, 2);
  replay.add(0, 0, 10, 2);
  replay.add(0, 0, 0, 99, JobState::Rejected);
  // Two active jobs, share 4 GPUs each, gangs of 2: T_iso = 10, fairness 1 for both.
  const Summary summary = replay.summary();
  CHECK(summary.finish_time_fairness_max == doctest::Approx(1));
  CHECK(summary.jain_index == doctest::Approx(1));
}

TEST_CASE("metrics: unfinished jobs count as active to the end") {
  Replay replay;
  replay.add(0, 0, 10, 8);
  replay.add(0, 0, 0, 8, JobState::Unfinished);
  // Two active, T_iso = 10 x 8 / 4 = 20.
  CHECK(replay.summary().finish_time_fairness_max == doctest::Approx(0.5));
}

TEST_CASE("metrics: each tenant's figures are those of its jobs in the same schedule") {
  Replay replay;
  replay.workload.tenant("nobody's");
  const TenantId vision = replay.workload.tenant("vision");
  replay.add(0, 0, 10, 8);  // without a tenant
  replay.add(0, 10, 20, 8).tenant = vision;
  replay.add(4, 20, 60, 8).tenant = vision;
  replay.add(4, 4, 4, 99, JobState::Rejected).tenant = vision;
  const Summary summary = replay.summary();
  REQUIRE(summary.grouped.size() == 1);
  const std::vector<GroupFigures>& groups = summary.grouped[0].groups;
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].name == "vision");
  CHECK(groups[1].name.empty());
  const JobFigures& figures = groups[0].figures;
  CHECK(figures.jobs == 3);
  CHECK(figures.rejected == 1);
  CHECK(figures.avg_jct_s == 38);
  CHECK(figures.avg_waiting_time_s == 13);
  CHECK(figures.finish_time_fairness_max == summary.finish_time_fairness_max);
  CHECK(groups[1].figures.avg_jct_s == 10);
  CHECK(groups[1].figures.finish_time_fairness_max < figures.finish_time_fairness_max);
}

TEST_CASE("metrics: the figures of a single tenant are those of the replay") {
  Replay replay;
  const TenantId only = replay.workload.tenant("only");
  replay.add(0, 0, 10, 8).tenant = only;
  CHECK(replay.summary().grouped.empty());
}

TEST_CASE("metrics: nothing completed") {
  Replay replay;
  replay.add(0, 0, 0, 8, JobState::Unfinished);
  const Summary summary = replay.summary();
  for (const double value :
       {summary.avg_jct_s, summary.p50_jct_s, summary.p99_jct_s, summary.avg_queueing_delay_s,
        summary.makespan_s, summary.gpu_utilization, summary.finish_time_fairness_max, summary.jain_index})
    CHECK(std::isnan(value));
  CHECK(Replay{}.summary().jobs == 0);
}

TEST_CASE("fragmentation summary: means over time, in all and by interval") {
  // 0.5 for 10 s, 1 for 5 s, 0.2 for 185 s: intervals of 2 s.
  const std::vector<FragmentationSample> samples = {
      {at(90), 0.5}, {at(110), 1.0}, {at(115), 0.2}, {at(400), 0.9}};
  const auto summary = summarize_fragmentation(samples, at(100), at(300));
  CHECK(summary.mean_rate == doctest::Approx((0.5 * 10 + 1.0 * 5 + 0.2 * 185) / 200).epsilon(1e-12));
  CHECK(summary.max_rate == 1.0);
  CHECK(summary.interval_s == 2);
  REQUIRE(summary.mean_rate_by_interval.size() == 100);
  CHECK(summary.mean_rate_by_interval[4] == doctest::Approx(0.5));
  CHECK(summary.mean_rate_by_interval[5] == doctest::Approx(1.0));
  // From 114 to 116: 1 s of 1 and 1 s of 0.2.
  CHECK(summary.mean_rate_by_interval[7] == doctest::Approx(0.6));
  CHECK(summary.mean_rate_by_interval[99] == doctest::Approx(0.2));
}

TEST_CASE("fragmentation summary: nothing before the first sample, and no samples at all") {
  const auto summary = summarize_fragmentation({}, at(0), at(10));
  CHECK(summary.mean_rate == 0);
  CHECK(summary.max_rate == 0);
  CHECK(summary.mean_rate_by_interval.size() == 100);
}

TEST_CASE("fragmentation summary: the last interval takes what does not divide by their number") {
  // 99 intervals of 2 ns and one of 52 ns.
  const std::vector<FragmentationSample> samples = {{SimTime(), 0.5}, {SimTime(SimDuration(224)), 1.0}};
  const auto summary = summarize_fragmentation(samples, SimTime(), SimTime(SimDuration(250)));
  CHECK(summary.mean_rate == doctest::Approx((0.5 * 224 + 26) / 250));
  REQUIRE(summary.mean_rate_by_interval.size() == 100);
  CHECK(summary.mean_rate_by_interval[98] == doctest::Approx(0.5));
  CHECK(summary.mean_rate_by_interval[99] == doctest::Approx(0.75));
}

}  // namespace vtrain
