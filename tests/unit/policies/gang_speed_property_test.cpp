/// Policies with gangs that placements refuse, or whose speed differs from the planned speed.
#include <doctest/doctest.h>

#include <string>

#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

constexpr std::int32_t kTotalGpus = 20;
constexpr const char* kCluster = "2x8:a100+1x4:a100";

/// Speeds at which spread gangs have a third of the speed, on any GPUs.
class Thirds final : public GangSpeedModel {
 public:
  bool knows(JobId job) const override { return job.value % 4 != 0; }
  GangSpeed at(JobId, GpuCount, const GangSite& site) override {
    return {.here = site.ranks_together == 0 ? 1 : 1.0 / 3};
  }
  double slowest(JobId, GpuCount, bool may_spread) override { return may_spread ? 1.0 / 3 : 1; }
};

SimulationResult replay(const Workload& workload, const std::string& spec, PlacementKind placement,
                        GangSpeedModel* speeds, const char* cluster = kCluster) {
  return testing::replay(workload, cluster, spec,
                         {.placement = placement, .record_segments = true, .gang_speed_model = speeds});
}

/// True for policies that end jobs themselves, at a decision, at most two slots late.
bool ends_jobs_itself(const std::string& spec) {
  return (*make_policy(spec))->progress_rule() == ProgressRule::Policy;
}

}  // namespace

TEST_CASE("gang speed property: a job does its work and no more, however its gangs are spread") {
  std::int64_t num_slowed = 0;
  for (const std::string spec : {"fifo", "easy", "conservative", "las:queues=5;12", "srtf", "edf", "chronus",
                                 "elasticflow:slot=5s", "elasticflow-edf"}) {
    for (const PlacementKind placement : {PlacementKind::Consolidate, PlacementKind::Yarn}) {
      for (std::uint64_t seed = 0; seed < rounds(6); ++seed) {
        CAPTURE(spec);
        CAPTURE(static_cast<int>(placement));
        CAPTURE(seed);
        const Workload workload = random_workload(seed, 120, kTotalGpus, std::chrono::seconds(1));
        Thirds speeds;
        const SimulationResult result = replay(workload, spec, placement, &speeds);
        const bool late = ends_jobs_itself(spec);
        for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
          CAPTURE(i);
          const Job& job = workload.jobs[i];
          const JobOutcome& outcome = result.outcomes[i];
          if (outcome.state == JobState::Rejected) continue;
          check_end(job, outcome);
          const LostGpuTime& lost = result.losses[i];
          REQUIRE(lost.total() == lost[LossCause::Spread]);
          REQUIRE((speeds.knows(JobId(static_cast<std::uint32_t>(i))) || lost.none()));
          const double useful_s = (outcome.gpu_time.seconds() - lost.total().seconds()) / job.num_gpus.value;
          const double work_s = to_seconds(time_on_gpus(job));
          // Every run rounds down to a nanosecond.
          REQUIRE(useful_s >= work_s - 1e-8 * (1 + outcome.preemptions));
          if (late)
            REQUIRE(useful_s <= work_s + 122 * (1 + outcome.preemptions));
          else
            REQUIRE(useful_s <= work_s + 1e-8 * (1 + outcome.preemptions));
          num_slowed += lost.none() ? 0 : 1;
        }
        check_gpus_in_use(result, kTotalGpus);
        check_same(result, replay(workload, spec, placement, &speeds));
      }
    }
  }
  CHECK(num_slowed > enough(300));
}

TEST_CASE("gang speed property: where gangs are packed on one type nothing changes") {
  for (const char* const spec : {"easy", "edf", "elasticflow", "elasticflow-las"}) {
    CAPTURE(spec);
    const Workload workload = random_workload(1, 120, kTotalGpus, std::chrono::seconds(1));
    Thirds speeds;
    for (const PlacementKind placement : {PlacementKind::Count, PlacementKind::Yarn}) {
      const SimulationResult result = replay(workload, spec, placement, &speeds, "5x4:a100");
      CHECK(result.losses.empty());
      check_same(result, replay(workload, spec, placement, nullptr, "5x4:a100"));
    }
  }
}

TEST_CASE("gang speed property: policies that end jobs themselves get by with gangs that are refused") {
  for (const char* const spec :
       {"elasticflow", "elasticflow:slot=1s", "elasticflow-edf", "elasticflow-las"}) {
    for (const PlacementInfo& info : placements()) {
      for (std::uint64_t seed = 0; seed < rounds(12); ++seed) {
        CAPTURE(spec);
        CAPTURE(info.name);
        CAPTURE(seed);
        const Workload workload = random_workload(seed, 120, kTotalGpus, std::chrono::seconds(1));
        const SimulationResult result = replay(workload, spec, info.kind, nullptr);
        for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
          CAPTURE(i);
          const JobOutcome& outcome = result.outcomes[i];
          if (outcome.state == JobState::Rejected) continue;
          check_end(workload.jobs[i], outcome);
          REQUIRE(outcome.attained >= time_on_gpus(workload.jobs[i]));
        }
        check_gpus_in_use(result, kTotalGpus);
      }
    }
  }
}

}  // namespace vtrain::testing
