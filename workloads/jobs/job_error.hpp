/// Errors that name a job, and where it stands.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// The same error, its message as one of this job, at the file and the line where the job of this workload
/// was read, if it was.
Error job_error(const Workload& workload, const Job& job, Error error);

/// Bad input in one field of a job.
Error job_error(const Workload& workload, const Job& job, std::string field, std::string message);

}  // namespace vtrain
