/// `Simulation`: its state between steps, and its errors.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "sched/simulation/simulation.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/unit/sched/scripted_policy.hpp"

namespace vtrain {
namespace {

using testing::add_job;
using testing::job_of;

/// Starts every job for which there is room, in the order of their ids. Has no state.
class StartsAll final : public Policy {
 public:
  void begin(const SchedulingPass& view) override {
    ++num_begins;
    num_live = view.running().size() + view.waiting().size();
  }
  bool can_begin_with_jobs() const override { return true; }
  void schedule(SchedulingPass& pass) override {
    for (std::uint32_t i = 0; i < pass.jobs().size(); ++i) {
      if (pass.state(JobId(i)) == JobState::Waiting) pass.try_start(JobId(i));
    }
  }

  int num_begins = 0;
  std::size_t num_live = 0;
};

Simulation begin_on(const std::string& cluster, Policy& policy,
                    PlacementKind placement = PlacementKind::Yarn) {
  auto begun = Simulation::begin({}, *ClusterSpec::parse(cluster), policy,
                                 {.placement = placement, .policy_name = "starts-all"});
  REQUIRE(begun);
  return *std::move(begun);
}

/// A workload with one job that was submitted at 0 s.
Workload one_job(std::int32_t num_gpus) {
  Workload workload;
  add_job(workload, 0, 100, num_gpus);
  return workload;
}

/// The state at 30 s with the first job of a workload running since 10 s.
SimulationState running_since_10(std::int32_t num_gpus, std::vector<NodeShare> gang) {
  LiveJob live;
  live.outcome.start = at(10);
  live.outcome.state = JobState::Running;
  live.has_started = true;
  live.resumed = at(10);
  live.num_gpus = GpuCount(num_gpus);
  live.gang = std::move(gang);
  return {.now = at(30), .jobs = {live}};
}

}  // namespace

TEST_CASE("simulation: outcomes can be asked for between steps") {
  StartsAll policy;
  Simulation simulation = begin_on("1x8", policy);
  const JobId first = *simulation.submit("first", job_of(5, 100, 8));
  CHECK(simulation.next_event() == at(5));
  CHECK(simulation.outcome(first).state == JobState::NotSubmitted);
  REQUIRE(simulation.run_until(at(60)));
  CHECK(simulation.outcome(first).state == JobState::Running);
  CHECK(simulation.next_event() == at(105));
  const JobId second = *simulation.submit("second", job_of(60, 10, 4));
  REQUIRE(simulation.run_until(at(60)));
  CHECK(simulation.outcome(second).state == JobState::Waiting);
  CHECK(simulation.live() == std::vector<JobId>{first, second});
  REQUIRE(simulation.run_until(at(105)));
  CHECK(simulation.outcome(first).state == JobState::Completed);
  CHECK(simulation.outcome(second).start == at(105));
  const auto result = simulation.finish();
  REQUIRE(result);
  CHECK(result->outcomes[1].end == at(115));
  CHECK_FALSE(simulation.run_until(at(200)));  // it is over
}

TEST_CASE("simulation: facts end, withdraw and change jobs, and move nodes") {
  StartsAll policy;
  Simulation simulation = begin_on("2x8", policy);
  const JobId ended = *simulation.submit("ended", job_of(0, 1000, 8));
  const JobId cancelled = *simulation.submit("cancelled", job_of(0, 1000, 8));
  const JobId waiting = *simulation.submit("waiting", job_of(0, 1000, 8));
  const JobId changed = *simulation.submit("changed", job_of(0, 1000, 16));
  REQUIRE(simulation.tell(at(10), JobCancelled{waiting}));
  REQUIRE(simulation.tell(at(20), JobEnded{ended}));
  REQUIRE(simulation.tell(at(30), JobCancelled{cancelled}));
  REQUIRE(simulation.tell(at(40), JobChanged{.job = changed, .duration = std::chrono::seconds(50)}));
  REQUIRE(simulation.run_until(at(30)));
  CHECK(simulation.outcome(ended).state == JobState::Completed);
  CHECK(simulation.outcome(ended).end == at(20));
  CHECK(simulation.outcome(cancelled).state == JobState::Cancelled);
  CHECK(simulation.outcome(cancelled).gpu_time.seconds() == 8 * 30);
  CHECK(simulation.outcome(waiting).state == JobState::Cancelled);
  CHECK(simulation.outcome(waiting).end == at(10));
  CHECK(simulation.outcome(changed).start == at(30));
  // The policy began once, and again when a waiting job was withdrawn.
  CHECK(policy.num_begins == 2);
  CHECK(policy.num_live == 3);
  REQUIRE(simulation.tell(at(45), NodeDown{NodeId(1)}));
  REQUIRE(simulation.run_until(at(45)));
  CHECK(simulation.outcome(changed).state == JobState::Waiting);
  CHECK(simulation.outcome(changed).failures == 1);
  REQUIRE(simulation.tell(at(60), NodeUp{NodeId(1)}));
  const auto result = simulation.finish();
  REQUIRE(result);
  CHECK(result->outcomes[changed.value].end == at(60 + 50 - 15));
}

TEST_CASE("simulation: inputs that come too late or name nothing are refused, and leave it as it was") {
  StartsAll policy;
  Simulation simulation = begin_on("1x8", policy);
  REQUIRE(simulation.submit("a", job_of(0, 10, 4)));
  REQUIRE(simulation.run_until(at(7)));
  CHECK(simulation.submit("b", job_of(6, 10, 4)).error().describe() ==
        "submit_s: job 'b': expected none before 7 s, found '6 s'");
  CHECK(simulation.submit("c", job_of(8, 0, 4)).error().field == "duration");
  CHECK(simulation.tell(at(6), JobEnded{JobId(0)}).error().describe() ==
        "time: expected none before 7 s, found '6 s'");
  CHECK(simulation.tell(at(8), JobEnded{JobId(1)}).error().field == "job");
  CHECK(simulation.tell(at(8), NodeDown{NodeId(1)}).error().field == "node");
  CHECK(simulation.tell(at(8), JobChanged{.job = JobId(0), .num_gpus = GpuCount(9)}).error().field ==
        "num_gpus");
  const auto result = simulation.finish();
  REQUIRE(result);
  CHECK(result->outcomes.size() == 1);
  CHECK(result->outcomes[0].end == at(10));
}

TEST_CASE("simulation: a fact that does not hold ends it, with the job's name") {
  StartsAll policy;
  Simulation simulation = begin_on("1x8", policy);
  REQUIRE(simulation.submit("long", job_of(0, 100, 8)));
  REQUIRE(simulation.submit("short", job_of(0, 10, 8)));
  REQUIRE(simulation.tell(at(5), JobEnded{JobId(1)}));
  REQUIRE(simulation.run_until(at(4)));
  const auto ran = simulation.run_until(at(5));
  REQUIRE_FALSE(ran);
  CHECK(ran.error().kind == ErrorKind::Failed);
  CHECK(ran.error().message == "job 'short' ended, which does not run");
  CHECK(simulation.outcome(JobId(0)).state == JobState::Running);
  CHECK_FALSE(simulation.submit("more", job_of(50, 10, 8)));
}

TEST_CASE("simulation: that a job ended at the instant that was foreseen is no contradiction") {
  StartsAll policy;
  Simulation simulation = begin_on("1x8", policy);
  const JobId job = *simulation.submit("a", job_of(0, 10, 8));
  REQUIRE(simulation.tell(at(10), JobEnded{job}));
  REQUIRE(simulation.run_until(at(10)));
  CHECK(simulation.outcome(job).end == at(10));
}

TEST_CASE("simulation: a state says where jobs run, and what ends them") {
  StartsAll policy;
  const auto begun = [&](SimulationState state, std::int32_t num_gpus = 8) {
    return Simulation::begin(one_job(num_gpus), *ClusterSpec::parse("2x8"), policy,
                             {.placement = PlacementKind::Yarn, .policy_name = "starts-all"}, state);
  };
  auto simulation = begun(running_since_10(8, {{NodeId(1), GpuCount(8)}}));
  REQUIRE(simulation);
  CHECK(simulation->next_event() == at(110));
  REQUIRE(simulation->submit("next", job_of(40, 10, 8)));
  const auto result = simulation->finish();
  REQUIRE(result);
  CHECK(result->outcomes[0].start == at(10));
  CHECK(result->outcomes[0].end == at(110));
  CHECK(result->outcomes[1].start == at(40));

  const auto refused = [&](const SimulationState& state) { return begun(state).error().describe(); };
  CHECK(refused(running_since_10(9, {{NodeId(1), GpuCount(9)}})) ==
        "gang: job 'j0': expected GPUs that are there and that no other job holds, found '9 on 1 node'");
  CHECK(refused(running_since_10(8, {{NodeId(2), GpuCount(8)}})) ==
        "gang: job 'j0': expected nodes below 2, found '2'");
  CHECK(refused(running_since_10(8, {{NodeId(1), GpuCount(4)}})) ==
        "gang: job 'j0': expected 8 GPUs, found '4'");
  SimulationState twice = running_since_10(8, {{NodeId(1), GpuCount(8)}});
  twice.jobs.push_back(twice.jobs.front());
  Workload two = one_job(8);
  add_job(two, 0, 100, 8);
  CHECK(Simulation::begin(std::move(two), *ClusterSpec::parse("2x8"), policy,
                          {.placement = PlacementKind::Yarn, .policy_name = "starts-all"}, twice)
            .error()
            .describe() ==
        "gang: job 'j1': expected GPUs that are there and that no other job holds, found '8 on 1 node'");
  SimulationState down = running_since_10(8, {{NodeId(1), GpuCount(8)}});
  down.out_of_service = {NodeId(5)};
  CHECK(refused(down) == "out_of_service: expected nodes below 2, found '5'");
}

TEST_CASE("simulation: a policy that remembers more than can be seen must begin with an empty cluster") {
  testing::Scripted policy(testing::start_all);
  const auto begun = Simulation::begin(one_job(8), *ClusterSpec::parse("2x8"), policy,
                                       {.placement = PlacementKind::Yarn, .policy_name = "scripted"},
                                       running_since_10(8, {{NodeId(1), GpuCount(8)}}));
  REQUIRE_FALSE(begun);
  CHECK(begun.error().describe().find("policy 'scripted', at 30 s: must begin with an empty cluster") == 0);
}

}  // namespace vtrain
