#include "policies/tenants/kueue/scheduler.hpp"

#include <algorithm>
#include <numeric>

#include "policies/tenants/kueue/classic_preemption.hpp"
#include "policies/tenants/kueue/fair_preemption.hpp"
#include "policies/tenants/kueue/labels.hpp"

namespace vtrain::kueue {

std::vector<Victim> find_victims(Cache& cache, const Preemptor& preemptor) {
  const PreemptionRules& rules = cache.queue(preemptor.queue).object.preemption;
  const bool evicts_nobody = rules.within_cluster_queue == PreemptionPolicy::Never &&
                             rules.reclaim_within_cohort == PreemptionPolicy::Never;
  if (evicts_nobody) return {};
  return cache.settings().fair_sharing ? find_fair_victims(cache, preemptor)
                                       : find_classic_victims(cache, preemptor);
}

namespace {

/// `whole` · step / total, rounded down.
std::int64_t part_of(std::int64_t whole, std::int64_t step, std::int64_t total) {
  __extension__ using Product = __int128;
  return static_cast<std::int64_t>(static_cast<Product>(whole) * step / total);
}

}  // namespace

Usage reserved_quota(const QuotaTree& tree, NodeId queue, const Usage& usage, AssignmentMode mode,
                     std::int32_t borrowing_level) {
  if (mode != AssignmentMode::Preempt) return usage;
  Usage reserved;
  for (const auto& [column, amount] : usage) {
    const Amount left = tree.nominal(queue, column) - tree.usage(queue, column);
    Amount held = amount;
    if (borrowing_level > 0) {
      const auto limit = tree.borrowing_limit(queue, column);
      if (limit) held = std::min(amount, add_amounts(left, *limit));
    } else {
      held = std::max<Amount>(0, std::min(amount, left));
    }
    reserved.emplace_back(column, held);
  }
  return reserved;
}

/// Answers by searching victims in the quota tree.
class Scheduler::Oracle : public PreemptionOracle {
 public:
  Oracle(Cache& cache, Preemptor preemptor) : cache_(cache), preemptor_(std::move(preemptor)) {}

  GranularMode simulate(FlavorResource column, Amount demand) override {
    QuotaTree& tree = cache_.tree();
    const NodeId node = cache_.queue(preemptor_.queue).node;
    std::vector<Victim> victims = find({{column, demand}}, {column});
    const auto level = [&] { return tree.borrowing_level(node, column, demand).level; };
    if (victims.empty()) return {FlavorMode::NoCandidates, level()};
    bool is_own = false;
    for (const Victim& victim : victims) {
      const WorkloadInfo& workload = cache_.workload(victim.workload);
      is_own = is_own || workload.queue == preemptor_.queue;
      tree.remove_usage(cache_.queue(workload.queue).node, workload.usage);
    }
    const GranularMode mode{is_own ? FlavorMode::Preempt : FlavorMode::Reclaim, level()};
    restore(cache_, victims);
    return mode;
  }

  /// Victims for demands. The last answer is kept, as a workload with one resource asks the same twice.
  const std::vector<Victim>& find(const Usage& demands, const std::vector<FlavorResource>& columns) {
    if (has_answer_ && demands == preemptor_.demands && columns == preemptor_.columns) return victims_;
    preemptor_.demands = demands;
    preemptor_.columns = columns;
    victims_ = find_victims(cache_, preemptor_);
    has_answer_ = true;
    return victims_;
  }

 private:
  Cache& cache_;
  Preemptor preemptor_;
  bool has_answer_ = false;
  std::vector<Victim> victims_;
};

void Scheduler::objects_changed() {
  cache_.rebuild();
  while (waiting_.size() < cache_.queues().size())
    waiting_.emplace_back(cache_);
  for (const WorkloadId id : std::exchange(unknown_, {})) {
    if (cache_.workload(id).state == WorkloadState::Unknown) enqueue(id);
  }
  for (WaitingQueue& queue : waiting_)
    queue.return_parked();
}

WorkloadId Scheduler::add(const Workload& workload) {
  const WorkloadId id = cache_.add(workload);
  if (cache_.workload(id).state != WorkloadState::Holding) enqueue(id);
  return id;
}

void Scheduler::enqueue(WorkloadId id) {
  WorkloadInfo& workload = cache_.workload(id);
  workload.queue = cache_.queue_of_local(workload.name_space, workload.local_queue);
  if (workload.queue == kNone) {
    workload.state = WorkloadState::Unknown;
    unknown_.push_back(id);
    return;
  }
  workload.state = WorkloadState::Waiting;
  cache_.refresh_queue_time(id);
  waiting_[workload.queue].push(id);
}

void Scheduler::remove(WorkloadId id) {
  WorkloadInfo& workload = cache_.workload(id);
  const WorkloadState before = workload.state;
  if (before == WorkloadState::Waiting) waiting_[workload.queue].erase(id);
  if (before == WorkloadState::Holding) cache_.release(id);
  workload.state = WorkloadState::Gone;
  workload.tried.reset();
  if (before == WorkloadState::Holding) return_parked(workload.queue);
}

void Scheduler::finish_eviction(WorkloadId id) {
  const QueueId held = cache_.workload(id).queue;
  cache_.release(id);
  cache_.workload(id).tried.reset();
  enqueue(id);
  return_parked(held);
}

void Scheduler::fail_admission(WorkloadId id, bool parks) {
  cache_.release(id);
  enqueue(id);
  const WorkloadInfo& workload = cache_.workload(id);
  if (parks && workload.queue != kNone) waiting_[workload.queue].park(id, true);
}

void Scheduler::set_reclaimable(WorkloadId id, std::vector<std::int64_t> pods) {
  cache_.set_reclaimable(id, std::move(pods));
  const WorkloadInfo& workload = cache_.workload(id);
  if (workload.state == WorkloadState::Holding) return_parked(workload.queue);
  if (workload.state != WorkloadState::Waiting) return;
  waiting_[workload.queue].erase(id);
  waiting_[workload.queue].push(id);
}

void Scheduler::return_parked(QueueId queue) {
  const QuotaTree& tree = cache_.tree();
  const NodeId node = cache_.queue(queue).node;
  if (!tree.has_parent(node)) {
    waiting_[queue].return_parked();
    return;
  }
  const NodeId root = tree.root(node);
  for (QueueId other = 0; other < waiting_.size(); ++other) {
    if (waiting_[other].num_parked() > 0 && tree.root(cache_.queue(other).node) == root)
      waiting_[other].return_parked();
  }
}

CycleResult Scheduler::run_cycle(Instant now) {
  ++cycle_;
  preempted_.clear();
  is_preempted_.clear();
  CycleResult result;
  result.skipped_preemptions.resize(waiting_.size());
  std::vector<Entry> entries = nominate();
  process_all(entries, result);
  finish_cycle(entries, result, now);
  return result;
}

std::vector<Scheduler::Entry> Scheduler::nominate() {
  std::vector<Entry> entries;
  entries.reserve(waiting_.size());
  for (QueueId queue = 0; queue < waiting_.size(); ++queue) {
    if (!cache_.queue(queue).is_active) continue;
    const auto head = waiting_[queue].head();
    if (!head) continue;
    Entry& entry = entries.emplace_back(Entry{.workload = *head});
    nominate(entry);
  }
  return entries;
}

void Scheduler::nominate(Entry& entry) {
  const WorkloadInfo& workload = cache_.workload(entry.workload);
  const auto& selector = cache_.queue(workload.queue).object.namespace_selector;
  if (selector && !matches(*selector, cache_.labels_of_namespace(workload.name_space))) {
    entry.is_misconfigured = true;
    entry.reason = RequeueReason::NamespaceMismatch;
    entry.pending = PendingReason::Misconfigured;
    return;
  }
  AssignmentRequest request{
      .workload = entry.workload, .queue = workload.queue, .tried = tried_of(entry.workload)};
  try_assignment(entry, request);
  const auto& sets = cache_.shape_of(entry.workload).pod_sets;
  const bool may_shrink =
      cache_.settings().gates.partial_admission &&
      std::ranges::any_of(sets, [](const auto& set) { return set.min_count < set.count; });
  const bool has_hope = entry.assignment.mode == AssignmentMode::Fit || !entry.victims.empty();
  if (may_shrink && !has_hope) try_fewer_pods(entry, std::move(request));
}

Preemptor Scheduler::preemptor_of(WorkloadId id) const {
  const WorkloadInfo& workload = cache_.workload(id);
  return {.workload = id,
          .queue = workload.queue,
          .priority = workload.priority,
          .queue_time = workload.queue_time};
}

void Scheduler::try_assignment(Entry& entry, const AssignmentRequest& request) {
  Oracle oracle(cache_, preemptor_of(entry.workload));
  entry.assignment = assign_flavors(cache_, request, oracle);
  entry.victims.clear();
  if (entry.assignment.mode == AssignmentMode::Preempt)
    entry.victims = oracle.find(entry.assignment.usage, entry.assignment.columns_to_preempt(cache_));
}

void Scheduler::try_fewer_pods(Entry& entry, AssignmentRequest request) {
  const auto& sets = cache_.shape_of(entry.workload).pod_sets;
  const std::int64_t total = std::accumulate(
      sets.begin(), sets.end(), std::int64_t{0},
      [](std::int64_t sum, const PodSetSpec& set) { return sum + set.count - set.min_count; });
  std::optional<Entry> found;
  std::int64_t low = 0;
  std::int64_t high = total + 1;
  while (low < high) {
    const std::int64_t step = low + (high - low) / 2;
    request.counts.clear();
    for (const PodSetSpec& set : sets)
      request.counts.push_back(set.count - part_of(set.count - set.min_count, step, total));
    Entry smaller{.workload = entry.workload};
    try_assignment(smaller, request);
    const bool has_hope = smaller.assignment.mode == AssignmentMode::Fit || !smaller.victims.empty();
    if (has_hope) {
      found = std::move(smaller);
      high = step;
    } else {
      low = step + 1;
    }
  }
  if (found) entry = *std::move(found);
}

const TriedFlavors* Scheduler::tried_of(WorkloadId id) {
  WorkloadInfo& workload = cache_.workload(id);
  if (!workload.tried) return nullptr;
  const TriedFlavors& tried = *workload.tried;
  const bool is_kept = is_progress_kept(
      {.cycle = tried.cycle, .generation = tried.generation, .shape = tried.shape},
      {.cycle = cycle_, .generation = cache_.queue(workload.queue).generation, .shape = workload.shape},
      cache_.settings().gates);
  if (!is_kept) workload.tried.reset();
  return workload.tried.get();
}

void Scheduler::process_by_key(std::vector<Entry>& entries, const std::vector<std::size_t>& which,
                               CycleResult& result) {
  struct Place {
    EntryKey key;
    Entry* entry;
  };
  std::vector<Place> places;
  places.reserve(which.size());
  for (const std::size_t i : which) {
    Entry& entry = entries[i];
    if (entry.assignment.mode == AssignmentMode::NoFit) {
      process(entry, result);  // that changes nothing for others
      continue;
    }
    const WorkloadInfo& workload = cache_.workload(entry.workload);
    places.push_back({{.borrowing_level = entry.assignment.borrowing_level,
                       .priority = workload.priority,
                       .queue_time = workload.queue_time,
                       .awaits_preemptions = workload.awaits_preemptions},
                      &entry});
  }
  const Gates& gates = cache_.settings().gates;
  std::ranges::sort(places, [&](const Place& a, const Place& b) {
    if (comes_first(a.key, b.key, gates)) return true;
    // Of entries that tie, the one that came first goes first, in whatever order queues are written.
    return !comes_first(b.key, a.key, gates) && a.entry->workload < b.entry->workload;
  });
  for (const Place& place : places)
    process(*place.entry, result);
}

void Scheduler::process_all(std::vector<Entry>& entries, CycleResult& result) {
  std::vector<std::size_t> order;
  order.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].is_misconfigured) order.push_back(i);
  }
  if (!cache_.settings().fair_sharing) return process_by_key(entries, order, result);
  // Of entries that tie, the one that came first goes first, in whatever order queues are written.
  std::ranges::sort(order, {}, [&](std::size_t i) { return entries[i].workload; });
  std::vector<Contender> contenders;
  for (const std::size_t i : order) {
    const WorkloadInfo& workload = cache_.workload(entries[i].workload);
    contenders.push_back({.queue = workload.queue,
                          .priority = workload.priority,
                          .queue_time = workload.queue_time,
                          .awaits_preemptions = workload.awaits_preemptions,
                          .usage = &entries[i].assignment.usage});
  }
  Tournament tournament(cache_, std::move(contenders));
  while (const auto next = tournament.next()) {
    process(entries[order[*next]], result);
    tournament.usage_changed(*next);
  }
}

bool Scheduler::overlaps(const Entry& entry) const {
  return std::ranges::any_of(entry.victims,
                             [&](const Victim& victim) { return is_preempted_.contains(victim.workload); });
}

void Scheduler::recompute(Entry& entry) {
  for (const Victim& victim : preempted_)
    cache_.hide(victim.workload);
  const Assignment nominated = std::move(entry.assignment);
  AssignmentRequest request{
      .workload = entry.workload, .queue = cache_.workload(entry.workload).queue, .nominated = &nominated};
  for (const PodSetAssignment& set : nominated.pod_sets)
    request.counts.push_back(set.count);
  try_assignment(entry, request);
  for (const Victim& victim : preempted_)
    cache_.show(victim.workload);
}

void Scheduler::hold_back(const Entry& entry, Usage usage) {
  const NodeId node = cache_.queue(cache_.workload(entry.workload).queue).node;
  cache_.tree().add_usage(node, usage);
  held_back_.emplace_back(node, std::move(usage));
}

void Scheduler::skip(Entry& entry, CycleResult& result) {
  entry.reason = RequeueReason::FailedAfterNomination;
  entry.pending = PendingReason::WaitingForQuota;
  entry.is_skipped = true;
  if (entry.assignment.mode == AssignmentMode::Preempt)
    ++result.skipped_preemptions[cache_.workload(entry.workload).queue];
}

bool Scheduler::still_fits(const Entry& entry) {
  std::vector<Victim> gone = preempted_;
  for (const Victim& victim : entry.victims) {
    if (!is_preempted_.contains(victim.workload)) gone.push_back(victim);
  }
  QuotaTree& tree = cache_.tree();
  for (const Victim& victim : gone) {
    const WorkloadInfo& workload = cache_.workload(victim.workload);
    tree.remove_usage(cache_.queue(workload.queue).node, workload.usage);
  }
  const NodeId node = cache_.queue(cache_.workload(entry.workload).queue).node;
  const bool fits = tree.fits(node, entry.assignment.usage);
  restore(cache_, gone);
  return fits;
}

void Scheduler::process_without_victims(Entry& entry) {
  entry.reason = RequeueReason::PreemptionNoCandidates;
  entry.pending = PendingReason::WaitingForQuota;
  const WorkloadInfo& workload = cache_.workload(entry.workload);
  const QueueInfo& queue = cache_.queue(workload.queue);
  const bool insists = cache_.settings().gates.prioritize_preemptor_workloads && workload.awaits_preemptions;
  if (queue.object.preemption.reclaim_within_cohort == PreemptionPolicy::Any && !insists) return;
  hold_back(entry, reserved_quota(cache_.tree(), queue.node, entry.assignment.usage, entry.assignment.mode,
                                  entry.assignment.borrowing_level));
}

void Scheduler::process(Entry& entry, CycleResult& result) {
  bool is_deferred = false;
  if (cache_.settings().gates.recompute_assignment_upon_preemption_targets_overlap && overlaps(entry)) {
    recompute(entry);
    is_deferred = entry.assignment.mode == AssignmentMode::Fit;
  }
  if (entry.assignment.mode == AssignmentMode::NoFit) {
    entry.reason = RequeueReason::NoFit;
    entry.pending = entry.assignment.no_fit_reason;
    return;
  }
  if (entry.assignment.mode == AssignmentMode::Preempt && entry.victims.empty())
    return process_without_victims(entry);
  if (is_deferred) {
    entry.reason = RequeueReason::PendingPreemption;
    entry.pending = PendingReason::WaitingForPreemptedWorkloads;
    return hold_back(entry, entry.assignment.usage);
  }
  if (overlaps(entry) || !still_fits(entry)) return skip(entry, result);
  hold_back(entry, entry.assignment.usage);
  if (entry.assignment.mode == AssignmentMode::Fit) {
    entry.is_admitted = true;
    return;
  }
  entry.reason = RequeueReason::PendingPreemption;
  entry.pending = PendingReason::WaitingForPreemptedWorkloads;
  cache_.workload(entry.workload).awaits_preemptions = true;
  for (const Victim& victim : entry.victims) {
    preempted_.push_back(victim);
    is_preempted_.insert(victim.workload);
  }
}

void Scheduler::evict(const Victim& victim, Instant now) {
  WorkloadInfo& workload = cache_.workload(victim.workload);
  if (!workload.conditions) workload.conditions = std::make_unique<QueueConditions>();
  workload.conditions->evicted_at = now;
  workload.conditions->evicted_reason = "Preempted";
  workload.conditions->preempted_at = now;
  workload.conditions->preempted_reason = kPreemptionReasonNames[static_cast<std::size_t>(victim.reason)];
  cache_.mark_evicted(victim.workload);
}

void Scheduler::finish_cycle(std::vector<Entry>& entries, CycleResult& result, Instant now) {
  for (const auto& [node, usage] : held_back_)
    cache_.tree().remove_usage(node, usage);
  held_back_.clear();
  for (const Victim& victim : preempted_) {
    if (cache_.workload(victim.workload).is_evicted) continue;
    evict(victim, now);
    result.evicted.push_back(victim);
  }
  for (Entry& entry : entries) {
    WorkloadInfo& workload = cache_.workload(entry.workload);
    workload.pending_reason = entry.pending;
    if (!entry.is_admitted) {
      result.has_changed = requeue(entry) || result.has_changed;
      continue;
    }
    waiting_[workload.queue].erase(entry.workload);
    workload.awaits_preemptions = false;
    workload.tried.reset();
    cache_.reserve(entry.workload, entry.assignment.given(), now);
    result.admitted.push_back(entry.workload);
  }
  result.has_changed = result.has_changed || !result.admitted.empty() || !result.evicted.empty();
}

bool Scheduler::record_tried(const Entry& entry) {
  WorkloadInfo& workload = cache_.workload(entry.workload);
  const bool forgets =
      entry.reason == RequeueReason::PendingPreemption ||
      (entry.is_skipped && !cache_.settings().gates.flavor_fungibility_preserve_scan_progress);
  std::unique_ptr<TriedFlavors> tried;
  if (!forgets && entry.assignment.has_more_flavors()) {
    tried = std::make_unique<TriedFlavors>(TriedFlavors{
        .cycle = cycle_, .generation = cache_.queue(workload.queue).generation, .shape = workload.shape});
    for (const PodSetAssignment& set : entry.assignment.pod_sets) {
      auto& indices = tried->last_index.emplace_back();
      for (const ResourceAssignment& each : set.resources)
        indices.emplace_back(each.resource, each.last_tried_index);
    }
  }
  const bool is_same =
      tried && workload.tried ? tried->last_index == workload.tried->last_index : !tried && !workload.tried;
  workload.tried = std::move(tried);
  return !is_same;
}

bool Scheduler::requeue(const Entry& entry) {
  const QueueId id = cache_.workload(entry.workload).queue;
  WaitingQueue& queue = waiting_[id];
  const bool tries_others = record_tried(entry);
  const RequeuePlace place =
      place_after(cache_.queue(id).object.queueing_strategy, entry.reason,
                  cache_.workload(entry.workload).tried != nullptr, cache_.settings().gates);
  if (place.stays_head && queue.sticky() != entry.workload) {
    queue.set_sticky(entry.workload);
    return true;
  }
  if (place.is_parked) queue.park(entry.workload, place.parks_same_shape);
  return place.is_parked || tries_others;
}

std::uint64_t Scheduler::fingerprint() const {
  // FNV-1a over what the next cycle would try.
  std::uint64_t hash = 14695981039346656037U;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211U; };
  for (const WaitingQueue& queue : waiting_) {
    const auto head = queue.head();
    mix(head.value_or(kNone));
    mix(queue.num_queued());
    if (!head || !cache_.workload(*head).tried) continue;
    for (const auto& set : cache_.workload(*head).tried->last_index) {
      for (const auto& [resource, index] : set) {
        mix(resource);
        mix(static_cast<std::uint64_t>(index) + 2);
      }
    }
  }
  return hash;
}

}  // namespace vtrain::kueue
