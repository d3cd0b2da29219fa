/// The shares of GPUs that are due to tenants: hierarchical weighted max-min with quotas and limits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/tenants/share_tree.hpp"

namespace vtrain {

/// One of several that divide an amount.
struct ShareClaim {
  double weight = 1;    ///< 0: gets more than `least` only once all others have their `most`
  double least = 0;     ///< amount that it gets before any weight counts
  double most = 0;      ///< amount that it can use, at least `least`
  double entitled = 0;  ///< `least` of all are cut in proportion to this if they exceed the amount
};

/// Divides an amount by weighted max-min: each gets the level x its weight, but at least `least` and at most
/// `most`; the level is as high as the amount allows. Parts add up to the amount, or to all of `most` if that
/// is less. The k-th round fixes all that are below their least or all that are above their most, as the
/// flexible lengths of CSS are resolved: O(claims) a round, a few rounds, claims many at worst.
void fill_by_weight(double amount, std::span<const ShareClaim> claims, std::span<double> parts);

/// Divides the GPUs of one pool over a tree, given the demand of each leaf.
///
/// Upwards, the claim of a node is found: it can use the demand of those below it up to its quotas and
/// borrowing limit, and it takes at least what it does not lend. Of that, up to its quotas is its guarantee.
/// Downwards, the GPUs of each node are divided over its children: each gets its guarantee, and the rest is
/// given by weighted max-min over all that they get. Where guarantees exceed the GPUs, quotas take the place
/// of weights.
class ShareDivision {
 public:
  /// Divides over a tree, which outlives this.
  ShareDivision(const ShareTree& tree, std::size_t pool);

  /// Divides `capacity` GPUs. `demand`: GPUs that jobs of each leaf hold or wait for, [nodes]. O(nodes) times
  /// the rounds of `fill_by_weight`.
  void divide(std::span<const double> demand, double capacity);
  /// GPUs due to a node and all below it, after `divide`.
  double due(std::uint32_t node) const { return due_[node]; }
  /// Part of `due` that quotas guarantee.
  double guarantee(std::uint32_t node) const { return guarantee_[node]; }

 private:
  void find_claims(std::span<const double> demand);

  const ShareTree& tree_;
  std::size_t pool_;
  std::vector<ShareClaim> claims_;  ///< [nodes]
  std::vector<double> usable_;      ///< [nodes], demand within limits
  std::vector<double> given_;       ///< [nodes], with GPUs that are neither used nor lent
  std::vector<double> due_;         ///< [nodes]
  std::vector<double> guarantee_;   ///< [nodes]
};

}  // namespace vtrain
