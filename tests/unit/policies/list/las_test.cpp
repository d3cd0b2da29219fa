#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

SimTime at_ns(std::int64_t nanoseconds) {
  return SimTime(SimDuration(nanoseconds));
}

struct LiveJob {
  std::size_t id;
  SimDuration executed{0};
  bool runs = false;
};

/// The rule step by step, with one list per queue: credit, demote, walk, running jobs to the front. No job
/// may be larger than the cluster.
std::vector<JobOutcome> las_by_hand(const Workload& workload, std::int32_t total_gpus, bool gpu_time,
                                    const std::vector<SimDuration>& thresholds) {
  std::vector<JobOutcome> outcomes(workload.jobs.size());
  std::vector<std::vector<LiveJob>> queues(thresholds.size() + 1);
  const auto left = [&](const LiveJob& live) {
    const Job& job = workload.jobs[live.id];
    return std::min(job.duration, job.time_limit()) - live.executed;
  };
  const auto needed = [&](const LiveJob& live,
                          std::size_t queue) {  // time on GPUs at which it leaves the queue
    const std::int32_t gpus = gpu_time ? workload.jobs[live.id].num_gpus.value : 1;
    std::int64_t time = thresholds[queue].count() / gpus;
    while (time * gpus < thresholds[queue].count())
      ++time;
    return SimDuration(time);
  };
  std::size_t next = 0;
  std::size_t num_live = 0;
  SimTime now{};
  while (next < workload.jobs.size() || num_live > 0) {
    SimTime then = next < workload.jobs.size() ? workload.jobs[next].submit : SimTime::max();
    for (std::size_t q = 0; q < queues.size(); ++q) {
      for (const LiveJob& live : queues[q]) {
        if (!live.runs) continue;
        then = std::min(then, now + left(live));
        if (q < thresholds.size()) then = std::min(then, now + needed(live, q) - live.executed);
      }
    }
    std::vector<std::pair<std::size_t, LiveJob>> demoted;  // with the queue they go to
    for (std::size_t q = 0; q < queues.size(); ++q) {
      for (LiveJob& live : queues[q]) {
        if (live.runs) live.executed += then - now;
      }
      std::erase_if(queues[q], [&](const LiveJob& live) {
        if (left(live) == SimDuration(0)) {
          outcomes[live.id].end = then;
          --num_live;
          return true;
        }
        std::size_t to = q;
        while (to < thresholds.size() && live.executed >= needed(live, to))
          ++to;
        if (to != q) demoted.emplace_back(to, live);
        return to != q;
      });
    }
    now = then;
    std::sort(demoted.begin(), demoted.end(),
              [](const auto& a, const auto& b) { return a.second.id < b.second.id; });
    for (const auto& [queue, live] : demoted)
      queues[queue].push_back(live);
    for (; next < workload.jobs.size() && workload.jobs[next].submit == now; ++next, ++num_live)
      queues[0].push_back({next});
    std::int32_t free = total_gpus;
    for (std::vector<LiveJob>& queue : queues) {
      for (LiveJob& live : queue) {
        const bool ran = live.runs;
        live.runs = workload.jobs[live.id].num_gpus.value <= free;
        if (live.runs) free -= workload.jobs[live.id].num_gpus.value;
        if (ran && !live.runs) ++outcomes[live.id].preemptions;
      }
      std::stable_partition(queue.begin(), queue.end(), [](const LiveJob& live) { return live.runs; });
    }
  }
  return outcomes;
}

}  // namespace

TEST_CASE("las: equals the rule applied to lists, on random workloads") {
  for (const bool gpu_time : {false, true}) {
    const std::string attained = gpu_time ? "gpu-time" : "time";
    for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
      CAPTURE(attained);
      CAPTURE(seed);
      const Workload workload = random_workload(seed, 200, 16, std::chrono::seconds(1));
      const auto result = replay(workload, "2x8", "las:queues=6.5;15;40,attained=" + attained);
      const auto expected =
          las_by_hand(workload, 16, gpu_time,
                      {SimDuration(6'500'000'000), std::chrono::seconds(15), std::chrono::seconds(40)});
      for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        REQUIRE(result.outcomes[i].end == expected[i].end);
        REQUIRE(result.outcomes[i].preemptions == expected[i].preemptions);
      }
    }
  }
}

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

TEST_CASE("las: jobs stand in the order in which they left the first queue, also if nobody waited then") {
  // Threshold 10 GPU-s: the first job reaches it at 10, the second at 6. At 20 one GPU is wanted.
  const Workload workload = make_workload({{0, 100, 1}, {1, 100, 2}, {20, 5, 1}});
  const auto result = replay(workload, "1x3", "las:queues=10");
  CHECK(result.outcomes[0].preemptions == 1);
  CHECK(result.outcomes[0].end == at(105));
  CHECK(result.outcomes[1].end == at(101));
  CHECK(result.outcomes[2].end == at(25));
  CHECK(result.events == 8);  // three arrivals, three ends, two timers
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
  CHECK(error_of("las:attained=gpu") == "las:attained: expected one of 'time' and 'gpu-time', found 'gpu'");
  CHECK(error_of("las:timer=late") == "las:timer: expected one of 'exact' and 'peer', found 'late'");
  for (const std::string queues : {"", "0", "-5", "10;10", "10;5", "10;", ";", "x", "1e3", "2000000000"}) {
    CAPTURE(queues);
    CHECK(error_of("las:queues=" + queues).find("las:queues: expected increasing thresholds") == 0);
  }
  CHECK(make_policy("las:queues=0.5;7200"));
}

}  // namespace vtrain::testing
