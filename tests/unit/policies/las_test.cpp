#include <doctest/doctest.h>

#include <string>

#include "policies/registry.hpp"
#include "tests/unit/policies/golden_support.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

SimTime at_ns(std::int64_t nanoseconds) {
  return SimTime(SimDuration(nanoseconds));
}
SimTime at(std::int64_t seconds) {
  return SimTime(std::chrono::seconds(seconds));
}

}  // namespace

TEST_CASE("las: a job that has had its share makes way for one that has not") {
  // Threshold 10 s: the second job waits until 10, runs its 10 s in queue 0, then both are in queue 1 (behind
  // no one); the first one, demoted earlier, is ahead.
  const Workload workload = make_workload({{0, 30, 8}, {2, 15, 8}});
  const auto result = replay(workload, "1x8", "las:attained=time,queues=10");
  CHECK(result.outcomes[1].start == at(10));
  CHECK(result.outcomes[0].preemptions == 1);
  // From 20 on the first job runs its last 20 s; the second follows with its last 5.
  CHECK(result.outcomes[0].end == at(40));
  CHECK(result.outcomes[1].end == at(45));
}

TEST_CASE("las: by GPU time a wide gang reaches the threshold sooner") {
  // Threshold 40 GPU-s: 8 GPUs reach it after 5 s, 4 GPUs after 10 s.
  const Workload workload = make_workload({{0, 30, 8}, {1, 30, 8}});
  const auto gpu_time = replay(workload, "1x8", "las:queues=40");
  CHECK(gpu_time.outcomes[1].start == at(5));
  const Workload narrow = make_workload({{0, 30, 4}, {1, 30, 8}});
  CHECK(replay(narrow, "1x8", "las:queues=40").outcomes[1].start == at(10));
}

TEST_CASE("las: a threshold that does not divide by the gang is rounded up to the next ns") {
  // 10 GPU-s on 3 GPUs: 3,333,333,334 ns is the first instant with at least 10 GPU-s.
  const Workload workload = make_workload({{0, 30, 3}, {1, 30, 3}});
  const auto result = replay(workload, "1x3", "las:queues=10");
  CHECK(result.outcomes[1].start == at_ns(3'333'333'334));
}

TEST_CASE("las: the exact timer is right for a job that has run before, the peer's is late") {
  // Gang of 2, threshold 100 GPU-s, so 50 s. It runs 30 s, is kept off the GPUs by nothing, but an arrival at
  // 30 re-arms the timer: exact: 20 s more, at 50. Peer: floor((100 - 30) / 2) = 35 s more, at 65; the
  // arrival waits on the full cluster until then.
  const Workload workload = make_workload({{0, 200, 2}, {30, 10, 2}});
  CHECK(replay(workload, "1x2", "las:queues=100").outcomes[1].start == at(50));
  CHECK(replay(workload, "1x2", "las:queues=100,timer=peer").outcomes[1].start == at(65));
}

TEST_CASE("las: the peer's timer moves a job by one queue a pass") {
  // Thresholds 4 and 5 GPU-s on 8 GPUs. Exact: after 1 s the job has 8 GPU-s and is in the last queue. Peer:
  // floor(4 / 8) = 0 s becomes 1 s, which moves it to queue 1; the next pass, 1 s later, to queue 2.
  const Workload workload = make_workload({{0, 100, 8}, {0, 1, 8}, {0, 1, 8}});
  const auto exact = replay(workload, "1x8", "las:queues=4;5");
  CHECK(exact.outcomes[1].start == at_ns(500'000'000));
  const auto peer = replay(workload, "1x8", "las:queues=4;5,timer=peer");
  CHECK(peer.outcomes[1].start == at(1));
}

TEST_CASE("las: bad values name the parameter") {
  const auto error_of = [](const std::string& spec) {
    const auto policy = make_policy(spec);
    REQUIRE_FALSE(policy);
    return policy.error().describe();
  };
  CHECK(error_of("las:attained=gpu") == "las:attained: expected time or gpu-time, found 'gpu'");
  CHECK(error_of("las:timer=late") == "las:timer: expected exact or peer, found 'late'");
  for (const std::string queues : {"", "0", "-5", "10;10", "10;5", "10;", ";", "x", "1e3", "2000000000"}) {
    CAPTURE(queues);
    CHECK(error_of("las:queues=" + queues).find("las:queues: expected increasing thresholds") == 0);
  }
  CHECK(make_policy("las:queues=0.5;7200"));
}

}  // namespace vtrain::testing
