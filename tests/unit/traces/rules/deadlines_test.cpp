#include "traces/rules/deadlines.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "traces/trace_format.hpp"

using vtrain::assign_deadlines;
using vtrain::DeadlineRule;
using vtrain::Job;

namespace {

vtrain::Workload jobs(int count) {
  vtrain::Workload workload;
  for (int i = 0; i < count; ++i) {
    Job job;
    job.name = workload.keep(std::to_string(i));
    job.submit = vtrain::SimTime(std::chrono::seconds(i));
    job.duration = std::chrono::seconds(1000);
    workload.jobs.push_back(job);
  }
  return workload;
}

double factor(const Job& job) {
  return vtrain::to_seconds(job.deadline - job.submit) / 1000;
}

}  // namespace

TEST_CASE("deadlines: factors fill the range of the rule evenly") {
  vtrain::Workload workload = jobs(10'000);
  CHECK(assign_deadlines(workload, DeadlineRule{}, 1) ==
        "deadline = submit + U(0.5, 1.5) × duration, seed 1 (synthetic)");
  double sum = 0;
  int below_one = 0;
  for (const Job& job : workload.jobs) {
    CHECK(factor(job) >= 0.5);
    CHECK(factor(job) <= 1.5);
    sum += factor(job);
    below_one += factor(job) < 1 ? 1 : 0;
  }
  // Mean 1 with a standard error of sqrt(1/12)/100 = 0.003; half of the factors below 1 with one of 50 jobs:
  // four of each.
  CHECK(sum / 10'000 == doctest::Approx(1).epsilon(0.012));
  CHECK(below_one > 4800);
  CHECK(below_one < 5200);
}

TEST_CASE("deadlines: a given deadline stays and does not move the draws of other jobs") {
  vtrain::Workload all = jobs(10);
  vtrain::Workload but_one = jobs(10);
  but_one.jobs[3].deadline = vtrain::SimTime(std::chrono::seconds(5));
  assign_deadlines(all, DeadlineRule{}, 9);
  CHECK(assign_deadlines(but_one, DeadlineRule{}, 9).ends_with("(synthetic; for jobs without one)"));
  CHECK(assign_deadlines(all, DeadlineRule{}, 9).empty());  // every job has one now
  CHECK(but_one.jobs[3].deadline == vtrain::SimTime(std::chrono::seconds(5)));
  CHECK(all.jobs[9].deadline == but_one.jobs[9].deadline);
  vtrain::Workload other_seed = jobs(10);
  assign_deadlines(other_seed, DeadlineRule{}, 10);
  CHECK(other_seed.jobs[9].deadline != all.jobs[9].deadline);
}

TEST_CASE("deadlines: rules are read from text and refused when they make no sense") {
  CHECK(DeadlineRule::parse("elasticflow").value().describe() ==
        "deadline = submit + U(0.5, 1.5) × duration");
  CHECK(DeadlineRule::parse("1.2:3").value().high == 3);
  CHECK(DeadlineRule::parse("1.2").value().describe() == "deadline = submit + 1.2 × duration");
  CHECK(DeadlineRule::parse("elasticflow,best-effort=0.3").value().describe() ==
        "deadline = submit + U(0.5, 1.5) × duration, none for 30 % of the jobs");
  for (const char* bad : {"", "x", "1,", "1,best-effort=2", "1,best-effort=x", "1,effort=0.1",
                          ",best-effort=0.1", "2:1", "-1:2", "1:nan", "0:1e9", "1:2:3"}) {
    CAPTURE(bad);
    CHECK_FALSE(DeadlineRule::parse(bad).has_value());
  }
}

TEST_CASE("deadlines: a job without a duration gets none, and an endless slack is no deadline") {
  vtrain::Workload workload = jobs(1);
  workload.jobs[0].duration = vtrain::SimDuration(0);
  CHECK(assign_deadlines(workload, DeadlineRule{}, 1).empty());
  CHECK_FALSE(workload.jobs[0].has_deadline());
  workload.jobs[0].duration = std::chrono::hours(24 * 365 * 100);
  assign_deadlines(workload, DeadlineRule{.low = 900, .high = 1000}, 1);
  CHECK_FALSE(workload.jobs[0].has_deadline());
}

TEST_CASE("deadlines: one factor is the same for all jobs") {
  vtrain::Workload workload = jobs(10);
  assign_deadlines(workload, DeadlineRule::parse("1.25").value(), 1);
  for (const Job& job : workload.jobs)
    CHECK(factor(job) == 1.25);
}

TEST_CASE("deadlines: a share of best-effort jobs gets none, and the others those they had without it") {
  vtrain::Workload all = jobs(10'000);
  vtrain::Workload some = jobs(10'000);
  assign_deadlines(all, DeadlineRule{}, 3);
  assign_deadlines(some, DeadlineRule{.best_effort = 0.3}, 3);
  int none = 0;
  for (std::size_t i = 0; i < all.jobs.size(); ++i) {
    if (some.jobs[i].has_deadline()) {
      CHECK(some.jobs[i].deadline == all.jobs[i].deadline);
    } else {
      ++none;
    }
  }
  // Binomial: 3000 with a standard deviation of sqrt(10000 x 0.3 x 0.7) = 46.
  CHECK(std::abs(none - 3000) < 5 * 46);
}
