#include "tools/options/transformations.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/cli/usage_error.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/format/text_format.hpp"
#include "traces/editing/slice.hpp"
#include "workloads/pricing/job_pricing.hpp"

namespace vtrain {

void add_transformation_options(CLI::App& command, TransformationArguments& arguments) {
  command.add_option("--statuses", arguments.statuses,
                     "Only jobs that ended so where they were recorded, for instance completed,failed");
  command
      .add_option("--tenants", arguments.tenants,
                  "Tenants: trace (as it says), clusters (each file is one, by its name), users, or a "
                  "number, drawn with "
                  "unequal shares")
      ->capture_default_str();
  command
      .add_option(
          "--assign", arguments.assign,
          "LLM models for jobs without one, with iterations = duration / iteration time: none, lingjun "
          "(the mix of Alibaba Lingjun 2023 by number of GPUs), zoo (GPT models, evenly), "
          "model=NAME[,global-batch=SEQUENCES]")
      ->capture_default_str();
  command
      .add_option("--run-times", arguments.run_times,
                  "Run times of jobs that say both a duration and a model with its global batch and "
                  "iterations: trace (as it says), or predicted for the GPUs here")
      ->check(one_of({"trace", "predicted"}))
      ->capture_default_str();
  command
      .add_option(
          "--deadlines", arguments.deadlines,
          "Deadlines for jobs without one: none, elasticflow (submit + U(0.5, 1.5) x duration), LOW:HIGH "
          "(other bounds), FACTOR (the same for all), each with or without ,best-effort=SHARE (of jobs "
          "that get none); auto (elasticflow if no job has one)")
      ->capture_default_str();
  command
      .add_option(
          "--estimates", arguments.estimates,
          "Requested times: trace (as it says), exact (none: durations are known), or made, never below "
          "the duration: lognormal:SIGMA, factor:F, rounded (up to 1h, 4h, 12h, 1d, ...), rounded:1h/4h/1d")
      ->capture_default_str();
  command.add_option("--seed", arguments.seed, "Seed of everything random")
      ->transform(whole_number(0))
      ->capture_default_str();
}

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
  const auto tenants = in_option("--tenants", TenantRule::parse(arguments.tenants));
  if (!tenants) return fail(tenants.error());
  result.tenants = *tenants;
  auto models = in_option("--assign", ModelMix::parse(arguments.assign));
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

bool any_deadline(const Workload& workload) {
  return std::ranges::any_of(workload.jobs, &Job::has_deadline);
}

IterationTime iteration_times(const CurvesByType& curves) {
  return [curves](std::string_view model, std::int32_t global_batch, GpuCount num_gpus,
                  GpuTypeId gpu_type) -> Result<Nanoseconds> {
    const std::string name(model);
    for (const std::uint32_t type : curves.allowed(gpu_type)) {
      auto time = curves.types()[type].curves->iteration_time(name, global_batch, num_gpus);
      if (time) return time;
    }
    return curves.of(gpu_type).iteration_time(name, global_batch, num_gpus);
  };
}

Result<std::vector<std::string>> transform(Workload& workload, const Transformations& transformations,
                                           const CurvesByType& curves, bool price) {
  std::vector<std::string> sentences;
  const auto take = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  auto sliced = in_option("--statuses", slice_trace(workload, {.statuses = transformations.statuses}));
  if (!sliced) return fail(std::move(sliced.error()));
  sentences = *std::move(sliced);
  const std::uint64_t seed = transformations.seed;
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
          fmt::format("run times of the trace for {} whose model has no plan on the GPUs asked for",
                      count_of(done.without_plan, "job")));
  }
  auto assigned = assign_models(workload, transformations.models, seed, iteration_times(curves));
  if (!assigned) return fail(std::move(assigned.error()));
  take(*std::move(assigned));
  const bool wants_deadlines =
      transformations.deadlines && !(transformations.deadlines_only_if_none && any_deadline(workload));
  if (price || wants_deadlines || transformations.estimates.kind != EstimateRule::Kind::Trace) {
    const auto too_large = price_jobs(workload, curves);
    if (!too_large) return fail(too_large.error());
    if (*too_large > 0)
      sentences.push_back(fmt::format("no run time of {}: more GPUs than there are, and no plan on so many",
                                      count_of(*too_large, "job")));
  }
  if (wants_deadlines && std::ranges::all_of(workload.jobs, &Job::has_deadline)) {
    spdlog::warn("--deadlines: without effect; all jobs have one");
  } else if (wants_deadlines) {
    take(assign_deadlines(workload, *transformations.deadlines, seed));
  }
  take(set_estimates(workload, transformations.estimates, seed));
  return sentences;
}

nlohmann::ordered_json transformations_to_json(const TransformationArguments& arguments) {
  return {{"statuses", arguments.statuses},
          {"tenants", arguments.tenants},
          {"assign", arguments.assign},
          {"run_times", arguments.run_times},
          {"deadlines", arguments.deadlines},
          {"estimates", arguments.estimates},
          {"seed", arguments.seed}};
}

}  // namespace vtrain
