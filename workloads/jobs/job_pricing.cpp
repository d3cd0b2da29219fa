#include "workloads/jobs/job_pricing.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "workloads/jobs/job_error.hpp"
#include "workloads/jobs/training_jobs.hpp"

namespace vtrain {
namespace {

Result<void> price(Job& job, const Workload& workload, ThroughputCurves& curves) {
  if (job.model.value >= workload.models.size() || job.iterations <= 0) {
    return fail(job_error(workload, job, "duration",
                          "expected a duration, or a model and iterations, found neither"));
  }
  const std::string& model = workload.models[job.model.value];
  const auto iteration = curves.iteration_time(model, job.global_batch, job.num_gpus);
  if (!iteration) {
    const Error& error = iteration.error();
    return fail(job_error(workload, job, error.field, error.message));
  }
  constexpr double kLongest = 9.2e18;  // ns, just below what SimDuration holds
  const Nanoseconds duration = *iteration * static_cast<double>(job.iterations);
  if (!(duration.count() <= kLongest)) {
    return fail(
        job_error(workload, job, "iterations",
                  fmt::format("{} iterations of '{}' take more than 292 years", job.iterations, model)));
  }
  job.duration = to_sim_duration(duration);
  return {};
}

}  // namespace

Result<void> price_jobs(Workload& workload, const CurvesByType& curves) {
  for (Job& job : workload.jobs) {
    if (job.duration.count() > 0) continue;
    if (auto priced = price(job, workload, curves.of(job.gpu_type)); !priced) return priced;
  }
  return {};
}

std::int64_t drop_durations(Workload& workload) {
  const TrainingJobs training(workload);
  std::int64_t dropped = 0;
  for (Job& job : workload.jobs) {
    if (job.duration.count() == 0 || !training.include(job)) continue;
    job.duration = SimDuration(0);
    ++dropped;
  }
  return dropped;
}

RunTimeRatios compare_run_times(const Workload& workload, const CurvesByType& curves) {
  const TrainingJobs training(workload);
  std::map<std::tuple<ModelId, std::int32_t, GpuTypeId, GpuCount>, Result<Nanoseconds>> iterations;
  RunTimeRatios ratios;
  for (const Job& job : workload.jobs) {
    if (job.duration.count() == 0 || !training.include(job)) continue;
    const auto key = std::tuple(job.model, job.global_batch, job.gpu_type, job.num_gpus);
    auto known = iterations.find(key);
    if (known == iterations.end()) {
      auto time = curves.of(job.gpu_type)
                      .iteration_time(workload.models[job.model.value], job.global_batch, job.num_gpus);
      known = iterations.emplace(key, std::move(time)).first;
    }
    if (!known->second) continue;
    const double predicted = static_cast<double>(job.iterations) * Seconds(*known->second).count();
    const double ratio = predicted / to_seconds(job.duration);
    ratios.least = ratios.jobs == 0 ? ratio : std::min(ratios.least, ratio);
    ratios.most = ratios.jobs == 0 ? ratio : std::max(ratios.most, ratio);
    ++ratios.jobs;
  }
  return ratios;
}

}  // namespace vtrain
