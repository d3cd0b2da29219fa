// The policy that keeps what has not changed against the one that plans everything anew.
#include <doctest/doctest.h>

#include "policies/elasticflow/elasticflow.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/elastic_support.hpp"
#include "tests/unit/policies/elasticflow_reference.hpp"
#include "tests/unit/policies/replay_checks.hpp"

namespace vtrain {
namespace {

using testing::ElasticShape;

/// Replays under the policy and its reference, and compares every job's outcome.
void check_against_reference(const Workload& workload, const ElasticFlowOptions& options,
                             const char* cluster) {
  ElasticFlow policy(options);
  const auto reference = testing::reference_elasticflow(options);
  const ClusterSpec spec = ClusterSpec::parse(cluster).value();
  testing::check_same_outcomes(testing::replay(workload, spec, policy),
                               testing::replay(workload, spec, *reference));
}

void check_shape(const ElasticShape& shape, const char* cluster, std::uint64_t num_seeds) {
  for (const AdmissionTest admission : {AdmissionTest::Job, AdmissionTest::Batch}) {
    for (const SpareGpus greedy : {SpareGpus::Smallest, SpareGpus::Largest}) {
      for (const WholeSeconds slot : {60, 7}) {
        for (std::uint64_t seed = 1; seed <= testing::rounds(num_seeds); ++seed) {
          CAPTURE(seed);
          CAPTURE(slot);
          CAPTURE(static_cast<int>(admission));
          CAPTURE(static_cast<int>(greedy));
          check_against_reference(testing::random_elastic_workload(seed, shape),
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
  check_shape({.num_jobs = 100, .gap_s = 60, .rigid_of_4 = 2, .short_of_4 = 1}, "2x8", 8);
}

TEST_CASE("elasticflow: the schedules of planning everything anew, where all numbers are round") {
  check_shape({.num_jobs = 80, .gap_s = 120, .round = true}, "2x8", 8);
  check_shape({.num_jobs = 80, .gap_s = 60, .best_effort_of_4 = 0, .round = true}, "4x8", 8);
}

TEST_CASE("elasticflow: the schedules of planning everything anew, with many jobs on many GPUs") {
  // Up to a hundred jobs are live.
  for (std::uint64_t seed = 1; seed <= testing::rounds(2); ++seed) {
    CAPTURE(seed);
    const Workload workload =
        testing::random_elastic_workload(seed, {.num_jobs = 300, .gap_s = 10, .round = seed % 2 == 0});
    check_against_reference(workload, {}, "128x8");
    check_against_reference(workload, {.greedy = SpareGpus::Largest}, "24x8");
  }
}

TEST_CASE("elasticflow: the schedules of planning everything anew, with many jobs of few kinds") {
  // Equal jobs have equal gains, so that the order of equals decides.
  constexpr std::size_t kKinds = 4;
  for (std::uint64_t seed = 1; seed <= testing::rounds(10); ++seed) {
    CAPTURE(seed);
    Workload workload = testing::random_elastic_workload(seed, {.num_jobs = 250, .gap_s = 20 + 10 * seed});
    for (std::size_t i = kKinds; i < workload.jobs.size(); ++i) {
      workload.jobs[i].num_gpus = workload.jobs[i % kKinds].num_gpus;
      workload.jobs[i].curve = workload.jobs[i % kKinds].curve;
    }
    check_against_reference(workload, {}, "8x8");
  }
}

}  // namespace vtrain
