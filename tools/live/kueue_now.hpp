/// Kueue's objects of a running cluster, for the policy `kueue`.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/tenants/kueue/live_objects.hpp"
#include "tools/live/cluster_now.hpp"

namespace vtrain {

/// Objects and Workloads of a state for the jobs of a cluster, on its clock. Of flavors that no file
/// describes, and of what the simulation takes otherwise than Kueue does, `cluster.assumed` has the numbers.
/// Error: no ClusterQueue.
Result<std::shared_ptr<const kueue::LiveObjects>> make_kueue_objects(const LiveState& state,
                                                                     ClusterNow& cluster);

}  // namespace vtrain
