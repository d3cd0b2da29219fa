/// A policy that a test scripts, and jobs for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "sched/simulation/policy.hpp"
#include "tests/support/sim_time.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::testing {

/// Script that a policy runs in every pass.
using Script = std::function<void(SchedulingPass&)>;

/// A policy that consists of one function.
class Scripted final : public Policy {
 public:
  explicit Scripted(Script script, ProgressRule rule = ProgressRule::Duration)
      : script_(std::move(script)), rule_(rule) {}
  void schedule(SchedulingPass& pass) override { script_(pass); }
  ProgressRule progress_rule() const override { return rule_; }

 private:
  Script script_;
  ProgressRule rule_;
};

/// Starts every waiting job that fits, in order of submission.
inline void start_all(SchedulingPass& pass) {
  for (std::uint32_t i = 0; i < pass.jobs().size(); ++i) {
    if (pass.state(JobId(i)) == JobState::Waiting) pass.try_start(JobId(i));
  }
}

/// A rigid job without a name.
inline Job job_of(std::int64_t submit_s, std::int64_t duration_s, std::int32_t num_gpus) {
  Job job;
  job.submit = at(submit_s);
  job.duration = std::chrono::seconds(duration_s);
  job.num_gpus = GpuCount(num_gpus);
  return job;
}

/// Adds a job named j0, j1, ...; a requested time of 0 is none.
inline void add_job(Workload& workload, std::int64_t submit_s, std::int64_t duration_s, std::int32_t num_gpus,
                    std::int64_t requested_s = 0) {
  Job job = job_of(submit_s, duration_s, num_gpus);
  job.name = workload.keep("j" + std::to_string(workload.jobs.size()));
  job.requested_time = std::chrono::seconds(requested_s);
  workload.jobs.push_back(job);
}

}  // namespace vtrain::testing
