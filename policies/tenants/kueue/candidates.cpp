#include "policies/tenants/kueue/candidates.hpp"

#include <algorithm>

namespace vtrain::kueue {
namespace {

bool uses_any(const WorkloadInfo& workload, const std::vector<FlavorResource>& columns) {
  return std::ranges::any_of(workload.usage, [&](const auto& each) {
    return each.second > 0 && std::ranges::count(columns, each.first) > 0;
  });
}

}  // namespace

bool policy_allows(PreemptionPolicy policy, std::int64_t preemptor_priority, Instant preemptor_queue_time,
                   std::int64_t candidate_priority, Instant candidate_queue_time) {
  switch (policy) {
    case PreemptionPolicy::Never:
      return false;
    case PreemptionPolicy::LowerPriority:
      return candidate_priority < preemptor_priority;
    case PreemptionPolicy::LowerOrNewerEqualPriority:
      return candidate_priority < preemptor_priority ||
             (candidate_priority == preemptor_priority && candidate_queue_time > preemptor_queue_time);
    case PreemptionPolicy::Any:
      return true;
  }
  return false;
}

bool comes_first(const CandidateKey& a, const CandidateKey& b) {
  if (a.is_evicted != b.is_evicted) return a.is_evicted;
  if (a.is_own_queue != b.is_own_queue) return b.is_own_queue;
  if (a.priority != b.priority) return a.priority < b.priority;
  if (a.reserved_at != b.reserved_at) return a.reserved_at > b.reserved_at;
  if (a.uid != b.uid) return a.uid < b.uid;
  return a.number < b.number;
}

CandidateKey candidate_key(const Cache& cache, WorkloadId id, QueueId own_queue) {
  const WorkloadInfo& workload = cache.workload(id);
  return {.is_evicted = workload.is_evicted,
          .is_own_queue = workload.queue == own_queue,
          .priority = workload.priority,
          .reserved_at = workload.reserved_at,
          .uid = workload.uid,
          .number = id};
}

void append_candidates(const Cache& cache, const Preemptor& preemptor, QueueId queue,
                       std::vector<WorkloadId>& candidates) {
  const PreemptionRules& rules = cache.queue(preemptor.queue).object.preemption;
  const PreemptionPolicy policy =
      queue == preemptor.queue ? rules.within_cluster_queue : rules.reclaim_within_cohort;
  if (policy == PreemptionPolicy::Never) return;
  for (const WorkloadId id : cache.holders(queue)) {
    const WorkloadInfo& workload = cache.workload(id);
    // Holders that are not being evicted come in ascending order of priority.
    const bool is_beyond = policy != PreemptionPolicy::Any && workload.priority > preemptor.priority;
    if (is_beyond && !workload.is_evicted) break;
    if (!policy_allows(policy, preemptor.priority, preemptor.queue_time, workload.priority,
                       workload.queue_time))
      continue;
    if (uses_any(workload, preemptor.columns)) candidates.push_back(id);
  }
}

bool borrows_any(const QuotaTree& tree, NodeId node, const std::vector<FlavorResource>& columns) {
  return std::ranges::any_of(columns, [&](FlavorResource column) { return tree.borrows(node, column); });
}

void give_back(Cache& cache, std::vector<Victim>& victims, const std::function<bool()>& fits) {
  if (victims.size() < 2) return;
  for (std::size_t i = victims.size() - 1; i-- > 0;) {
    const WorkloadInfo& workload = cache.workload(victims[i].workload);
    const NodeId node = cache.queue(workload.queue).node;
    cache.tree().add_usage(node, workload.usage);
    if (fits()) {
      victims[i] = victims.back();
      victims.pop_back();
    } else {
      cache.tree().remove_usage(node, workload.usage);
    }
  }
}

void restore(Cache& cache, const std::vector<Victim>& victims) {
  for (const Victim& victim : victims) {
    const WorkloadInfo& workload = cache.workload(victim.workload);
    cache.tree().add_usage(cache.queue(workload.queue).node, workload.usage);
  }
}

}  // namespace vtrain::kueue
