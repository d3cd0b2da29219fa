#include "sched/simulation/node_service.hpp"

#include <algorithm>

namespace vtrain {

NodeService::NodeService(Placement& placement, const ClusterSpec& cluster) : placement_(placement) {
  for (const GpuCount num_gpus : cluster.gpus_by_node())
    nodes_.emplace_back().num_gpus = num_gpus;
}

void NodeService::occupy(JobId job, std::span<const NodeShare> shares, std::int16_t gpu_share) {
  for (const NodeShare& share : shares)
    nodes_[share.node.value].holdings.push_back({job, gpu_share < kWholeGpu ? share.first_gpu : kNotShared});
}

void NodeService::vacate(JobId job, std::span<const NodeShare> shares) {
  for (const NodeShare& share : shares) {
    Node& node = nodes_[share.node.value];
    auto& holdings = node.holdings;
    const auto held = std::find_if(holdings.begin(), holdings.end(), [&](const Holding& holding) {
      return holding.job == job &&
             (holding.shared_gpu == kNotShared || holding.shared_gpu == share.first_gpu);
    });
    const std::int32_t gpu = held->shared_gpu;
    holdings.erase(held);
    const bool still_used =
        gpu != kNotShared && std::any_of(holdings.begin(), holdings.end(),
                                         [gpu](const Holding& other) { return other.shared_gpu == gpu; });
    if (node.outages == 0 || still_used) continue;
    node.withheld += share.gpus;
    withheld_gpus_ += share.gpus;
  }
}

std::vector<JobId> NodeService::jobs_on(NodeId node) const {
  std::vector<JobId> jobs;
  for (const Holding& holding : nodes_[node.value].holdings)
    jobs.push_back(holding.job);
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

void NodeService::take_out(NodeId id) {
  Node& node = nodes_[id.value];
  if (node.outages++ > 0) return;
  out_of_service_.insert(std::ranges::upper_bound(out_of_service_, id), id);
  const GpuCount before = placement_.idle_gpus();
  placement_.set_in_service(id, false);
  node.withheld = before - placement_.idle_gpus();
  withheld_gpus_ += node.withheld;
}

void NodeService::return_to_service(NodeId id) {
  Node& node = nodes_[id.value];
  if (--node.outages > 0) return;
  out_of_service_.erase(std::ranges::lower_bound(out_of_service_, id));
  placement_.set_in_service(id, true);
  withheld_gpus_ -= node.withheld;
  node.withheld = GpuCount(0);
}

}  // namespace vtrain
