/// Properties of every policy on any workload.
#include <doctest/doctest.h>

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

/// All policies but those that end jobs themselves (see elasticflow_test.cpp) and `recorded` (see
/// first_come_test.cpp).
PolicySpecs tested_policies() {
  return PolicySpecs(
      {"las:queues=5;12,attained=time", "las:queues=5;12,timer=peer", "las:queues=5;12,timer=exact"},
      [](const Policy& policy) {
        return policy.progress_rule() != ProgressRule::Policy && !policy.repeats_log();
      });
}

SimulationResult replay(const Workload& workload, const std::string& spec, PlacementKind placement) {
  return testing::replay(workload, kCluster, spec, {.placement = placement, .record_segments = true});
}

/// Checks that every job ends in a state that matches its execution.
void check_states(const Workload& workload, const SimulationResult& result, bool turns_away) {
  REQUIRE(result.outcomes.size() == workload.jobs.size());
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    const JobOutcome& outcome = result.outcomes[i];
    CAPTURE(i);
    switch (outcome.state) {
      case JobState::Completed:
        REQUIRE(outcome.attained == job.duration);
        REQUIRE(job.duration <= job.time_limit());
        break;
      case JobState::Failed:
        REQUIRE(outcome.attained == job.requested_time);
        REQUIRE(job.duration > job.requested_time);
        break;
      case JobState::Rejected:
        REQUIRE((turns_away || job.num_gpus > GpuCount(kTotalGpus)));
        REQUIRE(outcome.attained == SimDuration(0));
        continue;
      default:
        FAIL("a job that fits never ended");
    }
    REQUIRE(outcome.start >= job.submit);
    REQUIRE(outcome.end - outcome.start >= outcome.attained);
  }
}

/// Checks that the segments of each job add up to its attained time and do not overlap. Together they never
/// hold more GPUs than the cluster has.
void check_runs(const Workload& workload, const SimulationResult& result) {
  std::vector<SimDuration> held(workload.jobs.size());
  std::vector<SimTime> last_end(workload.jobs.size(), SimTime::min());
  for (const JobSegment& run : result.segments) {
    const std::size_t i = run.job.value;
    REQUIRE(run.begin < run.end);
    REQUIRE(run.begin >= last_end[i]);
    REQUIRE(run.begin >= workload.jobs[i].submit);
    last_end[i] = run.end;
    held[i] += run.end - run.begin;
    REQUIRE(run.num_gpus == workload.jobs[i].num_gpus);
  }
  for (std::size_t i = 0; i < held.size(); ++i)
    REQUIRE(held[i] == result.outcomes[i].attained);
  check_gpus_in_use(result, kTotalGpus);
}

}  // namespace

TEST_CASE("property: work is conserved, capacity kept, every job ends in one state, and a replay repeats") {
  for (const std::string& spec : tested_policies()) {
    for (const PlacementKind placement : {PlacementKind::Count, PlacementKind::Yarn}) {
      for (std::uint64_t seed = 0; seed < rounds(12); ++seed) {
        CAPTURE(spec);
        CAPTURE(static_cast<int>(placement));
        CAPTURE(seed);
        // Ticks of a second for the thresholds to be crossed; of 7 ns so that nothing hangs on whole seconds.
        const SimDuration tick = seed % 3 == 0 ? SimDuration(7) : SimDuration(std::chrono::seconds(1));
        const Workload workload = random_workload(seed, 150, kTotalGpus + 1, tick);
        const auto result = replay(workload, spec, placement);
        check_states(workload, result, spec == "edf-admission");
        check_runs(workload, result);
        check_same(result, replay(workload, spec, placement));
      }
    }
  }
}

TEST_CASE("property: only the preemptive policies preempt") {
  for (const std::string& spec : tested_policies()) {
    const std::string name = spec.substr(0, spec.find(':'));
    const bool preemptive = name == "sjf" || name == "srtf" || name == "srsf" || name == "edf" ||
                            name == "edf-admission" || name == "las" || name == "gittins";
    CAPTURE(spec);
    std::uint32_t preemptions = 0;
    for (std::uint64_t seed = 0; seed < rounds(5); ++seed) {
      const Workload workload = random_workload(seed, 150, kTotalGpus, std::chrono::seconds(1));
      for (const JobOutcome& outcome : replay(workload, spec, PlacementKind::Count).outcomes) {
        preemptions += outcome.preemptions;
      }
    }
    // Under its default thresholds, which these short jobs hardly reach, las may preempt nothing.
    if (!preemptive) CHECK(preemptions == 0);
    if (preemptive && spec != "las") CHECK(preemptions > 0);
  }
}

}  // namespace vtrain::testing
