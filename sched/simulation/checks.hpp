/// What must hold of workload, cluster, policy and options before a replay can begin.
#pragma once

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/simulation/policy.hpp"
#include "sched/simulation/simulation.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// One job has GPUs and, if it could ever start, a duration; under `strict` it fits, and its deadline does
/// not lie before its submission. `placement` is one of the cluster.
Result<void> check_job(const Job& job, const Workload& workload, const ClusterSpec& cluster,
                       const Placement& placement, ProgressRule rule, bool strict);

/// Every job has GPUs and, if it could ever start, a duration; under `strict` it fits, and no deadline lies
/// before its submission; disruptions come with a placement and a policy that can cope with them. Throws
/// std::logic_error if the jobs are not ordered by submission.
Result<void> check_simulation(const Workload& workload, const ClusterSpec& cluster, const Policy& policy,
                              const SimulationOptions& options);

}  // namespace vtrain
