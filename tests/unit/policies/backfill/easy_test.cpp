#include <doctest/doctest.h>

#include <vector>

#include "policies/registry.hpp"
#include "tests/unit/policies/backfill_references.hpp"
#include "tests/unit/policies/replay_checks.hpp"

namespace vtrain::testing {

TEST_CASE("easy: a job overtakes on GPUs that are not reserved, or until the reservation begins") {
  // 8 GPUs. Job 0 holds GPUs 0-5 until 10. Job 1 needs 7: GPUs 0-6 from 10 on. Job 2 (long) may have GPU 7
  // but must not take the lower GPU 6. Job 3 would hold GPU 6 until 23: no. Job 4 holds it until 10: yes.
  const std::vector<JobLine> jobs = {{0, 10, 6}, {1, 10, 7}, {2, 100, 1}, {3, 20, 1}, {3, 7, 1}};
  CHECK(start_times_s(jobs, "easy") == std::vector<double>{0, 10, 2, 20, 3});
}

TEST_CASE("easy: with asc-walltime a shorter arrival takes the reservation over") {
  const std::vector<JobLine> jobs = {{0, 10, 8}, {1, 50, 8}, {2, 5, 8}};
  CHECK(start_times_s(jobs, "easy:order=asc-walltime") == std::vector<double>{0, 15, 10});
  CHECK(start_times_s(jobs, "easy:order=fcfs") == std::vector<double>{0, 10, 60});
}

TEST_CASE("easy: jobs of equal time limit keep the order of arrival") {
  const std::vector<JobLine> jobs = {{0, 10, 8}, {1, 5, 8}, {2, 5, 8}, {2, 5, 8}};
  CHECK(start_times_s(jobs, "easy:order=asc-walltime") == std::vector<double>{0, 10, 15, 20});
}

TEST_CASE("easy: an order that does not exist is refused") {
  const auto made = make_policy("easy:order=random");
  REQUIRE_FALSE(made);
  CHECK(made.error().describe() == "easy:order: expected one of 'fcfs' and 'asc-walltime', found 'random'");
}

TEST_CASE("easy: the same schedules as a profile that is searched for every job") {
  check_against_reference("easy", [] { return reference_easy(false); });
  check_against_reference("easy:order=asc-walltime", [] { return reference_easy(true); });
}

TEST_CASE("easy: jobs behind the head do not delay it if run times are known") {
  // Whoever is first in the queue cannot be harmed by those who come later: leaving out everything after job
  // k leaves the start of job k as it is, provided that it was the head from its arrival on, as when nobody
  // waited then.
  int num_heads = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Workload workload = random_workload(seed, 200, 32, Walltimes::Exact);
    const SimulationResult full = replay(workload, "4x8", "easy");
    for (std::size_t k = 0; k < workload.jobs.size(); ++k) {
      bool waits_alone = full.outcomes[k].start > workload.jobs[k].submit;
      for (std::size_t i = 0; i < k; ++i)
        waits_alone = waits_alone && full.outcomes[i].start <= workload.jobs[k].submit;
      if (!waits_alone) continue;
      Workload shorter = random_workload(seed, 200, 32, Walltimes::Exact);
      shorter.jobs.resize(k + 1);
      CHECK(replay(shorter, "4x8", "easy").outcomes[k].start == full.outcomes[k].start);
      ++num_heads;
    }
  }
  CHECK(num_heads >= 20);
}

TEST_CASE("easy: every job ends though gangs find no room among enough free GPUs") {
  check_all_end_under_yarn("easy");
  check_all_end_under_yarn("easy:order=asc-walltime");
}

}  // namespace vtrain::testing
