/// Properties of every policy when nodes fail, jobs write checkpoints and interruptions cost time.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/policy_specs.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

constexpr std::int32_t kTotalGpus = 20;
constexpr const char* kCluster = "2x8+1x4";
constexpr std::uint32_t kNodes = 3;

PolicySpecs disruptable_policies() {
  return PolicySpecs(
      {"las:queues=5;12,attained=time", "easy:order=asc-walltime", "elasticflow:slot=5s",
       "elasticflow-edf:slot=5s"},
      [](const Policy& policy) { return policy.supports_disruptions() && !policy.repeats_log(); });
}

/// Outages of random nodes, many simultaneous and overlapping; all end.
std::vector<Outage> random_outages(RandomStream& random, SimDuration tick) {
  std::vector<Outage> outages;
  for (int i = 0; i < 12; ++i) {
    Outage outage;
    outage.node = NodeId(static_cast<std::uint32_t>(random.below(kNodes)));
    outage.kind = random.below(3) == 0 ? OutageKind::Drain : OutageKind::Failure;
    outage.begin = SimTime(tick * static_cast<std::int64_t>(random.below(400)));
    outage.end = outage.begin + tick * static_cast<std::int64_t>(1 + random.below(60));
    outages.push_back(outage);
  }
  return outages;
}

Disruptions random_disruptions(std::uint64_t seed, SimDuration tick) {
  RandomStream random(seed, "disruptions");
  Disruptions disruptions;
  disruptions.seed = seed;
  disruptions.outages = random_outages(random, tick);
  disruptions.checkpoints.kind =
      random.below(3) == 0 ? CheckpointRule::Kind::None : CheckpointRule::Kind::Interval;
  disruptions.checkpoints.interval = tick * static_cast<std::int64_t>(1 + random.below(8));
  disruptions.checkpoint_times = CheckpointTimes(tick * static_cast<std::int64_t>(random.below(3)) / 2);
  const char* const costs[] = {"none", "0.000000013s", "3s", "elasticflow"};
  disruptions.interruption_cost =
      InterruptionCost(*InterruptionRule::parse(costs[random.below(4)]), GpuCount(kTotalGpus));
  if (random.below(2) == 0)
    disruptions.failures =
        *FailureRates::parse("mtbf=200s,shape=0.8,repair=10s,detect=1s", *ClusterSpec::parse(kCluster));
  return disruptions;
}

SimulationResult replay(const Workload& workload, const std::string& spec, const Disruptions* disruptions,
                        PlacementKind placement = PlacementKind::Yarn) {
  return testing::replay(workload, kCluster, spec,
                         {.placement = placement, .record_segments = true, .disruptions = disruptions});
}

/// Checks that held GPU time is exactly the jobs' work plus the losses.
void check_work(const Workload& workload, const SimulationResult& result) {
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    const JobOutcome& outcome = result.outcomes[i];
    CAPTURE(i);
    if (outcome.state == JobState::Rejected) continue;
    check_end(job, outcome);
    GpuTime expected;
    expected.add(time_on_gpus(job), job.num_gpus);
    expected.add(result.losses[i].total());
    REQUIRE(outcome.gpu_time == expected);
    REQUIRE(outcome.end - outcome.start >= outcome.attained);
  }
}

/// Checks GPU time for policies that decide once per slot. A job keeps its GPUs until the policy sees that
/// its work is done. This is at most one slot after the planned end, which is at the end of a slot. Each
/// interruption may add as much.
void check_slotted_work(const Workload& workload, const SimulationResult& result, SimDuration slot) {
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    const JobOutcome& outcome = result.outcomes[i];
    CAPTURE(i);
    if (outcome.state == JobState::Rejected) continue;
    check_end(job, outcome);
    const double useful_gpu_s = outcome.gpu_time.seconds() - result.losses[i].total().seconds();
    const double late_s = useful_gpu_s / job.num_gpus.value - to_seconds(time_on_gpus(job));
    REQUIRE(late_s > -1e-8);
    REQUIRE(late_s <= (2 * to_seconds(slot) + 2) * (1 + outcome.failures + outcome.preemptions));
  }
}

bool books_its_own_progress(const std::string& spec) {
  return (*make_policy(spec))->progress_rule() == ProgressRule::Policy;
}

/// Checks that no GPU is assigned twice, or on a node out of service, and that no job runs on a failed node.
void check_nodes(const Workload& workload, const SimulationResult& result) {
  for (const JobSegment& run : result.segments) {
    REQUIRE(run.num_gpus == workload.jobs[run.job.value].num_gpus);
    for (const auto& [node, gpus] : run.parts) {
      for (const Outage& outage : result.outages) {
        if (outage.node != node) continue;
        REQUIRE_FALSE((outage.begin <= run.begin && run.begin < outage.end));  // no start on it
        if (outage.kind == OutageKind::Failure)
          REQUIRE_FALSE((run.begin < outage.begin && outage.begin < run.end));  // no run goes on
      }
    }
  }
  check_gpus_in_use(result, kTotalGpus);
}

}  // namespace

TEST_CASE("property: work is conserved and nodes out of service are left alone, whatever interrupts jobs") {
  std::int64_t failures = 0;
  for (const std::string& spec : disruptable_policies()) {
    for (std::uint64_t seed = 0; seed < rounds(16); ++seed) {
      CAPTURE(spec);
      CAPTURE(seed);
      const SimDuration tick = seed % 3 == 0 ? SimDuration(7) : SimDuration(std::chrono::seconds(1));
      const Workload workload = random_workload(seed, 120, kTotalGpus + 1, tick);
      const Disruptions disruptions = random_disruptions(seed, tick);
      constexpr PlacementKind kPlacements[] = {PlacementKind::Yarn,    PlacementKind::Yarn,
                                               PlacementKind::BestFit, PlacementKind::Consolidate,
                                               PlacementKind::Buddy,   PlacementKind::Fgd};
      const PlacementKind placement = kPlacements[seed % std::size(kPlacements)];
      CAPTURE(static_cast<int>(placement));
      const auto result = replay(workload, spec, &disruptions, placement);
      if (books_its_own_progress(spec)) {
        check_slotted_work(workload, result,
                           std::chrono::seconds(spec.find("slot=5s") == std::string::npos ? 60 : 5));
      } else {
        check_work(workload, result);
      }
      check_nodes(workload, result);
      check_same(result, replay(workload, spec, &disruptions, placement));
      for (const JobOutcome& outcome : result.outcomes)
        failures += outcome.failures;
    }
  }
  CHECK(failures > enough(1000));
}

TEST_CASE("property: books that find nothing to book change nothing") {
  const Disruptions nothing;
  for (const std::string& spec : disruptable_policies()) {
    // These end jobs at the instant at which their work was done, not at a whole second.
    if (books_its_own_progress(spec)) continue;
    for (std::uint64_t seed = 0; seed < rounds(4); ++seed) {
      CAPTURE(spec);
      CAPTURE(seed);
      const Workload workload = random_workload(seed, 120, kTotalGpus + 1, std::chrono::seconds(1));
      check_same(replay(workload, spec, nullptr), replay(workload, spec, &nothing));
    }
  }
}

TEST_CASE("property: under one policy the failures of another are the same") {
  const Workload workload = random_workload(3, 200, kTotalGpus, std::chrono::seconds(10));
  Disruptions disruptions;
  disruptions.failures = *FailureRates::parse("mtbf=200s,repair=30s", *ClusterSpec::parse(kCluster));
  const std::vector<Outage> fifo = replay(workload, "fifo", &disruptions).outages;
  const std::vector<Outage> srtf = replay(workload, "srtf", &disruptions).outages;
  const std::size_t both = std::min(fifo.size(), srtf.size());
  REQUIRE(both > 10);
  CHECK(std::equal(fifo.begin(), fifo.begin() + static_cast<std::ptrdiff_t>(both), srtf.begin()));
}

}  // namespace vtrain::testing
