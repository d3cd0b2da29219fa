/// Policies on clusters of several GPU types. Jobs request one type, one of several types, or no type.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

Workload typed(const std::vector<JobLine>& lines, const std::vector<const char*>& types) {
  Workload workload = make_workload(lines);
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] != nullptr) workload.jobs[i].gpu_type = workload.gpu_type(types[i]);
  }
  return workload;
}

double start_s(const SimulationResult& result, std::size_t job) {
  return to_seconds(result.outcomes[job].start);
}

const std::vector<std::string> kListPolicies = {"sjf", "srtf",          "srsf",         "las:queues=20;60",
                                                "edf", "edf:resize=no", "edf-admission"};
const std::vector<PlacementKind> kPlacements = {PlacementKind::Count, PlacementKind::Yarn,
                                                PlacementKind::Consolidate};

}  // namespace

TEST_CASE("gpu types: a job that waits for its type holds up no jobs of other types") {
  // 4 A100 and 4 V100. j0 holds all A100 until 50, and j1 comes before j2 in every list: j1 waits for A100,
  // and 4 of 8 GPUs are free.
  const Workload workload =
      typed({{0, 50, 4, 55}, {1, 60, 4, 130}, {2, 70, 4, 140}}, {"a100", "a100", "v100"});
  const ClusterSpec cluster = *ClusterSpec::parse("1x4:a100+1x4:v100");
  std::vector<std::string> specs = kListPolicies;
  specs.insert(specs.end(), {"easy", "easy:order=asc-walltime", "easy-fast", "fit-first"});
  for (const std::string& spec : specs) {
    CAPTURE(spec);
    for (const PlacementKind placement : kPlacements) {
      const SimulationResult result = replay(workload, cluster, spec, {.placement = placement});
      CHECK(start_s(result, 0) == 0);
      CHECK(start_s(result, 2) == 2);
      CHECK(result.outcomes[2].preemptions == 0);
      CHECK(start_s(result, 1) <= 50);
    }
  }
  CHECK(start_s(replay(workload, cluster, "fifo"), 2) == 50);  // strictly in order of arrival
}

TEST_CASE("gpu types: a job preempts those of its type only, and one that may use several those it has to") {
  // j0 on A100 and j1 on V100 are long. j2 asks for A100 and is short.
  const ClusterSpec cluster = *ClusterSpec::parse("1x4:a100+1x4:v100");
  const Workload asks = typed({{0, 100, 4}, {0, 90, 4}, {10, 10, 4}}, {"a100", "v100", "a100"});
  // j1 is on V100, 4 A100 are free: j2 takes these.
  const Workload any = typed({{0, 100, 2}, {0, 90, 4}, {10, 10, 2}}, {"a100", "v100", nullptr});
  for (const PlacementKind placement : kPlacements) {
    const SimulationResult first = replay(asks, cluster, "srtf", {.placement = placement});
    CHECK(first.outcomes[0].preemptions == 1);
    CHECK(first.outcomes[1].preemptions == 0);
    CHECK(start_s(first, 2) == 10);
    const SimulationResult second = replay(any, cluster, "srtf", {.placement = placement});
    CHECK(second.outcomes[0].preemptions + second.outcomes[1].preemptions == 0);
    CHECK(start_s(second, 2) == 10);
  }
}

TEST_CASE("gpu types: the head of easy reserves GPUs of its type") {
  // 4 A100, 8 V100. The head j2 waits for 4 A100, which are free at 100. j3 needs A100 beyond that and has to
  // wait; j4 is as long and may use either type: it gets V100.
  const Workload workload = typed({{0, 100, 3}, {0, 40, 4}, {1, 50, 4}, {2, 200, 1}, {3, 200, 4}, {4, 99, 1}},
                                  {"a100", "v100", "a100", "a100", "a100|v100", "a100"});
  const ClusterSpec cluster = *ClusterSpec::parse("1x4:a100+1x8:v100");
  for (const PlacementKind placement : {PlacementKind::Yarn, PlacementKind::BestFit}) {
    const SimulationResult result = replay(workload, cluster, "easy", {.placement = placement});
    CHECK(start_s(result, 2) == 100);
    CHECK(start_s(result, 3) == 150);
    CHECK(start_s(result, 4) == 3);
    CHECK(start_s(result, 5) == 150);  // until 103 it would be in the way
  }
}

namespace {

/// Random jobs that each request one of two types, or no type if `any`.
Workload random_typed_workload(std::uint64_t seed, bool any) {
  Workload workload = random_workload(seed, 150, 8, std::chrono::seconds(1));
  const GpuTypeId a = workload.gpu_type("a");
  const GpuTypeId b = workload.gpu_type("b");
  RandomStream random(seed, "types");
  for (Job& job : workload.jobs) {
    job.gpu_type = random.below(2) == 0 ? a : b;
    if (any && random.below(4) == 0) job.gpu_type = GpuTypeId();
  }
  return workload;
}

/// The jobs of a workload that request a type, for a cluster with only this type.
Workload part_of(const Workload& workload, GpuTypeId type) {
  Workload part;
  for (const Job& job : workload.jobs) {
    if (job.gpu_type != type) continue;
    part.jobs.push_back(job);
    part.jobs.back().gpu_type = GpuTypeId();
  }
  return part;
}

}  // namespace

TEST_CASE("gpu types: where each job asks for one type a cluster is as good as one cluster for each") {
  // Of the list policies those whose order does not depend on when they look. Backfilling ones look again
  // whether a gang finds room when GPUs of any type come free, so that only `count` tells them the same.
  const ClusterSpec cluster = *ClusterSpec::parse("1x8:a+2x8:b");
  for (const std::string spec : {"sjf", "las:queues=20;60", "edf", "edf:resize=no", "easy",
                                 "easy:order=asc-walltime", "easy-fast", "conservative"}) {
    CAPTURE(spec);
    const bool backfills = spec.starts_with("easy") || spec == "conservative";
    for (const PlacementKind placement : {PlacementKind::Count, PlacementKind::Yarn}) {
      if (backfills && placement == PlacementKind::Yarn) continue;
      for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
        CAPTURE(seed);
        const Workload workload = random_typed_workload(seed, false);
        const SimulationResult together = replay(workload, cluster, spec, {.placement = placement});
        for (const std::uint32_t type : {0u, 1u}) {
          const ClusterSpec alone{{cluster.groups[type]}};
          const SimulationResult apart =
              replay(part_of(workload, GpuTypeId(type)), alone, spec, {.placement = placement});
          std::size_t i = 0;
          for (std::size_t job = 0; job < workload.jobs.size(); ++job) {
            if (workload.jobs[job].gpu_type != GpuTypeId(type)) continue;
            REQUIRE(together.outcomes[job].start == apart.outcomes[i].start);
            REQUIRE(together.outcomes[job].end == apart.outcomes[i].end);
            REQUIRE(together.outcomes[job].preemptions == apart.outcomes[i].preemptions);
            ++i;
          }
        }
      }
    }
  }
}

TEST_CASE("gpu types: nobody waits while enough GPUs that he may use are free, and none is given twice") {
  const ClusterSpec cluster = *ClusterSpec::parse("1x8:a+2x8:b");
  constexpr std::int64_t kGpus[] = {8, 16};
  std::vector<std::string> specs = kListPolicies;
  specs.emplace_back("fit-first");
  for (const std::string& spec : specs) {
    CAPTURE(spec);
    for (std::uint64_t seed = 0; seed < rounds(8); ++seed) {
      CAPTURE(seed);
      const Workload workload = random_typed_workload(seed, false);
      const SimulationResult result = replay(workload, cluster, spec, {.record_segments = true});
      for (const std::uint32_t type : {0u, 1u}) {
        // GPUs of the type in use, and jobs of the type that wait, right after each instant.
        std::vector<SimTime> times;
        for (const JobSegment& run : result.segments) {
          times.push_back(run.begin);
          times.push_back(run.end);
        }
        for (const SimTime time : times) {
          std::int64_t in_use = 0;
          std::vector<bool> runs(workload.jobs.size());
          for (const JobSegment& run : result.segments) {
            if (workload.jobs[run.job.value].gpu_type != GpuTypeId(type)) continue;
            if (run.begin > time || run.end <= time) continue;
            in_use += run.num_gpus.value;
            runs[run.job.value] = true;
          }
          REQUIRE(in_use <= kGpus[type]);
          for (std::size_t job = 0; job < workload.jobs.size(); ++job) {
            const JobOutcome& outcome = result.outcomes[job];
            const bool waits = workload.jobs[job].gpu_type == GpuTypeId(type) && !runs[job] &&
                               outcome.state != JobState::Rejected && workload.jobs[job].submit <= time &&
                               time < outcome.end;
            if (waits) REQUIRE(workload.jobs[job].num_gpus.value > kGpus[type] - in_use);
          }
        }
      }
    }
  }
}

TEST_CASE("gpu types: with jobs that may use any type all come to their end and GPUs are not given twice") {
  const ClusterSpec cluster = *ClusterSpec::parse("1x8:a+2x8:b");
  std::vector<std::string> specs = kListPolicies;
  specs.insert(specs.end(), {"easy", "easy-fast", "conservative", "fit-first", "fifo"});
  for (const std::string& spec : specs) {
    CAPTURE(spec);
    for (const PlacementKind placement : kPlacements) {
      for (std::uint64_t seed = 0; seed < rounds(10); ++seed) {
        CAPTURE(seed);
        const Workload workload = random_typed_workload(seed, true);
        const SimulationResult result =
            replay(workload, cluster, spec, {.placement = placement, .record_segments = true});
        check_gpus_in_use(result, 24);
        for (const JobOutcome& outcome : result.outcomes)
          REQUIRE((outcome.state == JobState::Completed || outcome.state == JobState::Failed ||
                   (outcome.state == JobState::Rejected && spec == "edf-admission")));
      }
    }
  }
}

}  // namespace vtrain::testing
