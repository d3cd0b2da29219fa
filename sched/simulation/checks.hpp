/// Checks of workload, cluster, policy and options before a replay begins.
#pragma once

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/simulation/policy.hpp"
#include "sched/simulation/simulation.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Checks that one job has GPUs and, if it could ever start, a duration. Under `strict` it must fit, and its
/// deadline must not lie before its submission. `placement` is one of the cluster.
Result<void> check_job(const Job& job, const Workload& workload, const ClusterSpec& cluster,
                       const Placement& placement, ProgressRule rule, bool strict);

/// Checks that every job has GPUs and, if it could ever start, a duration. Under `strict` each must fit, and
/// no deadline may lie before its submission. Disruptions need a placement and a policy that support them.
/// Throws std::logic_error if the jobs are not ordered by submission.
Result<void> check_simulation(const Workload& workload, const ClusterSpec& cluster, const Policy& policy,
                              const SimulationOptions& options);

}  // namespace vtrain
