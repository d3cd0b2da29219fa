/// Jobs of a workload as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// These jobs as JSON, in this order, with all names of the workload, and the curves and requirements that
/// the jobs refer to. Jobs, curves and requirements get new numbers; all other ids keep theirs.
nlohmann::json to_json(const Workload& workload, std::span<const JobId> jobs);

/// Reads such JSON exactly. Errors name the path to a value that is missing, unknown, of another type, out of
/// range, or that refers to what is not there: `jobs[3].curve`; so do jobs that are not ordered by
/// submission.
Result<Workload> workload_from_json(const nlohmann::json& from);

}  // namespace vtrain
