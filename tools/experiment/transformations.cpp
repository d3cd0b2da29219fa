#include "tools/experiment/transformations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/experiment/option_error.hpp"
#include "tools/format/text_format.hpp"
#include "traces/editing/slice.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/pricing/curves_by_type.hpp"
#include "workloads/pricing/job_pricing.hpp"
#include "workloads/pricing/plan_cache.hpp"

namespace vtrain {
namespace {

bool any_deadline(const Workload& workload) {
  return std::ranges::any_of(workload.jobs, &Job::has_deadline);
}

}  // namespace

bool files_as_tenants(const TransformationArguments& arguments) {
  return arguments.tenants == "clusters";
}

Result<Transformations> read_transformations(const TransformationArguments& arguments) {
  Transformations result;
  result.seed = arguments.seed;
  if (!arguments.statuses.empty()) {
    auto statuses = in_option("--statuses", parse_statuses(arguments.statuses));
    if (!statuses) return fail(std::move(statuses.error()));
    result.statuses = *std::move(statuses);
  }
  const auto resample = in_option("--resample", parse_blocks(arguments.resample));
  if (!resample) return fail(resample.error());
  result.resample = *resample;
  const auto tenants = in_option("--tenants", TenantRule::parse(arguments.tenants));
  if (!tenants) return fail(tenants.error());
  result.tenants = *tenants;
  auto models = in_option("--assign", ModelMix::parse(arguments.assign, find_trainable_model));
  if (!models) return fail(std::move(models.error()));
  result.models = *std::move(models);
  result.predicts_run_times = arguments.run_times == "predicted";
  result.deadlines_only_if_none = arguments.deadlines == "auto";
  if (arguments.deadlines != "none") {
    const auto rule =
        in_option("--deadlines",
                  DeadlineRule::parse(result.deadlines_only_if_none ? "elasticflow" : arguments.deadlines));
    if (!rule) return fail(rule.error());
    result.deadlines = *rule;
  }
  auto estimates = in_option("--estimates", EstimateRule::parse(arguments.estimates));
  if (!estimates) return fail(std::move(estimates.error()));
  result.estimates = *std::move(estimates);
  return result;
}

Result<TrainableModel> find_trainable_model(std::string_view name) {
  return find_model(name).map([](const ZooModel& model) {
    return TrainableModel{std::string(model.name()), model.model().num_parameters(), model.global_batch};
  });
}

ModelCatalog model_catalog(const CurvesByType& curves) {
  return {.find = find_trainable_model,
          .iteration_time = [curves](std::string_view model, std::int32_t global_batch, GpuCount num_gpus,
                                     GpuTypeId gpu_type) -> Result<Nanoseconds> {
            const std::string name(model);
            for (const std::uint32_t type : curves.allowed(gpu_type)) {
              auto time = curves.types()[type].curves->iteration_time(name, global_batch, num_gpus);
              if (time) return time;
            }
            return curves.of(gpu_type).iteration_time(name, global_batch, num_gpus);
          }};
}

Result<std::vector<std::string>> transform(Workload& workload, const Transformations& transformations,
                                           const CurvesByType& curves, bool price,
                                           std::vector<std::string>& warnings) {
  std::vector<std::string> sentences;
  const auto take = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  auto sliced = in_option("--statuses", slice_trace(workload, {.statuses = transformations.statuses}));
  if (!sliced) return fail(std::move(sliced.error()));
  sentences = *std::move(sliced);
  const std::uint64_t seed = transformations.seed;
  auto resampled = in_option("--resample", resample(workload, transformations.resample, seed));
  if (!resampled) return fail(std::move(resampled.error()));
  take(*std::move(resampled));
  auto tenants = set_tenants(workload, transformations.tenants, seed);
  if (!tenants) return fail(std::move(tenants.error()));
  take(*std::move(tenants));
  if (transformations.predicts_run_times) {
    const PredictedRunTimes done = predict_run_times(workload, curves);
    if (done.predicted + done.without_plan == 0)
      return fail({.field = "--run-times",
                   .message = "no job of the trace says both a duration and a model that is known with its "
                              "global batch and iterations"});
    sentences.push_back(fmt::format("run times, and requested times with them, as predicted for {}",
                                    count_of(done.predicted, "job")));
    if (done.without_plan > 0)
      sentences.push_back(
          fmt::format("run times of the trace for {} whose model has no plan on the GPUs requested",
                      count_of(done.without_plan, "job")));
  }
  auto assigned = assign_models(workload, transformations.models, seed, model_catalog(curves));
  if (!assigned) return fail(std::move(assigned.error()));
  take(*std::move(assigned));
  const bool wants_deadlines =
      transformations.deadlines && !(transformations.deadlines_only_if_none && any_deadline(workload));
  if (price || wants_deadlines || transformations.estimates.kind != EstimateRule::Kind::Trace) {
    const auto too_large = price_jobs(workload, curves);
    if (!too_large) return fail(too_large.error());
    if (*too_large > 0)
      sentences.push_back(
          fmt::format("no run time of {}: more GPUs than the cluster has, and no plan on that number",
                      count_of(*too_large, "job")));
  }
  if (wants_deadlines && std::ranges::all_of(workload.jobs, &Job::has_deadline)) {
    warnings.emplace_back("--deadlines: without effect; all jobs have one");
  } else if (wants_deadlines) {
    take(assign_deadlines(workload, *transformations.deadlines, seed));
  }
  take(set_estimates(workload, transformations.estimates, seed));
  return sentences;
}

}  // namespace vtrain
