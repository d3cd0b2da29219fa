/// Policies that decide on values must give the schedules of the built-in policies.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

#include "core/base/rng.hpp"
#include "policies/elasticflow/elasticflow.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/decision_json.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/decision_policies.hpp"
#include "tests/unit/policies/elastic_support.hpp"
#include "tests/unit/policies/elasticflow_reference.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

constexpr std::int32_t kTotalGpus = 20;
constexpr const char* kCluster = "2x8+1x4";

/// Random jobs whose times differ to the nanosecond, so that there are no ties.
Workload workload_without_ties(std::uint64_t seed) {
  RandomStream random(seed, "ties");
  Workload workload = random_workload(seed, 120, kTotalGpus + 1, std::chrono::seconds(1));
  for (Job& job : workload.jobs) {
    job.duration += SimDuration(static_cast<std::int64_t>(random.below(1'000'000)));
    if (job.requested_time.count() > 0)
      job.requested_time += SimDuration(static_cast<std::int64_t>(random.below(1'000'000)));
  }
  return workload;
}

/// Random failures, drained nodes and costs of interruption.
Disruptions some_disruptions(std::uint64_t seed) {
  RandomStream random(seed, "disruptions");
  Disruptions disruptions;
  disruptions.seed = seed;
  if (random.below(2) == 0)
    disruptions.interruption_cost = InterruptionCost(*InterruptionRule::parse("3s"), GpuCount(kTotalGpus));
  if (random.below(2) == 0)
    disruptions.failures =
        *FailureRates::parse("mtbf=400s,shape=0.8,repair=10s,detect=1s", *ClusterSpec::parse(kCluster));
  for (int i = 0; i < 6; ++i) {
    Outage outage;
    outage.node = NodeId(static_cast<std::uint32_t>(random.below(3)));
    outage.kind = random.below(2) == 0 ? OutageKind::Drain : OutageKind::Failure;
    outage.begin = SimTime(std::chrono::seconds(random.below(300)));
    outage.end = outage.begin + std::chrono::seconds(1 + static_cast<std::int64_t>(random.below(60)));
    disruptions.outages.push_back(outage);
  }
  return disruptions;
}

/// Passes events and decisions of another policy through JSON.
class ThroughJson final : public DecisionPolicy {
 public:
  explicit ThroughJson(std::unique_ptr<DecisionPolicy> inner) : inner_(std::move(inner)) {}
  void begin_on(const ClusterView& cluster) override {
    const auto read = parse_cluster_view(to_json(cluster), "cluster");
    REQUIRE(read);
    REQUIRE(*read == cluster);
    inner_->begin_on(*read);
  }
  Decision decide(const PassEvents& events) override {
    const auto read = parse_pass_events(to_json(events), "events");
    REQUIRE(read);
    REQUIRE(*read == events);
    const auto decision = parse_decision(to_json(inner_->decide(*read)), "decision");
    REQUIRE(decision);
    return *decision;
  }
  bool is_clairvoyant() const override { return inner_->is_clairvoyant(); }
  ProgressRule progress_rule() const override { return inner_->progress_rule(); }
  bool supports_disruptions() const override { return inner_->supports_disruptions(); }

 private:
  std::unique_ptr<DecisionPolicy> inner_;
};

}  // namespace

TEST_CASE("property: policies that decide on values schedule every job as the built-in ones do") {
  for (const std::string name : {"fifo", "srtf", "easy"}) {
    for (std::uint64_t seed = 0; seed < rounds(24); ++seed) {
      CAPTURE(name);
      CAPTURE(seed);
      const Workload workload = workload_without_ties(seed);
      // Placements that refuse no gang for which there are GPUs enough.
      const bool disrupts = seed % 3 > 0;
      const Disruptions disruptions = some_disruptions(seed);
      const ReplayOptions options{.placement = disrupts ? PlacementKind::Consolidate : PlacementKind::Count,
                                  .disruptions = disrupts ? &disruptions : nullptr};
      const auto built_in = replay(workload, kCluster, name, options);
      const ClusterSpec cluster = *ClusterSpec::parse(kCluster);
      check_same_outcomes(replay(workload, cluster, *make_decision_policy(name), options), built_in);
      if (seed % 4 > 0) continue;
      ThroughJson through_json(make_decision_policy(name));
      check_same_outcomes(replay(workload, cluster, through_json, options), built_in);
    }
  }
}

TEST_CASE(
    "property: elasticflow that plans everything anew on values schedules every job as the built-in one") {
  const ClusterSpec cluster = *ClusterSpec::parse("1x16");
  for (std::uint64_t seed = 0; seed < rounds(36); ++seed) {
    CAPTURE(seed);
    ElasticShape shape{.num_jobs = 60, .gap_s = 60};
    if (seed % 2 == 0) shape.rigid_of_4 = 2;
    const Workload workload = random_elastic_workload(seed, shape);
    const ElasticFlowOptions options{.admission = seed % 3 == 0 ? AdmissionTest::Batch : AdmissionTest::Job,
                                     .slot = seed % 4 == 0 ? 7 : 60};
    // Failures of the one node: of several, placement would choose by the order in which GPUs come free.
    const bool disrupts = seed % 2 > 0;
    Disruptions disruptions = some_disruptions(seed);
    disruptions.interruption_cost = {};
    if (disruptions.failures)
      disruptions.failures = *FailureRates::parse("mtbf=4000s,shape=0.8,repair=10s,detect=1s", cluster);
    for (Outage& outage : disruptions.outages) {
      outage.node = NodeId(0);
      outage.kind = OutageKind::Failure;
    }
    const ReplayOptions replayed{.placement = disrupts ? PlacementKind::Consolidate : PlacementKind::Count,
                                 .disruptions = disrupts ? &disruptions : nullptr};
    ElasticFlow built_in(options);
    ThroughJson by_values(on_values(reference_elasticflow(options)));
    check_same_outcomes(replay(workload, cluster, by_values, replayed),
                        replay(workload, cluster, built_in, replayed));
  }
}

}  // namespace vtrain::testing
