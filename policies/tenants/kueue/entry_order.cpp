#include "policies/tenants/kueue/entry_order.hpp"

#include <algorithm>

namespace vtrain::kueue {

bool comes_first(const EntryKey& a, const EntryKey& b, const Gates& gates) {
  if (gates.prioritize_preemptor_workloads && a.awaits_preemptions != b.awaits_preemptions)
    return a.awaits_preemptions;
  if (a.borrowing_level != b.borrowing_level) return a.borrowing_level < b.borrowing_level;
  if (gates.priority_sorting_within_cohort && a.priority != b.priority) return a.priority > b.priority;
  return a.queue_time < b.queue_time;
}

Tournament::Tournament(Cache& cache, std::vector<Contender> contenders)
    : cache_(cache), contenders_(std::move(contenders)), levels_(contenders_.size()) {
  std::vector<std::size_t> tree_of(cache.tree().num_nodes(), SIZE_MAX);
  for (std::size_t i = 0; i < contenders_.size(); ++i) {
    const NodeId root = cache_.tree().root(cache_.queue(contenders_[i].queue).node);
    if (tree_of[root] == SIZE_MAX) {
      tree_of[root] = trees_.size();
      trees_.push_back({.root = root});
    }
    trees_[tree_of[root]].left.push_back(i);
    find_levels(i);
  }
}

void Tournament::find_levels(std::size_t contender) {
  QuotaTree& tree = cache_.tree();
  const Contender& each = contenders_[contender];
  const NodeId queue = cache_.queue(each.queue).node;
  tree.add_usage(queue, *each.usage);
  std::vector<Level>& levels = levels_[contender];
  levels.clear();
  for (NodeId node = queue; tree.has_parent(node); node = tree.parent(node)) {
    const bool borrows = std::ranges::any_of(*each.usage, [&](const auto& demand) {
      return demand.second > 0 && tree.has_quota(node, demand.first) && tree.borrows(node, demand.first);
    });
    levels.push_back({node, cache_.shares().share(node), borrows});
  }
  tree.remove_usage(queue, *each.usage);
}

const Tournament::Level& Tournament::at_depth(std::size_t contender, std::size_t depth) const {
  return levels_[contender][levels_[contender].size() - depth];
}

bool Tournament::is_better(std::size_t a, std::size_t b, std::size_t depth) const {
  const Gates& gates = cache_.settings().gates;
  const Contender& left = contenders_[a];
  const Contender& right = contenders_[b];
  if (gates.prioritize_preemptor_workloads && left.awaits_preemptions != right.awaits_preemptions)
    return left.awaits_preemptions;
  const Level& left_level = at_depth(a, depth);
  const Level& right_level = at_depth(b, depth);
  if (gates.fair_sharing_prioritize_non_borrowing &&
      left_level.borrows_requested != right_level.borrows_requested) {
    return right_level.borrows_requested;
  }
  if (const auto order = compare(left_level.share, right_level.share); order != 0) return order < 0;
  if (gates.priority_sorting_within_cohort && left.priority != right.priority)
    return left.priority > right.priority;
  return left.queue_time < right.queue_time;
}

std::size_t Tournament::best_below(const std::vector<std::size_t>& left, std::size_t depth) const {
  // Contenders of a queue are next to each other only by chance, so those of a cohort are gathered first.
  std::vector<std::pair<NodeId, std::vector<std::size_t>>> cohorts;
  std::size_t best = SIZE_MAX;
  const auto consider = [&](std::size_t contender) {
    if (best == SIZE_MAX || is_better(contender, best, depth)) best = contender;
  };
  for (const std::size_t contender : left) {
    if (levels_[contender].size() == depth) {
      consider(contender);
      continue;
    }
    const NodeId node = at_depth(contender, depth).node;
    const auto found = std::ranges::find(cohorts, node, &decltype(cohorts)::value_type::first);
    if (found != cohorts.end())
      found->second.push_back(contender);
    else
      cohorts.push_back({node, {contender}});
  }
  for (const auto& [node, below] : cohorts)
    consider(best_below(below, depth + 1));
  return best;
}

std::optional<std::size_t> Tournament::next() {
  while (next_tree_ < trees_.size() && trees_[next_tree_].left.empty())
    ++next_tree_;
  if (next_tree_ == trees_.size()) return std::nullopt;
  std::vector<std::size_t>& left = trees_[next_tree_].left;
  const bool has_cohort = !levels_[left.front()].empty();
  const std::size_t best = has_cohort ? best_below(left, 1) : left.front();
  std::erase(left, best);
  return best;
}

void Tournament::usage_changed(std::size_t contender) {
  if (levels_[contender].empty()) return;
  // Shares above the child of the root do not exist, so other branches keep theirs.
  const NodeId branch = at_depth(contender, 1).node;
  for (const std::size_t other : trees_[next_tree_].left) {
    if (at_depth(other, 1).node == branch) find_levels(other);
  }
}

}  // namespace vtrain::kueue
