#include "policies/tenants/kueue/fair_preemption.hpp"

#include <algorithm>

namespace vtrain::kueue {
namespace {

using CandidatesByQueue = std::map<QueueId, std::vector<WorkloadId>>;

/// One search.
class FairSearch {
 public:
  FairSearch(Cache& cache, const Preemptor& preemptor)
      : cache_(cache), tree_(cache.tree()), preemptor_(preemptor), node_(cache.queue(preemptor.queue).node) {}

  std::vector<Victim> run() {
    CandidatesByQueue candidates = collect();
    if (candidates.empty()) return {};
    tree_.add_usage(node_, preemptor_.demands);
    is_within_ = cache_.settings().gates.fair_sharing_preempt_within_nominal &&
                 !borrows_any(tree_, node_, preemptor_.columns);
    const std::vector<FairStrategy>& strategies = cache_.settings().strategies;
    CandidatesByQueue kept;
    bool has_room = take_by_first(std::move(candidates), strategies.front(), kept);
    if (!has_room && strategies.size() > 1) has_room = take_by_initial_share(std::move(kept));
    tree_.remove_usage(node_, preemptor_.demands);
    if (has_room) give_back(cache_, victims_, [&] { return tree_.fits(node_, preemptor_.demands); });
    restore(cache_, victims_);
    if (!has_room) victims_.clear();
    return std::move(victims_);
  }

 private:
  CandidatesByQueue collect() const {
    CandidatesByQueue candidates;
    const auto add = [&](QueueId queue) {
      std::vector<WorkloadId> found;
      append_candidates(cache_, preemptor_, queue, found);
      if (!found.empty()) candidates.emplace(queue, std::move(found));
    };
    add(preemptor_.queue);
    if (tree_.has_parent(node_)) collect_below(tree_.root(node_), add);
    return candidates;
  }

  template <class Add>
  void collect_below(NodeId node, const Add& add) const {
    if (tree_.is_cluster_queue(node)) {
      if (node != node_ && borrows_any(tree_, node, preemptor_.columns)) add(cache_.queue_at(node));
      return;
    }
    for (const NodeId child : tree_.children(node))
      collect_below(child, add);
  }

  /// Takes the quota of a victim away. True if the preemptor fits then.
  bool evict(WorkloadId id, PreemptionReason reason) {
    const WorkloadInfo& workload = cache_.workload(id);
    tree_.remove_usage(cache_.queue(workload.queue).node, workload.usage);
    victims_.push_back({id, reason});
    tree_.remove_usage(node_, preemptor_.demands);
    const bool has_room = tree_.fits(node_, preemptor_.demands);
    tree_.add_usage(node_, preemptor_.demands);
    return has_room;
  }

  /// The children of the lowest common ancestor on the sides of the preemptor and of a queue.
  std::pair<NodeId, NodeId> sides(QueueId queue) const {
    std::vector<NodeId> path;
    for (NodeId node = node_; node != kNoNode; node = tree_.parent(node))
      path.push_back(node);
    NodeId theirs = cache_.queue(queue).node;
    while (true) {
      const auto common = std::ranges::find(path, tree_.parent(theirs));
      if (common != path.end()) return {*(common - 1), theirs};
      theirs = tree_.parent(theirs);
    }
  }

  /// True if the preemptor's side has less than the victim's side now.
  bool has_less(QueueId queue) const {
    const auto [ours, theirs] = sides(queue);
    return compare(cache_.shares().share(ours), cache_.shares().share(theirs)) < 0;
  }

  /// True if the strategy lets the preemptor evict a workload.
  bool passes(FairStrategy strategy, QueueId queue, WorkloadId id) const {
    if (strategy == FairStrategy::LessThanInitialShare) return has_less(queue);
    const auto [ours, theirs] = sides(queue);
    const DominantShare share = cache_.shares().share(ours);
    const WorkloadInfo& workload = cache_.workload(id);
    const NodeId node = cache_.queue(queue).node;
    tree_.remove_usage(node, workload.usage);
    const DominantShare rest = cache_.shares().share(theirs);
    tree_.add_usage(node, workload.usage);
    return compare(share, rest) <= 0;
  }

  bool take_by_first(CandidatesByQueue candidates, FairStrategy strategy, CandidatesByQueue& kept) {
    VictimQueues queues(cache_, preemptor_.queue, std::move(candidates));
    while (const auto queue = queues.next()) {
      if (*queue == preemptor_.queue || is_within_) {
        const PreemptionReason reason = *queue == preemptor_.queue ? PreemptionReason::InClusterQueue
                                                                   : PreemptionReason::InCohortReclamation;
        if (evict(queues.pop(*queue), reason)) return true;
        continue;
      }
      while (queues.has_candidates(*queue)) {
        const WorkloadId id = queues.pop(*queue);
        if (!passes(strategy, *queue, id)) {
          kept[*queue].push_back(id);
          continue;
        }
        if (evict(id, PreemptionReason::InCohortFairSharing)) return true;
        break;
      }
    }
    return false;
  }

  bool take_by_initial_share(CandidatesByQueue candidates) {
    VictimQueues queues(cache_, preemptor_.queue, std::move(candidates));
    while (const auto queue = queues.next()) {
      if (has_less(*queue) && evict(queues.front(*queue), PreemptionReason::InCohortFairSharing)) return true;
      queues.drop(*queue);
    }
    return false;
  }

  Cache& cache_;
  QuotaTree& tree_;
  const Preemptor& preemptor_;
  NodeId node_;
  bool is_within_ = false;  ///< with its demands the queue stays within nominal quota
  std::vector<Victim> victims_;
};

}  // namespace

VictimQueues::VictimQueues(const Cache& cache, QueueId preemptor,
                           std::map<QueueId, std::vector<WorkloadId>> candidates)
    : cache_(cache), preemptor_(preemptor), candidates_(std::move(candidates)) {
  for (auto& [queue, stack] : candidates_)
    std::ranges::reverse(stack);
  pruned_.resize(cache.tree().num_nodes());
}

bool VictimQueues::has_candidates(QueueId queue) const {
  const auto found = candidates_.find(queue);
  return found != candidates_.end() && !found->second.empty();
}

WorkloadId VictimQueues::front(QueueId queue) const {
  return candidates_.at(queue).back();
}

WorkloadId VictimQueues::pop(QueueId queue) {
  Stack& stack = candidates_.at(queue);
  const WorkloadId id = stack.back();
  stack.pop_back();
  return id;
}

void VictimQueues::drop(QueueId queue) {
  pruned_[cache_.queue(queue).node] = true;
}

bool VictimQueues::is_above_preemptor(NodeId node) const {
  for (NodeId own = cache_.queue(preemptor_).node; own != kNoNode; own = cache_.tree().parent(own)) {
    if (own == node) return true;
  }
  return false;
}

std::optional<QueueId> VictimQueues::next_below(NodeId cohort) {
  const QuotaTree& tree = cache_.tree();
  std::optional<std::pair<DominantShare, QueueId>> best_queue;
  std::optional<std::pair<DominantShare, NodeId>> best_cohort;
  const auto sorts_first = [&](QueueId a, QueueId b) {
    return comes_first(candidate_key(cache_, front(a), preemptor_),
                       candidate_key(cache_, front(b), preemptor_));
  };
  for (const NodeId child : tree.children(cohort)) {
    if (pruned_[child]) continue;
    const DominantShare share = cache_.shares().share(child);
    const bool is_own_side = is_above_preemptor(child);
    const QueueId queue = cache_.queue_at(child);
    if ((!share.is_borrowing && !is_own_side) || (queue != kNone && !has_candidates(queue))) {
      pruned_[child] = true;
    } else if (queue == kNone) {
      if (!best_cohort || compare(share, best_cohort->first) > 0) best_cohort.emplace(share, child);
    } else if (!best_queue || compare(share, best_queue->first) > 0 ||
               (compare(share, best_queue->first) == 0 && sorts_first(queue, best_queue->second))) {
      best_queue.emplace(share, queue);
    }
  }
  if (!best_queue && !best_cohort) {
    pruned_[cohort] = true;
    return std::nullopt;
  }
  if (!best_queue || (best_cohort && compare(best_cohort->first, best_queue->first) >= 0))
    return next_below(best_cohort->second);
  return best_queue->second;
}

std::optional<QueueId> VictimQueues::next() {
  const NodeId node = cache_.queue(preemptor_).node;
  if (!cache_.tree().has_parent(node)) {
    return has_candidates(preemptor_) && !pruned_[node] ? std::optional(preemptor_) : std::nullopt;
  }
  const NodeId root = cache_.tree().root(node);
  while (!pruned_[root]) {
    if (const auto queue = next_below(root)) return queue;
  }
  return std::nullopt;
}

std::vector<Victim> find_fair_victims(Cache& cache, const Preemptor& preemptor) {
  return FairSearch(cache, preemptor).run();
}

}  // namespace vtrain::kueue
