/// The list policies: sjf, srtf, srsf and edf.
#include "policies/list/list_policy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/rounds.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

struct LiveJob {
  std::size_t id;
  SimDuration executed{0};
  bool runs = false;
};

struct Outcome {
  SimTime start = SimTime::max();
  SimTime end = SimTime::max();
};

using Key = std::function<double(const Job&, SimDuration executed)>;

/// The list rule step by step: one list, a stable sort at every event, a greedy walk. No job may be larger
/// than the cluster.
std::vector<Outcome> list_by_hand(const Workload& workload, std::int32_t total_gpus, const Key& key) {
  std::vector<Outcome> outcomes(workload.jobs.size());
  std::vector<LiveJob> list;
  std::size_t next = 0;
  SimTime now{};
  const auto left = [&](const LiveJob& live) {
    const Job& job = workload.jobs[live.id];
    return std::min(job.duration, job.time_limit()) - live.executed;
  };
  while (next < workload.jobs.size() || !list.empty()) {
    SimTime then = next < workload.jobs.size() ? workload.jobs[next].submit : SimTime::max();
    for (const LiveJob& live : list) {
      if (live.runs) then = std::min(then, now + left(live));
    }
    for (LiveJob& live : list) {
      if (live.runs) live.executed += then - now;
    }
    now = then;
    std::erase_if(list, [&](const LiveJob& live) {
      if (live.runs && left(live) == SimDuration(0)) outcomes[live.id].end = now;
      return left(live) == SimDuration(0);
    });
    for (; next < workload.jobs.size() && workload.jobs[next].submit == now; ++next)
      list.push_back({next});
    std::stable_sort(list.begin(), list.end(), [&](const LiveJob& a, const LiveJob& b) {
      return key(workload.jobs[a.id], a.executed) < key(workload.jobs[b.id], b.executed);
    });
    std::int32_t free = total_gpus;
    for (LiveJob& live : list) {
      live.runs = workload.jobs[live.id].num_gpus.value <= free;
      if (!live.runs) continue;
      free -= workload.jobs[live.id].num_gpus.value;
      outcomes[live.id].start = std::min(outcomes[live.id].start, now);
    }
  }
  return outcomes;
}

void compare_with_hand(const std::string& policy, const Key& key) {
  for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
    CAPTURE(policy);
    CAPTURE(seed);
    const Workload workload = random_workload(seed, 200, 16, SimDuration(3));
    const auto result = replay(workload, "2x8", policy);
    const auto expected = list_by_hand(workload, 16, key);
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      REQUIRE(result.outcomes[i].start == expected[i].start);
      REQUIRE(result.outcomes[i].end == expected[i].end);
    }
  }
}

}  // namespace

TEST_CASE("list_policy: the order of the list decides who holds GPUs") {
  // On 8 GPUs; each policy has another favourite at time 1.
  const std::vector<JobLine> lines = {{0, 100, 8, 500}, {1, 200, 2, 900}, {1, 10, 8, 800}, {1, 60, 6, 300}};
  const Workload workload = make_workload(lines);
  const auto runs_at_1 = [&](const std::string& policy) {
    const auto result = replay(workload, "1x8", policy);
    std::vector<int> started;
    for (int i = 1; i < 4; ++i) {
      if (result.outcomes[static_cast<std::size_t>(i)].start == at(1)) started.push_back(i);
    }
    return started;
  };
  CHECK(runs_at_1("sjf") == std::vector<int>{1, 3});  // 2 GPUs, then 6
  CHECK(runs_at_1("srtf") == std::vector<int>{2});    // 10 s
  CHECK(runs_at_1("srsf") == std::vector<int>{2});    // 80 GPU-s of 792, 400, 80 and 360
  CHECK(runs_at_1("edf") ==
        std::vector<int>{1, 3});  // 300 s, then 500 does not fit, then 800 neither, then 900
}

TEST_CASE("list_policy: a preempted job loses nothing") {
  const Workload workload = make_workload({{0, 100, 8}, {10, 20, 8}});
  const auto result = replay(workload, "1x8", "srtf");
  CHECK(result.outcomes[1].end == at(30));
  CHECK(result.outcomes[0].end == at(120));
  CHECK(result.outcomes[0].preemptions == 1);
}

TEST_CASE("list_policy: equal keys keep the order of the list") {
  // At 10 both have 20 s to go: the running job was ahead of the arrival and stays there.
  const auto running_first = replay(make_workload({{0, 30, 8}, {10, 20, 8}}), "1x8", "srtf");
  CHECK(running_first.outcomes[0].end == at(30));
  CHECK(running_first.outcomes[0].preemptions == 0);
  const auto arrivals = replay(make_workload({{0, 5, 8}, {0, 5, 8}, {0, 5, 8}}), "1x8", "srtf");
  CHECK(arrivals.outcomes[0].end == at(5));
  CHECK(arrivals.outcomes[1].end == at(10));
  CHECK(arrivals.outcomes[2].end == at(15));
}

TEST_CASE("list_policy: srsf weighs time by GPUs, exactly also where the product needs more than 64 bits") {
  // 10,000 GPUs x 30 years ~ 9.5e12 GPU-s ~ 9.5e21 GPU-ns. The jobs differ by one second.
  const std::int64_t years_30 = 946'080'000;
  const Workload workload =
      make_workload({{0, years_30, 10000}, {1, years_30 - 2, 10000}, {2, years_30 - 1, 10000}});
  const auto result = replay(workload, "1250x8", "srsf");
  // At 1 the first has years_30 - 1 to go, one more than the second. At 2 the second has years_30 - 3.
  CHECK(result.outcomes[1].start == at(1));
  CHECK(result.outcomes[1].end == at(years_30 - 1));
  CHECK(result.outcomes[1].preemptions == 0);
  CHECK(result.outcomes[0].preemptions == 1);
}

TEST_CASE("list_policy: srsf knows who was ahead of whom when all jobs found room until now") {
  // At 7 the first two have 5 s x 2 = 10 s x 1 = 10 GPU-s to go, and it was 12 to 11 at 6: the narrow one is
  // ahead.
  const Workload workload = make_workload({{0, 12, 2}, {2, 15, 1}, {7, 1, 1}});
  const auto result = replay(workload, "1x3", "srsf");
  CHECK(result.outcomes[0].preemptions == 1);
  CHECK(result.outcomes[0].end == at(13));
  CHECK(result.outcomes[1].end == at(17));
  CHECK(result.outcomes[2].end == at(8));
}

TEST_CASE("list_policy: edf puts jobs without a deadline last and keeps ties in order of arrival") {
  const Workload workload = make_workload({{0, 10, 8}, {0, 10, 8, 1000}, {0, 10, 8, 500}, {0, 10, 8, 1000}});
  const auto result = replay(workload, "1x8", "edf");
  CHECK(result.outcomes[2].start == at(0));
  CHECK(result.outcomes[1].start == at(10));
  CHECK(result.outcomes[3].start == at(20));
  CHECK(result.outcomes[0].start == at(30));
}

TEST_CASE("list_policy: under yarn what finds no room waits, and later jobs get their chance") {
  // 5 + 5 GPUs run on two nodes with 3 + 3 left. At 1 the walk by count chooses the gang of 4 and that of 2:
  // only 2 finds room.
  const Workload workload = make_workload({{0, 10, 5}, {0, 10, 5}, {1, 20, 4}, {1, 30, 2}});
  const auto result = replay(workload, "2x8", "srtf", {.placement = PlacementKind::Yarn});
  CHECK(result.outcomes[2].start == at(10));
  CHECK(result.outcomes[3].start == at(1));
}

TEST_CASE("list_policy: sjf, srtf, srsf and edf equal the rule applied to one list, on random workloads") {
  compare_with_hand("sjf", [](const Job& job, SimDuration) { return job.num_gpus.value; });
  compare_with_hand("srtf", [](const Job& job, SimDuration executed) {
    return static_cast<double>((job.duration - executed).count());
  });
  compare_with_hand("srsf", [](const Job& job, SimDuration executed) {
    return static_cast<double>((job.duration - executed).count()) * job.num_gpus.value;
  });
  compare_with_hand("edf", [](const Job& job, SimDuration) { return to_seconds(job.deadline); });
}

}  // namespace vtrain::testing
