/// Jobs of a workload as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// These jobs as JSON, in this order, with all names of the workload, and the curves and requirements that
/// the jobs refer to. All other ids stay as they are; jobs and curves are numbered anew.
nlohmann::json to_json(const Workload& workload, std::span<const JobId> jobs);

/// Reads such JSON exactly. Errors name the path to a value that is missing, unknown, of another type, out of
/// range, or that refers to what is not there: `jobs[3].curve`; so do jobs that are not ordered by
/// submission.
Result<Workload> workload_from_json(const nlohmann::json& from);

}  // namespace vtrain
