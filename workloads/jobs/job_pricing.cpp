#include "workloads/jobs/job_pricing.hpp"

#include <string>

#include <fmt/format.h>

#include "workloads/jobs/job_error.hpp"

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

}  // namespace vtrain
