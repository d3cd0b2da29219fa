/// Candidates for eviction: who may be evicted for whom, and in which order.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "policies/tenants/kueue/cache.hpp"

namespace vtrain::kueue {

/// For whom room is made, and what it needs.
struct Preemptor {
  WorkloadId workload = kNone;
  QueueId queue = 0;
  std::int64_t priority = 0;
  Instant queue_time = 0;
  Usage demands{};                        ///< all that it needs
  std::vector<FlavorResource> columns{};  ///< the columns in which it needs others to leave
};

/// A workload to evict.
struct Victim {
  WorkloadId workload = 0;
  PreemptionReason reason = PreemptionReason::InClusterQueue;
};

/// True if a policy lets a preemptor evict a candidate.
bool policy_allows(PreemptionPolicy policy, std::int64_t preemptor_priority, Instant preemptor_queue_time,
                   std::int64_t candidate_priority, Instant candidate_queue_time);

/// What the order of candidates looks at.
struct CandidateKey {
  bool is_evicted = false;
  bool is_own_queue = false;
  std::int64_t priority = 0;
  Instant reserved_at = 0;
  std::string_view uid{};
  std::uint32_t number = 0;
};
/// Order within a class: evicted first, other queues before the own, lower priority, later quota reservation,
/// uid.
bool comes_first(const CandidateKey& a, const CandidateKey& b);
/// The key of a holder.
CandidateKey candidate_key(const Cache& cache, WorkloadId id, QueueId own_queue);

/// Holders of a queue that the policy lets a preemptor evict and that use one of its columns, appended in the
/// order of `Cache::holders`. Costs the number of holders that the policy allows.
void append_candidates(const Cache& cache, const Preemptor& preemptor, QueueId queue,
                       std::vector<WorkloadId>& candidates);

/// True if usage of a node exceeds its subtree's quota in one of the columns.
bool borrows_any(const QuotaTree& tree, NodeId node, const std::vector<FlavorResource>& columns);

/// Puts victims back that are not needed: from the last but one to the first, those without which the
/// preemptor still fits. Quota of the victims is taken from the tree; that of returned ones is added again.
void give_back(Cache& cache, std::vector<Victim>& victims, const std::function<bool()>& fits);

/// Adds the quota of victims to the tree again.
void restore(Cache& cache, const std::vector<Victim>& victims);

}  // namespace vtrain::kueue
