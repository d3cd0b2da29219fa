/// Policies on values: refused decisions, types, rounds, and JSON.
#include "sched/simulation/decision.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sched/simulation/decision_json.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/unit/sched/scripted_policy.hpp"

namespace vtrain {
namespace {

using testing::add_job;
using Decide = std::function<Decision(const PassEvents&)>;

/// A policy that consists of one function of values.
class Decides final : public DecisionPolicy {
 public:
  explicit Decides(Decide decide, bool chooses_types = false)
      : decide_(std::move(decide)), chooses_types_(chooses_types) {}
  void begin_on(const ClusterView& view) override { cluster = view; }
  Decision decide(const PassEvents& events) override { return decide_(events); }
  bool chooses_types() const override { return chooses_types_; }

  ClusterView cluster;

 private:
  Decide decide_;
  bool chooses_types_;
};

Result<SimulationResult> run(const Workload& workload, Policy& policy, const char* cluster = "2x8",
                             PlacementKind placement = PlacementKind::Count,
                             const Disruptions* disruptions = nullptr) {
  return simulate(workload, *ClusterSpec::parse(cluster), policy,
                  {.placement = placement, .policy_name = "decides", .disruptions = disruptions});
}

std::string fault(const Workload& workload, Decide decide, const char* cluster = "2x8",
                  const Disruptions* disruptions = nullptr, bool chooses_types = false) {
  Decides policy(std::move(decide), chooses_types);
  const auto result = run(workload, policy, cluster,
                          disruptions == nullptr ? PlacementKind::Count : PlacementKind::Yarn, disruptions);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::Failed);
  return result.error().message;
}

/// A decision that runs all jobs on the GPUs that they request.
Decision run_all(const PassEvents& events) {
  Decision decision;
  for (const LiveView& live : events.live)
    decision.run.push_back({live.id, {GpuCount(8)}});
  return decision;
}

}  // namespace

TEST_CASE("decision: what cannot be ends the replay with policy, time, job and rule") {
  Workload workload;
  add_job(workload, 5, 10, 8);
  add_job(workload, 5, 10, 8);
  add_job(workload, 5, 10, 8);
  CHECK(fault(workload, run_all) ==
        "policy 'decides', at 5 s: decided on job 'j2' what cannot be: with it 24 GPUs are given out, of 16");
  CHECK(
      fault(workload, [](const PassEvents&) {
        return Decision{.run = {{JobId(7), {GpuCount(8)}}}};
      }) == "policy 'decides', at 5 s: decided on job 'number 7' what cannot be: it neither runs nor waits");
  CHECK(fault(workload, [](const PassEvents&) {
          return Decision{.run = {{JobId(0), {GpuCount(8)}}, {JobId(0), {GpuCount(8)}}}};
        }) == "policy 'decides', at 5 s: decided on job 'j0' what cannot be: the decision names it twice");
  CHECK(fault(workload, [](const PassEvents&) {
          return Decision{.reject = {JobId(1)}, .run = {{JobId(1), {GpuCount(8)}}}};
        }) == "policy 'decides', at 5 s: decided on job 'j1' what cannot be: the decision names it twice");
  CHECK(fault(workload, [](const PassEvents&) {
          return Decision{.run = {{JobId(0), {GpuCount(4)}}}};
        }) == "policy 'decides', at 5 s: started job 'j0' on 4 GPUs, which is none of its sizes");
  CHECK(fault(workload, [](const PassEvents&) {
          return Decision{.run = {{JobId(0), {GpuCount(0)}}}};
        }) == "policy 'decides', at 5 s: decided on job 'j0' what cannot be: it is given 0 GPUs");
  CHECK(fault(workload, [](const PassEvents&) {
          return Decision{.run = {{JobId(0), {GpuCount(8), 1}}}};
        }) == "policy 'decides', at 5 s: decided on job 'j0' what cannot be: there is no GPU type number 1");
  CHECK(fault(workload, [](const PassEvents&) {
          return Decision{.complete = {{JobId(0), at(5), at(5)}}};
        }) == "policy 'decides', at 5 s: completed job 'j0', which is not running");
}

TEST_CASE("decision: a job on a drained node keeps what it holds") {
  Workload workload;
  add_job(workload, 0, 100, 8);
  add_job(workload, 20, 10, 8);
  Disruptions disruptions;
  disruptions.outages.push_back(
      {.node = NodeId(0), .kind = OutageKind::Drain, .begin = at(10), .end = at(60)});
  const auto preempts_at_20 = [](const PassEvents& events) {
    Decision decision;
    if (events.now < at(20)) decision.run = {{JobId(0), {GpuCount(8)}}};
    return decision;
  };
  CHECK(
      fault(workload, preempts_at_20, "2x8", &disruptions) ==
      "policy 'decides', at 20 s: decided on job 'j0' what cannot be: it runs on a node that drains and must "
      "keep what it holds");
}

TEST_CASE("decision: a policy that chooses types gets them, and T(gpus, type) of every job") {
  Workload workload;
  add_job(workload, 0, 100, 8);
  add_job(workload, 0, 100, 8);
  std::vector<JobView> seen;
  const auto second_type_first = [&seen](const PassEvents& events) {
    for (const JobView& job : events.arrived)
      seen.push_back(job);
    Decision decision;
    std::uint32_t type = 1;
    for (const LiveView& live : events.live) {
      decision.run.push_back({live.id, {GpuCount(8), live.holds.type.value_or(type)}});
      type = 0;
    }
    return decision;
  };
  for (const PlacementKind placement : {PlacementKind::Count, PlacementKind::Yarn}) {
    Decides policy(second_type_first, true);
    const auto result = simulate(workload, *ClusterSpec::parse("1x8:a100+1x8:h100"), policy,
                                 {.placement = placement, .record_segments = true, .policy_name = "decides"});
    REQUIRE_MESSAGE(result, result.error().message);
    CHECK(policy.cluster.types == std::vector<TypeView>{{"a100", 8}, {"h100", 8}});
    CHECK(result->outcomes[0].end == at(100));
    CHECK(result->outcomes[1].end == at(100));
    if (placement == PlacementKind::Yarn) {
      REQUIRE(result->segments.size() == 2);
      CHECK(result->segments[0].parts.front().node == NodeId(1));
      CHECK(result->segments[1].parts.front().node == NodeId(0));
    }
  }
  REQUIRE(seen.size() == 4);
  CHECK(seen[0].types == std::vector<std::uint32_t>{0, 1});
  CHECK(seen[0].speeds == std::vector<SpeedPoint>{{{GpuCount(8), 0}, 1}, {{GpuCount(8), 1}, 1}});
  CHECK_FALSE(seen[0].run_time.has_value());

  CHECK(fault(
            workload,
            [](const PassEvents&) {
              return Decision{.run = {{JobId(0), {GpuCount(8), 1}}}};
            },
            "1x8:a100+1x8:h100") ==
        "policy 'decides', at 0 s: decided on job 'j0' what cannot be: there is no GPU type number 1");
  CHECK(fault(
            workload,
            [](const PassEvents&) {
              return Decision{.run = {{JobId(0), {GpuCount(8), 1}}, {JobId(1), {GpuCount(8), 1}}}};
            },
            "1x8:a100+1x8:h100", nullptr, true) ==
        "policy 'decides', at 0 s: decided on job 'j1' what cannot be: with it 16 GPUs of type number 1 are "
        "given "
        "out, of 8");
  Workload asks = Workload();
  add_job(asks, 0, 100, 8);
  asks.jobs[0].gpu_type = asks.gpu_type("a100");
  CHECK(fault(
            asks,
            [](const PassEvents&) {
              return Decision{.run = {{JobId(0), {GpuCount(8), 1}}}};
            },
            "1x8:a100+1x8:h100", nullptr, true) ==
        "policy 'decides', at 0 s: started job 'j0' on GPUs of type number 1, which it may not use");
}

TEST_CASE("decision: what placement refuses is told, and who was stopped for it goes on") {
  Workload workload;
  add_job(workload, 0, 100, 5);
  add_job(workload, 0, 100, 5);
  add_job(workload, 10, 20, 6);  // 6 GPUs are free, 3 on each node
  std::vector<JobId> refused;
  Decides policy([&refused](const PassEvents& events) {
    refused.insert(refused.end(), events.refused.begin(), events.refused.end());
    Decision decision;
    for (const LiveView& live : events.live)
      decision.run.push_back({live.id, {live.id == JobId(2) ? GpuCount(6) : GpuCount(5)}});
    return decision;
  });
  const auto result = run(workload, policy, "2x8", PlacementKind::Yarn);
  REQUIRE(result);
  CHECK(refused == std::vector<JobId>{JobId(2)});
  CHECK(result->outcomes[2].start == at(100));
  CHECK(result->outcomes[0].preemptions == 0);
}

TEST_CASE("decision: a policy of rounds decides at their boundaries, on all that happened in between") {
  class InRounds final : public RoundPolicy {
   public:
    InRounds() : RoundPolicy(std::chrono::seconds(60)) {}
    Decision decide(const PassEvents& events) override {
      times.push_back(events.now.time_since_epoch() / std::chrono::seconds(1));
      arrived.push_back(events.arrived.size());
      ended.push_back(events.ended.size());
      Decision decision;
      for (const LiveView& live : events.live)
        decision.run.push_back({live.id, {GpuCount(4)}});
      return decision;
    }
    std::vector<std::int64_t> times;
    std::vector<std::size_t> arrived;
    std::vector<std::size_t> ended;
  };
  Workload workload;
  add_job(workload, 10, 70, 4);
  add_job(workload, 30, 10, 4);
  add_job(workload, 400, 10, 4);
  InRounds policy;
  const auto result = run(workload, policy);
  REQUIRE(result);
  CHECK(policy.times == std::vector<std::int64_t>{60, 120, 420});
  CHECK(policy.arrived == std::vector<std::size_t>{2, 0, 1});
  CHECK(policy.ended == std::vector<std::size_t>{0, 1, 1});
  CHECK(result->outcomes[0].start == at(60));
  CHECK(result->outcomes[1].end == at(70));
  CHECK(result->outcomes[2].start == at(420));
}

TEST_CASE("decision: JSON reads back as it was, and says where it is wrong") {
  const PassEvents events{.now = at(7),
                          .arrived = {{.id = JobId(3),
                                       .name = "a \"b\"",
                                       .tenant = "red",
                                       .account = "paint",
                                       .queue = "gpu",
                                       .qos = "high",
                                       .priority = -7,
                                       .submit = at(1),
                                       .deadline = at(99),
                                       .time_limit = SimDuration(12'345'678'901),
                                       .num_gpus = GpuCount(8),
                                       .types = {0, 2},
                                       .num_nodes = 2,
                                       .gpus_per_node = GpuCount(4),
                                       .node_features = "ib",
                                       .dependencies = "afterok:b",
                                       .iterations = 5,
                                       .speeds = {{{GpuCount(8), 2}, 0.1}}}},
                          .ended = {JobId(1)},
                          .usable = {8, 0, 16},
                          .live = {{.id = JobId(2), .holds = {GpuCount(4), 0}, .must_keep = true}}};
  const auto read = parse_pass_events(to_json(events), "events.json");
  REQUIRE_MESSAGE(read, read.error().describe());
  CHECK(*read == events);
  const Decision decision{.complete = {{JobId(1), at(2), at(1)}},
                          .reject = {JobId(4)},
                          .run = {{JobId(2), {GpuCount(4)}}, {JobId(3), {GpuCount(8), 2}}},
                          .wake_at = at(60)};
  CHECK(to_json(Decision{.run = {{JobId(2), {GpuCount(4)}}}}) ==
        R"({"complete":[],"reject":[],"run":[{"job":2,"gpus":{"gpus":4}}]})");
  CHECK(*parse_decision(to_json(decision), "decision.json") == decision);
  const ClusterView cluster{
      .types = {{"a100", 8}, {"", 16}},
      .tenants = {
          {.name = "all"},
          {.name = "red", .parent = "all", .weight = 0.5, .quotas = {{"a100", 8, 4, {}}, {"", 16, {}, 0}}}}};
  CHECK(*parse_cluster_view(to_json(cluster), "cluster.json") == cluster);

  const auto wrong = [](const char* text) { return parse_decision(text, "d.json").error().describe(); };
  CHECK(wrong("{\"run\": [\n{\"job\": 1, \"gpus\": {\"gpus\": 1.5}}]}") ==
        "d.json:2: run[0].gpus.gpus: expected a whole number from 0 to 10000000, found '1.5'");
  CHECK(wrong("{\"run\": [\n{\"job\": -1, \"gpus\": {\"gpus\": 1}}]}") ==
        "d.json:2: run[0].job: expected a whole number from 0 to 4294967294, found '-1'");
  CHECK(wrong("{\"run\": [\n{\"jobs\": 1, \"gpus\": {\"gpus\": 1}}]}") == "d.json:2: run[0].job: missing");
  CHECK(wrong("{\"runs\": []}") == "d.json:1: runs: unknown key; did you mean 'run'?");
  CHECK(wrong("[]") == "d.json: expected an object, found '[]'");
  CHECK(parse_pass_events("{\"version\": 2, \"now_ns\": 0, \"usable\": []}", "e.json").error().describe() ==
        "e.json:1: version: expected 1, found '2'");
}

}  // namespace vtrain
