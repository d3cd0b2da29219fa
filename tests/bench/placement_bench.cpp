/// Speed of one placement decision: on a nearly full cluster a random gang is released and another one is
/// placed.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "sched/placement/placement.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

constexpr std::int32_t kNumNodes = 1'280;

/// Gang sizes of published traces, most of them small.
constexpr std::int32_t kSizes[] = {1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32};

GangRequest random_request(RandomStream& random, bool shared) {
  GangRequest request{.num_gpus = GpuCount(kSizes[random.below(std::size(kSizes))])};
  if (shared && request.num_gpus == GpuCount(1))
    request.gpu_share = static_cast<std::int16_t>(100 * (1 + random.below(10)));
  return request;
}

/// With `shared`, gangs of one GPU use a part of it.
void place_and_release(benchmark::State& state, PlacementKind kind, bool shared) {
  ClusterSpec cluster;
  cluster.groups = {{.num_nodes = kNumNodes,
                     .gpus_per_node = GpuCount(8),
                     .gpu_type = "a100",
                     .gpus_per_island = GpuCount(4),
                     .nodes_per_rack = 32}};
  RandomStream random(1, "bench");
  Workload workload;
  for (int i = 0; i < 1000; ++i) {
    const GangRequest request = random_request(random, shared);
    Job job;
    job.num_gpus = request.num_gpus;
    job.gpu_share = request.gpu_share;
    workload.jobs.push_back(job);
  }
  const auto placement = make_placement(kind, cluster, workload);
  std::vector<std::pair<GangRequest, std::vector<NodeShare>>> gangs;
  const GpuCount little(kNumNodes * 8 / 20);
  while (placement->free_gpus() > little) {
    auto& gang = gangs.emplace_back(random_request(random, shared), std::vector<NodeShare>());
    if (!placement->place(gang.first, gang.second)) gangs.pop_back();
  }
  std::int64_t refused = 0;
  for (auto _ : state) {
    auto& [request, shares] = gangs[random.below(gangs.size())];
    placement->release(request, shares);
    shares.clear();
    if (placement->place(request, shares)) continue;
    ++refused;
    request = {.num_gpus = GpuCount(1)};
    placement->place(request, shares);
  }
  state.counters["refused"] = static_cast<double>(refused) / static_cast<double>(state.iterations());
}

BENCHMARK_CAPTURE(place_and_release, count, PlacementKind::Count, false);
BENCHMARK_CAPTURE(place_and_release, yarn, PlacementKind::Yarn, false);
BENCHMARK_CAPTURE(place_and_release, best_fit, PlacementKind::BestFit, false);
BENCHMARK_CAPTURE(place_and_release, best_fit_shared, PlacementKind::BestFit, true);
BENCHMARK_CAPTURE(place_and_release, consolidate, PlacementKind::Consolidate, false);
BENCHMARK_CAPTURE(place_and_release, consolidate_strict, PlacementKind::ConsolidateStrict, false);
BENCHMARK_CAPTURE(place_and_release, buddy, PlacementKind::Buddy, false);
BENCHMARK_CAPTURE(place_and_release, fgd, PlacementKind::Fgd, false);
BENCHMARK_CAPTURE(place_and_release, fgd_shared, PlacementKind::Fgd, true);

}  // namespace
}  // namespace vtrain
