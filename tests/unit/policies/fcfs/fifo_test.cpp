#include <doctest/doctest.h>

#include <deque>
#include <vector>

#include "tests/support/sim_time.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

/// First come, first served on one number of free GPUs, without an event queue: the next instant is looked up
/// among all jobs.
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
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
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

}  // namespace vtrain::testing
