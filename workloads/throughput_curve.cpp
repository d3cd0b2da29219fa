#include "workloads/throughput_curve.hpp"

#include <utility>

#include <fmt/format.h>

#include "workloads/model_zoo.hpp"

namespace vtrain {
namespace {

tl::unexpected<Error> fail_job(const Job& job, ErrorKind kind, std::string field,
                               const std::string& message) {
  return fail(
      {.kind = kind, .field = std::move(field), .message = fmt::format("job '{}': {}", job.name, message)});
}

Result<void> price(Job& job, const Workload& workload, ThroughputCurves& curves) {
  if (job.model.value >= workload.models.size() || job.iterations <= 0) {
    return fail_job(job, ErrorKind::InvalidInput, "duration",
                    "expected a duration, or a model and iterations, found neither");
  }
  const std::string& model = workload.models[job.model.value];
  const auto iteration = curves.iteration_time(model, job.global_batch, job.num_gpus);
  if (!iteration) {
    const Error& error = iteration.error();
    return fail_job(job, error.kind, error.field, error.message);
  }
  constexpr double kLongest = 9.2e18;  // ns, just below what SimDuration holds
  const Nanoseconds duration = *iteration * static_cast<double>(job.iterations);
  if (!(duration.count() <= kLongest)) {
    return fail_job(job, ErrorKind::InvalidInput, "iterations",
                    fmt::format("{} iterations of '{}' take more than 292 years", job.iterations, model));
  }
  job.duration = to_sim_duration(duration);
  return {};
}

}  // namespace

Result<RankedPlan> ThroughputCurves::best_plan(const std::string& model, std::int64_t global_batch,
                                               GpuCount num_gpus) {
  const auto key = std::tuple(model, global_batch, num_gpus.value);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const auto search = [&]() -> Result<RankedPlan> {
    const auto zoo_model = find_model(model);
    if (!zoo_model) return fail(zoo_model.error());
    const std::int64_t batch = global_batch == 0 ? zoo_model->global_batch : global_batch;
    const auto found = search_plans(zoo_model->model(), num_gpus, batch, profile_);
    if (!found) return fail(found.error());
    return found->best.front();
  };
  return known_.emplace(key, search()).first->second;
}

Result<Nanoseconds> ThroughputCurves::iteration_time(const std::string& model, std::int64_t global_batch,
                                                     GpuCount num_gpus) {
  const auto plan = best_plan(model, global_batch, num_gpus);
  if (!plan) return fail(plan.error());
  return plan->iteration;
}

Result<void> price_jobs(Workload& workload, ThroughputCurves& curves) {
  for (Job& job : workload.jobs) {
    if (job.duration.count() > 0) continue;
    if (auto priced = price(job, workload, curves); !priced) return priced;
  }
  return {};
}

}  // namespace vtrain
