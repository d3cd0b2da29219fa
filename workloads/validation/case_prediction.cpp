#include "workloads/validation/case_prediction.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "workloads/physical/memory_model.hpp"
#include "workloads/search/plan_timer.hpp"

namespace vtrain {
namespace {

/// The iteration time of a complete case with calibrated kernels.
Seconds predict_time(const MeasuredCase& measured, const GpuProfile& profile, const KernelFactors& factors) {
  Stack stack = measured.stack;
  stack.factors = factors;
  PlanTimer timer(measured.model, profile, std::move(stack));
  timer.select(measured.plan);
  return timer.iteration();
}

/// Predicts a complete case.
CasePrediction predict_complete(const MeasuredCase& measured, const GpuProfile& profile) {
  const ParallelPlan& plan = measured.plan;
  CasePrediction prediction{.measured = measured,
                            .profile = profile.base_name,
                            .predicted = predict_time(measured, profile, {}),
                            .memory = estimate_memory(measured.model, plan, profile, measured.stack.memory)};
  const StageMemory fullest =
      stage_memory(measured.model, plan, prediction.memory.stage, profile, measured.stack.memory);
  prediction.allocated = fullest.used();
  prediction.reserved = fullest.used() + fullest.fragmentation;
  return prediction;
}

/// Predicts a case without a micro-batch.
std::optional<CasePrediction> predict_any_micro_batch(const MeasuredCase& measured,
                                                      const GpuProfile& profile) {
  std::optional<CasePrediction> best;
  for (std::int64_t micro_batch = 1; micro_batch <= measured.plan.global_batch; micro_batch *= 2) {
    MeasuredCase candidate = measured;
    candidate.plan.micro_batch = micro_batch;
    if (!check_plan(candidate.model, candidate.plan)) continue;
    CasePrediction prediction = predict_complete(candidate, profile);
    if (!prediction.memory.fits()) continue;
    if (!best || prediction.predicted < best->predicted) best = std::move(prediction);
  }
  if (best) {
    best->measured.assumed.push_back(
        fmt::format("micro-batch: {}, the fastest that fits", best->measured.plan.micro_batch));
  }
  return best;
}

Outcome memory_outcome(const CasePrediction& prediction, Bytes measured, Bytes predicted) {
  Outcome outcome = outcome_of(prediction);
  outcome.measured = Seconds(measured.value);
  outcome.predicted = Seconds(predicted.value);
  return outcome;
}

}  // namespace

Result<ProfileShelf> ProfileShelf::open(std::string only) {
  if (!only.empty()) {
    if (auto profile = load_gpu_profile(only); !profile) return fail(std::move(profile.error()));
  }
  return ProfileShelf(std::move(only));
}

const Result<GpuProfile>& ProfileShelf::profile(const MeasuredCase& measured) {
  const std::string& name = only_.empty() ? measured.profile : only_;
  const std::int64_t gpus_per_node = measured.gpus_per_node.value_or(0);
  const Key key(name, gpus_per_node, measured.node_network.value_or(BytesPerSecond()).value);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  auto profile =
      gpus_per_node > 0 ? load_gpu_profile(name, NodeShape{.gpus = gpus_per_node}) : load_gpu_profile(name);
  if (profile && measured.node_network) profile->node_network_bandwidth = *measured.node_network;
  return known_.emplace(key, std::move(profile)).first->second;
}

CasePredictions predict_cases(const MeasuredCases& cases, ProfileShelf& profiles) {
  CasePredictions predictions;
  const auto skip = [&](const MeasuredCase& measured, std::string reason) {
    predictions.skipped.push_back({measured.id, std::move(reason)});
  };
  for (const MeasuredCase& measured : cases.cases) {
    for (const std::string& key : measured.unread)
      ++predictions.unread[key];
    if (!measured.missing.empty()) {
      std::string reason;
      for (const std::string& missing : measured.missing)
        reason += (reason.empty() ? "" : "; ") + missing;
      skip(measured, std::move(reason));
      continue;
    }
    const Result<GpuProfile>& profile = profiles.profile(measured);
    if (!profile) {
      skip(measured, profile.error().describe());
    } else if (const auto has = check_precision(*profile, measured.plan.precision); !has) {
      skip(measured, has.error().describe());
    } else if (const auto can = check_stack(measured.stack, measured.plan); !can) {
      skip(measured, can.error().describe());
    } else if (measured.has_micro_batch) {
      if (const auto checked = check_plan(measured.model, measured.plan); !checked) {
        skip(measured, checked.error().describe());
        continue;
      }
      predictions.predicted.push_back(predict_complete(measured, *profile));
    } else if (auto best = predict_any_micro_batch(measured, *profile)) {
      predictions.predicted.push_back(std::move(*best));
    } else {
      skip(measured, "the micro-batch; none fits into memory");
    }
  }
  return predictions;
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
                                         ProfileShelf& profiles) {
  std::vector<Outcome> outcomes;
  for (const CasePrediction& prediction : cases.predicted) {
    const MeasuredCase& measured = prediction.measured;
    outcomes.push_back(outcome_of(prediction));
    const KernelFactors factors = calibration.factors(measured.stack.name, prediction.profile);
    if (factors == KernelFactors{}) continue;
    outcomes.back().predicted = predict_time(measured, *profiles.profile(measured), factors);
  }
  return outcomes;
}

Calibration calibrate(const CasePredictions& cases, ProfileShelf& profiles,
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
      return predict_time(fitted_case, *profiles.profile(fitted_case), factors);
    };
    stack.factors = fit_factors(measured, predict);
    const Calibration alone{.stacks = {stack}};
    stack.fitted = measure_accuracy(calibrated_outcomes(rows, alone, profiles));
    const CasePredictions& rest = held_out[entry.first];
    stack.held_out = measure_accuracy(calibrated_outcomes(rest, alone, profiles));
    stack.held_out_before = measure_accuracy(calibrated_outcomes(rest, {}, profiles));
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
