#include "policies/list/elastic_job.hpp"

#include <algorithm>

namespace vtrain {

GpuCount least_gpus(const SchedulingPass& pass, JobId job) {
  const SpeedByGpus* const curve = pass.curve(job);
  return curve == nullptr ? pass.job(job).num_gpus : curve->levels().front().num_gpus;
}

GpuCount fastest_within(const SchedulingPass& pass, JobId id, GpuCount num_gpus) {
  const Job& job = pass.job(id);
  const SpeedByGpus* const curve = pass.curve(id);
  if (curve == nullptr) return job.num_gpus <= num_gpus ? job.num_gpus : GpuCount(0);
  const GpuCount most = job.max_gpus.value > 0 ? std::max(job.max_gpus, job.num_gpus) : num_gpus;
  SpeedByGpus::Level fastest;
  for (const SpeedByGpus::Level& level : curve->levels()) {
    if (level.num_gpus > std::min(num_gpus, most)) break;
    if (level.iterations_per_s > fastest.iterations_per_s) fastest = level;
  }
  return fastest.num_gpus;
}

}  // namespace vtrain
