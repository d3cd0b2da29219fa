#include "workloads/pricing/job_pricing.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "workloads/jobs/job.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/pricing/plan_cache.hpp"
#include "workloads/pricing/training_jobs.hpp"

namespace vtrain {
namespace {

constexpr double kLongestTime = 9.2e18;  // ns, just below what SimDuration holds

/// True if an error of a curve says that the model has no plan on the GPUs, not that the model is unknown.
bool lacks_plan(const Error& error) {
  return error.field == "num_gpus";
}

/// Error that explains why no type of GPUs that a job may use has a plan. Names the profile and stack of each
/// type if the cluster has several types.
Error no_plan(const Workload& workload, const Job& job, const CurvesByType& curves) {
  const std::string& model = workload.models[job.model.value];
  std::optional<Error> first;
  std::string reasons;
  std::vector<const PlanCache*> told;  // types without a profile share one
  for (const std::uint32_t type : curves.allowed(job.gpu_type)) {
    PlanCache& of_type = *curves.types()[type].curves;
    const auto time = of_type.iteration_time(model, job.global_batch, job.num_gpus);
    if (time || std::ranges::find(told, &of_type) != told.end()) continue;
    told.push_back(&of_type);
    if (!first) first = time.error();
    reasons += fmt::format("{}with profile {}, stack {}: {}", reasons.empty() ? "" : "; ",
                           of_type.profile().name, of_type.settings().stack.name, time.error().message);
  }
  if (!first) throw std::logic_error("no_plan: a job has a plan");
  const bool names_types = curves.types().size() > 1 && lacks_plan(*first);
  return job_error(workload, job, first->field, names_types ? reasons : first->message);
}

Result<void> price(Job& job, const Workload& workload, const CurvesByType& curves) {
  if (job.model.value >= workload.models.size() || job.iterations <= 0) {
    return fail(job_error(workload, job, "duration",
                          "expected a duration, or a model and iterations, found neither"));
  }
  const std::string& model = workload.models[job.model.value];
  const auto iteration = curves.of(job.gpu_type).iteration_time(model, job.global_batch, job.num_gpus);
  if (!iteration) return fail(no_plan(workload, job, curves));
  const Nanoseconds duration = *iteration * static_cast<double>(job.iterations);
  if (!(duration.count() <= kLongestTime)) {
    return fail(
        job_error(workload, job, "iterations",
                  fmt::format("{} iterations of '{}' take more than 292 years", job.iterations, model)));
  }
  job.duration = to_sim_duration(duration);
  return {};
}

/// Calls `use` with the number of every job that has a duration and that the predictor can price, and with
/// the run time that it predicts; nothing if there is no plan.
template <class Use>
void for_each_prediction(const Workload& workload, const CurvesByType& curves, const Use& use) {
  const TrainingJobs training(workload);
  std::map<TrainingKind, Result<Nanoseconds>> iterations;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    if (job.duration.count() == 0 || !training.include(job)) continue;
    const TrainingKind key = training_kind(job);
    auto known = iterations.find(key);
    if (known == iterations.end()) {
      auto time = curves.of(job.gpu_type)
                      .iteration_time(workload.models[job.model.value], job.global_batch, job.num_gpus);
      known = iterations.emplace(key, std::move(time)).first;
    }
    std::optional<Nanoseconds> run_time;
    if (known->second)
      run_time = std::min(Nanoseconds(kLongestTime), *known->second * static_cast<double>(job.iterations));
    use(i, run_time);
  }
}

}  // namespace

std::int64_t keep_to_types_with_plan(Workload& workload, const CurvesByType& curves,
                                     std::span<const std::string> type_names) {
  if (curves.types().size() < 2) return 0;
  const TrainingJobs training(workload);
  // Type that each kind of job requests instead of `gpu_type`.
  std::map<TrainingKind, GpuTypeId> kept;
  const auto types_with_plan = [&](const Job& job) {
    std::string names;
    bool on_all = true;
    for (const std::uint32_t type : curves.allowed(job.gpu_type)) {
      // Software differs by type, so that plans may divide on one and not on another.
      const bool has_plan =
          curves.types()[type]
              .curves->iteration_time(workload.models[job.model.value], job.global_batch, job.num_gpus)
              .has_value();
      on_all &= has_plan;
      if (has_plan) names += (names.empty() ? "" : "|") + type_names[type];
    }
    return on_all || names.empty() ? job.gpu_type : GpuTypeId(workload.gpu_types.add(names));
  };
  std::int64_t changed = 0;
  for (Job& job : workload.jobs) {
    if (!training.include(job) || !curves.has(job.gpu_type)) continue;
    const TrainingKind key = training_kind(job);
    auto known = kept.find(key);
    if (known == kept.end()) known = kept.emplace(key, types_with_plan(job)).first;
    if (known->second == job.gpu_type) continue;
    job.gpu_type = known->second;
    ++changed;
  }
  return changed;
}

Result<std::int64_t> price_jobs(Workload& workload, const CurvesByType& curves) {
  std::int64_t too_large = 0;
  for (Job& job : workload.jobs) {
    if (job.duration.count() > 0) continue;
    auto priced = price(job, workload, curves);
    if (priced) continue;
    if (!lacks_plan(priced.error()) || curves.have_room(job.gpu_type, job.num_gpus))
      return fail(std::move(priced.error()));
    ++too_large;
  }
  return too_large;
}

PredictedRunTimes predict_run_times(Workload& workload, const CurvesByType& curves) {
  PredictedRunTimes done;
  for_each_prediction(workload, curves, [&](std::size_t i, std::optional<Nanoseconds> run_time) {
    if (!run_time) {
      ++done.without_plan;
      return;
    }
    Job& job = workload.jobs[i];
    const Nanoseconds requested = Nanoseconds(job.requested_time) * (*run_time / Nanoseconds(job.duration));
    job.requested_time = to_sim_duration(std::min(Nanoseconds(kLongestTime), requested));
    job.duration = std::max(to_sim_duration(*run_time), SimDuration(1));
    ++done.predicted;
  });
  return done;
}

JobsWithFallbacks find_jobs_with_fallbacks(const Workload& workload, const CurvesByType& curves) {
  const TrainingJobs training(workload);
  std::map<TrainingKind, std::int64_t> num_jobs;
  for (const Job& job : workload.jobs) {
    if (training.include(job)) ++num_jobs[training_kind(job)];
  }
  JobsWithFallbacks found;
  for (const auto& [kind, jobs] : num_jobs) {
    const auto& [model, global_batch, gpu_type, num_gpus] = kind;
    PlanCache& of_type = curves.of(gpu_type);
    const std::string& name = workload.models[model.value];
    const auto plan = of_type.best_plan(name, global_batch, num_gpus);
    if (!plan || !plan->has_fallbacks) continue;
    found.jobs += jobs;
    const TransformerModel zoo_model = find_model(name)->model();
    const Stack& stack = of_type.settings().stack;
    const LayerCosts costs = layer_costs(zoo_model, layer_key(plan->plan), of_type.profile(), stack);
    found.kernels.add(find_fallbacks(zoo_model, plan->plan, of_type.profile(), stack, costs), jobs);
  }
  return found;
}

RunTimeRatios compare_run_times(const Workload& workload, const CurvesByType& curves) {
  RunTimeRatios ratios;
  for_each_prediction(workload, curves, [&](std::size_t i, std::optional<Nanoseconds> run_time) {
    if (!run_time) return;
    const double ratio = *run_time / Nanoseconds(workload.jobs[i].duration);
    ratios.least = ratios.jobs == 0 ? ratio : std::min(ratios.least, ratio);
    ratios.most = ratios.jobs == 0 ? ratio : std::max(ratios.most, ratio);
    ++ratios.jobs;
  });
  return ratios;
}

}  // namespace vtrain
