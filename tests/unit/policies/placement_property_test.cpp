/// Properties of every policy under every placement. A placement may refuse a gang although enough GPUs are
/// free.
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

constexpr const char* kCluster = "2x8:a100+3x4:v100+1x2:t4";
constexpr std::int32_t kTotalGpus = 30;

/// All policies except those that resize or end jobs themselves, those that choose the type of a gang, which
/// then has no GPUs of several, and `recorded`, which ignores time limits.
PolicySpecs tested_policies() {
  return PolicySpecs({"las:queues=5;12"}, [](const Policy& policy) {
    return policy.progress_rule() == ProgressRule::Duration && !policy.chooses_types() &&
           !policy.repeats_log();
  });
}

/// Random jobs. Some request a type, perhaps one that the cluster lacks; some request part of a GPU.
Workload typed_workload(std::uint64_t seed) {
  Workload workload = random_workload(seed, 150, 20, std::chrono::seconds(1));
  const std::vector<GpuTypeId> types = {GpuTypeId(),
                                        GpuTypeId(),
                                        workload.gpu_type("A100"),
                                        workload.gpu_type("v100|t4"),
                                        workload.gpu_type("V100"),
                                        workload.gpu_type("h100")};
  RandomStream random(seed, "types");
  for (Job& job : workload.jobs) {
    if (random.below(2) == 0) job.num_gpus = GpuCount(static_cast<std::int32_t>(1 + random.below(4)));
    job.gpu_type = types[random.below(types.size())];
    if (random.below(3) == 0) job.gpu_share = static_cast<std::int16_t>(1 + random.below(1000));
  }
  return workload;
}

void check_outcome(const Workload& workload, const Placement& placement, std::size_t index,
                   const JobOutcome& outcome) {
  const Job& job = workload.jobs[index];
  const GangRequest request{.num_gpus = job.num_gpus, .gpu_type = job.gpu_type, .gpu_share = job.gpu_share};
  CAPTURE(index);
  if (!placement.fits_empty(request)) {
    REQUIRE(outcome.state == JobState::Rejected);
    return;
  }
  const bool cut = job.duration > job.time_limit();
  REQUIRE(outcome.state == (cut ? JobState::Failed : JobState::Completed));
  REQUIRE(outcome.attained == (cut ? job.time_limit() : job.duration));
  REQUIRE(outcome.start >= job.submit);
}

}  // namespace

TEST_CASE("placement property: every job that fits comes to its end under every policy and placement") {
  const ClusterSpec cluster = *ClusterSpec::parse(kCluster);
  for (const std::string& spec : tested_policies()) {
    CAPTURE(spec);
    for (const PlacementInfo& info : placements()) {
      CAPTURE(info.name);
      for (std::uint64_t seed = 0; seed < rounds(6); ++seed) {
        CAPTURE(seed);
        const Workload workload = typed_workload(seed);
        const auto placement = make_placement(info.kind, cluster, workload);
        const SimulationResult result = replay(workload, kCluster, spec, {.placement = info.kind});
        for (std::size_t i = 0; i < workload.jobs.size(); ++i)
          check_outcome(workload, *placement, i, result.outcomes[i]);
        for (const ClusterSample& sample : result.samples) {
          REQUIRE(sample.gpus_in_use >= GpuCount(0));
          REQUIRE(sample.gpus_in_use <= GpuCount(kTotalGpus));
        }
        REQUIRE(result.samples.back().gpus_in_use == GpuCount(0));
        REQUIRE(result.fragmentation.empty() == !placement->info().shares_gpus);
      }
    }
  }
}

TEST_CASE("placement property: a job that waits for its GPU type holds up no backfilling of other types") {
  // Two types of 4 GPUs. j0 holds the A100 up to 100, j1 and j2 half of the V100 each, up to 20 and 10. The
  // head j3 needs all V100: at 20, when j1 ends. At 10 half of the V100 is free and j4, whose type is not, is
  // the first job that would end by then; j5 is the next.
  Workload workload = make_workload({{0, 100, 4}, {0, 20, 2}, {0, 10, 2}, {1, 10, 4}, {2, 5, 1}, {3, 5, 1}});
  const GpuTypeId a100 = workload.gpu_type("a100");
  const GpuTypeId v100 = workload.gpu_type("v100");
  const std::vector<GpuTypeId> types = {a100, v100, v100, v100, a100, v100};
  for (std::size_t i = 0; i < types.size(); ++i)
    workload.jobs[i].gpu_type = types[i];
  for (const char* spec : {"easy", "easy-fast"}) {
    CAPTURE(spec);
    const auto policy = make_policy(spec);
    REQUIRE(policy);
    SimulationOptions options;
    options.placement = PlacementKind::BestFit;
    const auto result = simulate(workload, *ClusterSpec::parse("1x4:a100+1x4:v100"), **policy, options);
    REQUIRE(result);
    const auto start_s = [&](std::size_t job) { return to_seconds(result->outcomes[job].start); };
    CHECK(start_s(5) == 10);
    CHECK(start_s(3) == 20);
    CHECK(start_s(4) == 100);
  }
}

}  // namespace vtrain::testing
