#include "sched/tenants/tenant_tree.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"

namespace vtrain {

std::optional<std::uint32_t> TenantTree::find(std::string_view name) const {
  const auto found = std::ranges::find(tenants, name, &Tenant::name);
  if (found == tenants.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - tenants.begin());
}

std::int64_t TenantTree::depth() const {
  std::vector<std::int64_t> depths;
  for (const Tenant& tenant : tenants)
    depths.push_back(tenant.parent ? depths[*tenant.parent] + 1 : 1);
  return depths.empty() ? 0 : *std::ranges::max_element(depths);
}

std::int64_t TenantTree::nominal_gpus() const {
  std::int64_t sum = 0;
  for (const Tenant& tenant : tenants) {
    for (const Quota& quota : tenant.quotas)
      sum += quota.nominal;
  }
  return sum;
}

TenantTree tenants_of_virtual_clusters(const ClusterSpec& cluster) {
  TenantTree tree;
  for (const VirtualCluster& each : cluster.virtual_clusters)
    tree.tenants.push_back({.name = each.name, .quotas = {{.nominal = each.num_gpus}}});
  return tree;
}

std::vector<std::string> quotas_beyond(const TenantTree& tree, const ClusterSpec& cluster) {
  std::map<std::string, std::int64_t> nominal;  // by type in lower case
  std::map<std::string, std::int64_t> there;
  for (const Tenant& tenant : tree.tenants) {
    for (const Quota& quota : tenant.quotas)
      nominal[lower_case(quota.gpu_type)] += quota.nominal;
  }
  for (const NodeGroup& group : cluster.groups)
    there[lower_case(group.gpu_type)] += std::int64_t{group.num_nodes} * group.gpus_per_node.value;
  std::vector<std::string> sentences;
  const auto compare = [&sentences](std::int64_t quotas, std::int64_t gpus, const std::string& type) {
    if (quotas <= gpus) return;
    const std::string of = type.empty() ? "GPUs" : upper_case(type) + " GPUs";
    sentences.push_back(fmt::format("the quotas add up to {} {}, and the cluster has {}",
                                    with_thousands(quotas), of, with_thousands(gpus)));
  };
  for (const auto& [type, quotas] : nominal) {
    if (!type.empty()) compare(quotas, there[type], type);
  }
  // Quotas of any type are on top of the others.
  if (nominal.contains("") || sentences.empty()) compare(tree.nominal_gpus(), cluster.total_gpus().value, "");
  return sentences;
}

}  // namespace vtrain
