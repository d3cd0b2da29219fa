#include "sched/tenants/share_account.hpp"

#include <algorithm>

namespace vtrain {

ShareAccount::ShareAccount(const ShareTree& tree, const SharePools& pools)
    : tree_(&tree), shared_(&pools), demand_(tree.size()) {
  pools_.reserve(pools.size());
  for (std::size_t pool = 0; pool < pools.size(); ++pool)
    pools_.push_back({ShareUse(tree, pool), ShareDivision(tree, pool), pools.capacity[pool]});
}

void ShareAccount::add_waiting(std::uint32_t leaf, std::size_t kind, std::span<const std::uint32_t> types,
                               std::int64_t gpus) {
  if (kind >= waiting_.size()) {
    waiting_.resize(kind + 1);
    parts_.resize(kind + 1);
  }
  if (waiting_[kind].empty()) {
    waiting_[kind].resize(tree_->size());
    for (std::size_t pool = 0; pool < pools_.size(); ++pool)
      parts_[kind].push_back(pools_.size() == 1 ? 1.0 : shared_->part(types, pool));
  }
  waiting_[kind][leaf] += gpus;
  for (std::size_t pool = 0; pool < pools_.size(); ++pool)
    pools_[pool].is_current &= parts_[kind][pool] == 0;
}

void ShareAccount::add_held(std::uint32_t leaf, std::size_t pool, std::int64_t gpus) {
  pools_[pool].use.add(leaf, gpus);
  pools_[pool].is_current = false;
}

void ShareAccount::set_capacity(std::size_t pool, std::int64_t gpus) {
  if (pools_[pool].capacity == gpus) return;
  pools_[pool].capacity = gpus;
  pools_[pool].is_current = false;
}

const ShareDivision& ShareAccount::shares(std::size_t pool) {
  Pool& its = pools_[pool];
  if (its.is_current) return its.division;
  for (std::uint32_t node = 0; node < tree_->size(); ++node)
    demand_[node] = tree_->node(node).is_leaf() ? static_cast<double>(its.use.of(node)) : 0.0;
  for (std::size_t kind = 0; kind < waiting_.size(); ++kind) {
    if (waiting_[kind].empty() || parts_[kind][pool] == 0) continue;
    for (std::uint32_t node = 0; node < tree_->size(); ++node)
      demand_[node] += parts_[kind][pool] * static_cast<double>(waiting_[kind][node]);
  }
  its.division.divide(demand_, static_cast<double>(its.capacity));
  its.is_current = true;
  return its.division;
}

}  // namespace vtrain
