#include "traces/editing/resample.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "tests/support/sim_time.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {
namespace {

constexpr SimDuration kDay = std::chrono::hours(24);

/// Jobs of five days and a half: three a day, named by day and number.
Workload five_days() {
  std::string text = "job_id,submit_s,num_gpus,duration_s,deadline_s,dependencies\n";
  for (int day = 0; day < 6; ++day) {
    for (int job = 0; job < 3; ++job) {
      const int submit = day * 86'400 + job * 21'000;
      text += std::to_string(day) + "-" + std::to_string(job) + "," + std::to_string(submit) + "," +
              std::to_string(day + 1) + ",60," + std::to_string(submit + 500) + "," +
              (job == 1 ? "\"afterany:" + std::to_string(day) + "-0\"" : "") + "\n";
    }
  }
  return parse_trace(text, "jobs.csv").value().workload;
}

}  // namespace

TEST_CASE("resample: every day is one of the trace, with jobs at their times of day") {
  const Workload original = five_days();
  std::set<std::string> schedules;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Workload workload = five_days();
    const auto done = resample(workload, Blocks::Days, seed);
    REQUIRE(done);
    CHECK(done->find("days of the trace drawn anew with replacement, seed " + std::to_string(seed)) == 0);
    // Five whole days of three jobs; the rest of 42,000 s has all three, as the last submission counts.
    REQUIRE(workload.jobs.size() == 18);
    std::string schedule;
    std::set<std::string_view> names;
    std::map<std::int64_t, std::set<std::int32_t>>
        days;  // the source of each day: jobs of day d have d + 1 GPUs
    for (const Job& job : workload.jobs) {
      const SimDuration time = job.submit.time_since_epoch();
      const std::string name(job.name.substr(0, job.name.find('~')));
      CHECK(name[0] - '0' + 1 == job.num_gpus.value);
      CHECK(time % kDay == std::chrono::seconds(21'000 * (name[2] - '0')));
      CHECK(job.deadline - job.submit == std::chrono::seconds(500));
      CHECK(workload.requirements_of(job) == nullptr);
      CHECK(names.insert(job.name).second);
      days[time / kDay].insert(job.num_gpus.value);
      CHECK(job.num_gpus.value <= 5);  // the sixth day is not complete
      schedule += name + " ";
    }
    REQUIRE(days.size() == 6);
    for (const auto& [day, sources] : days)
      CHECK(sources.size() == 1);
    schedules.insert(schedule);
  }
  CHECK(schedules.size() > 15);
}

TEST_CASE("resample: the same seed draws the same days, and none leaves the trace alone") {
  Workload first = five_days();
  Workload second = five_days();
  REQUIRE(resample(first, Blocks::Days, 7));
  REQUIRE(resample(second, Blocks::Days, 7));
  for (std::size_t i = 0; i < first.jobs.size(); ++i) {
    CHECK(first.jobs[i].name == second.jobs[i].name);
    CHECK(first.jobs[i].submit == second.jobs[i].submit);
  }
  Workload same = five_days();
  CHECK(resample(same, Blocks::None, 7).value().empty());
  CHECK(same.jobs.size() == 18);
}

TEST_CASE("resample: blocks are as long as the trace has four of") {
  Workload workload = five_days();
  CHECK(fitting_blocks(workload) == "days");
  workload.jobs.back().submit = workload.jobs.front().submit + 28 * kDay;
  CHECK(fitting_blocks(workload) == "weeks");
  workload.jobs.resize(12);
  CHECK(fitting_blocks(workload) == "none");
  const auto refused = resample(workload, Blocks::Weeks, 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "expected a trace of at least two weeks, found one of 3.5 days");
  CHECK(parse_blocks("day").error().message.find("days") != std::string::npos);
}

}  // namespace vtrain
