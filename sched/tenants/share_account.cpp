#include "sched/tenants/share_account.hpp"

#include <algorithm>

namespace vtrain {

ShareAccount::ShareAccount(const ShareTree& tree, const SharePools& pools) : tree_(&tree), shared_(&pools) {
  pools_.reserve(pools.size());
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    pools_.push_back({ShareUse(tree, pool),
                      ShareDivision(tree, pool),
                      pools.capacity[pool],
                      std::vector<double>(tree.size()),
                      {},
                      std::vector<bool>(tree.size())});
  }
}

void ShareAccount::Pool::note_change(std::uint32_t leaf) {
  if (has_changed[leaf]) return;
  has_changed[leaf] = true;
  changed.push_back(leaf);
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
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    if (parts_[kind][pool] != 0) pools_[pool].note_change(leaf);
  }
}

void ShareAccount::add_held(std::uint32_t leaf, std::size_t pool, std::int64_t gpus) {
  pools_[pool].use.add(leaf, gpus);
  pools_[pool].note_change(leaf);
}

void ShareAccount::set_capacity(std::size_t pool, std::int64_t gpus) {
  if (pools_[pool].capacity == gpus) return;
  pools_[pool].capacity = gpus;
  pools_[pool].is_current = false;
}

double ShareAccount::demand_of(std::uint32_t leaf, std::size_t pool) const {
  auto demand = static_cast<double>(pools_[pool].use.of(leaf));
  for (std::size_t kind = 0; kind < waiting_.size(); ++kind) {
    if (!waiting_[kind].empty()) demand += parts_[kind][pool] * static_cast<double>(waiting_[kind][leaf]);
  }
  return demand;
}

const ShareDivision& ShareAccount::shares(std::size_t pool) {
  Pool& its = pools_[pool];
  for (const std::uint32_t leaf : its.changed) {
    const double demand = demand_of(leaf, pool);
    its.is_current &= demand == its.demand[leaf];
    its.demand[leaf] = demand;
    its.has_changed[leaf] = false;
  }
  its.changed.clear();
  if (its.is_current) return its.division;
  its.division.divide(its.demand, static_cast<double>(its.capacity));
  its.is_current = true;
  return its.division;
}

}  // namespace vtrain
