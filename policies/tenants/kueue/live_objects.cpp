#include "policies/tenants/kueue/live_objects.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/strings.hpp"
#include "policies/tenants/kueue/labels.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::kueue {
namespace {

/// Requests of a whole pod set for the resources of a group, with `pods` where the queue counts them.
std::vector<std::pair<ResourceId, Amount>> demands_of(const Cache& cache, const QueueInfo& queue,
                                                      const PodSet& set, std::uint32_t group) {
  std::vector<std::pair<ResourceId, Amount>> demands;
  const auto add = [&](std::string_view name, Amount amount) {
    const auto resource = cache.find_resource(name);
    if (resource && queue.group_of[*resource] == group) demands.emplace_back(*resource, amount);
  };
  const std::int64_t pods = std::max<std::int64_t>(set.count - set.reclaimable, 0);
  for (const auto& [name, amount] : set.requests)
    add(name, multiply(amount, pods));
  if (queue.covers_pods) add("pods", pods);
  return demands;
}

}  // namespace

ClusterObjects objects_of_live(const LiveObjects& live, const ClusterSpec& cluster, std::string resource) {
  ClusterObjects made{.objects = live.objects.objects, .resource = std::move(resource)};
  made.priority_classes = live.objects.priority_classes;
  const GpuTypes types(cluster, NameTable());
  for (ResourceFlavor& flavor : made.objects.resource_flavors) {
    std::optional<std::uint32_t>& type = made.type_of_flavor[flavor.name];
    const auto found = live.types_of_flavor.find(flavor.name);
    if (found != live.types_of_flavor.end() && found->second.size() == 1) {
      for (std::uint32_t i = 0; i < types.names().size(); ++i) {
        if (equal_in_any_case(types.names()[i], found->second.front())) type = i;
      }
    } else if (found == live.types_of_flavor.end()) {
      const std::vector<std::uint32_t> named = types_named_by(flavor, types.names());
      if (named.size() == 1) type = named.front();
    }
    if (type) flavor.node_labels[std::string(kGpuTypeLabel)] = std::to_string(*type);
  }
  made.index_queues();
  return made;
}

void know_workloads(const LiveObjects& live, Cache& cache) {
  for (const auto& [name, workload] : live.workloads) {
    for (const PodSet& set : workload.pod_sets) {
      for (const auto& [resource, amount] : set.requests)
        cache.know_resource(resource);
    }
    if (!workload.admission) continue;
    for (const AdmittedPodSet& set : workload.admission->pod_sets) {
      for (const AssignedResource& each : set.resources) {
        cache.know_resource(each.resource);
        cache.know_flavor(each.flavor);
      }
    }
  }
}

void scale_to(Workload& workload, std::string_view resource, std::int64_t gpus) {
  std::int64_t sum = 0;
  const auto gpus_of = [resource](const PodSet& set) {
    const auto found = std::ranges::find(set.requests, resource, [](const auto& each) { return each.first; });
    return found == set.requests.end() ? 0 : found->second;
  };
  for (const PodSet& set : workload.pod_sets)
    sum = add_amounts(sum, multiply(gpus_of(set), set.count));
  if (workload.admission || gpus <= 0 || gpus >= sum) return;
  const double part = static_cast<double>(gpus) / static_cast<double>(sum);
  for (PodSet& set : workload.pod_sets) {
    if (gpus_of(set) > 0)
      set.count = static_cast<std::int64_t>(std::ceil(static_cast<double>(set.count) * part));
  }
}

Admission derive_admission(const Cache& cache, const ClusterObjects& objects, QueueId queue_id,
                           const Workload& workload, std::optional<std::uint32_t> held) {
  const QueueInfo& queue = cache.queue(queue_id);
  Admission admission{.cluster_queue = queue.object.name, .pod_sets = {}};
  const auto gpus = cache.find_resource(objects.resource);
  for (const PodSet& set : workload.pod_sets) {
    AdmittedPodSet& given = admission.pod_sets.emplace_back();
    given.name = set.name;
    given.count = set.count;
    for (std::uint32_t group = 0; group < queue.groups.size(); ++group) {
      const auto demands = demands_of(cache, queue, set, group);
      const bool has_gpus = gpus && queue.group_of[*gpus] == group;
      std::optional<FlavorId> first;
      std::optional<FlavorId> best;
      for (const FlavorId flavor : queue.groups[group].flavors) {
        const ResourceFlavor* const object = cache.flavor(flavor);
        if (object == nullptr || !suits(*object, set.nodes)) continue;
        const auto type = objects.type_of_flavor.find(object->name);
        const bool is_other = has_gpus && held && type != objects.type_of_flavor.end() && type->second &&
                              *type->second != *held;
        if (is_other) continue;
        if (!first) first = flavor;
        const bool has_room = std::ranges::all_of(demands, [&](const auto& demand) {
          return demand.second <= cache.tree().available(queue.node, cache.column(flavor, demand.first));
        });
        if (has_room && !best) best = flavor;
      }
      const auto chosen = best ? best : first;
      if (!chosen) continue;
      for (const auto& [resource, amount] : demands)
        given.resources.push_back({.resource = cache.resource_name(resource),
                                   .flavor = cache.flavor_name(*chosen),
                                   .amount = amount});
    }
  }
  return admission;
}

Admission recorded_admission(const Cache& cache, WorkloadId id) {
  const WorkloadInfo& workload = cache.workload(id);
  Admission admission{.cluster_queue = cache.queue(workload.queue).object.name, .pod_sets = {}};
  for (std::size_t i = 0; i < workload.given.size(); ++i) {
    AdmittedPodSet& set = admission.pod_sets.emplace_back();
    set.name = cache.shape_of(id).pod_sets[i].name;
    set.count = workload.given[i].count;
    for (const GivenResource& each : workload.given[i].resources)
      set.resources.push_back({.resource = cache.resource_name(each.resource),
                               .flavor = cache.flavor_name(each.flavor),
                               .amount = each.amount});
  }
  return admission;
}

}  // namespace vtrain::kueue
