#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/sim_time.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

/// The same jobs with the instants, in seconds, at which each started where it was recorded; -1: not known.
Workload with_starts(Workload workload, const std::vector<int>& starts) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (starts[i] >= 0) workload.jobs[i].original_start = at(starts[i]);
  }
  return workload;
}

}  // namespace

TEST_CASE("recorded: jobs start when they did, whatever is free before") {
  const Workload workload = with_starts(make_workload({{0, 10, 6}, {1, 10, 2}, {2, 5, 8}}), {3, 1, 40});
  const auto result = replay(workload, "1x8", "recorded");
  CHECK(result.outcomes[0].start == at(3));
  CHECK(result.outcomes[1].start == at(1));
  CHECK(result.outcomes[2].start == at(40));
  CHECK(result.outcomes[2].end == at(45));
}

TEST_CASE("recorded: a job without a start starts when it is submitted") {
  const Workload workload = with_starts(make_workload({{0, 10, 4}, {5, 10, 4}}), {7, -1});
  const auto result = replay(workload, "1x8", "recorded");
  CHECK(result.outcomes[0].start == at(7));
  CHECK(result.outcomes[1].start == at(5));
}

TEST_CASE(
    "recorded: on a smaller cluster jobs start as soon as they fit, first those that were to start first") {
  // At 4 the third job is to start beside the second, which waits for all GPUs: it fits, and is not held up.
  const Workload workload =
      with_starts(make_workload({{0, 10, 6}, {0, 10, 8}, {0, 20, 2}, {0, 10, 6}}), {0, 2, 4, 1});
  const auto result = replay(workload, "1x8", "recorded");
  CHECK(result.outcomes[2].start == at(4));
  CHECK(result.outcomes[3].start == at(10));
  CHECK(result.outcomes[1].start == at(24));
  REQUIRE(result.figures.size() == 1);
  CHECK(result.figures[0].name == "jobs_started_later_than_recorded");
  CHECK(result.figures[0].value == 2);
}

TEST_CASE("recorded: a job whose recorded start lies before its submission starts late") {
  const Workload workload = with_starts(make_workload({{0, 10, 4}, {5, 10, 4}}), {0, 4});
  const auto result = replay(workload, "1x8", "recorded");
  CHECK(result.outcomes[1].start == at(5));
  CHECK(result.figures.at(0).value == 1);
}

TEST_CASE("recorded: the schedule of a policy that does not preempt is told again to the nanosecond") {
  constexpr std::int32_t kGpus = 20;
  for (const char* spec : {"fifo", "fit-first", "easy", "easy-fast", "conservative"}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      CAPTURE(spec);
      CAPTURE(seed);
      Workload workload = random_workload(seed, 150, kGpus, SimDuration(7));
      const auto original = replay(workload, "2x8+1x4", spec);
      for (std::size_t i = 0; i < workload.jobs.size(); ++i)
        workload.jobs[i].original_start = original.outcomes[i].start;
      const auto again = replay(workload, "2x8+1x4", "recorded");
      check_same_outcomes(original, again);
      CHECK(again.figures.at(0).value == 0);
    }
  }
}

}  // namespace vtrain::testing
