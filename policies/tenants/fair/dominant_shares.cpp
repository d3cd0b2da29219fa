#include "policies/tenants/fair/dominant_shares.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "sched/tenants/share_division.hpp"

namespace vtrain {
namespace {

constexpr std::size_t kNumResources = 3;  // GPUs, CPUs, memory
/// Distance of shares that counts as none.
constexpr double kEqualShares = 1e-9;
/// Weight that stands for none.
constexpr double kLeastWeight = 1e-9;

/// Amounts of all resources, each in units of those for one GPU. So the cluster has as much of each as GPUs.
using Amounts = std::array<double, kNumResources>;

double dominant(const Amounts& amounts) {
  return *std::max_element(amounts.begin(), amounts.end());
}

/// The tenants side by side, without quotas.
TenantTree flattened(const TenantTree& tree) {
  TenantTree flat;
  for (const Tenant& tenant : tree.tenants)
    flat.tenants.push_back({.name = tenant.name, .weight = std::max(tenant.weight, kLeastWeight)});
  return flat;
}

class DominantShares final : public FairShares {
 public:
  explicit DominantShares(const ResourcesPerGpu& per_gpu) : per_gpu_(per_gpu) {}

  void begin(const SchedulingPass& view, std::span<const std::span<const std::uint32_t>> /*types*/) override {
    const TenantTree tenants =
        view.tenants().tenants.empty() ? equal_tenants(view.tenant_names()) : flattened(view.tenants());
    const std::int64_t gpus = view.total_gpus().value;
    tree_.emplace(tenants, SharePools{{gpus}, {0}, {""}, {gpus}});
    leaf_by_tenant_ = tree_->leaves_by_name(tenants, view.tenant_names());
    total_ = static_cast<double>(gpus);
    capacity_ = total_;
    used_ = Amounts{};
    held_.assign(tree_->size(), Amounts{});
    waiting_.assign(tree_->size(), Amounts{});
    due_.assign(tree_->size(), 0);
    is_current_ = false;
  }

  std::size_t num_leaves() const override { return tree_->size(); }
  std::size_t num_pools() const override { return 1; }
  std::size_t pool_of(std::uint32_t /*type*/) const override { return 0; }
  std::uint32_t leaf_of(const Job& job) const override {
    return job.tenant ? leaf_by_tenant_[job.tenant.value] : leaf_by_tenant_.back();
  }
  void set_capacity(std::size_t /*pool*/, std::int64_t gpus) override {
    capacity_ = static_cast<double>(gpus);
    is_current_ = false;
  }

  void add_waiting(const SchedulingPass& pass, JobId job, std::size_t /*kind*/, int times) override {
    add(waiting_[leaf_of(pass.job(job))], amounts_of(pass, job), times);
  }
  void add_held(const SchedulingPass& pass, JobId job, std::size_t /*pool*/, int times) override {
    const Amounts amounts = amounts_of(pass, job);
    add(held_[leaf_of(pass.job(job))], amounts, times);
    add(used_, amounts, times);
  }

  double ratio(std::uint32_t leaf, std::size_t /*pool*/) override {
    return ratio_of(leaf, dominant(held_[leaf]));
  }
  std::int64_t room(std::uint32_t /*leaf*/, std::size_t /*pool*/) const override {
    return std::numeric_limits<std::int64_t>::max();
  }
  bool is_limited(const SchedulingPass& /*pass*/, JobId /*job*/, std::size_t /*pool*/) const override {
    return false;
  }
  bool allows(const SchedulingPass& pass, JobId job, std::size_t /*pool*/) const override {
    return fits(pass, job, used_);
  }
  bool ever_allows(const SchedulingPass& pass, JobId job, std::size_t /*pool*/) const override {
    return fits(pass, job, {});
  }

  bool may_take(const SchedulingPass& pass, std::uint32_t taker, JobId victim,
                std::size_t /*pool*/) override {
    const std::uint32_t from = leaf_of(pass.job(victim));
    divide();
    const double has = dominant(held_[taker]);
    if (from == taker || dominant(held_[from]) <= due_[from] + kEqualShares ||
        has >= due_[taker] - kEqualShares)
      return false;
    Amounts left = held_[from];
    add(left, amounts_of(pass, victim), -1);
    const double before = ratio_of(taker, has);
    const double after = ratio_of(from, dominant(left));
    if (after > before + kEqualShares) return true;
    // Of two of which one has to go without, it is the one to which less is due.
    return after > before - kEqualShares && due_[taker] > due_[from] + kEqualShares;
  }

 private:
  Amounts amounts_of(const SchedulingPass& pass, JobId job) const {
    constexpr double kMilli = 1000;
    constexpr double kMibPerGib = 1024;
    Amounts amounts{static_cast<double>(pass.job(job).num_gpus.value), 0, 0};
    const JobRequirements* const asked = pass.requirements(job);
    if (asked == nullptr) return amounts;
    if (per_gpu_.cpus > 0) amounts[1] = static_cast<double>(asked->cpu_milli) / (kMilli * per_gpu_.cpus);
    if (per_gpu_.memory_gib > 0)
      amounts[2] = static_cast<double>(asked->memory_mib) / (kMibPerGib * per_gpu_.memory_gib);
    return amounts;
  }
  void add(Amounts& to, const Amounts& amounts, int times) {
    for (std::size_t i = 0; i < kNumResources; ++i)
      to[i] += times * amounts[i];
    is_current_ = false;
  }
  /// True if the other resources of the cluster suffice for a job and for what is in use.
  bool fits(const SchedulingPass& pass, JobId job, const Amounts& used) const {
    const Amounts amounts = amounts_of(pass, job);
    for (std::size_t i = 1; i < kNumResources; ++i) {
      if (amounts[i] > 0 && used[i] + amounts[i] > total_ * (1 + kEqualShares)) return false;
    }
    return true;
  }

  double ratio_of(std::uint32_t leaf, double held) {
    divide();
    return due_[leaf] > 0 ? held / due_[leaf] : std::numeric_limits<double>::infinity();
  }

  /// Raises the dominant shares of all tenants together, by their weights. A tenant stops at its demand, and
  /// where a resource that it needs is used up. Three rounds at most, one for each resource.
  void divide() {
    if (is_current_) return;
    is_current_ = true;
    const std::size_t size = tree_->size();
    std::vector<Amounts> demand(size);
    std::vector<bool> is_open(size);
    for (std::uint32_t leaf = 1; leaf < size; ++leaf) {
      demand[leaf] = held_[leaf];
      for (std::size_t i = 0; i < kNumResources; ++i)
        demand[leaf][i] += waiting_[leaf][i];
      due_[leaf] = 0;
      is_open[leaf] = dominant(demand[leaf]) > kEqualShares;
    }
    Amounts left;
    left.fill(capacity_);
    for (std::size_t round = 0; round < kNumResources; ++round) {
      double level = std::numeric_limits<double>::infinity();
      std::vector<double> parts;
      std::size_t scarce = kNumResources;
      for (std::size_t i = 0; i < kNumResources; ++i) {
        std::vector<double> its_parts(size);
        const double its_level = fill(demand, is_open, i, left[i], its_parts);
        if (its_level >= level && scarce != kNumResources) continue;
        level = its_level;
        parts = its_parts;
        scarce = i;
      }
      const bool is_enough = level == std::numeric_limits<double>::infinity();
      for (std::uint32_t leaf = 1; leaf < size; ++leaf) {
        if (!is_open[leaf] || (!is_enough && demand[leaf][scarce] <= 0)) continue;
        const double all = dominant(demand[leaf]);
        due_[leaf] = is_enough ? all : parts[leaf] * (all / demand[leaf][scarce]);
        for (std::size_t i = 0; i < kNumResources; ++i)
          left[i] -= demand[leaf][i] * (due_[leaf] / all);
        is_open[leaf] = false;
      }
      if (is_enough) return;
    }
  }

  /// Divides one resource over the open leaves so that dominant shares are level. Returns the level, infinite
  /// if the resource suffices.
  double fill(const std::vector<Amounts>& demand, const std::vector<bool>& is_open, std::size_t resource,
              double amount, std::vector<double>& parts) const {
    std::vector<ShareClaim> claims(demand.size());
    double most = 0;
    for (std::uint32_t leaf = 1; leaf < demand.size(); ++leaf) {
      claims[leaf].weight = tree_->node(leaf).weight;
      if (!is_open[leaf] || demand[leaf][resource] <= 0) continue;
      const double use = demand[leaf][resource] / dominant(demand[leaf]);
      claims[leaf] = {.weight = tree_->node(leaf).weight * use, .most = demand[leaf][resource]};
      most += claims[leaf].most;
    }
    if (most <= amount) return std::numeric_limits<double>::infinity();
    fill_by_weight(std::max(amount, 0.0), std::span(claims).subspan(1), std::span(parts).subspan(1));
    double level = 0;
    for (std::uint32_t leaf = 1; leaf < demand.size(); ++leaf) {
      if (parts[leaf] < claims[leaf].most) level = std::max(level, parts[leaf] / claims[leaf].weight);
    }
    return level;
  }

  ResourcesPerGpu per_gpu_;
  std::optional<ShareTree> tree_;
  std::vector<std::uint32_t> leaf_by_tenant_;  ///< [tenants of jobs], then jobs without one
  double total_ = 0;                           ///< GPUs of the cluster
  double capacity_ = 0;                        ///< GPUs in service
  Amounts used_{};
  std::vector<Amounts> held_;     ///< [leaves]
  std::vector<Amounts> waiting_;  ///< [leaves]
  std::vector<double> due_;       ///< [leaves], dominant share due, in GPUs
  bool is_current_ = false;       ///< true if nothing has changed since the division
};

}  // namespace

std::unique_ptr<FairShares> make_dominant_shares(const ResourcesPerGpu& per_gpu) {
  return std::make_unique<DominantShares>(per_gpu);
}

}  // namespace vtrain
