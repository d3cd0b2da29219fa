/// Small workloads for the tests of policies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::testing {

/// One job of a hand-written workload, in seconds; jobs must be listed in order of submission.
struct JobLine {
  std::int64_t submit_s = 0;
  std::int64_t duration_s = 1;
  std::int32_t num_gpus = 1;
  std::int64_t deadline_s = -1;  ///< -1: none
  std::int64_t requested_s = 0;  ///< 0: none
};

/// A workload of these jobs, named j0, j1, ...
inline Workload make_workload(const std::vector<JobLine>& lines) {
  Workload workload;
  for (const JobLine& line : lines) {
    Job job;
    job.name = workload.keep("j" + std::to_string(workload.jobs.size()));
    job.submit = SimTime(std::chrono::seconds(line.submit_s));
    job.duration = std::chrono::seconds(line.duration_s);
    job.num_gpus = GpuCount(line.num_gpus);
    job.requested_time = std::chrono::seconds(line.requested_s);
    if (line.deadline_s >= 0) job.deadline = SimTime(std::chrono::seconds(line.deadline_s));
    workload.jobs.push_back(job);
  }
  return workload;
}

/// `num_jobs` jobs of 1 to `max_gpus` GPUs. Times are small whole numbers of `tick`, so that many coincide.
/// Some jobs have a deadline, some a time limit. A few time limits are too short.
inline Workload random_workload(std::uint64_t seed, int num_jobs, std::int32_t max_gpus, SimDuration tick) {
  RandomStream random(seed, "workload");
  Workload workload;
  SimTime submit{};
  for (int i = 0; i < num_jobs; ++i) {
    Job job;
    job.name = workload.keep("j" + std::to_string(i));
    submit += tick * static_cast<std::int64_t>(random.below(4));
    job.submit = submit;
    job.duration = tick * static_cast<std::int64_t>(1 + random.below(20));
    job.num_gpus =
        GpuCount(static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(max_gpus))));
    if (random.below(2) == 0) job.deadline = submit + tick * static_cast<std::int64_t>(random.below(60));
    if (random.below(2) == 0) job.requested_time = tick * static_cast<std::int64_t>(1 + random.below(40));
    workload.jobs.push_back(job);
  }
  return workload;
}

}  // namespace vtrain::testing
