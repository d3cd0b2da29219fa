#include "policies/tenants/kueue/waiting_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "policies/tenants/kueue/labels.hpp"

namespace vtrain::kueue {
namespace {

/// Reason for which no workload of a queue is tried; empty if they are.
std::string inactive_text(const Cache& cache, const QueueInfo& queue) {
  if (queue.is_active) return {};
  if (queue.object.stop_policy != StopPolicy::None)
    return fmt::format("its ClusterQueue {} is stopped", queue.object.name);
  for (const GroupInfo& group : queue.groups) {
    for (const FlavorId flavor : group.flavors) {
      if (cache.flavor(flavor) == nullptr)
        return fmt::format("its ClusterQueue {} is inactive: there is no ResourceFlavor {}",
                           queue.object.name, cache.flavor_name(flavor));
    }
  }
  return fmt::format("its ClusterQueue {} is inactive", queue.object.name);
}

/// The first request that no flavor has quota for, with what is free now, or what the queue could use if
/// nobody else did; empty if there is none.
std::string lacking_text(const Cache& cache, const QueueInfo& queue, const Shape& shape, bool is_potential) {
  std::vector<Amount> sums(cache.num_resources());
  for (const PodSetSpec& set : shape.pod_sets) {
    for (const auto& [resource, amount] : set.requests) {
      const std::string& name = cache.resource_name(resource);
      const Amount demand = multiply(amount, set.count);
      if (demand == 0) continue;
      const std::uint32_t group = queue.group_of[resource];
      if (group == kNone) return fmt::format(": {} asked, which its ClusterQueue does not cover", name);
      sums[resource] = add_amounts(sums[resource], demand);
      std::string flavors;
      bool fits = false;
      for (const FlavorId flavor : queue.groups[group].flavors) {
        const ResourceFlavor* const object = cache.flavor(flavor);
        if (object == nullptr || !suits(*object, set.nodes)) continue;
        const FlavorResource column = cache.column(flavor, resource);
        const QuotaTree& tree = cache.tree();
        const Amount most =
            is_potential ? tree.potential(queue.node, column) : tree.available(queue.node, column);
        fits = fits || sums[resource] <= most;
        flavors += fmt::format("{} {}{} in {}", flavors.empty() ? "" : ",", is_potential ? "at most " : "",
                               quantity_text(most, name), object->name);
        if (!is_potential) flavors += " are free";
      }
      if (fits) continue;
      if (flavors.empty()) return fmt::format(": no flavor suits its pods ({} asked)", name);
      return fmt::format(": {} {} asked,{}", quantity_text(sums[resource], name), name, flavors);
    }
  }
  return {};
}

/// The reason of a workload, or that of one of its shape, which is parked with it.
PendingReason reason_of(const Scheduler& scheduler, WorkloadId id) {
  const Cache& cache = scheduler.cache();
  const WorkloadInfo& workload = cache.workload(id);
  if (workload.pending_reason != PendingReason::None) return workload.pending_reason;
  const WaitingQueue& waiting = scheduler.waiting(workload.queue);
  if (!waiting.is_parked(id)) return PendingReason::None;
  for (const WorkloadId other : waiting.parked()) {
    const WorkloadInfo& same = cache.workload(other);
    if (same.shape == workload.shape && same.pending_reason != PendingReason::None)
      return same.pending_reason;
  }
  return PendingReason::None;
}

}  // namespace

PolicyWords words_on(const Scheduler& scheduler, WorkloadId id) {
  const Cache& cache = scheduler.cache();
  const WorkloadInfo& workload = cache.workload(id);
  if (workload.state == WorkloadState::Holding)
    return {"it holds quota, and its nodes have no room for it", false};
  if (workload.state == WorkloadState::Unknown) {
    return {fmt::format("its LocalQueue {} does not exist, is stopped, or has no ClusterQueue",
                        full_name(workload.name_space, workload.local_queue)),
            true};
  }
  if (workload.state != WorkloadState::Waiting) return {};
  const QueueInfo& queue = cache.queue(workload.queue);
  if (std::string text = inactive_text(cache, queue); !text.empty()) return {std::move(text), true};
  const PendingReason reason = reason_of(scheduler, id);
  if (reason == PendingReason::None) {
    const auto head = scheduler.waiting(workload.queue).head();
    if (!head || *head == id) return {};
    return {fmt::format("{} is before it in {}",
                        full_name(cache.workload(*head).name_space, cache.workload(*head).name),
                        queue.object.name),
            false};
  }
  const bool never_fits = reason == PendingReason::ExceedsMaxQuota ||
                          reason == PendingReason::NoMatchingFlavor || reason == PendingReason::Misconfigured;
  std::string text(kPendingReasonNames[static_cast<std::size_t>(reason)]);
  if (reason == PendingReason::Misconfigured)
    text += fmt::format(": {} takes no workloads of its namespace", queue.object.name);
  else
    text += lacking_text(cache, queue, cache.shape_of(id), never_fits);
  return {std::move(text), never_fits};
}

}  // namespace vtrain::kueue
