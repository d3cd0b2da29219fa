#include "workloads/validation/case_prediction.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/strings.hpp"
#include "core/profile/gpu_profile.hpp"
#include "workloads/physical/memory_model.hpp"
#include "workloads/predict.hpp"
#include "workloads/search/plan_timer.hpp"

namespace vtrain {
namespace {

/// The iteration time of a case with factors on its kernels. A fit needs it thousands of times: what
/// `predict` gives, without sources and memory.
Seconds time_with(const KernelFactors& factors, const MeasuredCase& measured, const Target& target) {
  Stack stack = target.stack;
  stack.factors = factors;
  PlanTimer timer(measured.model, target.profile, std::move(stack));
  timer.select(measured.plan);
  return timer.iteration();
}

/// Predicts a complete case.
Result<CasePrediction> predict_complete(const MeasuredCase& measured, const Target& target) {
  const auto predicted = predict(measured.model, measured.plan, target);
  if (!predicted) return fail(predicted.error());
  CasePrediction prediction{.measured = measured,
                            .profile = target.profile.base_name,
                            .generation = std::string(generation_of(target.profile)),
                            .furthest = furthest(predicted->provenance.fallbacks),
                            .predicted = predicted->times.iteration,
                            .memory = predicted->memory.value()};
  const StageMemory fullest = stage_memory(measured.model, measured.plan, prediction.memory.stage,
                                           target.profile, target.stack.memory);
  prediction.allocated = fullest.used();
  prediction.reserved = fullest.used() + fullest.fragmentation;
  return prediction;
}

/// Predicts a case without a micro-batch with that of the fastest plan that fits into memory.
Result<CasePrediction> predict_any_micro_batch(const MeasuredCase& measured, const Target& target) {
  std::optional<CasePrediction> best;
  for (std::int64_t micro_batch = 1; micro_batch <= measured.plan.global_batch; micro_batch *= 2) {
    MeasuredCase candidate = measured;
    candidate.plan.micro_batch = micro_batch;
    auto prediction = predict_complete(candidate, target);
    if (!prediction || !prediction->memory.fits()) continue;
    if (!best || prediction->predicted < best->predicted) best = *std::move(prediction);
  }
  if (!best) return fail({.message = "the micro-batch; none fits into memory"});
  best->measured.assumed.push_back(
      fmt::format("micro-batch: {}, the fastest that fits", best->measured.plan.micro_batch));
  return *std::move(best);
}

/// Checks that GPU and stack can run a case with any micro-batch.
Result<void> check_case(const MeasuredCase& measured, const Target& target) {
  if (auto checked = check_precision(target.profile, measured.plan.precision); !checked) return checked;
  return check_stack(target.stack, measured.plan);
}

/// Predicts a case whose record suffices.
Result<CasePrediction> predict_case(const MeasuredCase& measured, CaseTargets& targets) {
  const Result<Target>& target = targets.target(measured);
  if (!target) return fail(target.error());
  if (auto checked = check_case(measured, *target); !checked) return fail(checked.error());
  return measured.has_micro_batch ? predict_complete(measured, *target)
                                  : predict_any_micro_batch(measured, *target);
}

/// A profile in the nodes of another one: with the constants on nodes that the other's name gives.
std::string in_nodes_of(std::string profile, const std::string& other) {
  const std::string constants = split_profile_name(other).constants;
  if (constants.empty()) return profile;
  for (const std::string_view constant : split(constants, ',')) {
    const std::string_view name = split_once(constant, '=').first;
    if (name != "gpus_per_node" && name != "nvlink_domain" && name != "node_network_bandwidth") continue;
    profile += split_profile_name(profile).constants.empty() ? ":" : ",";
    profile += constant;
  }
  return profile;
}

Outcome memory_outcome(const CasePrediction& prediction, Bytes measured, Bytes predicted) {
  Outcome outcome = outcome_of(prediction);
  outcome.measured = Seconds(measured.value);
  outcome.predicted = Seconds(predicted.value);
  return outcome;
}

}  // namespace

Result<CaseTargets> CaseTargets::open(std::string profile) {
  if (!profile.empty()) {
    if (auto target = resolve_target({.profile = profile}); !target) return fail(std::move(target.error()));
  }
  return CaseTargets(std::move(profile));
}

const Result<Target>& CaseTargets::target(const MeasuredCase& measured) {
  const std::string name = profile_.empty() ? measured.profile : in_nodes_of(profile_, measured.profile);
  auto found = known_.find(name);
  if (found == known_.end()) found = known_.emplace(name, resolve_target({.profile = name})).first;
  if (found->second) found->second->stack = measured.stack;
  return found->second;
}

CasePredictions predict_cases(const MeasuredCases& cases, CaseTargets& targets) {
  CasePredictions predictions;
  for (const MeasuredCase& measured : cases.cases) {
    for (const std::string& key : measured.unread)
      ++predictions.unread[key];
    if (!measured.missing.empty()) {
      predictions.skipped.push_back({measured.id, fmt::format("{}", fmt::join(measured.missing, "; "))});
      continue;
    }
    auto prediction = predict_case(measured, targets);
    if (prediction) {
      predictions.predicted.push_back(*std::move(prediction));
    } else {
      predictions.skipped.push_back({measured.id, prediction.error().describe()});
    }
  }
  return predictions;
}

Uncertainty uncertainty_of(const CasePrediction& prediction, SetUp set_up) {
  const MeasuredCase& measured = prediction.measured;
  return uncertainty_of({.set_up = set_up,
                         .stack = measured.stack.name,
                         .profile = prediction.profile,
                         .generation = prediction.generation,
                         .kind = kind_of(measured.model)},
                        validated_runs(), set_up == SetUp::Own ? measured.source : measured.group);
}

Outcome outcome_of(const CasePrediction& prediction) {
  const MeasuredCase& measured = prediction.measured;
  return {.id = measured.id,
          .group = measured.group,
          .configuration = measured.configuration(),
          .choice = measured.choice(),
          .measured = measured.measured,
          .predicted = prediction.predicted};
}

std::vector<Outcome> calibrated_outcomes(const CasePredictions& cases, const Calibration& calibration,
                                         CaseTargets& targets) {
  std::vector<Outcome> outcomes;
  for (const CasePrediction& prediction : cases.predicted) {
    const MeasuredCase& measured = prediction.measured;
    outcomes.push_back(outcome_of(prediction));
    const KernelFactors factors = calibration.factors(measured.stack.name, prediction.profile);
    if (factors == KernelFactors{}) continue;
    outcomes.back().predicted = time_with(factors, measured, *targets.target(measured));
  }
  return outcomes;
}

Calibration calibrate(const CasePredictions& cases, CaseTargets& targets,
                      const std::function<bool(const std::string&)>& is_fitted) {
  // By stack and profile.
  std::map<std::pair<std::string, std::string>, CasePredictions> fitted;
  std::map<std::pair<std::string, std::string>, CasePredictions> held_out;
  for (const CasePrediction& prediction : cases.predicted) {
    const MeasuredCase& measured = prediction.measured;
    auto& rows = is_fitted(measured.configuration()) ? fitted : held_out;
    rows[{measured.stack.name, prediction.profile}].predicted.push_back(prediction);
  }
  Calibration calibration;
  for (const auto& entry : fitted) {
    const auto& [name, profile_name] = entry.first;
    const CasePredictions& rows = entry.second;
    std::vector<Seconds> measured;
    CalibratedStack stack{.stack = name, .profile = profile_name};
    for (const CasePrediction& prediction : rows.predicted) {
      measured.push_back(prediction.measured.measured);
      stack.fitted_on.push_back(prediction.measured.id);
    }
    const auto predict = [&](std::size_t row, const KernelFactors& factors) {
      const MeasuredCase& fitted_case = rows.predicted[row].measured;
      return time_with(factors, fitted_case, *targets.target(fitted_case));
    };
    stack.factors = fit_factors(measured, predict);
    const Calibration alone{.stacks = {stack}};
    stack.fitted = measure_accuracy(calibrated_outcomes(rows, alone, targets));
    const CasePredictions& rest = held_out[entry.first];
    stack.held_out = measure_accuracy(calibrated_outcomes(rest, alone, targets));
    stack.held_out_before = measure_accuracy(calibrated_outcomes(rest, {}, targets));
    calibration.stacks.push_back(std::move(stack));
  }
  return calibration;
}

std::vector<Outcome> allocated_outcomes(const CasePredictions& cases) {
  std::vector<Outcome> outcomes;
  for (const CasePrediction& prediction : cases.predicted) {
    const auto& measured = prediction.measured.allocated;
    if (measured) outcomes.push_back(memory_outcome(prediction, *measured, prediction.allocated));
  }
  return outcomes;
}

std::vector<Outcome> reserved_outcomes(const CasePredictions& cases) {
  std::vector<Outcome> outcomes;
  for (const CasePrediction& prediction : cases.predicted) {
    const auto& measured = prediction.measured.reserved;
    if (measured) outcomes.push_back(memory_outcome(prediction, *measured, prediction.reserved));
  }
  return outcomes;
}

}  // namespace vtrain
