#include <doctest/doctest.h>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "tests/support/rounds.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

/// First come, first served with only a number of free GPUs. Without an event queue: the next instant is the
/// earliest of all jobs.
std::vector<SimTime> fifo_by_hand(const Workload& workload, std::int32_t total_gpus) {
  std::vector<SimTime> start(workload.jobs.size(), SimTime::max());
  std::int32_t free = total_gpus;
  std::deque<std::size_t> waiting;
  std::vector<std::size_t> running;
  std::size_t next = 0;
  const auto end = [&](std::size_t i) {
    return start[i] + std::min(workload.jobs[i].duration, workload.jobs[i].time_limit());
  };
  while (next < workload.jobs.size() || !running.empty()) {
    SimTime now = next < workload.jobs.size() ? workload.jobs[next].submit : SimTime::max();
    for (const std::size_t i : running)
      now = std::min(now, end(i));
    std::erase_if(running, [&](std::size_t i) {
      if (end(i) == now) free += workload.jobs[i].num_gpus.value;
      return end(i) == now;
    });
    for (; next < workload.jobs.size() && workload.jobs[next].submit == now; ++next) {
      if (workload.jobs[next].num_gpus.value <= total_gpus) waiting.push_back(next);
    }
    while (!waiting.empty() && workload.jobs[waiting.front()].num_gpus.value <= free) {
      start[waiting.front()] = now;
      free -= workload.jobs[waiting.front()].num_gpus.value;
      running.push_back(waiting.front());
      waiting.pop_front();
    }
  }
  return start;
}

/// Sets the recorded start times of jobs, seconds; -1: unknown.
Workload with_starts(Workload workload, const std::vector<int>& starts) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (starts[i] >= 0) workload.jobs[i].original_start = at(starts[i]);
  }
  return workload;
}

}  // namespace

TEST_CASE("fifo: nothing overtakes the job at the head") {
  const Workload workload = make_workload({{0, 10, 6}, {1, 10, 4}, {2, 1, 1}});
  const auto result = replay(workload, "1x8", "fifo");
  CHECK(result.outcomes[0].start == at(0));
  CHECK(result.outcomes[1].start == at(10));
  // It would have fitted at 2, beside the first job.
  CHECK(result.outcomes[2].start == at(10));
}

TEST_CASE("fifo: equals a replay without an event queue on random workloads") {
  for (std::uint64_t seed = 0; seed < rounds(50); ++seed) {
    CAPTURE(seed);
    const Workload workload = random_workload(seed, 200, 18, SimDuration(7));
    const auto result = replay(workload, "2x8", "fifo");
    const auto expected = fifo_by_hand(workload, 16);
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      const JobOutcome& outcome = result.outcomes[i];
      REQUIRE((outcome.state == JobState::Rejected) == (expected[i] == SimTime::max()));
      if (outcome.state != JobState::Rejected) REQUIRE(outcome.start == expected[i]);
    }
  }
}

TEST_CASE("fit_first: jobs that do not fit are skipped") {
  const Workload workload = make_workload({{0, 10, 6}, {1, 10, 4}, {2, 1, 1}, {3, 20, 2}});
  const auto result = replay(workload, "1x8", "fit-first");
  CHECK(result.outcomes[2].start == at(2));
  CHECK(result.outcomes[3].start == at(3));
  CHECK(result.outcomes[1].start == at(10));
}

TEST_CASE("fit_first: under yarn a gang may fit by count and still not be placed") {
  // 5 + 5 GPUs leave 3 + 3: a gang of 4 waits, a later one of 3 does not.
  const Workload workload = make_workload({{0, 10, 5}, {0, 10, 5}, {1, 5, 4}, {2, 5, 3}});
  const auto yarn = replay(workload, "2x8", "fit-first", {.placement = PlacementKind::Yarn});
  CHECK(yarn.outcomes[2].start == at(10));
  CHECK(yarn.outcomes[3].start == at(2));
  const auto count = replay(workload, "2x8", "fit-first");
  CHECK(count.outcomes[2].start == at(1));
}

TEST_CASE("fit_first: a large gang starves behind small ones") {
  const Workload workload = make_workload({{0, 4, 4}, {1, 1, 8}, {2, 4, 4}, {5, 4, 4}, {8, 4, 4}});
  const auto result = replay(workload, "1x8", "fit-first");
  // Small gangs hold GPUs in [0, 4), [2, 6), [5, 9) and [8, 12).
  CHECK(result.outcomes[1].start == at(12));
}

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

TEST_CASE("recorded: under count placement jobs hold what the log says, also beyond the cluster") {
  for (std::uint64_t seed = 0; seed < rounds(10); ++seed) {
    CAPTURE(seed);
    Workload workload = random_workload(seed, 150, 20, SimDuration(7));
    RandomStream random(seed, "starts");
    for (Job& job : workload.jobs)
      job.original_start = job.submit + SimDuration(random.below(500));
    const auto result = replay(workload, "2x8+1x4", "recorded");
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      const Job& job = workload.jobs[i];
      REQUIRE(result.outcomes[i].start == job.original_start);
      REQUIRE(result.outcomes[i].end == job.original_start + job.duration);
      REQUIRE(result.outcomes[i].state == JobState::Completed);
    }
    GpuCount most{0};
    for (const ClusterSample& sample : result.samples)
      most = std::max(most, sample.gpus_in_use);
    CHECK(result.figures.at(1).name == "gpus_held_beyond_cluster");
    CHECK(result.figures.at(1).value == std::max(most.value - 20, 0));
    CHECK(most.value > 20);
  }
}

TEST_CASE("recorded: under a placement with nodes gangs hold no more GPUs than there are") {
  for (std::uint64_t seed = 0; seed < rounds(10); ++seed) {
    CAPTURE(seed);
    Workload workload = random_workload(seed, 150, 20, SimDuration(7));
    for (Job& job : workload.jobs)
      job.original_start = job.submit;
    const auto result =
        replay(workload, "2x8+1x4", "recorded", {.placement = PlacementKind::Yarn, .record_segments = true});
    check_gpus_in_use(result, 20);
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      REQUIRE(result.outcomes[i].state == JobState::Completed);
      REQUIRE(result.outcomes[i].attained == workload.jobs[i].duration);
    }
  }
}

TEST_CASE("recorded: on fewer nodes jobs start as soon as they fit, first those that were to start first") {
  // At 4 the third job is to start beside the second, which waits for all GPUs: it fits, and is not held up.
  const Workload workload =
      with_starts(make_workload({{0, 10, 6}, {0, 10, 8}, {0, 20, 2}, {0, 10, 6}}), {0, 2, 4, 1});
  const auto result = replay(workload, "1x8", "recorded", {.placement = PlacementKind::Yarn});
  CHECK(result.outcomes[2].start == at(4));
  CHECK(result.outcomes[3].start == at(10));
  CHECK(result.outcomes[1].start == at(24));
  REQUIRE(result.figures.size() == 2);
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
    for (std::uint64_t seed = 0; seed < rounds(10); ++seed) {
      CAPTURE(spec);
      CAPTURE(seed);
      Workload workload = random_workload(seed, 150, kGpus, SimDuration(7));
      for (Job& job : workload.jobs)
        job.duration = time_on_gpus(job);
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
