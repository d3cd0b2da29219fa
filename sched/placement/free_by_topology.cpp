#include "sched/placement/free_by_topology.hpp"

#include <map>
#include <utility>

namespace vtrain {

FreeByTopology::FreeByTopology(const NodeTable& table)
    : table_(table),
      types_(table.by_type().size()),
      free_in_node_(table.nodes().size()),
      in_service_(table.nodes().size(), true) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> racks;  // by rack and type
  for (std::uint32_t node = 0; node < table.nodes().size(); ++node) {
    const Node& here = table[node];
    const auto [rack, is_new] =
        racks.try_emplace({here.rack, here.type}, static_cast<std::uint32_t>(racks_.size()));
    if (is_new) {
      racks_.emplace_back().type = here.type;
      types_[here.type].racks.push_back(rack->second);
    }
    types_[here.type].has_islands |= here.gpus_per_island < here.num_gpus;
    rack_of_.push_back(rack->second);
    first_island_.push_back(static_cast<std::uint32_t>(node_of_.size()));
    node_of_.insert(node_of_.end(), static_cast<std::size_t>(here.num_gpus / here.gpus_per_island), node);
  }
  first_island_.push_back(static_cast<std::uint32_t>(node_of_.size()));
  free_in_island_.resize(node_of_.size());
  for (std::uint32_t island = 0; island < node_of_.size(); ++island)
    add(island, table[node_of_[island]].gpus_per_island);
}

std::optional<FreeOrder::Part> FreeByTopology::tightest_island(std::uint32_t type, std::int32_t gpus) const {
  if (types_[type].has_islands) return types_[type].islands.tightest(gpus);
  auto node = nodes(type).tightest(gpus);
  if (node) node->number = first_island(node->number);
  return node;
}

std::int32_t FreeByTopology::add(std::uint32_t island, std::int32_t gpus) {
  const std::uint32_t node = node_of_[island];
  std::int32_t& free = free_in_island_[island];
  free += gpus;
  free_in_node_[node] += gpus;
  if (!in_service_[node]) return 0;
  if (Type& type = types_[table_[node].type]; type.has_islands)
    type.islands.change(island, free - gpus, free);
  node_changed(node, free_in_node_[node] - gpus, free_in_node_[node]);
  return gpus;
}

std::int32_t FreeByTopology::set_in_service(std::uint32_t node, bool in_service) {
  if (in_service_[node] == in_service) return 0;
  in_service_[node] = in_service;
  const auto now = [in_service](std::int32_t free) { return in_service ? free : 0; };
  const auto before = [in_service](std::int32_t free) { return in_service ? 0 : free; };
  if (Type& type = types_[table_[node].type]; type.has_islands) {
    for (std::uint32_t island = first_island(node); island < first_island(node + 1); ++island) {
      const std::int32_t free = free_in_island_[island];
      type.islands.change(island, before(free), now(free));
    }
  }
  const std::int32_t free = free_in_node_[node];
  node_changed(node, before(free), now(free));
  return now(free) - before(free);
}

void FreeByTopology::node_changed(std::uint32_t node, std::int32_t from, std::int32_t to) {
  const std::uint32_t number = rack_of_[node];
  Rack& rack = racks_[number];
  Type& type = types_[rack.type];
  const std::int32_t largest = table_.by_type()[rack.type].largest_node;
  rack.idle_nodes += static_cast<std::int32_t>(to == largest) - static_cast<std::int32_t>(from == largest);
  rack.nodes.change(node, from, to);
  if (type.racks.size() > 1) type.nodes.change(node, from, to);
  type.racks_by_free.change(number, rack.free, rack.free + to - from);
  rack.free += to - from;
  type.free += to - from;
}

}  // namespace vtrain
