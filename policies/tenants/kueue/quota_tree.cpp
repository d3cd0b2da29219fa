#include "policies/tenants/kueue/quota_tree.hpp"

#include <algorithm>

namespace vtrain::kueue {

void add_to(Usage& usage, FlavorResource which, Amount amount) {
  for (auto& [column, sum] : usage) {
    if (column != which) continue;
    sum = add_amounts(sum, amount);
    return;
  }
  usage.emplace_back(which, amount);
}

NodeId QuotaTree::add_node(bool is_cluster_queue) {
  nodes_.push_back({.is_cluster_queue = is_cluster_queue});
  cells_.resize(nodes_.size() * num_columns_);
  return static_cast<NodeId>(nodes_.size() - 1);
}

void QuotaTree::set_quota(NodeId node, FlavorResource column, const Quota& quota) {
  Cell& set = cell(node, column);
  set.nominal = quota.nominal;
  set.borrowing_limit = quota.borrowing_limit.value_or(-1);
  set.lending_limit = quota.lending_limit.value_or(-1);
  set.has_quota = true;
}

std::vector<NodeId> QuotaTree::from_the_roots() const {
  std::vector<NodeId> order;
  order.reserve(nodes_.size());
  for (NodeId node = 0; node < nodes_.size(); ++node) {
    if (!has_parent(node)) order.push_back(node);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::vector<NodeId>& below = nodes_[order[i]].children;
    order.insert(order.end(), below.begin(), below.end());
  }
  return order;
}

void QuotaTree::lend_to_parent(NodeId node) {
  const NodeId above = parent(node);
  for (FlavorResource column = 0; column < num_columns_; ++column) {
    Cell& own = cell(node, column);
    if (!own.has_quota) continue;
    own.subtree = add_amounts(own.subtree, own.nominal);
    own.local = own.lending_limit < 0 ? 0 : std::max<Amount>(0, own.subtree - own.lending_limit);
    nodes_[node].columns.push_back(column);
    if (above == kNoNode) continue;
    Cell& theirs = cell(above, column);
    theirs.subtree = add_amounts(theirs.subtree, own.subtree - own.local);
    theirs.has_quota = true;
  }
  if (above == kNoNode) return;
  const std::int32_t height = is_cluster_queue(node) ? 1 : nodes_[node].height + 1;
  nodes_[above].height = std::max(nodes_[above].height, height);
}

void QuotaTree::find_potential(NodeId node) {
  const NodeId above = parent(node);
  for (FlavorResource column = 0; column < num_columns_; ++column) {
    Cell& own = cell(node, column);
    own.potential = own.subtree;
    if (above == kNoNode) continue;
    own.potential = add_amounts(own.local, cell(above, column).potential);
    if (own.borrowing_limit >= 0)
      own.potential = std::min(own.potential, add_amounts(own.subtree, own.borrowing_limit));
  }
}

void QuotaTree::finish() {
  for (Node& node : nodes_) {
    node.children.clear();
    node.columns.clear();
    node.height = 0;
  }
  for (NodeId node = 0; node < nodes_.size(); ++node) {
    if (has_parent(node)) nodes_[parent(node)].children.push_back(node);
  }
  const std::vector<NodeId> order = from_the_roots();
  for (auto node = order.rbegin(); node != order.rend(); ++node)
    lend_to_parent(*node);
  for (const NodeId node : order)
    find_potential(node);
}

NodeId QuotaTree::root(NodeId node) const {
  while (has_parent(node))
    node = parent(node);
  return node;
}

std::optional<Amount> QuotaTree::borrowing_limit(NodeId node, FlavorResource column) const {
  const Amount limit = cell(node, column).borrowing_limit;
  return limit < 0 ? std::nullopt : std::optional(limit);
}

Amount QuotaTree::local_free(NodeId node, FlavorResource column) const {
  const Cell& own = cell(node, column);
  return std::max<Amount>(0, own.local - own.usage);
}

Amount QuotaTree::raw_available(NodeId node, FlavorResource column) const {
  const Cell& own = cell(node, column);
  if (!has_parent(node)) return own.subtree - own.usage;
  Amount from_parent = raw_available(parent(node), column);
  if (own.borrowing_limit >= 0) {
    const Amount used_in_parent = std::max<Amount>(0, own.usage - own.local);
    from_parent =
        std::min(from_parent, add_amounts(own.subtree - own.local - used_in_parent, own.borrowing_limit));
  }
  return local_free(node, column) + from_parent;
}

Amount QuotaTree::available(NodeId node, FlavorResource column) const {
  return std::max<Amount>(0, raw_available(node, column));
}

bool QuotaTree::borrows(NodeId node, FlavorResource column) const {
  const Cell& own = cell(node, column);
  return own.usage > own.subtree;
}

bool QuotaTree::would_borrow(NodeId node, FlavorResource column, Amount amount) const {
  const Cell& own = cell(node, column);
  return add_amounts(own.usage, amount) > own.subtree;
}

BorrowingLevel QuotaTree::borrowing_level(NodeId cluster_queue, FlavorResource column, Amount amount) const {
  if (!has_parent(cluster_queue)) return {};
  if (!would_borrow(cluster_queue, column, amount)) return {.level = 0, .may_reclaim = true};
  Amount rest = amount - local_free(cluster_queue, column);
  NodeId node = parent(cluster_queue);
  while (would_borrow(node, column, rest)) {
    if (!has_parent(node)) return {.level = height(node), .may_reclaim = false};
    rest -= local_free(node, column);
    node = parent(node);
  }
  return {.level = height(node), .may_reclaim = has_parent(node)};
}

void QuotaTree::add_usage(NodeId node, FlavorResource column, Amount amount) {
  while (true) {
    const Amount beyond = amount - local_free(node, column);
    Amount& used = cell(node, column).usage;
    used = add_amounts(used, amount);
    if (beyond <= 0 || !has_parent(node)) return;
    amount = beyond;
    node = parent(node);
  }
}

void QuotaTree::remove_usage(NodeId node, FlavorResource column, Amount amount) {
  while (true) {
    Cell& own = cell(node, column);
    const Amount in_parent = own.usage - own.local;
    own.usage -= amount;
    if (in_parent <= 0 || !has_parent(node)) return;
    amount = std::min(amount, in_parent);
    node = parent(node);
  }
}

void QuotaTree::add_usage(NodeId node, const Usage& usage) {
  for (const auto& [column, amount] : usage)
    add_usage(node, column, amount);
}

void QuotaTree::remove_usage(NodeId node, const Usage& usage) {
  for (const auto& [column, amount] : usage)
    remove_usage(node, column, amount);
}

bool QuotaTree::fits(NodeId node, const Usage& usage) const {
  return std::ranges::all_of(usage,
                             [&](const auto& each) { return each.second <= available(node, each.first); });
}

}  // namespace vtrain::kueue
