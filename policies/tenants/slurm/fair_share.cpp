#include "policies/tenants/slurm/fair_share.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vtrain::slurm {
namespace {

/// Sum of the shares of an account's children. Those with the share of their parent do not count.
double sum_of_shares(const AssociationTree& tree, const Association& account) {
  double sum = 0;
  for (const std::uint32_t child : account.children) {
    if (!tree[child].share_of_parent) sum += static_cast<double>(tree[child].share);
  }
  return sum;
}

/// Share due among siblings, divided by the share used.
std::vector<double> level_fair_shares(const AssociationTree& tree) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  std::vector<double> levels(tree.list().size(), kInfinite);
  for (const Association& account : tree.list()) {
    const double shares = sum_of_shares(tree, account);
    for (const std::uint32_t position : account.children) {
      const Association& child = tree[position];
      if (child.share_of_parent) continue;
      const double due = shares > 0 ? static_cast<double>(child.share) / shares : 0;
      if (due == 0)
        levels[position] = 0;
      else if (child.usage > 0 && account.usage > 0)
        levels[position] = due / (child.usage / account.usage);
    }
  }
  return levels;
}

/// The walk of fair tree.
class FairTreeWalk {
 public:
  explicit FairTreeWalk(const AssociationTree& tree) : tree_(tree), levels_(level_fair_shares(tree)) {
    factors_.resize(tree.list().size());
    num_users_ = static_cast<std::size_t>(
        std::ranges::count_if(tree.list(), [](const Association& each) { return !each.user.empty(); }));
    next_rank_ = num_users_;
  }

  std::vector<double> walk() {
    visit(tree_[AssociationTree::kRoot].children, false);
    return std::move(factors_);
  }

 private:
  /// Ranks siblings, or the children of accounts that tie. `tied`: their account ties with a user before it,
  /// whose rank the first of them shares.
  void visit(std::vector<std::uint32_t> siblings, bool tied) {
    std::ranges::stable_sort(siblings, [this](std::uint32_t a, std::uint32_t b) {
      if (levels_[a] != levels_[b]) return levels_[a] > levels_[b];
      return !tree_[a].user.empty() && tree_[b].user.empty();
    });
    for (std::size_t i = 0; i < siblings.size(); ++i) {
      const bool ties = i == 0 ? tied : levels_[siblings[i - 1]] == levels_[siblings[i]];
      const Association& each = tree_[siblings[i]];
      if (!each.user.empty()) {
        if (!ties) rank_ = next_rank_;
        factors_[siblings[i]] = static_cast<double>(rank_) / static_cast<double>(num_users_);
        --next_rank_;
        continue;
      }
      std::vector<std::uint32_t> merged = each.children;
      while (i + 1 < siblings.size() && levels_[siblings[i + 1]] == levels_[siblings[i]]) {
        const std::vector<std::uint32_t>& more = tree_[siblings[++i]].children;
        merged.insert(merged.end(), more.begin(), more.end());
      }
      visit(std::move(merged), ties);
    }
  }

  const AssociationTree& tree_;
  std::vector<double> levels_;
  std::vector<double> factors_;
  std::size_t num_users_ = 0;
  std::size_t next_rank_ = 0;  ///< rank of the next user that ties with none before it
  std::size_t rank_ = 0;       ///< rank of the last user
};

/// Effective usage of the classic algorithm by level.
struct ClassicUsage {
  double share = 1;      ///< product of the shares from the root
  double usage = 1;      ///< usage as a part of all usage
  double effective = 1;  ///< effective usage
};

/// Effective usage below the first level, so that deep trees are treated as flat ones.
double depth_oblivious_usage(const ClassicUsage& parent, double share, double usage) {
  if (usage <= 0 || share <= 0 || parent.share <= 0 || parent.usage <= 0) return 0;
  const double ratio = parent.effective / parent.share;
  if (ratio <= 0) return 0;
  const double local = (usage / share) / (parent.usage / parent.share);
  const double log_ratio = std::log(ratio);
  constexpr double kSteepness = 5;
  const double power = log_ratio * std::log(local) >= 0 ? 1 : 1 / (1 + std::pow(kSteepness * log_ratio, 2));
  return ratio * std::pow(local, power) * share;
}

}  // namespace

std::vector<double> fair_tree_factors(const AssociationTree& tree) {
  return FairTreeWalk(tree).walk();
}

std::vector<double> classic_factors(const AssociationTree& tree, double dampening, bool depth_oblivious) {
  std::vector<ClassicUsage> values(tree.list().size());
  std::vector<double> factors(tree.list().size(), 1);
  const double all = tree[AssociationTree::kRoot].usage;
  for (std::uint32_t position = 0; position < values.size(); ++position) {
    const Association& account = tree[position];
    const ClassicUsage& above = values[position];
    const double shares = sum_of_shares(tree, account);
    for (const std::uint32_t at : account.children) {
      const Association& child = tree[at];
      ClassicUsage& value = values[at];
      if (child.share_of_parent) {
        value = above;
        continue;
      }
      const double part = shares > 0 ? static_cast<double>(child.share) / shares : 0;
      value.share = above.share * part;
      value.usage = all > 0 ? child.usage / all : 0;
      if (position == AssociationTree::kRoot)
        value.effective = value.usage;
      else if (depth_oblivious)
        value.effective = depth_oblivious_usage(above, value.share, value.usage);
      else
        value.effective = value.usage + (above.effective - value.usage) * part;
    }
    for (const std::uint32_t at : account.children) {
      const ClassicUsage& value = values[at];
      factors[at] = value.share > 0 ? std::exp2(-(value.effective / value.share) / dampening) : 0;
    }
  }
  return factors;
}

std::vector<double> fair_share_factors(const AssociationTree& tree, const PriorityConf& priority) {
  switch (priority.fair_share) {
    case FairShareKind::FairTree:
      return fair_tree_factors(tree);
    case FairShareKind::Classic:
      return classic_factors(tree, priority.dampening, false);
    case FairShareKind::DepthOblivious:
      return classic_factors(tree, priority.dampening, true);
  }
  return {};
}

}  // namespace vtrain::slurm
