#include "sched/simulation/gpus_by_type.hpp"

#include <algorithm>

#include "sched/simulation/gangs.hpp"
#include "sched/simulation/policy.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

GpusByType::GpusByType(const ClusterSpec& cluster, const Workload& workload, const Gangs& gangs)
    : types_(cluster, workload.gpu_types),
      gangs_(gangs),
      num_asked_(workload.gpu_types.size()),
      splits_gangs_(!gangs.placement().info().knows_nodes),
      total_(types_.names().size()) {
  for (const NodeGroup& group : cluster.groups) {
    const std::uint32_t type = types_.number_of(group);
    total_[type] += std::int64_t{group.num_nodes} * group.gpus_per_node.value;
    type_of_.insert(type_of_.end(), static_cast<std::size_t>(group.num_nodes), type);
  }
}

bool GpusByType::are_needed(const ClusterSpec& cluster, const Workload& workload, const Policy& policy) {
  return (workload.gpu_types.size() > 0 || policy.chooses_types()) &&
         GpuTypes(cluster, workload.gpu_types).names().size() > 1;
}

bool GpusByType::overlap(GpuTypeId a, GpuTypeId b) const {
  const auto others = allowed(b);
  const auto types = allowed(a);
  return std::any_of(types.begin(), types.end(), [&](std::uint32_t type) {
    return std::binary_search(others.begin(), others.end(), type);
  });
}

void GpusByType::get_usable(std::vector<std::int64_t>& gpus) const {
  gpus = total_;
  const NodeService* const service = gangs_.service();
  if (service == nullptr || service->withheld_gpus().value == 0) return;
  for (std::uint32_t node = 0; node < type_of_.size(); ++node)
    gpus[type_of_[node]] -= service->withheld_gpus(NodeId(node)).value;
}

std::span<const NodeShare> GpusByType::held(JobId job) const {
  return gangs_.held(job);
}

std::uint32_t GpusByType::type_of(const NodeShare& share) const {
  // Without nodes the number of a type is in place of a node.
  return splits_gangs_ ? share.node.value : type_of_[share.node.value];
}

}  // namespace vtrain
