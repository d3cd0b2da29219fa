#include "tools/experiment/training_job.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/text/quantities.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/plan_request.hpp"
#include "workloads/calibration/prediction_interval.hpp"
#include "workloads/config/model_file.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/pricing/curves_by_type.hpp"
#include "workloads/pricing/job_pricing.hpp"
#include "workloads/pricing/plan_cache.hpp"

namespace vtrain {
namespace {

/// Tokens, batch and iterations of a job.
Result<void> take_work(const TrainingJobSpec& spec, ClusterPricing& pricing, PricedJob& priced) {
  const auto model = load_model(spec.model);
  if (!model) return fail(model.error());
  priced.model = model->model;
  priced.assumes_batch = spec.global_batch == 0 && !model->batch_is_published;
  Job& job = priced.job();
  const std::int64_t usual = spec.gpus > 0 ? spec.gpus : pricing.curves().profile().gpus_per_node;
  job.global_batch = static_cast<std::int32_t>(
      priced.assumes_batch    ? usual_batch(priced.model, {GpuCount(static_cast<std::int32_t>(usual))})
      : spec.global_batch > 0 ? spec.global_batch
                              : model->global_batch);
  if (spec.tokens.empty()) {
    job.iterations = spec.iterations;
    priced.tokens = static_cast<double>(job.iterations) * static_cast<double>(job.global_batch) *
                    static_cast<double>(priced.model.sequence_length);
    return {};
  }
  const auto tokens = parse_large_count(spec.tokens);
  if (!tokens) return fail(in_option("--tokens", tokens.error()));
  priced.tokens = *tokens;
  job.iterations = iterations_for(*tokens, priced.model, job.global_batch);
  if (job.iterations < 1) return fail({.field = "--tokens", .message = "expected at least 1 token"});
  return {};
}

/// The fewest GPUs with which the job would be in time alone; the fastest number if there is none.
Result<GpuCount> choose_gpus(const TrainingJobSpec& spec, const Job& job, const CurvesByType& curves) {
  if (spec.gpus > 0) {
    const GpuCount asked(static_cast<std::int32_t>(spec.gpus));
    const auto plan = curves.of(job.gpu_type).best_plan(spec.model, job.global_batch, asked);
    if (!plan) return fail({.field = "--gpus", .message = plan.error().describe()});
    return asked;
  }
  GpuCount most{0};
  for (const std::uint32_t type : curves.allowed(job.gpu_type))
    most = std::max(most, curves.types()[type].num_gpus);
  const auto curve = curves.of(job.gpu_type).curve(spec.model, job.global_batch, most);
  if (!curve) return fail({.field = "model", .message = curve.error().describe()});
  if (!job.has_deadline()) return curve->points.front().plan.num_gpus();
  const double iteration_s = to_seconds(job.deadline - job.submit) / static_cast<double>(job.iterations);
  for (const RankedPlan& point : curve->points) {
    if (Seconds(point.iteration).count() <= iteration_s) return point.plan.num_gpus();
  }
  return curve->points.back().plan.num_gpus();
}

}  // namespace

std::int64_t iterations_for(double tokens, const TransformerModel& model, std::int64_t global_batch) {
  const double per_iteration = static_cast<double>(global_batch) * static_cast<double>(model.sequence_length);
  constexpr double kMost = 1e15;
  return static_cast<std::int64_t>(std::ceil(std::min(tokens / per_iteration, kMost)));
}

Result<void> check_training_job(const TrainingJobSpec& spec) {
  if (spec.model.empty()) return fail({.field = "model", .message = "missing: name one of `vtrain models`"});
  if (is_model_path(spec.model))
    return fail({.field = "model", .message = expected_found("a name from `vtrain models`", spec.model)});
  if (spec.tokens.empty() && spec.iterations == 0)
    return fail({.field = "--tokens", .message = "missing: tokens to train on, for instance --tokens 300B"});
  return {};
}

Result<PricedJob> price_training_job(const TrainingJobSpec& spec, const ClusterSpec& cluster,
                                     ClusterPricing& pricing, bool elastic, SimTime submit,
                                     SimTime deadline) {
  if (auto checked = check_training_job(spec); !checked) return fail(std::move(checked.error()));
  const std::int64_t gpus = cluster.total_gpus().value;
  if (spec.gpus > gpus) {
    return fail(
        {.field = "--gpus",
         .message = expected_found(fmt::format("at most {}, the GPUs of the cluster", with_thousands(gpus)),
                                   std::to_string(spec.gpus))});
  }
  PricedJob priced;
  Workload& workload = priced.workload;
  workload.jobs.emplace_back();
  Job& job = priced.job();
  job.name = workload.keep(spec.model);
  job.submit = submit;
  job.deadline = deadline;
  job.model = workload.model(spec.model);
  if (!spec.tenant.empty()) job.tenant = workload.tenant(spec.tenant);
  if (!spec.gpu_type.empty()) {
    job.gpu_type = workload.gpu_type(spec.gpu_type);
    const GpuTypes types(cluster, workload.gpu_types);
    if (types.allowed(job.gpu_type).empty())
      return fail({.field = "--gpu-type", .message = types.complaint(spec.gpu_type)});
  }
  if (auto taken = take_work(spec, pricing, priced); !taken) return fail(std::move(taken.error()));
  const CurvesByType curves = pricing.on(cluster, workload);
  const auto chosen = choose_gpus(spec, job, curves);
  if (!chosen) return fail(chosen.error());
  job.num_gpus = *chosen;
  if (const auto run_times = price_jobs(workload, curves); !run_times) return fail(run_times.error());
  if (elastic && !spec.rigid) {
    if (const auto added = add_curves(workload, cluster, pricing, false); !added) return fail(added.error());
  }
  const PlanCache& of_type = curves.of(job.gpu_type);
  priced.slowest = uncertainty_of({.stack = of_type.settings().stack.name,
                                   .profile = of_type.profile().base_name,
                                   .generation = std::string(generation_of(of_type.profile())),
                                   .kind = kind_of(priced.model)})
                       .time.high;
  return priced;
}

}  // namespace vtrain
