/// The states in which Slurm leaves a job, as its own accounting and logs derived from it write them.
#pragma once

#include <string_view>

#include "workloads/jobs/job.hpp"

namespace vtrain {

/// `COMPLETED`, `FAILED`, `CANCELLED` (also `CANCELLED by 1001`), `TIMEOUT` and the other names of sacct(1),
/// section "JOB STATE CODES". A job that a node failure, the kernel or a preemption ended has failed; one
/// that has not ended (`PENDING`, `RUNNING`, `SUSPENDED` and others) is running; a word that is none of them
/// is unknown.
JobStatus slurm_job_status(std::string_view state);

}  // namespace vtrain
