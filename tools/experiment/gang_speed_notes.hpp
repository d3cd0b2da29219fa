/// What a user must know of how fast predicted jobs are where their gangs are.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "sched/placement/placement.hpp"
#include "tools/experiment/prepared_policy.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/pricing/predicted_speeds.hpp"

namespace vtrain {

/// For jobs that `speeds` knows: whether they are as fast as their gangs' sites allow, under which policies
/// they are not, and what had to be assumed, one sentence each; none where sites make no difference.
/// `curves` are those of the speeds.
std::vector<std::string> gang_speed_notes(PredictedSpeeds& speeds, const CurvesByType& curves,
                                          const Workload& workload, const ClusterSpec& cluster,
                                          PlacementKind placement, std::span<const PreparedPolicy> policies);

}  // namespace vtrain
