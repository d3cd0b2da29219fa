#include "policies/tenants/kueue/cluster_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::kueue {
namespace {

constexpr const char* kCommonCohort = "all tenants";
constexpr const char* kAnyFlavor = "any";
constexpr const char* kUnnamedType = "gpu";

/// GPUs of a cluster by type, in the order of `GpuTypes`.
struct TypeCounts {
  std::vector<std::string> names;
  std::vector<std::int64_t> gpus;
};

TypeCounts count_types(const ClusterSpec& cluster) {
  const GpuTypes types(cluster, NameTable());
  TypeCounts counts{.names = types.names(), .gpus = {}};
  counts.gpus.resize(counts.names.size());
  for (const NodeGroup& group : cluster.groups)
    counts.gpus[types.number_of(group)] += std::int64_t{group.num_nodes} * group.gpus_per_node.value;
  return counts;
}

/// The quotas of a tenant, or of all GPUs, as one resource group over given flavors.
class QuotaGroup {
 public:
  QuotaGroup(std::vector<std::string> flavors, std::string resource)
      : flavors_(std::move(flavors)), resource_(std::move(resource)) {}

  ResourceGroup group(const std::map<std::string, Quota>& quotas) const {
    ResourceGroup group{.covered_resources = {resource_}, .flavors = {}};
    for (const std::string& flavor : flavors_) {
      ResourceQuota quota{.resource = resource_};
      if (const auto found = quotas.find(flavor); found != quotas.end()) {
        const Amount unit = units_of(resource_);
        const auto limit = [unit](const std::optional<std::int64_t>& gpus) {
          return gpus ? std::optional(*gpus * unit) : std::nullopt;
        };
        quota.nominal = found->second.nominal * unit;
        quota.borrowing_limit = limit(found->second.borrowing_limit);
        quota.lending_limit = limit(found->second.lending_limit);
      }
      group.flavors.push_back({.flavor = flavor, .resources = {quota}});
    }
    return group;
  }

 private:
  std::vector<std::string> flavors_;
  std::string resource_;
};

/// Flavors of a tree: one by GPU type, and one for quotas of any type.
class TenantFlavors {
 public:
  TenantFlavors(const TenantTree& tree, const ClusterSpec& cluster) : counts_(count_types(cluster)) {
    for (const Tenant& tenant : tree.tenants) {
      for (const Quota& quota : tenant.quotas) {
        has_quotas_ = true;
        has_any_ = has_any_ || (quota.gpu_type.empty() && counts_.names.size() > 1);
      }
    }
    for (std::size_t i = 0; i < counts_.names.size(); ++i)
      flavors_.push_back(counts_.names[i].empty() ? kUnnamedType : counts_.names[i]);
    if (has_any_) flavors_.emplace_back(kAnyFlavor);
  }

  bool has_quotas() const { return has_quotas_; }
  const std::vector<std::string>& names() const { return flavors_; }

  std::map<std::string, Quota> by_flavor(const std::vector<Quota>& quotas) const {
    std::map<std::string, Quota> all;
    for (const Quota& quota : quotas) {
      if (quota.gpu_type.empty()) {
        all[has_any_ ? kAnyFlavor : flavors_.front()] = quota;
        continue;
      }
      for (std::size_t i = 0; i < counts_.names.size(); ++i) {
        if (lower_case(counts_.names[i]) == lower_case(quota.gpu_type)) all[flavors_[i]] = quota;
      }
    }
    return all;
  }

  std::map<std::string, Quota> all_gpus() const {
    std::map<std::string, Quota> all;
    for (std::size_t i = 0; i < counts_.names.size(); ++i)
      all[flavors_[i]] = Quota{.nominal = counts_.gpus[i]};
    return all;
  }

  void add_to(ClusterObjects& made) const {
    for (std::size_t i = 0; i < counts_.names.size(); ++i) {
      const auto number = static_cast<std::uint32_t>(i);
      made.objects.resource_flavors.push_back(
          {.name = flavors_[i], .node_labels = {{std::string(kGpuTypeLabel), std::to_string(number)}}});
      made.type_of_flavor[flavors_[i]] = number;
    }
    if (!has_any_) return;
    made.objects.resource_flavors.push_back({.name = kAnyFlavor});
    made.type_of_flavor[kAnyFlavor] = std::nullopt;
  }

 private:
  TypeCounts counts_;
  std::vector<std::string> flavors_;
  bool has_quotas_ = false;
  bool has_any_ = false;
};

ClusterQueue queue_of_tenant(std::string name, std::string cohort) {
  ClusterQueue queue{.name = std::move(name), .cohort = std::move(cohort)};
  queue.preemption.within_cluster_queue = PreemptionPolicy::LowerPriority;
  queue.preemption.reclaim_within_cohort = PreemptionPolicy::Any;
  return queue;
}

/// True if a text names a GPU type: it is the type, or has it as a part between dashes.
bool names_type(std::string_view text, std::string_view type) {
  const std::string lower = lower_case(text);
  const std::string wanted = lower_case(type);
  return lower == wanted || std::ranges::count(split(lower, '-'), std::string_view(wanted)) > 0;
}

}  // namespace

std::vector<std::uint32_t> types_named_by(const ResourceFlavor& flavor,
                                          const std::vector<std::string>& types) {
  std::set<std::uint32_t> found;
  for (std::uint32_t i = 0; i < types.size(); ++i) {
    if (lower_case(flavor.name) == lower_case(types[i])) return {i};
    const bool is_named = std::ranges::any_of(
        flavor.node_labels, [&](const auto& label) { return names_type(label.second, types[i]); });
    if (is_named) found.insert(i);
  }
  return {found.begin(), found.end()};
}

void ClusterObjects::index_queues() {
  for (const LocalQueue& queue : objects.local_queues)
    by_name[queue.name].emplace_back(queue.name_space, queue.name);
  for (const ClusterQueue& queue : objects.cluster_queues)
    objects.local_queues.push_back({.name_space = "", .name = queue.name, .cluster_queue = queue.name});
}

std::optional<LocalQueueName> ClusterObjects::queue_of(std::string_view queue,
                                                       std::string_view tenant) const {
  if (has_one_queue) return LocalQueueName("", objects.cluster_queues.front().name);
  for (const std::string_view name : {queue, tenant}) {
    if (name.empty()) continue;
    if (const auto found = by_name.find(name); found != by_name.end()) {
      if (found->second.size() == 1) return found->second.front();
      const auto own = std::ranges::find(found->second, tenant, &LocalQueueName::first);
      if (own != found->second.end()) return *own;
    }
    const std::size_t slash = name.find('/');
    if (slash != std::string_view::npos) {
      const auto found = by_name.find(name.substr(slash + 1));
      if (found != by_name.end()) {
        const auto own = std::ranges::find(found->second, name.substr(0, slash), &LocalQueueName::first);
        if (own != found->second.end()) return *own;
      }
    }
    if (std::ranges::count(objects.cluster_queues, name, &ClusterQueue::name) > 0)
      return LocalQueueName("", std::string(name));
  }
  return std::nullopt;
}

ClusterObjects objects_of_tenants(const TenantTree& tree, const ClusterSpec& cluster, std::string resource) {
  ClusterObjects made;
  made.resource = resource;
  const TenantFlavors flavors(tree, cluster);
  flavors.add_to(made);
  const QuotaGroup quotas(flavors.names(), std::move(resource));
  if (tree.tenants.empty()) {
    made.has_one_queue = true;
    ClusterQueue& queue = made.objects.cluster_queues.emplace_back(queue_of_tenant("cluster", ""));
    queue.resource_groups = {quotas.group(flavors.all_gpus())};
    made.index_queues();
    return made;
  }
  std::set<std::uint32_t> parents;
  for (const Tenant& tenant : tree.tenants) {
    if (tenant.parent) parents.insert(*tenant.parent);
  }
  Cohort& common = made.objects.cohorts.emplace_back(Cohort{.name = kCommonCohort});
  if (!flavors.has_quotas()) common.resource_groups = {quotas.group(flavors.all_gpus())};
  for (std::uint32_t i = 0; i < tree.tenants.size(); ++i) {
    const Tenant& tenant = tree.tenants[i];
    const std::string above = tenant.parent ? tree.tenants[*tenant.parent].name : kCommonCohort;
    const ResourceGroup own = quotas.group(flavors.by_flavor(tenant.quotas));
    const bool is_parent = parents.contains(i);
    ClusterQueue queue = queue_of_tenant(tenant.name, is_parent ? tenant.name : above);
    if (is_parent) {
      made.objects.cohorts.push_back(
          {.name = tenant.name, .parent = above, .resource_groups = {own}, .fair_weight = tenant.weight});
      queue.resource_groups = {quotas.group({})};
    } else {
      queue.resource_groups = {own};
      queue.fair_weight = tenant.weight;
    }
    made.objects.cluster_queues.push_back(std::move(queue));
  }
  made.index_queues();
  return made;
}

Result<ClusterObjects> objects_of_file(const ObjectFile& read, const ClusterSpec& cluster,
                                       std::string resource, const std::string& file) {
  ClusterObjects made{.objects = read.objects, .resource = std::move(resource)};
  made.priority_classes = read.priority_classes;
  if (made.objects.cluster_queues.empty())
    return fail({.file = file, .message = "expected a ClusterQueue, found none"});
  const TypeCounts counts = count_types(cluster);
  std::map<std::string, Amount> nominal;
  const auto add = [&](const std::vector<ResourceGroup>& groups) {
    for (const ResourceGroup& group : groups) {
      for (const FlavorQuotas& flavor : group.flavors) {
        for (const ResourceQuota& quota : flavor.resources) {
          if (quota.resource == made.resource)
            nominal[flavor.flavor] = add_amounts(nominal[flavor.flavor], quota.nominal);
        }
      }
    }
  };
  for (ClusterQueue& queue : made.objects.cluster_queues) {
    add(queue.resource_groups);
    queue.namespace_selector.reset();
  }
  for (const Cohort& cohort : made.objects.cohorts)
    add(cohort.resource_groups);
  if (nominal.empty())
    return fail({.file = file,
                 .message = fmt::format("expected a quota of the resource '{}', found none", made.resource)});

  std::vector<Amount> by_type(counts.names.size());
  for (ResourceFlavor& flavor : made.objects.resource_flavors) {
    const auto quota = nominal.find(flavor.name);
    if (quota == nominal.end()) continue;
    std::vector<std::uint32_t> types = types_named_by(flavor, counts.names);
    if (counts.names.size() == 1) types = {0};
    if (types.size() != 1) {
      return fail(
          {.file = file,
           .field = fmt::format("ResourceFlavor '{}'", flavor.name),
           .message = expected_found(
               "a name or node label that names one GPU type of the cluster: " + join_with_and(counts.names),
               types.empty() ? "none" : fmt::format("{} of them", types.size()))});
    }
    flavor.node_labels[std::string(kGpuTypeLabel)] = std::to_string(types.front());
    made.type_of_flavor[flavor.name] = types.front();
    by_type[types.front()] = add_amounts(by_type[types.front()], quota->second);
  }
  const Amount unit = units_of(made.resource);
  for (std::size_t i = 0; i < by_type.size(); ++i) {
    if (by_type[i] <= counts.gpus[i] * unit) continue;
    return fail({.file = file,
                 .field = "nominalQuota",
                 .message = expected_found(
                     fmt::format("quotas of at most {} GPUs{}{} together", counts.gpus[i],
                                 counts.names[i].empty() ? "" : " of the type ", counts.names[i]),
                     fmt::format("{:g}", static_cast<double>(by_type[i]) / static_cast<double>(unit)))});
  }
  made.index_queues();
  return made;
}

}  // namespace vtrain::kueue
