#include "sched/cluster/gpu_types.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "sched/placement/placement.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

using Numbers = std::vector<std::uint32_t>;

Numbers allowed(const GpuTypes& types, GpuTypeId asked) {
  const auto numbers = types.allowed(asked);
  return {numbers.begin(), numbers.end()};
}

}  // namespace

TEST_CASE("gpu_types: jobs ask for one, for one of several, or for none; letters of either case") {
  Workload workload;
  const GpuTypeId v100 = workload.gpu_type("V100M32");
  const GpuTypeId either = workload.gpu_type("t4 | v100M32|p100");
  const GpuTypeId lacking = workload.gpu_type("a10");
  const GpuTypes types(*ClusterSpec::parse("2x8:v100m32+4x4+1x2:T4+3x8:v100m32"), workload.gpu_types);
  CHECK(types.named());
  CHECK(types.names() == std::vector<std::string>{"v100m32", "", "T4"});
  CHECK(allowed(types, GpuTypeId()) == Numbers{0, 1, 2});
  CHECK(allowed(types, v100) == Numbers{0});
  CHECK(allowed(types, either) == Numbers{0, 2});
  CHECK(allowed(types, lacking).empty());
  CHECK(types.complaint("v100m30") ==
        "expected a GPU type of the cluster, which has 'v100m32' and 'T4', found 'v100m30'; did you mean "
        "'v100m32'?");

  const GpuTypes unnamed(*ClusterSpec::parse("2x8+4x4"), workload.gpu_types);
  CHECK_FALSE(unnamed.named());
  CHECK(allowed(unnamed, lacking) == Numbers{0});
}

TEST_CASE("gpu_types: every placement gives a job GPUs of its type only, and one that asks for none any") {
  Workload workload;
  const GpuTypeId v100 = workload.gpu_type("v100");
  const GpuTypeId lacking = workload.gpu_type("h100");
  const ClusterSpec cluster = *ClusterSpec::parse("2x8:a100+1x8:v100");
  for (const PlacementInfo& info : placements()) {
    CAPTURE(info.name);
    const auto placement = make_placement(info.kind, cluster, workload);
    const auto ask = [](std::int32_t num_gpus, GpuTypeId type = {}) {
      return GangRequest{.num_gpus = GpuCount(num_gpus), .gpu_type = type};
    };
    CHECK_FALSE(placement->fits_empty(ask(1, lacking)));
    CHECK_FALSE(placement->fits_empty(ask(9, v100)));
    // Only `count`, which does not know where GPUs are, would split a gang over types.
    CHECK(placement->fits_empty(ask(20)) == (info.kind == PlacementKind::Count));
    std::vector<NodeShare> first;
    std::vector<NodeShare> second;
    std::vector<NodeShare> third;
    CHECK(placement->place(ask(8, v100), first));
    CHECK_FALSE(placement->place(ask(1, v100), second));
    CHECK(placement->place(ask(16), second));
    CHECK(placement->free_gpus() == GpuCount(0));
    placement->release(ask(8, v100), first);
    CHECK(placement->place(ask(4), third));
    first.clear();
    CHECK_FALSE(placement->place(ask(8, v100), first));
    CHECK(placement->place(ask(4, v100), first));
  }
}

TEST_CASE("gpu_types: levels of the network that a gang crosses") {
  ClusterSpec cluster;
  cluster.groups = {{.num_nodes = 4, .gpus_per_node = GpuCount(8), .gpu_type = "a100", .nodes_per_rack = 2}};
  const auto placement = make_placement(PlacementKind::Yarn, cluster, {});
  const auto on = [](std::uint32_t node) { return NodeShare{NodeId(node), GpuCount(8)}; };
  CHECK(placement->levels_crossed(std::vector<NodeShare>{on(1)}) == 0);
  CHECK(placement->levels_crossed(std::vector<NodeShare>{on(0), on(1)}) == 1);
  CHECK(placement->levels_crossed(std::vector<NodeShare>{on(1), on(2)}) == 2);
}

TEST_CASE("gpu_types: where nothing else decides a gang goes to the type that the cluster names first") {
  Workload workload;
  const GpuTypeId either = workload.gpu_type("v100|a100");
  const ClusterSpec cluster = *ClusterSpec::parse("2x4:a100+2x4:v100");
  for (const PlacementInfo& info : placements()) {
    if (!info.knows_nodes) continue;
    CAPTURE(info.name);
    for (const std::int32_t num_gpus : {1, 3, 4, 5, 8}) {
      CAPTURE(num_gpus);
      const auto placement = make_placement(info.kind, cluster, workload);
      std::vector<NodeShare> shares;
      REQUIRE(placement->place({.num_gpus = GpuCount(num_gpus), .gpu_type = either}, shares));
      for (const NodeShare& share : shares)
        CHECK(share.node.value < 2);
    }
  }
}

TEST_CASE("gpu_types: under count a gang takes its GPUs again only if those of their types are still free") {
  Workload workload;
  const GpuTypeId a100 = workload.gpu_type("a100");
  const auto placement =
      make_placement(PlacementKind::Count, *ClusterSpec::parse("1x4:a100+1x4:v100"), workload);
  const GangRequest any{.num_gpus = GpuCount(4)};
  const GangRequest one{.num_gpus = GpuCount(1), .gpu_type = a100};
  std::vector<NodeShare> of_any;
  std::vector<NodeShare> of_one;
  REQUIRE(placement->place(any, of_any));  // the A100s
  placement->release(any, of_any);
  REQUIRE(placement->place(one, of_one));
  CHECK_FALSE(placement->reacquire(any, of_any));
  placement->release(one, of_one);
  CHECK(placement->reacquire(any, of_any));
}

}  // namespace vtrain
