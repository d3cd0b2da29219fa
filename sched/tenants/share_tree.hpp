/// Tenants as a tree over which GPUs are divided: weights, quotas and limits by pool of GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "sched/tenants/tenant_tree.hpp"

namespace vtrain {

/// GPUs that are divided apart from others. Each GPU type is a pool if quotas name types or jobs request
/// types, and no quota is of GPUs of any type. Otherwise all GPUs are one pool.
struct SharePools {
  std::vector<std::int64_t> capacity{};   ///< GPUs of each pool
  std::vector<std::uint32_t> of_type{};   ///< pool of each type of `GpuTypes`
  std::vector<std::string> gpu_types{};   ///< type of each pool; a single empty name for one pool
  std::vector<std::int64_t> type_gpus{};  ///< GPUs of each type of `GpuTypes`

  /// Number of pools.
  std::size_t size() const { return capacity.size(); }
  /// Part of the demand of a job that may use these types that counts in a pool: its part of their GPUs.
  double part(std::span<const std::uint32_t> types, std::size_t pool) const;
};

/// Makes the pools of a cluster. `alike`: placement does not tell types apart, so all GPUs are one pool.
SharePools share_pools(const TenantTree& tree, const ClusterSpec& cluster, const NameTable& asked,
                       bool alike);

/// A tree over which GPUs are divided. Node 0 is the root. Each tenant is a node, and its jobs are those of a
/// leaf: the node itself, or, if tenants are below it, a child of weight 1 without a quota. The jobs of no
/// tenant of the tree are those of another such child of the root. Parents come before their children, and
/// the children of a node follow each other in the order of their names, in whatever order the file has them.
class ShareTree {
 public:
  /// Number of a node that does not exist.
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  /// Limit of a node without one.
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  /// One node.
  struct Node {
    std::uint32_t parent = kNone;    ///< its parent
    std::uint32_t first_child = 0;   ///< its first child
    std::uint32_t end_child = 0;     ///< node after its last child; equal to `first_child` for a leaf
    double weight = 1;               ///< share among its siblings
    std::uint32_t tenant = kNone;    ///< position in the tree of tenants, also of a leaf for a tenant's jobs
    std::uint32_t depth = 0;         ///< number of nodes above it
    std::vector<Quota> quotas = {};  ///< quotas of its own, without those below it

    /// True if jobs may be its own.
    bool is_leaf() const { return first_child == end_child; }
  };
  /// GPUs of one pool that a node and all below it have together.
  struct Limits {
    std::int64_t nominal = 0;        ///< quotas
    std::int64_t most = kUnlimited;  ///< quotas and what may be borrowed
    std::int64_t reserve = 0;        ///< quotas that are never lent

    friend bool operator==(const Limits&, const Limits&) = default;
  };

  /// Makes the nodes of the tenants, and their limits in each pool.
  ShareTree(const TenantTree& tree, const SharePools& pools);

  /// Number of nodes.
  std::size_t size() const { return nodes_.size(); }
  /// One node.
  const Node& node(std::uint32_t number) const { return nodes_[number]; }
  /// Limits of a node in a pool. The root has all GPUs and no more.
  const Limits& limits(std::size_t pool, std::uint32_t node) const {
    return limits_[pool * nodes_.size() + node];
  }
  /// Number of pools.
  std::size_t num_pools() const { return limits_.size() / nodes_.size(); }
  /// Node of a tenant, with all below it.
  std::uint32_t node_of(std::uint32_t tenant) const { return node_of_[tenant]; }
  /// Leaf with the jobs of a tenant.
  std::uint32_t leaf_of(std::uint32_t tenant) const { return leaf_of_[tenant]; }
  /// Leaf with the jobs of no tenant of the tree.
  std::uint32_t strangers() const { return strangers_; }
  /// Leaf of each tenant that jobs name. The last is for jobs without a tenant.
  std::vector<std::uint32_t> leaves_by_name(const TenantTree& tree, const NameTable& names) const;

 private:
  void set_limits(const SharePools& pools, std::size_t pool);

  std::vector<Node> nodes_;
  std::vector<Limits> limits_;          ///< [pools][nodes]
  std::vector<std::uint32_t> node_of_;  ///< [tenants]
  std::vector<std::uint32_t> leaf_of_;  ///< [tenants]
  std::uint32_t strangers_ = 0;
};

/// A tree of tenants of equal weights, without quotas.
TenantTree equal_tenants(const NameTable& names);

/// GPUs in use in one pool, by node, and what the limits leave.
class ShareUse {
 public:
  /// Begins without any in use. `tree` outlives this.
  ShareUse(const ShareTree& tree, std::size_t pool);

  /// Most GPUs that the jobs of a leaf may use beyond those in use: no node exceeds what it may borrow, and
  /// no quota that is not lent is used by others. O(depth).
  std::int64_t room(std::uint32_t leaf) const { return room_below(leaf, ShareTree::kNone); }
  /// The same without the GPUs that all tenants together have: what limits alone leave.
  std::int64_t room_within_limits(std::uint32_t leaf) const { return room_below(leaf, 0); }
  /// Adds GPUs to those that the jobs of a leaf use; a negative number removes them. O(depth).
  void add(std::uint32_t leaf, std::int64_t gpus);
  /// GPUs that a node and all below it use.
  std::int64_t of(std::uint32_t node) const { return used_[node]; }
  /// Limits of a node.
  const ShareTree::Limits& limits(std::uint32_t node) const { return tree_->limits(pool_, node); }

 private:
  std::int64_t room_below(std::uint32_t leaf, std::uint32_t end) const;
  /// GPUs that a node takes from its parent's: those in use and unused ones that it does not lend.
  std::int64_t taken(std::uint32_t node, std::int64_t below) const {
    return below > limits(node).reserve ? below : limits(node).reserve;
  }

  const ShareTree* tree_;
  std::size_t pool_;
  std::vector<std::int64_t> used_;   ///< [nodes]
  std::vector<std::int64_t> below_;  ///< [nodes], GPUs that the node's jobs and children take
};

}  // namespace vtrain
