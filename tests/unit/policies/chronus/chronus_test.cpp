#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

constexpr std::int64_t kMinute = 60;

/// A replay with the policy's report on itself.
struct Replay {
  SimulationResult result;
  std::map<std::string, double> figures;

  const JobOutcome& job(std::size_t i) const { return result.outcomes[i]; }
  std::int64_t end_s(std::size_t i) const {
    return std::chrono::duration_cast<std::chrono::seconds>(job(i).end.time_since_epoch()).count();
  }
  std::int64_t start_s(std::size_t i) const {
    return std::chrono::duration_cast<std::chrono::seconds>(job(i).start.time_since_epoch()).count();
  }
};

Replay replay(const Workload& workload, const std::string& spec, const std::string& cluster = "1x8",
              PlacementKind placement = PlacementKind::Count) {
  auto policy = make_policy(spec);
  REQUIRE_MESSAGE(policy, policy.error().describe());
  auto result = simulate(workload, *ClusterSpec::parse(cluster), **policy,
                         {.placement = placement, .record_segments = true, .policy_name = spec});
  REQUIRE_MESSAGE(result, result.error().describe());
  Replay replayed{*std::move(result), {}};
  for (const PolicyFigure& figure : replayed.result.figures)
    replayed.figures[std::string(figure.name)] = figure.value;
  return replayed;
}

/// Jobs with times in whole minutes that load 16 GPUs; two in three have a deadline.
Workload random_deadlines(std::uint64_t seed, int num_jobs) {
  RandomStream random(seed, "chronus");
  std::vector<JobLine> lines;
  std::int64_t submit_s = 0;
  for (int i = 0; i < num_jobs; ++i) {
    submit_s += kMinute * static_cast<std::int64_t>(random.below(20));
    JobLine line;
    line.submit_s = submit_s;
    line.duration_s = kMinute * static_cast<std::int64_t>(1 + random.below(90));
    line.num_gpus = 1 << random.below(5);
    if (random.below(3) > 0) {
      line.deadline_s =
          submit_s +
          static_cast<std::int64_t>(static_cast<double>(line.duration_s) * random.uniform(0.8, 4)) + 600;
    }
    lines.push_back(line);
  }
  return make_workload(lines);
}

}  // namespace

TEST_CASE("chronus: a job with a deadline is preempted at the end of a lease for one that cannot wait") {
  // Leases of 10 min on 8 GPUs. a needs 3 leases by lease 6 and starts at once. b comes in minute 5 and needs
  // lease 1 or 2: its deadline lies in lease 3. Both are accepted. With `late` a leaves lease 1 to b
  // only if it must not: a has leases 0 and any two of 1..5.
  const Workload workload =
      make_workload({{.submit_s = 0, .duration_s = 1800, .num_gpus = 8, .deadline_s = 3600},
                     {.submit_s = 300, .duration_s = 600, .num_gpus = 8, .deadline_s = 1200}});
  const Replay replayed = replay(workload, "chronus:lease=10m");
  CHECK(replayed.figures.at("jobs_accepted") == 2);
  CHECK(replayed.start_s(1) == 600);
  CHECK(replayed.end_s(1) == 1200);
  CHECK(replayed.job(0).preemptions == 1);
  CHECK(replayed.end_s(0) == 2400);
}

TEST_CASE("chronus: deadlines count down to whole leases") {
  // 10 min of work by minute 19 in leases of 10 min: only lease 0 lies before the deadline. Coming at minute
  // 0 the job is accepted, coming at minute 1 it is not, and runs on free GPUs.
  for (const std::int64_t submit_s : {0, 60}) {
    const Workload workload =
        make_workload({{.submit_s = submit_s, .duration_s = 600, .num_gpus = 8, .deadline_s = 1140}});
    const Replay replayed = replay(workload, "chronus:lease=10m");
    CHECK(replayed.figures.at("jobs_accepted") == (submit_s == 0 ? 1 : 0));
    CHECK(replayed.figures.at("jobs_not_accepted") == (submit_s == 0 ? 0 : 1));
    CHECK(replayed.end_s(0) == submit_s + 600);
  }
}

TEST_CASE("chronus: a job that runs is expected to have done more when the next lease begins") {
  // At minute 5 job 0 has 15 min left, of which it does 5 in the lease that runs: one more lease is enough,
  // the last before its deadline. Job 1 has lease 2 alone.
  const Workload workload =
      make_workload({{.submit_s = 0, .duration_s = 1200, .num_gpus = 8, .deadline_s = 1200},
                     {.submit_s = 300, .duration_s = 600, .num_gpus = 8, .deadline_s = 1800}});
  const Replay replayed = replay(workload, "chronus:lease=10m");
  CHECK(replayed.figures.at("jobs_accepted") == 2);
  CHECK(replayed.end_s(0) == 1200);
  CHECK(replayed.end_s(1) == 1800);
}

TEST_CASE("chronus: jobs without a lease run on what is left and make room when a lease begins") {
  // A best-effort job of 8 GPUs starts in minute 0. In minute 5 a job comes that must run in lease 1.
  const Workload workload =
      make_workload({{.submit_s = 0, .duration_s = 1800, .num_gpus = 8},
                     {.submit_s = 300, .duration_s = 600, .num_gpus = 4, .deadline_s = 1200},
                     {.submit_s = 360, .duration_s = 60, .num_gpus = 4}});
  const Replay replayed = replay(workload, "chronus:lease=10m");
  CHECK(replayed.start_s(1) == 600);
  // The short job fits beside the lease; the long one waits until the lease ends.
  CHECK(replayed.start_s(2) == 600);
  CHECK(replayed.job(0).preemptions == 1);
  CHECK(replayed.end_s(0) == 3000 - 600);
}

TEST_CASE("chronus: the largest gangs are placed first when a lease begins") {
  // 3, 2, 2 and 1 GPUs on two nodes of 4: 3 + 1 and 2 + 2. The smallest first they would lie as 1 + 2 and 2.
  const Workload workload =
      make_workload({{.submit_s = 0, .duration_s = 600, .num_gpus = 8},
                     {.submit_s = 60, .duration_s = 600, .num_gpus = 1, .deadline_s = 1200},
                     {.submit_s = 60, .duration_s = 600, .num_gpus = 2, .deadline_s = 1200},
                     {.submit_s = 60, .duration_s = 600, .num_gpus = 2, .deadline_s = 1200},
                     {.submit_s = 60, .duration_s = 600, .num_gpus = 3, .deadline_s = 1200}});
  const Replay replayed = replay(workload, "chronus:lease=10m", "2x4", PlacementKind::Yarn);
  CHECK(replayed.figures.at("leases_without_room") == 0);
  for (std::size_t i = 1; i < workload.jobs.size(); ++i)
    CHECK(replayed.end_s(i) == 1200);
}

TEST_CASE("chronus: the program accepts what the greedy test would turn away") {
  // 4 GPUs, two leases, jobs of 1, 2, 2 and 3 GPUs and one lease each, in this order: the first three are put
  // where there is room, 1 + 2 into lease 1 and 2 into lease 0, and so are they by the greedy test. Only 1 +
  // 3 and 2 + 2 leave room for the last.
  const std::vector<JobLine> lines = {{.duration_s = 600, .num_gpus = 1, .deadline_s = 1200},
                                      {.duration_s = 600, .num_gpus = 2, .deadline_s = 1200},
                                      {.duration_s = 600, .num_gpus = 2, .deadline_s = 1200},
                                      {.duration_s = 600, .num_gpus = 3, .deadline_s = 1200}};
  const Workload workload = make_workload(lines);
  const Replay without = replay(workload, "chronus:lease=10m,second_test=0", "1x4");
  CHECK(without.figures.at("jobs_accepted") == 3);
  const Replay with = replay(workload, "chronus:lease=10m", "1x4");
  CHECK(with.figures.at("jobs_accepted") == 4);
  CHECK(with.figures.at("jobs_accepted_by_program") == 1);
  for (std::size_t i = 0; i < lines.size(); ++i)
    CHECK(deadline_met(workload.jobs[i], with.job(i)));
}

TEST_CASE("chronus: late leaves the current lease to jobs that could not be accepted") {
  // a has until minute 60 for 10 min of work. b, of 20 min, wants to be done in 20 min from minute 0 but asks
  // for 8 GPUs as a does: leases 0 and 1 before its deadline suffice, so it is accepted too; c cannot be.
  const Workload workload = make_workload({{.duration_s = 600, .num_gpus = 8, .deadline_s = 3600},
                                           {.duration_s = 540, .num_gpus = 8, .deadline_s = 590}});
  // The deadline of the second job lies within lease 0, before any lease has ended: not accepted.
  const Replay adaptive = replay(workload, "chronus:lease=10m");
  CHECK(adaptive.figures.at("jobs_not_accepted") == 1);
  CHECK(deadline_met(workload.jobs[0], adaptive.job(0)));
  CHECK(deadline_met(workload.jobs[1], adaptive.job(1)));
  const Replay early = replay(workload, "chronus:lease=10m,prefer=early");
  CHECK(deadline_met(workload.jobs[0], early.job(0)));
  CHECK_FALSE(deadline_met(workload.jobs[1], early.job(1)));
}

TEST_CASE("chronus: under exact knowledge every accepted job ends by its deadline in whole leases") {
  int accepted = 0;
  int by_program = 0;
  int solved = 0;
  for (const char* spec :
       {"chronus:lease=10m", "chronus:lease=15m,prefer=early", "chronus:lease=10m,prefer=late",
        "chronus:lease=20m,gap=0,nodes=1", "chronus:lease=10m,variables=0"}) {
    for (std::uint64_t seed = 1; seed <= rounds(4); ++seed) {
      CAPTURE(spec);
      CAPTURE(seed);
      const Workload workload = random_deadlines(seed, 40);
      const Replay replayed = replay(workload, spec, "2x8");
      // No promise is broken, and as many deadlines are met as promises were made, at least.
      REQUIRE(replayed.figures.at("accepted_jobs_dropped") == 0);
      REQUIRE(replayed.figures.at("leases_without_room") == 0);
      std::int64_t met = 0;
      for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        REQUIRE(replayed.job(i).state == JobState::Completed);
        REQUIRE(replayed.job(i).attained == workload.jobs[i].duration);
        if (deadline_met(workload.jobs[i], replayed.job(i))) ++met;
      }
      REQUIRE(static_cast<double>(met) >= replayed.figures.at("jobs_accepted"));
      accepted += static_cast<int>(replayed.figures.at("jobs_accepted"));
      by_program += static_cast<int>(replayed.figures.at("jobs_accepted_by_program"));
      solved += static_cast<int>(replayed.figures.at("programs_solved"));
    }
  }
  CHECK(accepted > static_cast<int>(rounds(160)));
  CHECK(by_program > 0);
  CHECK(solved > static_cast<int>(rounds(16)));
}

TEST_CASE("chronus: a replay repeats exactly") {
  const Workload workload = random_deadlines(3, 60);
  const Replay first = replay(workload, "chronus:lease=10m", "2x8", PlacementKind::Yarn);
  const Replay second = replay(workload, "chronus:lease=10m", "2x8", PlacementKind::Yarn);
  CHECK(first.figures == second.figures);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    CHECK(first.job(i).end == second.job(i).end);
}

TEST_CASE("chronus: estimates that are too long turn jobs away, never those that are too short") {
  // 60 min of work by minute 60: exactly 6 leases of 10 min. An estimate 10 % longer needs 7.
  const Workload workload = make_workload({{.duration_s = 3600, .num_gpus = 8, .deadline_s = 3600}});
  CHECK(replay(workload, "chronus:lease=10m").figures.at("jobs_accepted") == 1);
  CHECK(replay(workload, "chronus:lease=10m,inflation=1.1").figures.at("jobs_accepted") == 0);
  // A preemption of 1 s a lease on 8 GPUs counts 1 + log2 8 = 4 times: 0.7 % more work.
  CHECK(replay(workload, "chronus:lease=10m,overhead=1s").figures.at("jobs_accepted") == 0);
  // Both: (1 + 2 x 60 / 600) x 1.25 = 1.5, so that 800 s are two leases and 810 s are not.
  for (const std::int64_t duration_s : {800, 810}) {
    const Workload two = make_workload({{.duration_s = duration_s, .num_gpus = 2, .deadline_s = 1200}});
    CHECK(replay(two, "chronus:lease=10m,overhead=1m,inflation=1.25").figures.at("jobs_accepted") ==
          (duration_s == 800 ? 1 : 0));
  }
}

TEST_CASE("chronus: a job that is not accepted goes before best effort as long as it may be in time") {
  // Job 1 needs two leases and has one before its deadline. If it starts at 600 it ends at its very deadline.
  const Workload workload =
      make_workload({{.submit_s = 0, .duration_s = 600, .num_gpus = 8},
                     {.submit_s = 60, .duration_s = 900, .num_gpus = 8, .deadline_s = 1500},
                     {.submit_s = 60, .duration_s = 1000, .num_gpus = 8}});
  const Replay replayed = replay(workload, "chronus:lease=10m");
  CHECK(replayed.figures.at("jobs_not_accepted") == 1);
  CHECK(replayed.end_s(1) == 1500);
  CHECK(replayed.start_s(2) == 1500);
}

TEST_CASE("chronus: parameters out of range are told") {
  for (const char* spec :
       {"chronus:lease=0s", "chronus:lease=20", "chronus:lease=60d", "chronus:prefer=never",
        "chronus:inflation=0.5", "chronus:overhead=-1s", "chronus:second_test=-1", "chronus:gap=101",
        "chronus:nodes=0", "chronus:variables=many", "chronus:time_limit=soon"}) {
    CAPTURE(spec);
    const auto policy = make_policy(spec);
    REQUIRE_FALSE(policy);
    CHECK(policy.error().describe().find("expected") != std::string::npos);
  }
  CHECK(make_policy("chronus:lease=1h,time_limit=5s,overhead=30s,inflation=1.1"));
}

}  // namespace vtrain::testing
