/// Fair-share factors of users: fair tree, classic, depth-oblivious. The rules are those of Slurm's pages
/// "Fair Tree Fairshare Algorithm" and "Classic Fairshare Algorithm" (22.05); the known answers of a real
/// Slurm settle the cases that the pages leave open.
#pragma once

#include <vector>

#include "policies/tenants/slurm/associations.hpp"
#include "policies/tenants/slurm/configuration.hpp"

namespace vtrain::slurm {

/// The factor of each association [position]; that of an account is 0 under fair tree. O(n log n).
std::vector<double> fair_share_factors(const AssociationTree& tree, const PriorityConf& priority);

/// Fair tree: users in the order of a walk by level FS, share due against share used among siblings. The best
/// of n users has n/n, the worst 1/n; equal ones share the best rank of them.
std::vector<double> fair_tree_factors(const AssociationTree& tree);
/// Classic and depth-oblivious: 2^(−(effective usage / share) / dampening).
std::vector<double> classic_factors(const AssociationTree& tree, double dampening, bool depth_oblivious);

}  // namespace vtrain::slurm
