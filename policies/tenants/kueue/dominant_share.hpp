/// Dominant resource share: how much a node of the quota tree borrows, for fair sharing.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "policies/tenants/kueue/quota_tree.hpp"

namespace vtrain::kueue {

/// Position of a resource's name in ascending order of names.
using ResourceId = std::uint32_t;
inline constexpr ResourceId kNoResource = UINT32_MAX;

/// The share of a node.
struct DominantShare {
  double ratio = 0;   ///< 1000 · what it borrows of the dominant resource / what the tree can lend of it
  double weight = 1;  ///< the node's weight
  ResourceId dominant = kNoResource;  ///< resource with the greatest ratio; none without borrowing
  bool is_borrowing = false;          ///< it borrows any resource of any flavor

  /// `ratio` / weight; infinite for a node that borrows with weight 0.
  double value() const;
};

/// Compares two shares; infinite ones by their ratio.
std::weak_ordering compare(const DominantShare& a, const DominantShare& b);

/// Computes shares. `resource_of` says to which resource each column of the tree belongs.
class ShareCalculator {
 public:
  ShareCalculator(const QuotaTree& tree, const std::vector<ResourceId>& resource_of);

  /// The share of a node if `extra` were added to its usage.
  DominantShare share(NodeId node, const Usage& extra = {}) const;

 private:
  const QuotaTree& tree_;
  const std::vector<ResourceId>& resource_of_;
  std::size_t num_resources_ = 0;
  std::vector<Amount> lendable_;  ///< by node, then resource: what the tree can lend to the node's children
};

}  // namespace vtrain::kueue
