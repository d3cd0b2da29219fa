/// Kueue's scheduler: waiting workloads, and cycles that admit and preempt.
///
/// Rules: Kueue, commit ff69552. A cycle takes one head of every active ClusterQueue, assigns flavors to each
/// against the same usage, orders them, and admits, evicts or requeues one after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "policies/tenants/kueue/cache.hpp"
#include "policies/tenants/kueue/candidates.hpp"
#include "policies/tenants/kueue/entry_order.hpp"
#include "policies/tenants/kueue/flavor_assigner.hpp"
#include "policies/tenants/kueue/waiting_queue.hpp"

namespace vtrain::kueue {

/// Victims for a preemptor, by fair sharing or the classic rules, as the settings say.
std::vector<Victim> find_victims(Cache& cache, const Preemptor& preemptor);

/// Quota held back for a workload that can preempt nobody: as much of its usage as its queue may still use.
Usage reserved_quota(const QuotaTree& tree, NodeId queue, const Usage& usage, AssignmentMode mode,
                     std::int32_t borrowing_level);

/// What a cycle did.
struct CycleResult {
  std::vector<WorkloadId> admitted{};
  std::vector<Victim> evicted{};                     ///< new evictions; those under way are not repeated
  std::vector<std::uint32_t> skipped_preemptions{};  ///< by ClusterQueue
  bool has_changed = false;  ///< something was admitted, evicted or parked, or tries other flavors next time
};

/// The scheduler.
class Scheduler {
 public:
  explicit Scheduler(Settings settings) : cache_(std::move(settings)) {}

  Cache& cache() { return cache_; }
  const Cache& cache() const { return cache_; }

  /// Takes in changed objects: rebuilds the tree, and lets all workloads try again.
  void objects_changed();
  /// Adds a workload. One without quota waits if its queues exist.
  WorkloadId add(const Workload& workload);
  /// Ends a workload and frees its quota.
  void remove(WorkloadId id);
  /// Ends the eviction of a workload: its quota is free, and it waits again.
  void finish_eviction(WorkloadId id);
  /// Takes back an admission of the last cycle, for which there was no room after all. The workload goes back
  /// to its queue as after a failed admission. `parks`: it waits until workloads return.
  void fail_admission(WorkloadId id, bool parks);
  /// Changes the pods of a workload that are done.
  void set_reclaimable(WorkloadId id, std::vector<std::int64_t> pods);
  /// Lets the parked workloads of a queue's cohort tree try again.
  void return_parked(QueueId queue);

  /// One cycle at an instant, not before earlier ones.
  CycleResult run_cycle(Instant now);

  const WaitingQueue& waiting(QueueId queue) const { return waiting_[queue]; }
  WaitingQueue& waiting(QueueId queue) { return waiting_[queue]; }
  /// A number that differs whenever heads or their tried flavors differ. Cycles that change nothing else and
  /// come back to an earlier number would repeat forever.
  std::uint64_t fingerprint() const;

 private:
  /// A head in a cycle.
  struct Entry {
    WorkloadId workload = 0;
    Assignment assignment{};
    std::vector<Victim> victims{};
    RequeueReason reason = RequeueReason::Generic;
    PendingReason pending = PendingReason::None;
    bool is_misconfigured = false;
    bool is_admitted = false;
    bool is_skipped = false;
  };
  class Oracle;

  std::vector<Entry> nominate();
  void nominate(Entry& entry);
  /// Assigns flavors with these counts, and finds victims if that needs them.
  void try_assignment(Entry& entry, const AssignmentRequest& request);
  void try_fewer_pods(Entry& entry, AssignmentRequest request);
  Preemptor preemptor_of(WorkloadId id) const;
  /// Flavors that the last attempt tried, if that still counts.
  const TriedFlavors* tried_of(WorkloadId id);
  void process_all(std::vector<Entry>& entries, CycleResult& result);
  /// Without fair sharing: in the order of their keys.
  void process_by_key(std::vector<Entry>& entries, const std::vector<std::size_t>& which,
                      CycleResult& result);
  void process(Entry& entry, CycleResult& result);
  void recompute(Entry& entry);
  bool overlaps(const Entry& entry) const;
  bool still_fits(const Entry& entry);
  void process_without_victims(Entry& entry);
  void hold_back(const Entry& entry, Usage usage);
  void skip(Entry& entry, CycleResult& result);
  void finish_cycle(std::vector<Entry>& entries, CycleResult& result, Instant now);
  void evict(const Victim& victim, Instant now);
  /// True if that changes what the next cycle tries.
  bool requeue(const Entry& entry);
  bool record_tried(const Entry& entry);
  void enqueue(WorkloadId id);

  Cache cache_;
  std::vector<WaitingQueue> waiting_;
  std::vector<WorkloadId> unknown_;  ///< workloads whose queues do not exist
  std::int64_t cycle_ = 0;
  std::vector<Victim> preempted_;                    ///< victims chosen in this cycle
  std::unordered_set<WorkloadId> is_preempted_;      ///< the same as a set
  std::vector<std::pair<NodeId, Usage>> held_back_;  ///< usage added for this cycle only
};

/// Runs cycles until nothing changes any more. `each` sees the result of every cycle.
template <class Each>
void run_until_stable(Scheduler& scheduler, Instant now, const Each& each) {
  std::unordered_set<std::uint64_t> seen;
  while (true) {
    const CycleResult result = scheduler.run_cycle(now);
    each(result);
    if (!result.admitted.empty() || !result.evicted.empty()) seen.clear();
    if (!result.has_changed) return;
    if (!seen.insert(scheduler.fingerprint()).second) return;
  }
}

}  // namespace vtrain::kueue
