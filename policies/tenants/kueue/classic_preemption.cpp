#include "policies/tenants/kueue/classic_preemption.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace vtrain::kueue {
namespace {

/// Classes of candidates, in the order in which they are taken.
enum class CandidateClass : std::uint8_t {
  Advantage,  ///< in another queue, where the preemptor has the hierarchical advantage
  Other,      ///< in another queue, without it
  Same        ///< in the preemptor's queue
};

/// A workload that may be evicted.
struct Candidate {
  WorkloadId workload = 0;
  CandidateClass kind = CandidateClass::Same;
  PreemptionReason reason = PreemptionReason::InClusterQueue;
  CandidateKey key{};
  bool only_without_borrowing = false;
  NodeId common = kNoNode;  ///< lowest node above both queues; none in the same queue
};

/// One search.
class ClassicSearch {
 public:
  ClassicSearch(Cache& cache, const Preemptor& preemptor)
      : cache_(cache), tree_(cache.tree()), preemptor_(preemptor), queue_(cache.queue(preemptor.queue)) {}

  std::vector<Victim> run() {
    find_advantages();
    collect();
    if (candidates_.empty()) return {};
    sort_candidates();
    for (const std::optional<bool> borrowing : attempts()) {
      if (!borrowing) continue;
      if (auto victims = attempt(*borrowing); !victims.empty()) return victims;
    }
    return {};
  }

 private:
  const BorrowWithinCohort& borrow_rules() const { return queue_.object.preemption.borrow_within_cohort; }

  /// True if a node can hold the demands beside its usage.
  bool can_hold(NodeId node, const Usage& demands) const {
    return std::ranges::none_of(
        demands, [&](const auto& each) { return tree_.would_borrow(node, each.first, each.second); });
  }

  /// Finds the path to the root, and from which cohort on the preemptor has the advantage.
  void find_advantages() {
    Usage rest = preemptor_.demands;
    bool has_advantage = false;
    for (NodeId node = queue_.node; node != kNoNode; node = tree_.parent(node)) {
      path_.push_back({node, has_advantage});
      has_advantage = has_advantage || can_hold(node, rest);
      for (auto& [column, amount] : rest)
        amount = std::max<Amount>(0, amount - tree_.local_free(node, column));
    }
  }

  void collect() {
    found_.clear();
    append_candidates(cache_, preemptor_, preemptor_.queue, found_);
    for (const WorkloadId id : found_)
      candidates_.push_back({.workload = id, .key = candidate_key(cache_, id, preemptor_.queue)});
    if (queue_.object.preemption.reclaim_within_cohort == PreemptionPolicy::Never || path_.size() < 2) return;
    // Children of the path, one level after the other; a subtree that does not borrow is left out.
    const bool may_use_others = borrow_rules().is_allowed || may_stay_within_nominal();
    for (std::size_t level = 1; level < path_.size(); ++level) {
      if (!path_[level].has_advantage && !may_use_others) continue;
      for (const NodeId child : tree_.children(path_[level].node)) {
        if (child != path_[level - 1].node) collect_below(child, path_[level]);
      }
    }
  }

  /// True if the demands might stay within nominal quota once candidates of the own queue are gone. If not,
  /// nothing fits without borrowing, and candidates that may only be evicted then are of no use.
  bool may_stay_within_nominal() const {
    return std::ranges::all_of(preemptor_.demands, [&](const auto& each) {
      Amount usage = add_amounts(tree_.usage(queue_.node, each.first), each.second);
      for (const Candidate& candidate : candidates_) {
        for (const auto& [column, amount] : cache_.workload(candidate.workload).usage) {
          if (column == each.first) usage -= amount;
        }
      }
      return usage <= tree_.nominal(queue_.node, each.first);
    });
  }

  /// A node of the preemptor's path to the root.
  struct Step {
    NodeId node = kNoNode;
    bool has_advantage = false;  ///< over workloads that meet the path here
  };

  void collect_below(NodeId node, const Step& common) {
    if (!borrows_any(tree_, node, preemptor_.columns)) return;
    if (!tree_.is_cluster_queue(node)) {
      for (const NodeId child : tree_.children(node))
        collect_below(child, common);
      return;
    }
    found_.clear();
    append_candidates(cache_, preemptor_, cache_.queue_at(node), found_);
    for (const WorkloadId id : found_)
      candidates_.push_back(classify(id, common));
  }

  Candidate classify(WorkloadId id, const Step& common) const {
    Candidate candidate{.workload = id,
                        .kind = CandidateClass::Advantage,
                        .reason = PreemptionReason::InCohortReclamation,
                        .key = candidate_key(cache_, id, preemptor_.queue),
                        .common = common.node};
    if (common.has_advantage) return candidate;
    candidate.kind = CandidateClass::Other;
    const std::int64_t priority = cache_.workload(id).priority;
    const BorrowWithinCohort& rules = borrow_rules();
    const bool is_safe = priority >= preemptor_.priority ||
                         (rules.max_priority_threshold && priority > *rules.max_priority_threshold);
    candidate.only_without_borrowing = !rules.is_allowed || is_safe;
    if (!candidate.only_without_borrowing) candidate.reason = PreemptionReason::InCohortReclaimWhileBorrowing;
    return candidate;
  }

  void sort_candidates() {
    std::ranges::sort(candidates_, [&](const Candidate& a, const Candidate& b) {
      if (a.key.is_evicted != b.key.is_evicted) return a.key.is_evicted;
      if (a.kind != b.kind) return a.kind < b.kind;
      return comes_first(a.key, b.key);
    });
  }

  /// Whether borrowing is allowed in the first and in the second attempt.
  std::array<std::optional<bool>, 2> attempts() const {
    const auto has = [&](CandidateClass kind) {
      return std::ranges::any_of(candidates_, [&](const Candidate& each) { return each.kind == kind; });
    };
    const bool has_others = has(CandidateClass::Advantage) || has(CandidateClass::Other);
    const bool is_below_nominal = std::ranges::all_of(preemptor_.columns, [&](FlavorResource column) {
      return tree_.usage(queue_.node, column) < tree_.nominal(queue_.node, column);
    });
    if (!has_others || (!borrow_rules().is_allowed && !is_below_nominal)) return {true, std::nullopt};
    if (!borrow_rules().is_allowed && !has(CandidateClass::Advantage)) return {false, true};
    return {true, false};
  }

  bool fits(bool allows_borrowing) const {
    if (!tree_.fits(queue_.node, preemptor_.demands)) return false;
    return allows_borrowing || std::ranges::all_of(preemptor_.demands, [&](const auto& each) {
             return add_amounts(tree_.usage(queue_.node, each.first), each.second) <=
                    tree_.nominal(queue_.node, each.first);
           });
  }

  /// True if the candidate's queue and all cohorts below the common one still borrow.
  bool still_borrows(const Candidate& candidate) const {
    if (candidate.kind == CandidateClass::Same) return true;
    for (NodeId node = cache_.queue(cache_.workload(candidate.workload).queue).node; node != candidate.common;
         node = tree_.parent(node)) {
      if (!borrows_any(tree_, node, preemptor_.columns)) return false;
    }
    return true;
  }

  std::vector<Victim> attempt(bool allows_borrowing) {
    std::vector<Victim> victims;
    bool has_room = false;
    for (const Candidate& candidate : candidates_) {
      if (allows_borrowing && candidate.only_without_borrowing) continue;
      if (!still_borrows(candidate)) continue;
      const WorkloadInfo& workload = cache_.workload(candidate.workload);
      tree_.remove_usage(cache_.queue(workload.queue).node, workload.usage);
      victims.push_back({candidate.workload, candidate.reason});
      has_room = fits(allows_borrowing);
      if (has_room) break;
    }
    if (has_room) give_back(cache_, victims, [&] { return fits(allows_borrowing); });
    restore(cache_, victims);
    if (!has_room) victims.clear();
    return victims;
  }

  Cache& cache_;
  QuotaTree& tree_;
  const Preemptor& preemptor_;
  const QueueInfo& queue_;
  std::vector<Step> path_;  ///< from the preemptor's queue to the root
  std::vector<Candidate> candidates_;
  std::vector<WorkloadId> found_;  ///< buffer
};

}  // namespace

std::vector<Victim> find_classic_victims(Cache& cache, const Preemptor& preemptor) {
  return ClassicSearch(cache, preemptor).run();
}

}  // namespace vtrain::kueue
