/// Earliest deadline first with jobs that can use several numbers of GPUs.
#pragma once

#include "policies/list/elastic_job.hpp"
#include "policies/list/list_policy.hpp"

namespace vtrain {

/// Orders jobs by their deadlines; those without one come last.
inline PriorityKey deadline_key(const Job& job) {
  return {.primary = job.deadline.time_since_epoch().count()};
}

/// A list policy whose key is the deadline: an elastic job gets, in its turn, the number of GPUs on which it
/// is fastest among those left.
class ElasticEdf : public ListPolicy {
 public:
  ProgressRule progress_rule() const override { return ProgressRule::Iterations; }

 private:
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    return deadline_key(pass.job(job));
  }
  GpuCount least_gpus(const SchedulingPass& pass, JobId job) const override {
    return vtrain::least_gpus(pass, job);
  }
  bool resizes() const override { return true; }
  GpuCount gpus_within(const SchedulingPass& pass, const ListedJob& job, GpuCount left) const override {
    return fastest_within(pass, job.job, left);
  }
};

}  // namespace vtrain
