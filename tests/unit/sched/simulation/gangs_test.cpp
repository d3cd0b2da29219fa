#include "sched/simulation/gangs.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "core/base/rng.hpp"

namespace vtrain {
namespace {

/// (node, GPUs, first GPU) of a gang.
std::vector<std::vector<std::int64_t>> where(const Gangs& gangs, std::uint32_t job) {
  std::vector<std::vector<std::int64_t>> result;
  for (const NodeShare& share : gangs.shares(JobId(job)))
    result.push_back({share.node.value, share.gpus.value, share.first_gpu});
  return result;
}

}  // namespace

TEST_CASE("gangs: a gang that cannot be resized stays where it is") {
  Workload workload;
  workload.jobs.resize(4);
  const ClusterSpec cluster = *ClusterSpec::parse("2x4");
  Gangs gangs(PlacementKind::Yarn, cluster, workload, true);
  REQUIRE(gangs.place(JobId(0), GpuCount(1)));
  REQUIRE(gangs.place(JobId(1), GpuCount(3)));
  REQUIRE(gangs.place(JobId(2), GpuCount(2)));
  REQUIRE(gangs.place(JobId(3), GpuCount(2)));
  gangs.release(JobId(1), GpuCount(3));
  // 3 GPUs are free on node 0, none on node 1. No node has 4 for job 2, and node 0 comes first for 2.
  CHECK_FALSE(gangs.resize(JobId(2), GpuCount(2), GpuCount(4)));
  CHECK(where(gangs, 2) == std::vector<std::vector<std::int64_t>>{{1, 2, 0}});
  CHECK(gangs.service()->jobs_on(NodeId(1)) == std::vector<JobId>{JobId(2), JobId(3)});
  CHECK(gangs.resize(JobId(2), GpuCount(2), GpuCount(3)));
  CHECK(where(gangs, 2) == std::vector<std::vector<std::int64_t>>{{0, 3, 0}});
}

TEST_CASE("gangs: under any placement a gang that cannot be resized stays where it is") {
  constexpr std::uint32_t kJobs = 12;
  Workload workload;
  workload.jobs.resize(kJobs);
  const GpuTypeId type = workload.gpu_type("b");
  const ClusterSpec cluster = *ClusterSpec::parse("3x8:a+2x6:b");
  for (const PlacementInfo& info : placements()) {
    CAPTURE(info.name);
    RandomStream random(3, info.name);
    for (std::uint32_t job = 0; job < kJobs; ++job) {
      if (job % 3 == 0) workload.jobs[job].gpu_type = type;
      if (job % 4 == 1) workload.jobs[job].gpu_share = static_cast<std::int16_t>(100 * (1 + random.below(7)));
    }
    Gangs gangs(info.kind, cluster, workload, false);
    std::vector<GpuCount> held(kJobs);
    int refused = 0;
    for (int step = 0; step < 3000; ++step) {
      const auto job = static_cast<std::uint32_t>(random.below(kJobs));
      const GpuCount size(static_cast<std::int32_t>(1 + random.below(random.below(4) == 0 ? 36 : 9)));
      if (held[job].value == 0) {
        if (gangs.place(JobId(job), size)) held[job] = size;
      } else if (random.below(4) == 0) {
        gangs.release(JobId(job), held[job]);
        held[job] = GpuCount(0);
      } else {
        const auto before = where(gangs, job);
        const GpuCount free = gangs.placement().free_gpus();
        const GpuCount idle = gangs.placement().idle_gpus();
        if (gangs.resize(JobId(job), held[job], size)) {
          held[job] = size;
        } else {
          ++refused;
          REQUIRE(where(gangs, job) == before);
          REQUIRE(gangs.placement().free_gpus() == free);
          REQUIRE(gangs.placement().idle_gpus() == idle);
        }
      }
    }
    CHECK(refused > 100);
    for (std::uint32_t job = 0; job < kJobs; ++job) {
      if (held[job].value > 0) gangs.release(JobId(job), held[job]);
    }
    CHECK(gangs.placement().idle_gpus() == cluster.total_gpus());
  }
}

}  // namespace vtrain
