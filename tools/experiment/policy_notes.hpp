/// What users are told of what policies know of the jobs of a trace, and what they make of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "tools/experiment/prepared_policy.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// What policies know of run times, which deadlines, requested times, GPU types and recorded starts are
/// without effect under some of them; a sentence each. `types_differ`: jobs are not as fast on one type of
/// GPUs as on another. Errors: a policy that goes by recorded starts,
/// and no job has one.
Result<std::vector<std::string>> policy_notes(const Workload& workload, const ClusterSpec& cluster,
                                              bool types_differ, std::span<const PreparedPolicy> policies);

/// Counts the deadlines that no schedule can meet which gives jobs the GPUs that they ask for; empty if there
/// are none.
std::string tight_deadlines(const Workload& workload);

}  // namespace vtrain
