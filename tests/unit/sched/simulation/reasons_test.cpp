/// Reasons under policies that decide on values, and in simulations that are stepped.
#include "sched/simulation/reasons.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "sched/simulation/decision.hpp"
#include "sched/simulation/simulation.hpp"

namespace vtrain {
namespace {

SimTime at(int seconds) {
  return SimTime(std::chrono::seconds(seconds));
}

Job job_of(int submit_s, int duration_s, int num_gpus) {
  Job job;
  job.submit = at(submit_s);
  job.duration = std::chrono::seconds(duration_s);
  job.num_gpus = GpuCount(num_gpus);
  return job;
}

Workload workload_of(const std::vector<Job>& jobs) {
  Workload workload;
  for (Job job : jobs) {
    job.name = workload.keep("j" + std::to_string(workload.jobs.size()));
    workload.jobs.push_back(job);
  }
  return workload;
}

class ReasonList final : public ReasonObserver {
 public:
  void take(std::span<const ReasonChange> changes) override {
    list.insert(list.end(), changes.begin(), changes.end());
  }
  std::vector<ReasonChange> list;
};

/// Lets all jobs that fit run, in their order, but none before an instant.
Decision run_from(const PassEvents& events, SimTime first) {
  Decision decision;
  if (events.now < first) {
    decision.wake_at = first;
    return decision;
  }
  std::int64_t left = events.usable.front();
  for (const LiveView& live : events.live) {
    const GpuCount gpus = live.holds.gpus.value > 0 ? live.holds.gpus : GpuCount(1);
    if (gpus.value > left) break;
    left -= gpus.value;
    decision.run.push_back({live.id, {gpus}});
  }
  return decision;
}

class Reluctant final : public DecisionPolicy {
 public:
  Decision decide(const PassEvents& events) override { return run_from(events, at(10)); }
};

class EveryTenSeconds final : public RoundPolicy {
 public:
  EveryTenSeconds() : RoundPolicy(std::chrono::seconds(10)) {}
  Decision decide(const PassEvents& events) override { return run_from(events, at(0)); }
};

std::vector<ReasonChange> reasons_under(Policy& policy, const Workload& workload,
                                        const std::string& cluster) {
  ReasonList all;
  const auto result = simulate(workload, *ClusterSpec::parse(cluster), policy,
                               {.policy_name = "tested", .reasons = {.all = &all}});
  REQUIRE(result);
  return all.list;
}

}  // namespace

TEST_CASE("reasons: a policy that gives none leaves jobs waiting for `policy`") {
  Reluctant policy;
  const auto changes = reasons_under(policy, workload_of({job_of(3, 5, 1)}), "1x4");
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].time == at(3));
  CHECK(changes[0].reason == WaitReason::Policy);
  CHECK(changes[1].time == at(10));
  CHECK(changes[1].reason == WaitReason::None);
}

TEST_CASE("reasons: jobs wait for the next round, and then for what is free") {
  EveryTenSeconds policy;
  // At 10 the first one takes the only GPU, at 15 it ends; the second one starts in the next round.
  const auto changes = reasons_under(policy, workload_of({job_of(3, 5, 1), job_of(4, 5, 1)}), "1x1");
  REQUIRE(changes.size() == 6);
  const auto is = [&](std::size_t i, int time, std::uint32_t job, WaitReason reason) {
    CAPTURE(i);
    CHECK(changes[i].time == at(time));
    CHECK(changes[i].job == JobId(job));
    CHECK(changes[i].reason == reason);
  };
  is(0, 3, 0, WaitReason::NextDecision);
  CHECK(changes[0].at == at(10));
  is(1, 4, 1, WaitReason::NextDecision);
  is(2, 10, 0, WaitReason::None);
  is(3, 10, 1, WaitReason::Gpus);
  is(4, 15, 1, WaitReason::NextDecision);
  CHECK(changes[4].at == at(20));
  is(5, 20, 1, WaitReason::None);
}

TEST_CASE("reasons: a simulation that begins with waiting jobs gives their reasons") {
  Reluctant policy;
  ReasonList all;
  SimulationState state{.now = at(2), .jobs = {LiveJob{}}};
  state.jobs.front().outcome.state = JobState::Waiting;
  Workload jobs = workload_of({job_of(0, 5, 1)});
  auto simulation = Simulation::begin(std::move(jobs), *ClusterSpec::parse("1x4"), policy,
                                      {.policy_name = "tested", .reasons = {.all = &all}}, state);
  REQUIRE(simulation);
  REQUIRE(simulation->finish());
  REQUIRE(all.list.size() == 2);
  CHECK(all.list[0].time == at(2));
  CHECK(all.list[0].reason == WaitReason::Policy);
  CHECK(all.list[1].time == at(10));
}

}  // namespace vtrain
