#include "sched/placement/placement.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

using Shares = std::vector<std::pair<std::uint32_t, std::int32_t>>;  // (node, GPUs)

ClusterSpec cluster_of(const char* text) {
  auto cluster = ClusterSpec::parse(text);
  REQUIRE(cluster);
  return *std::move(cluster);
}

GangRequest gang(std::int32_t num_gpus) {
  return {.num_gpus = GpuCount(num_gpus)};
}

std::optional<std::vector<NodeShare>> place(Placement& placement, std::int32_t num_gpus) {
  std::vector<NodeShare> shares;
  if (placement.place(gang(num_gpus), shares)) return shares;
  CHECK(shares.empty());
  return std::nullopt;
}

Shares plain(const std::optional<std::vector<NodeShare>>& shares) {
  Shares result;
  REQUIRE(shares);
  for (const NodeShare& share : *shares)
    result.emplace_back(share.node.value, share.gpus.value);
  return result;
}

/// The rule of `PlacementKind::Yarn`, node by node.
Shares yarn_by_hand(std::vector<std::int32_t>& free, const std::vector<std::int32_t>& size,
                    std::int32_t needed) {
  const std::vector<std::int32_t> before = free;
  Shares shares;
  const auto take = [&](std::size_t node, std::int32_t gpus) {
    free[node] -= gpus;
    needed -= gpus;
    shares.emplace_back(static_cast<std::uint32_t>(node), gpus);
  };
  if (needed > *std::max_element(size.begin(), size.end())) {
    for (std::size_t node = 0; node < size.size(); ++node) {
      if (free[node] == size[node] && size[node] <= needed) take(node, size[node]);
    }
  }
  for (std::size_t node = 0; node < size.size() && needed > 0; ++node) {
    if (free[node] >= needed) take(node, needed);
  }
  if (needed == 0) return shares;
  free = before;
  return {};
}

}  // namespace

TEST_CASE("placement: names") {
  CHECK(*parse_placement("count") == PlacementKind::Count);
  CHECK(*parse_placement("yarn") == PlacementKind::Yarn);
  const auto unknown = parse_placement("yearn");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().describe() ==
        "placement: expected one of 'count', 'yarn', 'best-fit', 'consolidate', 'consolidate-strict', "
        "'buddy' and "
        "'fgd', "
        "found 'yearn'; did you mean 'yarn'?");
  for (std::size_t i = 0; i < placements().size(); ++i)
    CHECK(placements()[i].kind == static_cast<PlacementKind>(i));
}

TEST_CASE("placement: the books of each know their row of the table") {
  for (const PlacementInfo& info : placements()) {
    CAPTURE(info.name);
    CHECK(&info_of(info.kind) == &info);
    CHECK(&make_placement(info.kind, cluster_of("2x8"), {})->info() == &info);
  }
  CHECK_THROWS_AS(info_of(static_cast<PlacementKind>(placements().size())), std::logic_error);
}

TEST_CASE("placement: count knows one number of free GPUs") {
  const auto placement = make_placement(PlacementKind::Count, cluster_of("2x8"), {});
  CHECK(placement->fits_empty(gang(16)));
  CHECK_FALSE(placement->fits_empty(gang(17)));
  CHECK(plain(place(*placement, 10)).empty());
  CHECK_FALSE(place(*placement, 7));
  CHECK(place(*placement, 6));
  placement->release(gang(10), {});
  CHECK(place(*placement, 10));
  CHECK_FALSE(place(*placement, 1));
}

TEST_CASE("placement: yarn puts a small gang on the first node with room and never splits it") {
  const auto placement = make_placement(PlacementKind::Yarn, cluster_of("3x8"), {});
  CHECK(plain(place(*placement, 6)) == Shares{{0, 6}});
  CHECK(plain(place(*placement, 4)) == Shares{{1, 4}});
  CHECK(plain(place(*placement, 2)) == Shares{{0, 2}});
  CHECK(plain(place(*placement, 5)) == Shares{{2, 5}});
  // 4 + 3 GPUs are free, no node has 5.
  CHECK_FALSE(place(*placement, 5));
  CHECK(plain(place(*placement, 4)) == Shares{{1, 4}});
}

TEST_CASE("placement: yarn gives a large gang whole nodes and the first other node with room") {
  const auto placement = make_placement(PlacementKind::Yarn, cluster_of("4x8"), {});
  const auto small = place(*placement, 3);
  CHECK(plain(small) == Shares{{0, 3}});
  // 20 = 8 + 8 + 4: nodes 1 and 2 are whole, the rest goes to node 0 beside the small gang.
  const auto large = place(*placement, 20);
  CHECK(plain(large) == Shares{{1, 8}, {2, 8}, {0, 4}});
  // 8 + 1 GPUs are free.
  CHECK_FALSE(place(*placement, 10));
  placement->release(gang(20), *large);
  placement->release(gang(3), *small);
  CHECK(plain(place(*placement, 32)) == Shares{{0, 8}, {1, 8}, {2, 8}, {3, 8}});
}

TEST_CASE("placement: a yarn gang whose rest finds no node leaves nothing taken") {
  const auto placement = make_placement(PlacementKind::Yarn, cluster_of("3x8"), {});
  CHECK(plain(place(*placement, 5)) == Shares{{0, 5}});
  const auto whole = place(*placement, 8);
  CHECK(plain(whole) == Shares{{1, 8}});
  // 8 whole on node 2 and 3 more on node 0; then 3 + 0 free, 12 do not fit by count.
  CHECK_FALSE(place(*placement, 12));
  placement->release(gang(8), *whole);
  CHECK(plain(place(*placement, 8)) == Shares{{1, 8}});
  // 11 = 8 on node 2 + 3 on node 0.
  CHECK(plain(place(*placement, 11)) == Shares{{2, 8}, {0, 3}});
}

TEST_CASE("placement: yarn on unequal nodes") {
  const auto placement = make_placement(PlacementKind::Yarn, cluster_of("2x4+2x8"), {});
  // 8 is the largest node's size: one node, the first with room.
  CHECK(plain(place(*placement, 8)) == Shares{{2, 8}});
  // 11 > 8: whole nodes no larger than the rest, 4 and 4; then 3 on the first other node with room.
  CHECK(plain(place(*placement, 11)) == Shares{{0, 4}, {1, 4}, {3, 3}});
  CHECK(placement->fits_empty(gang(24)));
  CHECK_FALSE(placement->fits_empty(gang(25)));
}

TEST_CASE("placement: a node out of service offers nothing until it is back, whatever is given back on it") {
  const auto placement = make_placement(PlacementKind::Yarn, cluster_of("2x8"), {});
  const auto small = place(*placement, 3);
  CHECK(plain(small) == Shares{{0, 3}});
  CHECK(placement->free_gpus() == GpuCount(13));
  placement->set_in_service(NodeId(0), false);
  placement->set_in_service(NodeId(0), false);
  CHECK(placement->free_gpus() == GpuCount(8));
  CHECK(placement->fits_empty(gang(16)));
  CHECK(plain(place(*placement, 5)) == Shares{{1, 5}});
  CHECK_FALSE(place(*placement, 4));
  placement->release(gang(3), *small);
  CHECK(placement->free_gpus() == GpuCount(3));
  CHECK_FALSE(place(*placement, 4));
  placement->set_in_service(NodeId(0), true);
  placement->set_in_service(NodeId(0), true);
  CHECK(placement->free_gpus() == GpuCount(11));
  CHECK(plain(place(*placement, 8)) == Shares{{0, 8}});
  const auto count = make_placement(PlacementKind::Count, cluster_of("2x8"), {});
  CHECK_FALSE(count->info().knows_nodes);
  CHECK_THROWS_AS(count->set_in_service(NodeId(0), false), std::logic_error);
}

TEST_CASE("placement: yarn equals the rule applied node by node, and everything fits what it says fits") {
  RandomStream random(7, "placement");
  for (const char* text : {"1x1", "5x8", "13x4", "3x4+4x8+2x3", "2x16+7x1"}) {
    CAPTURE(text);
    const ClusterSpec cluster = cluster_of(text);
    std::vector<std::int32_t> size;
    for (const NodeGroup& group : cluster.groups) {
      size.insert(size.end(), static_cast<std::size_t>(group.num_nodes), group.gpus_per_node.value);
    }
    for (std::int32_t gpus = 1; gpus <= cluster.total_gpus().value; ++gpus) {
      const auto empty = make_placement(PlacementKind::Yarn, cluster, {});
      CHECK(place(*empty, gpus).has_value() == empty->fits_empty(gang(gpus)));
    }
    const auto placement = make_placement(PlacementKind::Yarn, cluster, {});
    std::vector<std::int32_t> free = size;
    std::vector<std::vector<NodeShare>> gangs;
    for (int step = 0; step < 2000; ++step) {
      if (!gangs.empty() && random.below(2) == 0) {
        const std::size_t which = random.below(gangs.size());
        std::int32_t gpus = 0;
        for (const NodeShare& share : gangs[which]) {
          free[share.node.value] += share.gpus.value;
          gpus += share.gpus.value;
        }
        placement->release(gang(gpus), gangs[which]);
        gangs.erase(gangs.begin() + static_cast<std::ptrdiff_t>(which));
        continue;
      }
      const auto total = static_cast<std::uint64_t>(cluster.total_gpus().value);
      const auto gpus =
          static_cast<std::int32_t>(1 + random.below(random.below(3) == 0 ? total : (total + 3) / 4));
      const Shares expected = yarn_by_hand(free, size, gpus);
      auto placed = place(*placement, gpus);
      REQUIRE(placed.has_value() == !expected.empty());
      if (!placed) continue;
      REQUIRE(plain(placed) == expected);
      gangs.push_back(*std::move(placed));
    }
  }
}

TEST_CASE(
    "placement: best-fit puts a part of a GPU on the GPU of the node with the least free that suffices") {
  const auto placement = make_placement(PlacementKind::BestFit, cluster_of("1x3"), {});
  const auto gpu_of = [&](std::int16_t gpu_share) {
    std::vector<NodeShare> shares;
    REQUIRE(placement->place({.gpu_share = gpu_share}, shares));
    REQUIRE(shares.size() == 1);
    return shares.front().first_gpu;
  };
  const std::int32_t first = gpu_of(500);
  const std::int32_t second = gpu_of(700);
  CHECK(second != first);
  // 500 and 300 are free beside a whole GPU.
  CHECK(gpu_of(300) == second);
  CHECK(gpu_of(300) == first);
  CHECK(gpu_of(200) == first);
}

}  // namespace vtrain
