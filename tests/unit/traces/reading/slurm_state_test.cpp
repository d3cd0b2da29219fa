#include "traces/reading/slurm_state.hpp"

#include <doctest/doctest.h>

using vtrain::JobStatus;
using vtrain::slurm_job_status;

TEST_CASE("slurm_state: how jobs end") {
  CHECK(slurm_job_status("COMPLETED") == JobStatus::Completed);
  CHECK(slurm_job_status("CANCELLED by 1001") == JobStatus::Cancelled);
  CHECK(slurm_job_status(" TIMEOUT ") == JobStatus::TimedOut);
  for (const char* state : {"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "BOOT_FAIL"})
    CHECK(slurm_job_status(state) == JobStatus::Failed);
  for (const char* state : {"RUNNING", "SUSPENDED", "PENDING", "REQUEUED", "COMPLETING"})
    CHECK(slurm_job_status(state) == JobStatus::Running);
  for (const char* state : {"", "completed", "None"})
    CHECK(slurm_job_status(state) == JobStatus::Unknown);
}
