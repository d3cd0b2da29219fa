#include "sched/cluster/node_table.hpp"

#include <algorithm>
#include <optional>

#include "workloads/jobs/job.hpp"

namespace vtrain {

NodeTable::NodeTable(const ClusterSpec& cluster, const Workload& workload)
    : types_(cluster, workload.gpu_types), by_type_(types_.names().size()), total_(cluster.total_gpus()) {
  std::optional<std::uint32_t> unknown_rack;
  nodes_.reserve(static_cast<std::size_t>(cluster.total_nodes()));
  for (const NodeGroup& group : cluster.groups) {
    const std::int32_t gpus = group.gpus_per_node.value;
    Node node{.num_gpus = gpus,
              .gpus_per_island = group.gpus_per_island.value > 0 ? group.gpus_per_island.value : gpus,
              .rack = 0,
              .type = types_.number_of(group)};
    if (group.nodes_per_rack == 0) {
      if (!unknown_rack) unknown_rack = num_racks_++;
      node.rack = *unknown_rack;
    }
    NodesOfType& type = by_type_[node.type];
    for (std::int32_t i = 0; i < group.num_nodes; ++i) {
      if (group.nodes_per_rack > 0 && i % group.nodes_per_rack == 0) node.rack = num_racks_++;
      type.nodes.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back(node);
    }
    type.total_gpus += std::int64_t{group.num_nodes} * gpus;
    type.largest_node = std::max(type.largest_node, gpus);
  }
}

std::int32_t NodeTable::largest_node(std::span<const std::uint32_t> types) const {
  std::int32_t largest = 0;
  for (const std::uint32_t type : types)
    largest = std::max(largest, by_type_[type].largest_node);
  return largest;
}

}  // namespace vtrain
