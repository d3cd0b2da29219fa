#include "sched/tenants/share_division.hpp"

#include <algorithm>
#include <cstddef>

namespace vtrain {
namespace {

/// Divides what the fixed parts leave over the open ones, which are below 0 and have positive weights.
void fill_open(double amount, std::span<const ShareClaim> claims, std::span<double> parts) {
  bool some_open = true;
  while (some_open) {
    double left = amount;
    double weight = 0;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (parts[i] < 0)
        weight += claims[i].weight;
      else
        left -= parts[i];
    }
    if (weight == 0) return;
    const double level = std::max(left, 0.0) / weight;
    const auto part_of = [&](const ShareClaim& claim) {
      return std::clamp(level * claim.weight, claim.least, claim.most);
    };
    double violation = 0;  // of the sum, if all open parts were fixed now
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (parts[i] < 0) violation += part_of(claims[i]) - level * claims[i].weight;
    }
    some_open = false;
    bool fixed_any = false;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (parts[i] >= 0) continue;
      const double want = level * claims[i].weight;
      const double part = part_of(claims[i]);
      if (violation == 0 || (violation > 0 ? part > want : part < want)) {
        parts[i] = part;
        fixed_any = true;
      } else {
        some_open = true;
      }
    }
    if (fixed_any) continue;
    for (std::size_t i = 0; i < claims.size(); ++i) {  // the violation was of rounding alone
      if (parts[i] < 0) parts[i] = part_of(claims[i]);
    }
    return;
  }
}

}  // namespace

void fill_by_weight(double amount, std::span<const ShareClaim> claims, std::span<double> parts) {
  double least = 0;
  double most = 0;
  double weighted = 0;  // least amount that leaves something to claims without weight
  for (const ShareClaim& claim : claims) {
    least += claim.least;
    most += claim.most;
    weighted += claim.weight > 0 ? claim.most : claim.least;
  }
  if (most <= amount) {
    for (std::size_t i = 0; i < claims.size(); ++i)
      parts[i] = claims[i].most;
    return;
  }
  if (least >= amount) {
    std::vector<ShareClaim> cut(claims.begin(), claims.end());
    for (ShareClaim& claim : cut)
      claim = {.weight = claim.entitled, .least = 0, .most = claim.entitled > 0 ? claim.least : 0};
    for (std::size_t i = 0; i < claims.size(); ++i)
      parts[i] = cut[i].weight > 0 ? -1 : 0;
    return fill_open(amount, cut, parts);
  }
  if (weighted >= amount) {
    for (std::size_t i = 0; i < claims.size(); ++i)
      parts[i] = claims[i].weight > 0 ? -1 : claims[i].least;
    return fill_open(amount, claims, parts);
  }
  std::vector<ShareClaim> equal(claims.begin(), claims.end());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    parts[i] = claims[i].weight > 0 ? claims[i].most : -1;
    equal[i].weight = 1;
  }
  fill_open(amount, equal, parts);
}

ShareDivision::ShareDivision(const ShareTree& tree, std::size_t pool)
    : tree_(tree),
      pool_(pool),
      claims_(tree.size()),
      usable_(tree.size()),
      given_(tree.size()),
      due_(tree.size()),
      guarantee_(tree.size()) {
  for (std::uint32_t node = 0; node < tree.size(); ++node) {
    claims_[node].weight = tree.node(node).weight;
    claims_[node].entitled = static_cast<double>(tree.limits(pool, node).nominal);
  }
}

void ShareDivision::find_claims(std::span<const double> demand) {
  for (auto number = static_cast<std::uint32_t>(tree_.size()); number-- > 0;) {
    const ShareTree::Node& node = tree_.node(number);
    double usable = node.is_leaf() ? demand[number] : 0;
    double most = usable;
    for (std::uint32_t child = node.first_child; child < node.end_child; ++child) {
      usable += usable_[child];
      most += claims_[child].most;
    }
    const ShareTree::Limits& limits = tree_.limits(pool_, number);
    if (limits.most != ShareTree::kUnlimited) {
      usable = std::min(usable, static_cast<double>(limits.most));
      most = std::min(most, static_cast<double>(limits.most));
    }
    ShareClaim& claim = claims_[number];
    usable_[number] = usable;
    claim.most = std::max(most, static_cast<double>(limits.reserve));
    claim.least = std::min(claim.most, claim.entitled);
  }
}

void ShareDivision::divide(std::span<const double> demand, double capacity) {
  find_claims(demand);
  given_[0] = std::min(capacity, claims_[0].most);
  for (std::uint32_t number = 0; number < tree_.size(); ++number) {
    const ShareTree::Node& node = tree_.node(number);
    if (node.is_leaf()) continue;
    const std::size_t count = node.end_child - node.first_child;
    fill_by_weight(given_[number], std::span(claims_).subspan(node.first_child, count),
                   std::span(given_).subspan(node.first_child, count));
  }
  for (auto number = static_cast<std::uint32_t>(tree_.size()); number-- > 0;) {
    const ShareTree::Node& node = tree_.node(number);
    double due = node.is_leaf() ? std::min(given_[number], usable_[number]) : 0;
    for (std::uint32_t child = node.first_child; child < node.end_child; ++child)
      due += due_[child];
    due_[number] = due;
    guarantee_[number] = std::min({due, usable_[number], claims_[number].entitled});
  }
}

}  // namespace vtrain
