#include "workloads/validation/logged_run.hpp"

#include <cmath>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "workloads/config/deepspeed_config.hpp"
#include "workloads/config/megatron_config.hpp"
#include "workloads/config/torchtitan_config.hpp"
#include "workloads/physical/memory_model.hpp"
#include "workloads/predict.hpp"
#include "workloads/search/plan_timer.hpp"

namespace vtrain {
namespace {

/// Words on the option that gives a plan.
constexpr std::string_view kConfigHint =
    "--config FILE, a configuration of `vtrain predict`, gives model and plan";

std::vector<NamedSetting> settings_of(const TrainingLog& log) {
  std::vector<NamedSetting> settings;
  for (const LogArgument& argument : log.arguments)
    settings.push_back({.name = argument.name, .value = argument.value, .line = argument.line});
  return settings;
}

/// Reads model and plan from the arguments of a log.
Result<PredictConfig> config_of_arguments(const TrainingLog& log, std::int64_t num_gpus) {
  const std::vector<NamedSetting> settings = settings_of(log);
  const ConfigOptions options{.num_gpus = num_gpus};
  switch (log.form) {
    case ArgumentForm::Block:
      return megatron_config(settings, log.file, options);
    case ArgumentForm::Json:
      return torchtitan_config(settings, log.file, options);
    case ArgumentForm::CommandLine:
      return log.framework == LogFramework::Torchtitan ? torchtitan_config(settings, log.file, options)
                                                       : megatron_config(settings, log.file, options);
    case ArgumentForm::DeepSpeed:
      return fail({.file = log.file,
                   .line = log.arguments.front().line,
                   .message = fmt::format("the arguments of DeepSpeed have no model: {}", kConfigHint)});
    case ArgumentForm::None:
      break;
  }
  return fail(
      {.file = log.file,
       .line = log.steps.front().line,
       .message = fmt::format("the log prints no arguments that are known before its first iteration: {}",
                              kConfigHint)});
}

Result<PredictConfig> config_of(const TrainingLog& log, const LoggedRunNames& names) {
  if (!names.config.empty()) return read_predict_config(names.config);
  auto config = config_of_arguments(log, names.num_gpus);
  if (config || log.form == ArgumentForm::None || log.form == ArgumentForm::DeepSpeed) return config;
  Error error = std::move(config.error());
  error.message += fmt::format(" ({} in place of the log's arguments)", kConfigHint);
  return fail(std::move(error));
}

/// An error if the log's iterations have another batch than the plan.
Result<void> check_batch(const TrainingLog& log, const ParallelPlan& plan) {
  if (log.global_batch == 0 || log.global_batch == plan.global_batch) return {};
  return fail({.file = log.file,
               .line = log.steps.front().line,
               .field = "global batch size",
               .message = fmt::format("{}, but the plan has {}", log.global_batch, plan.global_batch)});
}

IterationSize size_of(const TransformerModel& model, const ParallelPlan& plan) {
  const auto samples = static_cast<double>(plan.global_batch);
  return {.samples = samples,
          .tokens = samples * static_cast<double>(model.sequence_length),
          .gpus = static_cast<double>(plan.num_gpus().value)};
}

KernelFactors fit_runs(std::span<const LoggedRun* const> runs) {
  std::vector<Seconds> measured;
  for (const LoggedRun* run : runs)
    measured.push_back(run->time.median);
  return fit_own_factors(measured, [&](std::size_t row, const KernelFactors& factors) {
    return predict_time(*runs[row], factors);
  });
}

Outcome outcome_with(const KernelFactors& factors, const LoggedRun& run) {
  return {.id = run.log.file,
          .configuration = run.log.file,
          .choice = run.log.file,
          .measured = run.time.median,
          .predicted = predict_time(run, factors)};
}

Accuracy accuracy_with(const KernelFactors& factors, const std::vector<const LoggedRun*>& runs) {
  std::vector<Outcome> outcomes;
  for (const LoggedRun* run : runs)
    outcomes.push_back(outcome_with(factors, *run));
  return measure_accuracy(outcomes);
}

/// Tests the fit: each run is predicted with the factors of the others.
void leave_one_out(const std::vector<const LoggedRun*>& runs, CalibratedStack& stack) {
  if (runs.size() < kLeastRunsToLeaveOut) return;
  std::vector<Outcome> outcomes;
  for (std::size_t left = 0; left < runs.size(); ++left) {
    std::vector<const LoggedRun*> others = runs;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left));
    outcomes.push_back(outcome_with(fit_runs(others), *runs[left]));
    stack.left_out.push_back(std::log(outcomes.back().measured / outcomes.back().predicted));
  }
  stack.held_out = measure_accuracy(outcomes);
  stack.held_out_before = accuracy_with({}, runs);
}

}  // namespace

Result<LoggedRun> read_logged_run(const std::string& log, const LoggedRunNames& names) {
  LoggedRun run;
  auto read = read_training_log(log);
  if (!read) return fail(std::move(read.error()));
  run.log = *std::move(read);
  auto config = config_of(run.log, names);
  if (!config) return fail(std::move(config.error()));
  run.config = *std::move(config);
  if (run.config.release) {
    return fail(
        {.file = names.config,
         .message = "is a configuration of the public vTrain release; a log needs one of vtrain's own"});
  }
  run.profile_is_assumed = names.profile.empty() && run.config.profile.empty();
  auto target = resolve_target({.profile = names.profile.empty() ? run.config.profile : names.profile,
                                .stack = names.stack.empty() ? run.config.stack : names.stack});
  if (!target) return fail(std::move(target.error()));
  run.target = *std::move(target);
  run.plan = run.config.plan;
  if (!run.config.has_precision) run.plan.precision = run.target.stack.choices.precision;
  if (auto checked = check_batch(run.log, run.plan); !checked) return fail(std::move(checked.error()));
  // A plan that the GPU or the stack cannot run is an error here, before anything is computed from it.
  if (auto prediction = predict(run.config.model, run.plan, run.target); !prediction) {
    Error error = std::move(prediction.error());
    if (error.file.empty()) error.file = names.config.empty() ? log : names.config;
    return fail(std::move(error));
  }
  auto time = steady_time(run.log, steps_in_seconds(run.log, size_of(run.config.model, run.plan)));
  if (!time) return fail(std::move(time.error()));
  run.time = *time;
  return run;
}

Seconds predict_time(const LoggedRun& run, const KernelFactors& factors) {
  Stack stack = run.target.stack;
  stack.factors = factors;
  PlanTimer timer(run.config.model, run.target.profile, std::move(stack));
  timer.select(run.plan);
  return timer.iteration();
}

AllocatorMemory predict_allocator(const LoggedRun& run, std::int64_t stage) {
  const StageMemory memory =
      stage_memory(run.config.model, run.plan, stage, run.target.profile, run.target.stack.memory);
  return {.allocated = memory.used(), .reserved = memory.used() + memory.fragmentation};
}

Calibration calibrate_runs(const std::vector<LoggedRun>& runs) {
  // By stack and profile.
  std::map<std::pair<std::string, std::string>, std::vector<const LoggedRun*>> groups;
  for (const LoggedRun& run : runs)
    groups[{run.target.stack.name, run.target.profile.base_name}].push_back(&run);
  Calibration calibration;
  for (const auto& [names, group] : groups) {
    CalibratedStack stack{.stack = names.first, .profile = names.second, .factors = fit_runs(group)};
    for (const LoggedRun* run : group)
      stack.fitted_on.push_back(run->log.file);
    stack.fitted = accuracy_with(stack.factors, group);
    leave_one_out(group, stack);
    calibration.stacks.push_back(std::move(stack));
  }
  return calibration;
}

}  // namespace vtrain
