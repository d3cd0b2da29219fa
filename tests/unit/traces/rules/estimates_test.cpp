#include "traces/rules/estimates.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "traces/reading/job_fields.hpp"

using vtrain::EstimateRule;
using vtrain::Job;
using vtrain::set_estimates;
using vtrain::SimDuration;

namespace {

vtrain::Workload jobs(int count, SimDuration duration) {
  vtrain::Workload workload;
  for (int i = 0; i < count; ++i) {
    Job job;
    job.name = workload.keep(std::to_string(i));
    job.duration = duration;
    workload.jobs.push_back(job);
  }
  return workload;
}

/// The requested time that a rule gives to a job of this duration.
SimDuration estimate(std::string_view rule, SimDuration duration) {
  vtrain::Workload workload = jobs(1, duration);
  set_estimates(workload, EstimateRule::parse(rule).value(), 1);
  return workload.jobs[0].requested_time;
}

}  // namespace

TEST_CASE("estimate_rule: exact takes requested times away, trace leaves them") {
  vtrain::Workload workload = jobs(1, std::chrono::hours(1));
  workload.jobs[0].requested_time = std::chrono::hours(2);
  CHECK(set_estimates(workload, EstimateRule::parse("trace").value(), 1).empty());
  CHECK(workload.jobs[0].requested_time == std::chrono::hours(2));
  CHECK(set_estimates(workload, EstimateRule::parse("exact").value(), 1) == "requested times left out");
  CHECK(workload.jobs[0].requested_time.count() == 0);
}

TEST_CASE("estimate_rule: a factor, and round times that are not below the duration") {
  using std::chrono::hours;
  using std::chrono::minutes;
  CHECK(estimate("factor:1.5", hours(2)) == hours(3));
  CHECK(estimate("rounded:1h/4h/1d", minutes(1)) == hours(1));
  CHECK(estimate("rounded:1h/4h/1d", hours(1)) == hours(1));
  CHECK(estimate("rounded:1h/4h/1d", hours(1) + SimDuration(1)) == hours(4));
  CHECK(estimate("rounded:1h/4h/1d", hours(49)) == hours(72));  // beyond the list: whole days
  CHECK(estimate("rounded", hours(13)) == hours(24));
  CHECK(estimate("factor:1000", hours(24 * 365)) == vtrain::kMaxTraceTime);
}

TEST_CASE("estimate_rule: log-normal estimates are the duration or more, with the spread asked for") {
  vtrain::Workload workload = jobs(20'000, std::chrono::hours(1));
  CHECK(set_estimates(workload, EstimateRule::parse("lognormal:0.5").value(), 7) ==
        "requested time = duration × max(1, exp(N(0, 0.5))), seed 7 (synthetic)");
  std::vector<double> ratios;
  int exact = 0;
  for (const Job& job : workload.jobs) {
    CHECK(job.requested_time >= job.duration);
    ratios.push_back(vtrain::to_seconds(job.requested_time) / 3600);
    exact += job.requested_time == job.duration ? 1 : 0;
  }
  // Half of the normal draws are below 0, with a standard deviation of sqrt(20000)/2 = 71 draws.
  CHECK(std::abs(exact - 10'000) < 5 * 71);
  // The normal distribution's 90th percentile is 1.2816; the sample's lies within 0.03 of it (five standard
  // errors of sqrt(0.9 x 0.1 / 20000) / 0.1755, the density there, are 0.06 in units of sigma).
  std::sort(ratios.begin(), ratios.end());
  CHECK(std::log(ratios[18'000]) == doctest::Approx(0.5 * 1.2816).epsilon(0.05));
}

TEST_CASE("estimate_rule: a job's draw depends on its position and the seed alone") {
  vtrain::Workload a = jobs(10, std::chrono::hours(1));
  vtrain::Workload b = jobs(10, std::chrono::hours(1));
  b.jobs[3].duration = std::chrono::hours(5);
  const EstimateRule rule = EstimateRule::parse("lognormal:1").value();
  set_estimates(a, rule, 4);
  set_estimates(b, rule, 4);
  CHECK(a.jobs[9].requested_time == b.jobs[9].requested_time);
}

TEST_CASE("estimate_rule: what makes no sense is refused") {
  for (const char* bad : {"", "x", "lognormal", "lognormal:-1", "lognormal:nan", "factor:0.5",
                          "factor:", "rounded:", "rounded:4h/1h", "rounded:0/1h", "rounded:1h/", "exact:1"}) {
    CAPTURE(bad);
    const auto rule = EstimateRule::parse(bad);
    REQUIRE_FALSE(rule.has_value());
    CHECK(rule.error().describe().starts_with("estimates: expected trace, exact, "));
  }
  vtrain::Workload workload = jobs(1, SimDuration(0));
  set_estimates(workload, EstimateRule::parse("factor:2").value(), 1);
  CHECK(workload.jobs[0].requested_time == SimDuration(0));  // it has no duration yet
}
