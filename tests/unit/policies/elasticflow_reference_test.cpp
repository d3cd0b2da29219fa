// The policy that keeps what has not changed against the one that plans everything anew.
#include <doctest/doctest.h>

#include <memory>

#include "elastic_support.hpp"
#include "elasticflow_reference.hpp"
#include "policies/elasticflow.hpp"
#include "sched/simulator.hpp"

namespace vtrain {
namespace {

using testing::ElasticShape;

SimulationResult replay_on(const char* cluster, const Workload& workload, Policy& policy) {
  auto result = simulate(workload, *ClusterSpec::parse(cluster), policy, {.policy_name = "elasticflow"});
  REQUIRE_MESSAGE(result, result.error().describe());
  return *std::move(result);
}

/// Replays under both and compares all that became of every job.
void check_same(const Workload& workload, const ElasticFlowOptions& options, const char* cluster) {
  ElasticFlow policy(options);
  const auto reference = testing::reference_elasticflow(options);
  const SimulationResult found = replay_on(cluster, workload, policy);
  const SimulationResult expected = replay_on(cluster, workload, *reference);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    CAPTURE(i);
    const JobOutcome& a = found.outcomes[i];
    const JobOutcome& b = expected.outcomes[i];
    REQUIRE(a.state == b.state);
    REQUIRE(a.start == b.start);
    REQUIRE(a.end == b.end);
    REQUIRE(a.finished == b.finished);
    REQUIRE(a.gpu_time.seconds() == b.gpu_time.seconds());
    REQUIRE(a.resizes == b.resizes);
    REQUIRE(a.preemptions == b.preemptions);
  }
}

void check_shape(const ElasticShape& shape, const char* cluster, std::uint64_t num_seeds) {
  for (const AdmissionTest admission : {AdmissionTest::Job, AdmissionTest::Batch}) {
    for (const SpareGpus greedy : {SpareGpus::Smallest, SpareGpus::Largest}) {
      for (const WholeSeconds slot : {60, 7}) {
        for (std::uint64_t seed = 1; seed <= num_seeds; ++seed) {
          CAPTURE(seed);
          CAPTURE(slot);
          CAPTURE(static_cast<int>(admission));
          CAPTURE(static_cast<int>(greedy));
          check_same(testing::random_elastic_workload(seed, shape),
                     {.admission = admission, .greedy = greedy, .slot = slot}, cluster);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("elasticflow: the schedules of planning everything anew, with GPUs to spare") {
  check_shape({.num_jobs = 80, .gap_s = 200}, "8x8", 8);
}

TEST_CASE("elasticflow: the schedules of planning everything anew, with too few GPUs") {
  check_shape({.num_jobs = 80, .gap_s = 60}, "1x8", 8);
  check_shape({.num_jobs = 60, .gap_s = 60, .best_effort_of_4 = 4}, "2x8", 4);
}

TEST_CASE("elasticflow: the schedules of planning everything anew, where all numbers are round") {
  check_shape({.num_jobs = 80, .gap_s = 120, .round = true}, "2x8", 8);
  check_shape({.num_jobs = 80, .gap_s = 60, .best_effort_of_4 = 0, .round = true}, "4x8", 8);
}

}  // namespace vtrain
