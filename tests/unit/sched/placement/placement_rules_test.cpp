/// Compares every placement with its rule in words, node by node, on random gangs, types, shares and outages.
#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <set>

#include "tests/unit/sched/placement_model.hpp"

namespace vtrain::testing {
namespace {

using Shares = std::vector<NodeShare>;

/// One rule: `has_place` is true if it finds a place, and `check_place` checks a found place.
struct Rule {
  PlacementKind kind;
  std::function<bool(const PlacementModel&, const GangRequest&)> has_place;
  std::function<void(const PlacementModel&, const GangRequest&, const Shares&)> check_place;
};

/// Number of wholly free GPUs on the nodes of a type.
std::int64_t free_of_type(const PlacementModel& model, std::uint32_t type) {
  std::int64_t sum = 0;
  for (const std::uint32_t node : model.table().by_type()[type].nodes)
    sum += model.whole(node);
  return sum;
}

bool any_type(const PlacementModel& model, const GangRequest& request,
              const std::function<bool(std::uint32_t)>& holds) {
  const auto types = model.table().types().allowed(request.gpu_type);
  return std::any_of(types.begin(), types.end(), holds);
}

bool some_node_has_room(const PlacementModel& model, const GangRequest& request, bool sharing) {
  for (std::uint32_t node = 0; node < model.size(); ++node) {
    if (model.may_use(request, node) && model.has_room(node, request, sharing)) return true;
  }
  return false;
}

/// True if wholly free nodes of a type, none larger than the rest that is needed, and one other node have
/// room.
bool whole_nodes_and_a_rest(const PlacementModel& model, std::uint32_t type, std::int32_t needed,
                            bool largest_first) {
  std::vector<std::uint32_t> nodes = model.table().by_type()[type].nodes;
  if (largest_first) {
    std::stable_sort(nodes.begin(), nodes.end(), [&](std::uint32_t a, std::uint32_t b) {
      return model.table()[a].num_gpus > model.table()[b].num_gpus;
    });
  }
  std::set<std::uint32_t> taken;
  for (const std::uint32_t node : nodes) {
    const std::int32_t size = model.table()[node].num_gpus;
    if (model.whole(node) < size || size > needed) continue;
    needed -= size;
    taken.insert(node);
  }
  return needed == 0 || std::any_of(nodes.begin(), nodes.end(), [&](std::uint32_t node) {
           return !taken.contains(node) && model.whole(node) >= needed;
         });
}

Rule yarn() {
  return {PlacementKind::Yarn,
          [](const PlacementModel& model, const GangRequest& request) {
            if (model.fits_a_node(request)) return some_node_has_room(model, request, false);
            return any_type(model, request, [&](std::uint32_t type) {
              return whole_nodes_and_a_rest(model, type, request.num_gpus.value, false);
            });
          },
          [](const PlacementModel& model, const GangRequest& request, const Shares& shares) {
            if (!model.fits_a_node(request)) return;
            REQUIRE(shares.size() == 1);
            for (std::uint32_t node = 0; node < shares.front().node.value; ++node)
              REQUIRE_FALSE((model.may_use(request, node) && model.has_room(node, request, false)));
          }};
}

bool sharing_has_place(const PlacementModel& model, const GangRequest& request) {
  if (model.fits_a_node(request)) return some_node_has_room(model, request, true);
  return any_type(model, request, [&](std::uint32_t type) {
    return whole_nodes_and_a_rest(model, type, request.num_gpus.value, true);
  });
}

std::int64_t free_milli(const PlacementModel& model, std::uint32_t node) {
  const std::vector<std::int16_t> parts = model.nodes()[node].parts();
  return NodeRoom{.whole_gpus = model.whole(node), .parts = parts}.free_milli();
}

Rule best_fit() {
  return {PlacementKind::BestFit, sharing_has_place,
          [](const PlacementModel& model, const GangRequest& request, const Shares& shares) {
            if (!model.fits_a_node(request)) return;
            const std::uint32_t chosen = shares.front().node.value;
            for (std::uint32_t node = 0; node < model.size(); ++node) {
              if (!model.may_use(request, node) || !model.has_room(node, request, true)) continue;
              REQUIRE(free_milli(model, chosen) <= free_milli(model, node));
              if (free_milli(model, chosen) == free_milli(model, node)) REQUIRE(chosen <= node);
            }
          }};
}

/// F_n of a node by its definition, GPU by GPU.
double fragmentation_by_hand(const PlacementModel& model, std::uint32_t node,
                             const std::vector<std::int32_t>& gpus, const std::vector<TypicalSize>& sizes) {
  double sum = 0;
  for (const TypicalSize& size : sizes) {
    std::int32_t enough = 0;
    std::int32_t useless = 0;
    std::int32_t all = 0;
    for (const std::int32_t free : gpus) {
      all += free;
      enough += free >= size.gpu_share ? 1 : 0;
      useless += free >= size.gpu_share ? 0 : free;
    }
    const std::uint32_t type = model.table()[node].type;
    const bool may = std::find(size.types.begin(), size.types.end(), type) != size.types.end();
    sum += size.frequency * (may && enough >= size.num_gpus ? useless : all);
  }
  return sum;
}

/// The smallest growth of F_n on a node over the GPUs that a gang could use there. For a part of one GPU
/// these are all GPUs, otherwise those with the least free.
double growth_by_hand(const PlacementModel& model, std::uint32_t node, const GangRequest& request,
                      const std::vector<TypicalSize>& sizes) {
  std::vector<std::int32_t> gpus;
  for (const std::int16_t part : model.nodes()[node].parts())
    gpus.push_back(part);
  gpus.insert(gpus.end(), static_cast<std::size_t>(model.whole(node)), kWholeGpu);
  const double before = fragmentation_by_hand(model, node, gpus, sizes);
  double least = std::numeric_limits<double>::max();
  for (std::size_t first = 0; first < gpus.size(); ++first) {
    std::vector<std::int32_t> after = gpus;
    std::int32_t missing = request.num_gpus.value;
    for (std::size_t gpu = first; gpu < after.size() && missing > 0; ++gpu) {
      if (after[gpu] < request.gpu_share) continue;
      after[gpu] -= request.gpu_share;
      --missing;
    }
    if (missing == 0) least = std::min(least, fragmentation_by_hand(model, node, after, sizes) - before);
    if (request.num_gpus != GpuCount(1)) break;
  }
  return least;
}

Rule fgd(const Workload& workload) {
  return {PlacementKind::Fgd, sharing_has_place,
          [&workload](const PlacementModel& model, const GangRequest& request, const Shares& shares) {
            if (!model.fits_a_node(request)) return;
            const auto sizes = typical_sizes(workload, model.table().types());
            const double chosen = growth_by_hand(model, shares.front().node.value, request, sizes);
            for (std::uint32_t node = 0; node < model.size(); ++node) {
              if (!model.may_use(request, node) || !model.has_room(node, request, true)) continue;
              REQUIRE(chosen <= growth_by_hand(model, node, request, sizes) + 1e-9);
            }
          }};
}

/// The smallest number of parts with `needed` free GPUs together.
std::size_t fewest(std::vector<std::int64_t> free, std::int64_t needed) {
  std::sort(free.rbegin(), free.rend());
  std::size_t count = 0;
  for (; needed > 0; ++count)
    needed -= free[count];
  return count;
}

/// Free GPUs of each rack, or each node, of a type.
std::vector<std::int64_t> free_by(const PlacementModel& model, std::uint32_t type, bool by_rack,
                                  std::optional<std::uint32_t> only_rack = {}) {
  std::map<std::uint32_t, std::int64_t> sums;
  for (const std::uint32_t node : model.table().by_type()[type].nodes) {
    if (only_rack && model.table()[node].rack != *only_rack) continue;
    sums[by_rack ? model.table()[node].rack : node] += model.whole(node);
  }
  std::vector<std::int64_t> result;
  for (const auto& [number, sum] : sums)
    result.push_back(sum);
  return result;
}

Rule consolidate() {
  return {PlacementKind::Consolidate,
          [](const PlacementModel& model, const GangRequest& request) {
            return any_type(model, request, [&](std::uint32_t type) {
              return free_of_type(model, type) >= request.num_gpus.value;
            });
          },
          [](const PlacementModel& model, const GangRequest& request, const Shares& shares) {
            const std::int32_t gpus = request.num_gpus.value;
            std::optional<std::int32_t> island, node, rack;
            const auto keep_least = [&](std::optional<std::int32_t>& least, std::int64_t free) {
              if (free >= gpus && (!least || free < *least)) least = static_cast<std::int32_t>(free);
            };
            for (std::uint32_t n = 0; n < model.size(); ++n) {
              if (!model.may_use(request, n) || !model.nodes()[n].in_service) continue;
              for (const std::int32_t free : model.nodes()[n].free_in_island)
                keep_least(island, free);
              keep_least(node, model.whole(n));
            }
            any_type(model, request, [&](std::uint32_t type) {
              for (const std::int64_t free : free_by(model, type, true))
                keep_least(rack, free);
              return false;
            });
            std::set<std::uint32_t> nodes, racks;
            for (const NodeShare& share : shares) {
              nodes.insert(share.node.value);
              racks.insert(model.table()[share.node.value].rack);
            }
            const std::uint32_t first = shares.front().node.value;
            const std::uint32_t type = model.table()[first].type;
            const std::uint32_t first_rack = model.table()[first].rack;
            if (island) {
              REQUIRE(shares.size() == 1);
              const auto at =
                  static_cast<std::size_t>(shares[0].first_gpu / model.table()[first].gpus_per_island);
              REQUIRE(model.nodes()[first].free_in_island[at] == *island);
            } else if (node) {
              REQUIRE(nodes.size() == 1);
              REQUIRE(model.whole(first) == *node);
              const auto& islands = model.nodes()[first].free_in_island;
              REQUIRE(shares.size() == fewest({islands.begin(), islands.end()}, gpus));
            } else if (rack) {
              REQUIRE(racks.size() == 1);
              REQUIRE(free_by(model, type, true, first_rack) == std::vector<std::int64_t>{*rack});
              REQUIRE(nodes.size() == fewest(free_by(model, type, false, first_rack), gpus));
            } else {
              REQUIRE(racks.size() == fewest(free_by(model, type, true), gpus));
            }
          }};
}

/// True if enough nodes of a type's largest size are wholly free, and another node, or one more of them, has
/// room for `rest`.
bool strict_room(const PlacementModel& model, const std::vector<std::uint32_t>& nodes, std::int32_t size,
                 std::int32_t needed, std::int32_t rest) {
  std::int32_t whole = 0;
  bool host = rest == 0;
  for (const std::uint32_t node : nodes) {
    if (model.whole(node) == size) {
      ++whole;
    } else {
      host = host || model.whole(node) >= rest;
    }
  }
  return whole > needed || (whole == needed && host);
}

Rule consolidate_strict() {
  const auto room_in_rack = [](const PlacementModel& model, std::uint32_t type, std::int32_t gpus,
                               std::optional<std::uint32_t> rack) {
    const std::int32_t size = model.table().by_type()[type].largest_node;
    std::vector<std::uint32_t> nodes;
    for (const std::uint32_t node : model.table().by_type()[type].nodes) {
      if (!rack || model.table()[node].rack == *rack) nodes.push_back(node);
    }
    return strict_room(model, nodes, size, gpus / size, gpus % size);
  };
  return {PlacementKind::ConsolidateStrict,
          [=](const PlacementModel& model, const GangRequest& request) {
            if (model.fits_a_node(request)) return some_node_has_room(model, request, false);
            return any_type(model, request, [&](std::uint32_t type) {
              return room_in_rack(model, type, request.num_gpus.value, {});
            });
          },
          [=](const PlacementModel& model, const GangRequest& request, const Shares& shares) {
            const std::int32_t gpus = request.num_gpus.value;
            std::set<std::uint32_t> nodes, racks;
            for (const NodeShare& share : shares) {
              nodes.insert(share.node.value);
              racks.insert(model.table()[share.node.value].rack);
            }
            const std::uint32_t type = model.table()[shares.front().node.value].type;
            const std::int32_t size = model.table().by_type()[type].largest_node;
            const std::int32_t expected = model.fits_a_node(request) ? 1 : (gpus + size - 1) / size;
            REQUIRE(std::ssize(nodes) == expected);
            for (std::uint32_t rack = 0; rack < model.table().num_racks() && expected > 1; ++rack) {
              if (room_in_rack(model, type, gpus, rack)) REQUIRE(racks.size() == 1);
            }
          }};
}

std::vector<Rule> rules(const Workload& workload) {
  return {yarn(), best_fit(), fgd(workload), consolidate(), consolidate_strict()};
}

/// Clusters with types, islands, racks, and unequal nodes.
std::vector<ClusterSpec> clusters() {
  std::vector<ClusterSpec> result;
  for (const char* text : {"1x1", "5x8", "3x4+4x8+2x3", "4x8:a100+6x4:v100+3x8:a100", "3x6:t4+2x4"})
    result.push_back(ClusterSpec::parse(text).value());
  ClusterSpec racks;
  racks.groups = {{.num_nodes = 7,
                   .gpus_per_node = GpuCount(8),
                   .gpu_type = "a100",
                   .gpus_per_island = GpuCount(4),
                   .nodes_per_rack = 3},
                  {.num_nodes = 4, .gpus_per_node = GpuCount(4), .gpu_type = "v100", .nodes_per_rack = 2},
                  {.num_nodes = 2, .gpus_per_node = GpuCount(2), .gpu_type = "v100"}};
  result.push_back(racks);
  return result;
}

/// Jobs of several sizes and types, as the typical workload of `fgd` and for their types.
Workload typical_workload() {
  Workload workload;
  const std::array types = {GpuTypeId(), workload.gpu_type("A100"), workload.gpu_type("v100|t4"),
                            workload.gpu_type("h100")};
  RandomStream random(3, "sizes");
  for (int i = 0; i < 60; ++i) {
    Job job;
    job.num_gpus = GpuCount(1 << random.below(4));
    job.gpu_type = types[random.below(3)];
    if (job.num_gpus == GpuCount(1)) job.gpu_share = static_cast<std::int16_t>(250 * (1 + random.below(4)));
    workload.jobs.push_back(job);
  }
  return workload;
}

GangRequest random_request(RandomStream& random, const ClusterSpec& cluster) {
  const auto total = static_cast<std::uint64_t>(cluster.total_gpus().value);
  const std::uint64_t most = random.below(4) == 0 ? total : std::min<std::uint64_t>(total, 9);
  GangRequest request{.num_gpus = GpuCount(static_cast<std::int32_t>(1 + random.below(most)))};
  if (random.below(3) == 0) request.gpu_type = GpuTypeId(static_cast<std::uint32_t>(random.below(3)));
  if (random.below(2) == 0) request.gpu_share = static_cast<std::int16_t>(1 + random.below(1000));
  return request;
}

struct Gang {
  GangRequest request;
  Shares shares;
};

void check_against(const Rule& rule, const ClusterSpec& cluster, const Workload& workload,
                   RandomStream& random) {
  const auto placement = make_placement(rule.kind, cluster, workload);
  const bool sharing = placement->info().shares_gpus;
  const bool islands =
      rule.kind == PlacementKind::Consolidate || rule.kind == PlacementKind::ConsolidateStrict;
  PlacementModel model(cluster, workload, islands);
  std::vector<Gang> gangs;
  std::vector<Gang> released;
  for (int step = 0; step < 1500; ++step) {
    const std::uint64_t deed = random.below(20);
    if (deed == 0) {
      const auto node = static_cast<std::uint32_t>(random.below(model.size()));
      const bool in_service = random.below(2) == 0;
      placement->set_in_service(NodeId(node), in_service);
      model.set_in_service(node, in_service);
    } else if (deed < 9 && !gangs.empty()) {
      const auto gang = gangs.begin() + static_cast<std::ptrdiff_t>(random.below(gangs.size()));
      placement->release(gang->request, gang->shares);
      const bool in_service =
          std::all_of(gang->shares.begin(), gang->shares.end(),
                      [&](const NodeShare& share) { return model.nodes()[share.node.value].in_service; });
      if (in_service && random.below(3) == 0) {
        REQUIRE(placement->reacquire(gang->request, gang->shares));
      } else {
        model.give_back(gang->request, gang->shares, sharing);
        released.push_back(std::move(*gang));
        gangs.erase(gang);
      }
    } else if (deed == 9 && !released.empty()) {
      // What others have taken since the model refuses to give.
      Gang gang = std::move(released.back());
      released.pop_back();
      const bool in_service =
          std::all_of(gang.shares.begin(), gang.shares.end(),
                      [&](const NodeShare& share) { return model.nodes()[share.node.value].in_service; });
      if (in_service && placement->reacquire(gang.request, gang.shares)) {
        model.take(gang.request, gang.shares, sharing);
        gangs.push_back(std::move(gang));
      }
    } else {
      Gang gang{random_request(random, cluster), {}};
      const bool has_room = placement->has_room(gang.request);
      const bool placed = placement->place(gang.request, gang.shares);
      REQUIRE(has_room == placed);
      REQUIRE(placed == rule.has_place(model, gang.request));
      REQUIRE(placed == !gang.shares.empty());
      if (placed) {
        rule.check_place(model, gang.request, gang.shares);
        model.take(gang.request, gang.shares, sharing);
        gangs.push_back(std::move(gang));
      }
    }
    REQUIRE(placement->idle_gpus().value == model.idle_gpus());
    REQUIRE(placement->free_gpus().value == (sharing ? model.gpus_with_room() : model.idle_gpus()));
  }
}

}  // namespace

TEST_CASE(
    "placement: each finds a place when its rule in words does, takes it, and never takes what is held") {
  const Workload workload = typical_workload();
  for (const Rule& rule : rules(workload)) {
    CAPTURE(placements()[static_cast<std::size_t>(rule.kind)].name);
    for (const ClusterSpec& cluster : clusters()) {
      CAPTURE(cluster.describe());
      RandomStream random(11, cluster.describe());
      check_against(rule, cluster, workload, random);
    }
  }
}

TEST_CASE("placement: a gang fits the empty cluster exactly when it is placed there") {
  const Workload workload = typical_workload();
  for (const PlacementInfo& info : placements()) {
    CAPTURE(info.name);
    for (const ClusterSpec& cluster : clusters()) {
      CAPTURE(cluster.describe());
      for (std::int32_t gpus = 1; gpus <= cluster.total_gpus().value + 1; ++gpus) {
        for (const GpuTypeId type : {GpuTypeId(), GpuTypeId(0), GpuTypeId(1), GpuTypeId(2)}) {
          const auto placement = make_placement(info.kind, cluster, workload);
          const GangRequest request{.num_gpus = GpuCount(gpus), .gpu_type = type};
          Shares shares;
          REQUIRE(placement->fits_empty(request) == placement->place(request, shares));
        }
      }
    }
  }
}

}  // namespace vtrain::testing
