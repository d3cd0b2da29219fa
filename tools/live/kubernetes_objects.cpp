#include "tools/live/kubernetes_objects.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/strings.hpp"

namespace vtrain {

bool counts_gpus(std::string_view resource) {
  constexpr std::array<std::string_view, 5> kNames = {"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915",
                                                      "gpu.intel.com/xe", "habana.ai/gaudi"};
  return std::ranges::find(kNames, resource) != kNames.end();
}

bool counts_gpu_slices(std::string_view resource) {
  return resource.starts_with("nvidia.com/mig-") || resource == "nvidia.com/gpu.shared";
}

FlavorAmounts LiveWorkload::usage() const {
  FlavorAmounts all;
  if (!workload.admission) return all;
  for (const kueue::AdmittedPodSet& given : workload.admission->pod_sets) {
    const auto set = std::ranges::find(workload.pod_sets, given.name, &kueue::PodSet::name);
    const std::int64_t live = set == workload.pod_sets.end()
                                  ? given.count
                                  : std::max<std::int64_t>(set->count - set->reclaimable, 0);
    for (const kueue::AssignedResource& each : given.resources) {
      const kueue::Amount amount = live < given.count ? each.amount / given.count * live : each.amount;
      kueue::Amount& sum = all[{each.flavor, each.resource}];
      sum = kueue::add_amounts(sum, amount);
    }
  }
  return all;
}

ResourceAmounts LiveWorkload::total() const {
  ResourceAmounts all;
  for (const kueue::PodSet& set : workload.pod_sets) {
    for (const auto& [resource, amount] : set.requests)
      all[resource] = kueue::add_amounts(all[resource], kueue::multiply(amount, set.count));
  }
  return all;
}

std::string LiveBatchJob::workload_prefix() const {
  return fmt::format("{}-{}-", lower_case(kind), name);
}

const kueue::ResourceFlavor* flavor_of_node(const kueue::Labels& node,
                                            const std::vector<kueue::ResourceFlavor>& flavors) {
  const kueue::ResourceFlavor* best = nullptr;
  for (const kueue::ResourceFlavor& flavor : flavors) {
    const bool has_all = std::ranges::all_of(flavor.node_labels, [&](const auto& label) {
      const auto found = node.find(label.first);
      return found != node.end() && found->second == label.second;
    });
    if (!has_all || flavor.node_labels.empty()) continue;
    if (best == nullptr || flavor.node_labels.size() > best->node_labels.size()) best = &flavor;
  }
  return best;
}

}  // namespace vtrain
