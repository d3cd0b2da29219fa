#include "sched/tenants/share_tree.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/strings.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

double SharePools::part(std::span<const std::uint32_t> types, std::size_t pool) const {
  std::int64_t all = 0;
  std::int64_t here = 0;
  for (const std::uint32_t type : types) {
    all += type_gpus[type];
    if (of_type[type] == pool) here += type_gpus[type];
  }
  return all == 0 ? 0.0 : static_cast<double>(here) / static_cast<double>(all);
}

SharePools share_pools(const TenantTree& tree, const ClusterSpec& cluster, const NameTable& asked,
                       bool alike) {
  const GpuTypes types(cluster, asked);
  bool names_types = asked.size() > 0;
  bool has_any = false;
  for (const Tenant& tenant : tree.tenants) {
    for (const Quota& quota : tenant.quotas) {
      names_types |= !quota.gpu_type.empty();
      has_any |= quota.gpu_type.empty();
    }
  }
  SharePools pools;
  pools.type_gpus.resize(types.names().size());
  for (const NodeGroup& group : cluster.groups) {
    pools.type_gpus[types.number_of(group)] += std::int64_t{group.num_nodes} * group.gpus_per_node.value;
  }
  if (alike || has_any || !names_types || pools.type_gpus.size() < 2) {
    pools.capacity = {std::accumulate(pools.type_gpus.begin(), pools.type_gpus.end(), std::int64_t{0})};
    pools.of_type.assign(pools.type_gpus.size(), 0);
    pools.gpu_types = {""};
    return pools;
  }
  pools.capacity = pools.type_gpus;
  pools.gpu_types = types.names();
  pools.of_type.resize(pools.type_gpus.size());
  std::iota(pools.of_type.begin(), pools.of_type.end(), 0u);
  return pools;
}

ShareTree::ShareTree(const TenantTree& tree, const SharePools& pools)
    : node_of_(tree.tenants.size(), kNone), leaf_of_(tree.tenants.size(), kNone) {
  const auto num_tenants = static_cast<std::uint32_t>(tree.tenants.size());
  std::vector<std::vector<std::uint32_t>> children(tree.tenants.size() + 1);  // the last is the root's
  for (std::uint32_t i = 0; i < num_tenants; ++i)
    children[tree.tenants[i].parent.value_or(num_tenants)].push_back(i);
  for (auto& siblings : children) {
    std::ranges::sort(siblings, [&](std::uint32_t a, std::uint32_t b) {
      return tree.tenants[a].name < tree.tenants[b].name;
    });
  }
  // Level by level, so that the children of a node follow each other.
  nodes_.emplace_back();
  for (std::uint32_t number = 0; number < nodes_.size(); ++number) {
    const bool is_jobs =
        number != 0 && (nodes_[number].tenant == kNone || node_of_[nodes_[number].tenant] != number);
    const std::uint32_t place = number == 0 ? num_tenants : nodes_[number].tenant;
    nodes_[number].first_child = static_cast<std::uint32_t>(nodes_.size());
    const bool has_children = !is_jobs && (number == 0 || !children[place].empty());
    if (has_children) {
      const Node child{.parent = number, .depth = nodes_[number].depth + 1};
      for (const std::uint32_t tenant : children[place]) {
        node_of_[tenant] = leaf_of_[tenant] = static_cast<std::uint32_t>(nodes_.size());
        Node& added = nodes_.emplace_back(child);
        added.weight = tree.tenants[tenant].weight;
        added.tenant = tenant;
        added.quotas = tree.tenants[tenant].quotas;
      }
      const auto jobs = static_cast<std::uint32_t>(nodes_.size());
      Node& added = nodes_.emplace_back(child);
      if (number == 0) {
        strangers_ = jobs;
      } else {
        added.tenant = place;
        leaf_of_[place] = jobs;
      }
    }
    nodes_[number].end_child = static_cast<std::uint32_t>(nodes_.size());
  }
  limits_.resize(pools.size() * nodes_.size());
  for (std::size_t pool = 0; pool < pools.size(); ++pool)
    set_limits(pools, pool);
}

void ShareTree::set_limits(const SharePools& pools, std::size_t pool) {
  Limits* const limits = limits_.data() + pool * nodes_.size();
  for (auto number = static_cast<std::uint32_t>(nodes_.size()); number-- > 0;) {
    const Node& node = nodes_[number];
    Limits& own = limits[number];
    // Limits of quotas that fall into one pool add up; a quota without a limit has no end.
    std::int64_t borrows = kUnlimited;
    std::int64_t lent = kUnlimited;
    const auto add = [](std::int64_t& sum, std::optional<std::int64_t> limit, bool is_first) {
      if (!limit)
        sum = kUnlimited;
      else if (is_first)
        sum = *limit;
      else if (sum != kUnlimited)
        sum += *limit;
    };
    bool is_first = true;
    for (const Quota& quota : node.quotas) {
      const bool is_here = pools.size() == 1 || equal_in_any_case(quota.gpu_type, pools.gpu_types[pool]);
      if (!is_here) continue;
      own.nominal += quota.nominal;
      add(borrows, quota.borrowing_limit, is_first);
      add(lent, quota.lending_limit, is_first);
      is_first = false;
    }
    std::int64_t reserve_below = 0;
    for (std::uint32_t child = node.first_child; child < node.end_child; ++child) {
      own.nominal += limits[child].nominal;
      reserve_below += limits[child].reserve;
    }
    if (borrows != kUnlimited) own.most = own.nominal + borrows;
    own.reserve = std::max(lent == kUnlimited ? 0 : own.nominal - lent, reserve_below);
    if (number == 0) own = {pools.capacity[pool], pools.capacity[pool], 0};
  }
}

std::vector<std::uint32_t> ShareTree::leaves_by_name(const TenantTree& tree, const NameTable& names) const {
  std::map<std::string_view, std::uint32_t> leaves;
  for (std::uint32_t i = 0; i < tree.tenants.size(); ++i)
    leaves.emplace(tree.tenants[i].name, leaf_of_[i]);
  std::vector<std::uint32_t> found;
  for (const std::string& name : names.names()) {
    const auto leaf = leaves.find(name);
    found.push_back(leaf == leaves.end() ? strangers_ : leaf->second);
  }
  found.push_back(strangers_);
  return found;
}

TenantTree equal_tenants(const NameTable& names) {
  TenantTree tree;
  for (const std::string& name : names.names())
    tree.tenants.push_back({.name = name});
  return tree;
}

ShareUse::ShareUse(const ShareTree& tree, std::size_t pool)
    : tree_(&tree), pool_(pool), used_(tree.size()), below_(tree.size()) {
  for (auto node = static_cast<std::uint32_t>(tree.size()); node-- > 1;)
    below_[tree.node(node).parent] += taken(node, below_[node]);
}

std::int64_t ShareUse::room_below(std::uint32_t leaf, std::uint32_t end) const {
  std::int64_t least = ShareTree::kUnlimited;
  std::int64_t idle = 0;  // GPUs on the way that are taken already, as they are not lent
  for (std::uint32_t node = leaf; node != end; node = tree_->node(node).parent) {
    const ShareTree::Limits& own = limits(node);
    if (own.most != ShareTree::kUnlimited)
      least = std::min(least, idle + std::max<std::int64_t>(own.most - below_[node], 0));
    idle += std::max<std::int64_t>(own.reserve - below_[node], 0);
  }
  return least;
}

void ShareUse::add(std::uint32_t leaf, std::int64_t gpus) {
  std::int64_t more = gpus;
  for (std::uint32_t node = leaf; node != ShareTree::kNone; node = tree_->node(node).parent) {
    used_[node] += gpus;
    const std::int64_t before = taken(node, below_[node]);
    below_[node] += more;
    more = taken(node, below_[node]) - before;
  }
}

}  // namespace vtrain
