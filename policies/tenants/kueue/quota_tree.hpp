/// The quota tree: ClusterQueues as leaves and Cohorts above them, with quotas and usage of each resource of
/// each flavor.
///
/// Rules: Kueue, commit ff69552. A node lends its quota to its parent except what its lending limit keeps
/// (*local* quota), and borrows from it up to its borrowing limit. Limits of a root mean nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/tenants/kueue/quantity.hpp"

namespace vtrain::kueue {

/// A node of the tree.
using NodeId = std::uint32_t;
/// A resource of a flavor: a column of the tree.
using FlavorResource = std::uint32_t;

inline constexpr NodeId kNoNode = UINT32_MAX;

/// Amounts by flavor and resource, each pair once.
using Usage = std::vector<std::pair<FlavorResource, Amount>>;

/// Adds an amount of one flavor's resource.
void add_to(Usage& usage, FlavorResource which, Amount amount);

/// Where a demand finds quota.
struct BorrowingLevel {
  /// 0 without borrowing; else the height of the lowest cohort that need not borrow itself, or of the root.
  std::int32_t level = 0;
  /// True if quota of the tree may be reclaimed for it: the walk ended below the root.
  bool may_reclaim = false;
};

/// The tree. Nodes, parents and quotas are set first, then `finish` is called; usage changes at any time.
class QuotaTree {
 public:
  /// One quota of a node.
  struct Quota {
    Amount nominal = 0;
    std::optional<Amount> borrowing_limit{};
    std::optional<Amount> lending_limit{};
  };

  /// A tree whose columns are `num_columns` resources of flavors.
  explicit QuotaTree(std::size_t num_columns = 0) : num_columns_(num_columns) {}

  NodeId add_cluster_queue() { return add_node(true); }
  NodeId add_cohort() { return add_node(false); }
  /// Parents form no cycle, and ClusterQueues have no children.
  void set_parent(NodeId node, NodeId parent) { nodes_[node].parent = parent; }
  void set_weight(NodeId node, double weight) { nodes_[node].weight = weight; }
  void set_quota(NodeId node, FlavorResource column, const Quota& quota);
  /// Computes what follows from quotas and parents. Usage is 0 then.
  void finish();

  std::size_t num_nodes() const { return nodes_.size(); }
  std::size_t num_columns() const { return num_columns_; }
  bool is_cluster_queue(NodeId node) const { return nodes_[node].is_cluster_queue; }
  /// `kNoNode` at a root.
  NodeId parent(NodeId node) const { return nodes_[node].parent; }
  bool has_parent(NodeId node) const { return nodes_[node].parent != kNoNode; }
  NodeId root(NodeId node) const;
  const std::vector<NodeId>& children(NodeId node) const { return nodes_[node].children; }
  /// 0 without children, 1 with ClusterQueues only, else 1 + the greatest height of its cohorts.
  std::int32_t height(NodeId node) const { return nodes_[node].height; }
  double weight(NodeId node) const { return nodes_[node].weight; }

  /// True if the node, or any below it, has a quota of this column.
  bool has_quota(NodeId node, FlavorResource column) const { return cell(node, column).has_quota; }
  /// Columns for which `has_quota` holds, ascending.
  const std::vector<FlavorResource>& columns(NodeId node) const { return nodes_[node].columns; }
  Amount nominal(NodeId node, FlavorResource column) const { return cell(node, column).nominal; }
  std::optional<Amount> borrowing_limit(NodeId node, FlavorResource column) const;
  /// Quota of the node and what those below lend to it.
  Amount subtree_quota(NodeId node, FlavorResource column) const { return cell(node, column).subtree; }
  /// Quota that is never lent to the parent.
  Amount local_quota(NodeId node, FlavorResource column) const { return cell(node, column).local; }
  Amount usage(NodeId node, FlavorResource column) const { return cell(node, column).usage; }
  /// Local quota that is free.
  Amount local_free(NodeId node, FlavorResource column) const;
  /// What a ClusterQueue may still use now, 0 or more.
  Amount available(NodeId node, FlavorResource column) const;
  /// What it could use if nobody else used anything.
  Amount potential(NodeId node, FlavorResource column) const { return cell(node, column).potential; }
  /// True if usage exceeds the subtree's quota.
  bool borrows(NodeId node, FlavorResource column) const;
  /// True if it would with `amount` more.
  bool would_borrow(NodeId node, FlavorResource column, Amount amount) const;
  BorrowingLevel borrowing_level(NodeId cluster_queue, FlavorResource column, Amount amount) const;

  /// Adds usage of a node, and to its parents what exceeds local quota.
  void add_usage(NodeId node, FlavorResource column, Amount amount);
  void add_usage(NodeId node, const Usage& usage);
  /// Undoes `add_usage`.
  void remove_usage(NodeId node, FlavorResource column, Amount amount);
  void remove_usage(NodeId node, const Usage& usage);
  /// True if every amount is available.
  bool fits(NodeId node, const Usage& usage) const;

 private:
  struct Cell {
    Amount nominal = 0;
    Amount borrowing_limit = -1;  ///< negative: none
    Amount lending_limit = -1;    ///< negative: none
    Amount subtree = 0;
    Amount local = 0;
    Amount potential = 0;
    Amount usage = 0;
    bool has_quota = false;
  };
  struct Node {
    bool is_cluster_queue = false;
    NodeId parent = kNoNode;
    std::vector<NodeId> children{};
    std::vector<FlavorResource> columns{};
    std::int32_t height = 0;
    double weight = 1;
  };

  NodeId add_node(bool is_cluster_queue);
  Cell& cell(NodeId node, FlavorResource column) { return cells_[node * num_columns_ + column]; }
  const Cell& cell(NodeId node, FlavorResource column) const { return cells_[node * num_columns_ + column]; }
  /// Nodes with parents first.
  std::vector<NodeId> from_the_roots() const;
  void lend_to_parent(NodeId node);
  void find_potential(NodeId node);
  Amount raw_available(NodeId node, FlavorResource column) const;

  std::size_t num_columns_;
  std::vector<Node> nodes_;
  std::vector<Cell> cells_;  ///< by node, then column
};

}  // namespace vtrain::kueue
