#include "sched/placement/placement.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "sched/placement/placements.hpp"

namespace vtrain {
namespace {

using Factory = std::unique_ptr<Placement> (*)(const ClusterSpec&, const Workload&);

struct Row {
  PlacementInfo info;
  Factory make;
};

constexpr std::array<Row, 7> kRows = {{
    {{.kind = PlacementKind::Count,
      .name = "count",
      .summary = "any free GPUs on any nodes",
      .knows_nodes = false,
      .takes_any_gpus = true},
     make_count_placement},
    {{.kind = PlacementKind::Yarn,
      .name = "yarn",
      .summary = "first node with room; whole nodes for larger gangs"},
     make_yarn_placement},
    {{.kind = PlacementKind::BestFit,
      .name = "best-fit",
      .summary =
          "node with the fewest free GPUs that suffice; whole nodes for larger gangs; jobs may share a GPU",
      .shares_gpus = true},
     make_best_fit_placement},
    {{.kind = PlacementKind::Consolidate,
      .name = "consolidate",
      .summary = "smallest of NVLink island, node, rack and cluster with room; as few nodes as possible",
      .takes_any_gpus = true},
     make_consolidate_placement},
    {{.kind = PlacementKind::ConsolidateStrict,
      .name = "consolidate-strict",
      .summary = "consolidate, but a gang waits until it fits on the fewest nodes that can hold it"},
     make_consolidate_strict_placement},
    {{.kind = PlacementKind::Buddy,
      .name = "buddy",
      .summary = "smallest aligned block of 1, 2, 4, 8, ... GPUs with room"},
     make_buddy_placement},
    {{.kind = PlacementKind::Fgd,
      .name = "fgd",
      .summary =
          "node whose free GPUs the job fragments least; whole nodes for larger gangs; jobs may share a GPU",
      .shares_gpus = true},
     make_fgd_placement},
}};

constexpr auto kInfos = [] {
  std::array<PlacementInfo, kRows.size()> infos{};
  for (std::size_t i = 0; i < infos.size(); ++i)
    infos[i] = kRows[i].info;
  return infos;
}();

}  // namespace

std::span<const PlacementInfo> placements() {
  return kInfos;
}

Result<PlacementKind> parse_placement(std::string_view name, std::span<const std::string_view> also_known) {
  std::vector<std::string_view> known(also_known.begin(), also_known.end());
  for (const PlacementInfo& info : placements()) {
    if (info.name == name) return info.kind;
    known.push_back(info.name);
  }
  return fail({.field = "placement",
               .message = with_guess(expected_found("one of " + list_names(known), name), name, known)});
}

const PlacementInfo& info_of(PlacementKind kind) {
  const auto* const info = std::ranges::find(kInfos, kind, &PlacementInfo::kind);
  if (info == kInfos.end()) throw std::logic_error("info_of: a placement without a row");
  return *info;
}

std::unique_ptr<Placement> make_placement(PlacementKind kind, const ClusterSpec& cluster,
                                          const Workload& workload, bool counts_types) {
  if (kind == PlacementKind::Count && counts_types) return make_count_by_type_placement(cluster, workload);
  for (const Row& row : kRows) {
    if (row.info.kind == kind) return row.make(cluster, workload);
  }
  throw std::logic_error("make_placement: a kind without a row");
}

}  // namespace vtrain
