#include <doctest/doctest.h>

#include <vector>

#include "policies/registry.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/unit/policies/backfill_references.hpp"
#include "tests/unit/policies/replay_checks.hpp"

namespace vtrain::testing {

TEST_CASE("easy_fast: the shadow of the priority job is computed once") {
  // 8 GPUs. Job 0 holds 7, may run until 100 and ends at 10. Job 1 needs all 8: its shadow is 100. Job 2 ends
  // by the shadow and starts at once, until 52. Job 3, at 11, would end at 91: too late for the 52 at which
  // job 1 could start by now, but not for its shadow.
  const std::vector<JobLine> jobs = {
      {.duration_s = 10, .num_gpus = 7, .requested_s = 100}, {1, 10, 8}, {2, 50, 1}, {11, 80, 1}};
  CHECK(start_times_s(jobs, "easy-fast") == std::vector<double>{0, 91, 2, 11});
  // `easy` renews the reservation when job 0 ends.
  CHECK(start_times_s(jobs, "easy") == std::vector<double>{0, 52, 2, 62});
}

TEST_CASE("easy_fast: GPUs that the priority job would leave over are not given to longer jobs") {
  // Job 1's shadow is 10. Job 2 fits now and beside job 1 at 10, but ends after the shadow.
  const std::vector<JobLine> jobs = {{0, 10, 6}, {1, 5, 7}, {2, 20, 1}};
  CHECK(start_times_s(jobs, "easy-fast") == std::vector<double>{0, 10, 10});
  CHECK(start_times_s(jobs, "easy") == std::vector<double>{0, 10, 2});
}

TEST_CASE("easy_fast: a job that ends at the shadow overtakes, one that ends later does not") {
  const std::vector<JobLine> jobs = {{0, 10, 7}, {1, 5, 8}, {2, 9, 1}, {2, 8, 1}};
  CHECK(start_times_s(jobs, "easy-fast") == std::vector<double>{0, 10, 15, 2});
}

TEST_CASE("easy_fast: the shadow is computed anew when a node fails") {
  // At 10 a node fails that nobody uses: as far as anyone knows job 2 can never start, so that nothing delays
  // it any more. Job 3, for which there was no time before its shadow at 100, starts when job 1 ends.
  const Workload workload = make_workload({{0, 100, 1}, {0, 50, 1}, {1, 10, 3}, {2, 200, 1}});
  Disruptions disruptions;
  disruptions.outages = {{NodeId(2), OutageKind::Failure, at(10), at(1000)}};
  const auto result =
      replay(workload, "3x1", "easy-fast", {.placement = PlacementKind::Yarn, .disruptions = &disruptions});
  CHECK(result.outcomes[3].start == at(50));
  CHECK(result.outcomes[2].start == at(1000));
}

TEST_CASE("easy_fast: the same schedules as lists that are walked") {
  check_against_reference("easy-fast", reference_easy_fast);
}

TEST_CASE("easy_fast: every job ends though gangs find no room among enough free GPUs") {
  check_all_end_under_yarn("easy-fast");
}

}  // namespace vtrain::testing
