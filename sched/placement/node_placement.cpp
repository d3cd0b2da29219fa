#include "sched/placement/node_placement.hpp"

#include <algorithm>

namespace vtrain {

int NodePlacement::levels_crossed(std::span<const NodeShare> shares) const {
  const auto differs = [&](auto place_of) {
    return std::any_of(shares.begin(), shares.end(), [&](const NodeShare& share) {
      return place_of(share.node.value) != place_of(shares.front().node.value);
    });
  };
  if (!differs([](std::uint32_t node) { return node; })) return 0;
  return differs([this](std::uint32_t node) { return table_[node].rack; }) ? 2 : 1;
}

bool NodePlacement::packs_gangs() const {
  return std::ranges::all_of(table_.nodes(), [this](const Node& node) {
    return node.num_gpus == table_.by_type()[node.type].largest_node;
  });
}

int NodePlacement::most_levels(const GangRequest& request) const {
  return fits_a_node(request) ? 0 : levels_of_cluster();
}

bool NodePlacement::fits_empty(const GangRequest& request) const {
  if (fits_a_node(request)) return true;
  const auto types = allowed(request);
  return std::any_of(types.begin(), types.end(), [&](std::uint32_t type) {
    return request.num_gpus.value <= table_.by_type()[type].total_gpus;
  });
}

}  // namespace vtrain
