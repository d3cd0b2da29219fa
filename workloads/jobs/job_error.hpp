/// Errors that name a job.
#pragma once

#include <string>

#include "core/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// The same error, its message as one of this job.
Error job_error(const Job& job, Error error);

/// Bad input in one field of a job.
Error job_error(const Job& job, std::string field, std::string message);

}  // namespace vtrain
