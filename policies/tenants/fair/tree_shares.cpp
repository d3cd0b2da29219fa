#include "policies/tenants/fair/tree_shares.hpp"

#include <algorithm>
#include <limits>

#include "policies/list/gpu_pool.hpp"

namespace vtrain {
namespace {

/// Distance of shares that counts as none.
constexpr double kNoDifference = 1e-9;

class TreeShares final : public FairShares {
 public:
  void begin(const SchedulingPass& view, std::span<const std::span<const std::uint32_t>> types) override {
    types_ = types;
    const bool is_given = !view.tenants().tenants.empty();
    TenantTree equal;
    if (!is_given) equal = equal_tenants(view.tenant_names());
    const TenantTree& tenants = is_given ? view.tenants() : equal;
    pools_ = share_pools(tenants, view.cluster(), view.gpu_type_names(), GpuPool::types(view) == nullptr);
    account_.reset();
    tree_.emplace(tenants, pools_);
    account_.emplace(*tree_, pools_);
    leaf_by_tenant_ = tree_->leaves_by_name(tenants, view.tenant_names());
    empty_.clear();
    for (std::size_t pool = 0; pool < pools_.size(); ++pool)
      empty_.emplace_back(*tree_, pool);
  }

  std::size_t num_leaves() const override { return tree_->size(); }
  std::size_t num_pools() const override { return pools_.size(); }
  std::size_t pool_of(std::uint32_t type) const override { return pools_.of_type[type]; }
  std::uint32_t leaf_of(const Job& job) const override {
    return job.tenant ? leaf_by_tenant_[job.tenant.value] : leaf_by_tenant_.back();
  }
  void set_capacity(std::size_t pool, std::int64_t gpus) override { account_->set_capacity(pool, gpus); }

  void add_waiting(const SchedulingPass& pass, JobId job, std::size_t kind, int times) override {
    const Job& description = pass.job(job);
    account_->add_waiting(leaf_of(description), kind, types_[kind],
                          std::int64_t{times} * description.num_gpus.value);
  }
  void add_held(const SchedulingPass& pass, JobId job, std::size_t pool, int times) override {
    const Job& description = pass.job(job);
    account_->add_held(leaf_of(description), pool, std::int64_t{times} * description.num_gpus.value);
  }

  double ratio(std::uint32_t leaf, std::size_t pool) override {
    return ratio_of(leaf, pool, held(leaf, pool));
  }
  std::int64_t room(std::uint32_t leaf, std::size_t pool) const override {
    return account_->use(pool).room(leaf);
  }
  bool is_limited(const SchedulingPass& pass, JobId job, std::size_t pool) const override {
    const Job& description = pass.job(job);
    return description.num_gpus.value > account_->use(pool).room_within_limits(leaf_of(description));
  }
  bool allows(const SchedulingPass& pass, JobId job, std::size_t pool) const override {
    const Job& description = pass.job(job);
    return description.num_gpus.value <= room(leaf_of(description), pool);
  }
  bool ever_allows(const SchedulingPass& pass, JobId job, std::size_t pool) const override {
    const Job& description = pass.job(job);
    return description.num_gpus.value <= empty_[pool].room(leaf_of(description));
  }

  bool may_take(const SchedulingPass& pass, std::uint32_t taker, JobId victim, std::size_t pool) override {
    const ShareDivision& shares = account_->shares(pool);
    const Job& description = pass.job(victim);
    const auto gpus = static_cast<double>(description.num_gpus.value);
    std::uint32_t from = leaf_of(description);
    std::uint32_t to = taker;
    // Both climb to children of one parent. All that give stay at or above their guarantees and were above
    // their shares; all that get are below theirs.
    const auto gives = [&](std::uint32_t node) {
      const double left = held(node, pool) - gpus;
      return held(node, pool) > shares.due(node) + kNoDifference &&
             left >= shares.guarantee(node) - kNoDifference;
    };
    const auto gets = [&](std::uint32_t node) { return held(node, pool) < shares.due(node) - kNoDifference; };
    if (from == to || !gives(from) || !gets(to)) return false;
    while (tree_->node(from).parent != tree_->node(to).parent) {
      const std::uint32_t depth_from = tree_->node(from).depth;
      const std::uint32_t depth_to = tree_->node(to).depth;
      if (depth_from >= depth_to) from = tree_->node(from).parent;
      if (depth_to >= depth_from) to = tree_->node(to).parent;
      if (!gives(from) || !gets(to)) return false;
    }
    if (held(to, pool) < shares.guarantee(to) - kNoDifference) return true;
    const double before = ratio_of(to, pool, held(to, pool));
    const double after = ratio_of(from, pool, held(from, pool) - gpus);
    if (after > before + kNoDifference) return true;
    // Of two of which one has to go without, it is the one to which less is due.
    return after > before - kNoDifference && shares.due(to) > shares.due(from) + kNoDifference;
  }

 private:
  double held(std::uint32_t node, std::size_t pool) const {
    return static_cast<double>(account_->use(pool).of(node));
  }
  double ratio_of(std::uint32_t node, std::size_t pool, double held) {
    const double due = account_->shares(pool).due(node);
    return due > 0 ? held / due : std::numeric_limits<double>::infinity();
  }

  std::span<const std::span<const std::uint32_t>> types_;
  SharePools pools_;
  std::optional<ShareTree> tree_;
  std::optional<ShareAccount> account_;
  std::vector<std::uint32_t> leaf_by_tenant_;  ///< [tenants of jobs], then jobs without one
  std::vector<ShareUse> empty_;                ///< [pools], nothing in use
};

}  // namespace

std::unique_ptr<FairShares> make_tree_shares() {
  return std::make_unique<TreeShares>();
}

}  // namespace vtrain
