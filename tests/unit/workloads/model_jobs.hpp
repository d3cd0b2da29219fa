/// Jobs that train known models, for tests.
#pragma once

#include <cstdint>
#include <string>

#include "workloads/jobs/job.hpp"

namespace vtrain::testing {

/// Adds a job of 100 iterations, named `job-1`, `job-2`, ...
inline Job& add_model_job(Workload& workload, const char* model, std::int32_t global_batch,
                          std::int32_t num_gpus) {
  Job job;
  job.name = workload.keep("job-" + std::to_string(workload.jobs.size() + 1));
  job.model = workload.model(model);
  job.global_batch = global_batch;
  job.num_gpus = GpuCount(num_gpus);
  job.iterations = 100;
  workload.jobs.push_back(job);
  return workload.jobs.back();
}

}  // namespace vtrain::testing
