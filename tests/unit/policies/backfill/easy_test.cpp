#include <doctest/doctest.h>

#include <vector>

#include "policies/registry.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/backfill_references.hpp"
#include "tests/unit/policies/replay_checks.hpp"

namespace vtrain::testing {

TEST_CASE("easy: a job overtakes on GPUs that are not reserved, or until the reservation begins") {
  // 8 GPUs. Job 0 holds 6 until 10. Job 1 needs 7 from 10 on, which leaves 1. Job 2 (long) takes that one.
  // Job 3 would hold another until 23: no. Job 4 holds it until 10: yes.
  const std::vector<JobLine> jobs = {{0, 10, 6}, {1, 10, 7}, {2, 100, 1}, {3, 20, 1}, {3, 7, 1}};
  CHECK(start_times_s(jobs, "easy") == std::vector<double>{0, 10, 2, 20, 3});
  CHECK(start_times_s(jobs, "easy:planning=hosts") == std::vector<double>{0, 10, 2, 20, 3});
}

TEST_CASE("easy: planning with counts lets a job start that no lowest hosts would hold") {
  // 8 GPUs. Job 0 holds 1 until 100, job 1 6 until 120, job 2 needs 4 at 120. At 119 job 3 (2 GPUs, 2 s)
  // finds 2 free, and at 120 all 8 are but its 2 and the 4 reserved. By hosts one of its two is reserved.
  const std::vector<JobLine> jobs = {{0, 100, 1}, {99, 21, 6}, {99, 1, 4}, {119, 2, 2}};
  CHECK(start_times_s(jobs, "easy") == std::vector<double>{0, 99, 120, 119});
  CHECK(start_times_s(jobs, "easy:planning=hosts") == std::vector<double>{0, 99, 120, 120});
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
  check_against_reference("easy:planning=hosts", [] { return reference_easy(false); });
  check_against_reference("easy:order=asc-walltime,planning=hosts", [] { return reference_easy(true); });
}

TEST_CASE("easy: the schedules of the textbook, computed anew in every pass") {
  check_against_reference(
      "easy", [] { return textbook_easy(false); }, 150);
  check_against_reference(
      "easy:order=asc-walltime", [] { return textbook_easy(true); }, 150);
}

TEST_CASE("easy: jobs behind the head do not delay it if run times are known") {
  // Whoever is first in the queue cannot be harmed by those who come later: leaving out everything after job
  // k leaves the start of job k as it is, provided that it was the head from its arrival on, as when nobody
  // waited then.
  int num_heads = 0;
  for (std::uint64_t seed = 1; seed <= rounds(10); ++seed) {
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
  CHECK(num_heads >= enough(20));
}

TEST_CASE("easy: every job ends though gangs find no room among enough free GPUs") {
  check_all_end_under_yarn("easy");
  check_all_end_under_yarn("easy:order=asc-walltime");
  check_all_end_under_yarn("easy:planning=hosts");
  check_all_end_under_yarn("easy:order=asc-walltime,planning=hosts");
}

}  // namespace vtrain::testing
