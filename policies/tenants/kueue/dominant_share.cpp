#include "policies/tenants/kueue/dominant_share.hpp"

#include <algorithm>
#include <limits>

namespace vtrain::kueue {

double DominantShare::value() const {
  if (weight == 0 && is_borrowing) return std::numeric_limits<double>::infinity();
  return ratio == 0 ? 0 : ratio / weight;
}

std::weak_ordering compare(const DominantShare& a, const DominantShare& b) {
  const double left = a.value();
  const double right = b.value();
  const auto order = [](double x, double y) {
    return x < y   ? std::weak_ordering::less
           : x > y ? std::weak_ordering::greater
                   : std::weak_ordering::equivalent;
  };
  if (left == right && left == std::numeric_limits<double>::infinity()) return order(a.ratio, b.ratio);
  return order(left, right);
}

ShareCalculator::ShareCalculator(const QuotaTree& tree, const std::vector<ResourceId>& resource_of)
    : tree_(tree), resource_of_(resource_of) {
  for (const ResourceId resource : resource_of)
    num_resources_ = std::max<std::size_t>(num_resources_, resource + 1);
  lendable_.resize(tree.num_nodes() * num_resources_);
  for (NodeId node = 0; node < tree.num_nodes(); ++node) {
    if (tree.is_cluster_queue(node)) continue;
    for (const FlavorResource column : tree.columns(tree.root(node))) {
      Amount& sum = lendable_[node * num_resources_ + resource_of[column]];
      sum = add_amounts(sum, tree.potential(node, column));
    }
  }
}

DominantShare ShareCalculator::share(NodeId node, const Usage& extra) const {
  DominantShare share{.weight = tree_.weight(node)};
  if (!tree_.has_parent(node)) return share;
  // Few resources are borrowed at once, so a list of sums is shorter than one by resource.
  Usage borrowed;
  for (const FlavorResource column : tree_.columns(node)) {
    Amount usage = tree_.usage(node, column);
    for (const auto& [which, amount] : extra) {
      if (which == column) usage = add_amounts(usage, amount);
    }
    const Amount beyond = usage - tree_.subtree_quota(node, column);
    if (beyond > 0) add_to(borrowed, resource_of_[column], beyond);
  }
  share.is_borrowing = !borrowed.empty();
  for (const auto& [resource, amount] : borrowed) {
    const Amount lendable = lendable_[tree_.parent(node) * num_resources_ + resource];
    if (lendable <= 0) continue;
    const double ratio = static_cast<double>(amount) * 1000.0 / static_cast<double>(lendable);
    if (ratio < share.ratio || (ratio == share.ratio && resource > share.dominant)) continue;
    share.ratio = ratio;
    share.dominant = resource;
  }
  return share;
}

}  // namespace vtrain::kueue
