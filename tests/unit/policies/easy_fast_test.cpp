#include "policies/easy_fast.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "policies/registry.hpp"
#include "tests/unit/policies/backfill_references.hpp"

namespace vtrain::testing {

TEST_CASE("easy_fast: the shadow of the priority job is computed once") {
  // 8 GPUs. Job 0 holds 7, may run until 100 and ends at 10. Job 1 needs all 8: its shadow is 100. Job 2 ends
  // by the shadow and starts at once, until 52. Job 3, at 11, would end at 91: too late for the 52 at which
  // job 1 could start by now, but not for its shadow.
  const std::vector<PlainJob> jobs = {{0, 7, 10, 100}, {1, 8, 10}, {2, 1, 50}, {11, 1, 80}};
  CHECK(start_times_s(jobs, 8, "easy-fast") == std::vector<double>{0, 91, 2, 11});
  // `easy` renews the reservation when job 0 ends.
  CHECK(start_times_s(jobs, 8, "easy") == std::vector<double>{0, 52, 2, 62});
}

TEST_CASE("easy_fast: GPUs that the priority job would leave over are not given to longer jobs") {
  // Job 1's shadow is 10. Job 2 fits now and beside job 1 at 10, but ends after the shadow.
  const std::vector<PlainJob> jobs = {{0, 6, 10}, {1, 7, 5}, {2, 1, 20}};
  CHECK(start_times_s(jobs, 8, "easy-fast") == std::vector<double>{0, 10, 10});
  CHECK(start_times_s(jobs, 8, "easy") == std::vector<double>{0, 10, 2});
}

TEST_CASE("easy_fast: a job that ends at the shadow overtakes, one that ends later does not") {
  const std::vector<PlainJob> jobs = {{0, 7, 10}, {1, 8, 5}, {2, 1, 9}, {2, 1, 8}};
  CHECK(start_times_s(jobs, 8, "easy-fast") == std::vector<double>{0, 10, 15, 2});
}

TEST_CASE("easy_fast: the same schedules as lists that are walked") {
  check_against_reference("easy-fast", reference_easy_fast);
}

TEST_CASE("easy_fast: every job ends though gangs find no room among enough free GPUs") {
  check_all_end_under_yarn("easy-fast");
}

}  // namespace vtrain::testing
