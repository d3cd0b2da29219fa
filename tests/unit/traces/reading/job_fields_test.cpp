#include "traces/reading/job_fields.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "core/base/rng.hpp"

namespace vtrain {
namespace {

TEST_CASE("job_fields: repeated names are those that a map finds") {
  RandomStream random(3);
  for (int round = 0; round < 200; ++round) {
    Workload workload;
    const int size = static_cast<int>(random.uniform() * 60);
    const double range = 1 + random.uniform() * 200;
    std::map<std::string, std::size_t> first;
    std::vector<SameName> expected;
    for (int i = 0; i < size; ++i) {
      const std::string name = "job-" + std::to_string(static_cast<int>(random.uniform() * range));
      const auto [known, is_new] = first.try_emplace(name, workload.jobs.size());
      if (!is_new) expected.push_back({known->second, workload.jobs.size()});
      Job job;
      job.name = workload.keep(name);
      workload.jobs.push_back(job);
    }
    const std::vector<SameName> found = find_same_names(workload.jobs);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].first == expected[i].first);
      CHECK(found[i].second == expected[i].second);
    }
  }
}

TEST_CASE("job_fields: times in milliseconds and minutes are exact, and rounded down below a nanosecond") {
  CHECK(parse_instant("10817570000", kMilliseconds).value() == SimTime(std::chrono::seconds(10'817'570)));
  CHECK(parse_instant("0.000001", kMilliseconds).value() == SimTime(SimDuration(1)));
  CHECK(parse_instant("0.0000019", kMilliseconds).value() == SimTime(SimDuration(1)));
  CHECK(parse_duration("1.5", kMinutes).value() == std::chrono::seconds(90));
  CHECK(parse_duration("0.000000001", kMinutes).value() == SimDuration(60));
  // 100 years are 52,560,000 minutes.
  CHECK(parse_instant("52560000", kMinutes).value() == SimTime(kMaxTraceTime));
  CHECK(parse_instant("52560000.000000001", kMinutes).error().message ==
        "expected minutes of at least 0 and at most 52560000 (100 years), found '52560000.000000001'");
  CHECK_FALSE(parse_instant("99999999999999999999", kMilliseconds).has_value());
  CHECK_FALSE(parse_duration("0", kMinutes).has_value());
}

TEST_CASE("job_fields: how jobs end by Slurm's states") {
  CHECK(slurm_job_status("COMPLETED") == JobStatus::Completed);
  CHECK(slurm_job_status("CANCELLED by 1001") == JobStatus::Cancelled);
  CHECK(slurm_job_status(" TIMEOUT ") == JobStatus::TimedOut);
  for (const char* state : {"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "BOOT_FAIL"})
    CHECK(slurm_job_status(state) == JobStatus::Failed);
  for (const char* state : {"RUNNING", "SUSPENDED", "PENDING", "REQUEUED", "COMPLETING"})
    CHECK(slurm_job_status(state) == JobStatus::Running);
  for (const char* state : {"", "completed", "None"})
    CHECK(slurm_job_status(state) == JobStatus::Unknown);
}

}  // namespace
}  // namespace vtrain
