/// Shares of tenants by weighted max-min over the tree of tenants.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "policies/tenants/fair/fair_shares.hpp"
#include "sched/tenants/share_account.hpp"

namespace vtrain {

/// Makes the shares of `fair-share`: those of the cluster's tree of tenants, with quotas and limits. Without
/// a tree all tenants of the trace are equal.
std::unique_ptr<FairShares> make_tree_shares();

}  // namespace vtrain
