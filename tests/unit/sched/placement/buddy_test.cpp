#include <doctest/doctest.h>

#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "sched/placement/placement.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

using GpuOfNode = std::pair<std::uint32_t, std::int32_t>;  // (node, GPU)

GangRequest gang(std::int32_t num_gpus) {
  return {.num_gpus = GpuCount(num_gpus)};
}

/// The GPUs of a gang.
std::vector<GpuOfNode> gpus_of(const std::vector<NodeShare>& shares) {
  std::vector<GpuOfNode> gpus;
  for (const NodeShare& share : shares) {
    for (std::int32_t i = 0; i < share.gpus.value; ++i)
      gpus.emplace_back(share.node.value, share.first_gpu + i);
  }
  return gpus;
}

/// One row of equal nodes, GPU by GPU: the rule in words of `sched/placement/buddy.hpp`.
class BuddyByHand {
 public:
  BuddyByHand(std::int32_t num_nodes, std::int32_t gpus_per_node)
      : num_nodes_(num_nodes),
        gpus_per_node_(gpus_per_node),
        places_per_node_(static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(gpus_per_node)))),
        num_places_(static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(num_nodes))) *
                    places_per_node_),
        held_(static_cast<std::size_t>(num_places_)),
        out_of_service_(static_cast<std::size_t>(num_nodes)) {}

  /// The GPUs that a gang gets; empty if it must wait.
  std::vector<GpuOfNode> place(std::int32_t num_gpus) {
    std::optional<Block> best;
    for (std::int32_t size = num_places_; size >= 1; size /= 2) {
      for (std::int32_t begin = 0; begin < num_places_; begin += size) {
        const Block block{begin, size};
        const bool whole = size == num_places_ || !all_free({begin / (2 * size) * (2 * size), 2 * size});
        if (!all_free(block) || !whole || gpus_in(block) < num_gpus) continue;
        if (!best || gpus_in(block) < gpus_in(*best)) best = block;
      }
    }
    if (!best) return {};
    while (best->size > 1 && gpus_in({best->begin, best->size / 2}) >= num_gpus)
      best->size /= 2;
    std::vector<GpuOfNode> gpus;
    for (std::int32_t place = best->begin; std::ssize(gpus) < num_gpus; ++place) {
      if (!exists(place)) continue;
      gpus.emplace_back(static_cast<std::uint32_t>(place / places_per_node_), place % places_per_node_);
      held_[static_cast<std::size_t>(place)] = true;
    }
    return gpus;
  }
  void release(const std::vector<GpuOfNode>& gpus) {
    for (const auto& [node, gpu] : gpus)
      held_[static_cast<std::size_t>(static_cast<std::int32_t>(node) * places_per_node_ + gpu)] = false;
  }
  void set_in_service(std::uint32_t node, bool in_service) { out_of_service_[node] = !in_service; }
  std::int32_t free_gpus() const {
    std::int32_t sum = 0;
    for (std::int32_t place = 0; place < num_places_; ++place)
      sum += exists(place) && all_free({place, 1}) ? 1 : 0;
    return sum;
  }

 private:
  struct Block {
    std::int32_t begin = 0;
    std::int32_t size = 0;
  };
  bool exists(std::int32_t place) const {
    return place / places_per_node_ < num_nodes_ && place % places_per_node_ < gpus_per_node_;
  }
  std::int32_t gpus_in(Block block) const {
    std::int32_t sum = 0;
    for (std::int32_t place = block.begin; place < block.begin + block.size; ++place)
      sum += exists(place) ? 1 : 0;
    return sum;
  }
  /// True if all GPUs of a block are free; positions without a GPU count as free.
  bool all_free(Block block) const {
    for (std::int32_t place = block.begin; place < block.begin + block.size; ++place) {
      if (!exists(place)) continue;
      const auto node = static_cast<std::size_t>(place / places_per_node_);
      if (held_[static_cast<std::size_t>(place)] || out_of_service_[node]) return false;
    }
    return true;
  }

  std::int32_t num_nodes_;
  std::int32_t gpus_per_node_;
  std::int32_t places_per_node_;
  std::int32_t num_places_;
  std::vector<bool> held_;
  std::vector<bool> out_of_service_;
};

}  // namespace

TEST_CASE("buddy: blocks are halved for small gangs and joined again") {
  const auto placement = make_placement(PlacementKind::Buddy, *ClusterSpec::parse("2x8"), {});
  std::vector<NodeShare> one;
  std::vector<NodeShare> two;
  std::vector<NodeShare> three;
  REQUIRE(placement->place(gang(1), one));
  REQUIRE(placement->place(gang(2), two));
  REQUIRE(placement->place(gang(3), three));
  CHECK(gpus_of(one) == std::vector<GpuOfNode>{{0, 0}});
  CHECK(gpus_of(two) == std::vector<GpuOfNode>{{0, 2}, {0, 3}});
  // The block of 4 behind them; its last GPU stays free.
  CHECK(gpus_of(three) == std::vector<GpuOfNode>{{0, 4}, {0, 5}, {0, 6}});
  // 10 GPUs are free, but no aligned block of 16.
  std::vector<NodeShare> ten;
  CHECK(placement->free_gpus() == GpuCount(10));
  CHECK_FALSE(placement->place(gang(10), ten));
  CHECK(ten.empty());
  std::vector<NodeShare> eight;
  REQUIRE(placement->place(gang(8), eight));
  CHECK(eight.front().node == NodeId(1));
  placement->release(gang(1), one);
  placement->release(gang(2), two);
  placement->release(gang(3), three);
  placement->release(gang(8), eight);
  REQUIRE(placement->place(gang(10), ten));
  CHECK(placement->free_gpus() == GpuCount(6));
}

TEST_CASE("buddy: equals its rule applied GPU by GPU, with outages, on nodes of any size") {
  for (const auto& shape : std::vector<std::pair<std::int32_t, std::int32_t>>{
           {1, 1}, {1, 7}, {4, 8}, {5, 8}, {3, 6}, {7, 4}, {6, 1}, {2, 16}}) {
    const std::int32_t num_nodes = shape.first;
    const std::int32_t gpus_per_node = shape.second;
    CAPTURE(num_nodes);
    CAPTURE(gpus_per_node);
    RandomStream random(static_cast<std::uint64_t>(num_nodes), "buddy");
    const ClusterSpec cluster{{{.num_nodes = num_nodes, .gpus_per_node = GpuCount(gpus_per_node)}}};
    const auto placement = make_placement(PlacementKind::Buddy, cluster, {});
    BuddyByHand by_hand(num_nodes, gpus_per_node);
    std::vector<std::pair<std::int32_t, std::vector<NodeShare>>> gangs;
    for (int step = 0; step < 2000; ++step) {
      const std::uint64_t deed = random.below(20);
      if (deed == 0) {
        const auto node = static_cast<std::uint32_t>(random.below(static_cast<std::uint64_t>(num_nodes)));
        const bool in_service = random.below(2) == 0;
        placement->set_in_service(NodeId(node), in_service);
        by_hand.set_in_service(node, in_service);
      } else if (deed < 10 && !gangs.empty()) {
        const auto which = gangs.begin() + static_cast<std::ptrdiff_t>(random.below(gangs.size()));
        placement->release(gang(which->first), which->second);
        by_hand.release(gpus_of(which->second));
        gangs.erase(which);
      } else {
        const auto total = static_cast<std::uint64_t>(num_nodes * gpus_per_node);
        const auto num_gpus =
            static_cast<std::int32_t>(1 + random.below(random.below(3) == 0 ? total : 1 + total / 4));
        std::vector<NodeShare> shares;
        const bool placed = placement->place(gang(num_gpus), shares);
        const std::vector<GpuOfNode> expected = by_hand.place(num_gpus);
        REQUIRE(placed == !expected.empty());
        REQUIRE(gpus_of(shares) == expected);
        if (placed) gangs.emplace_back(num_gpus, std::move(shares));
      }
      REQUIRE(placement->free_gpus().value == by_hand.free_gpus());
    }
  }
}

}  // namespace vtrain
