#include "workloads/validation/case_prediction.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "workloads/memory_model.hpp"
#include "workloads/physical_semantics.hpp"
#include "workloads/predictor.hpp"

namespace vtrain {
namespace {

/// The GPU in the cluster of a case.
GpuProfile profile_of(const MeasuredCase& measured, const GpuProfile& profile) {
  GpuProfile in_cluster = profile;
  if (measured.gpus_per_node && *measured.gpus_per_node != profile.gpus_per_node) {
    // NVLink ends with the node where it does so in the profile.
    if (profile.nvlink_domain == profile.gpus_per_node) in_cluster.nvlink_domain = *measured.gpus_per_node;
    in_cluster.node_network_bandwidth =
        profile.node_network_bandwidth * (real(*measured.gpus_per_node) / real(profile.gpus_per_node));
    in_cluster.gpus_per_node = *measured.gpus_per_node;
  }
  if (measured.node_network) in_cluster.node_network_bandwidth = *measured.node_network;
  return in_cluster;
}

bool has_own_cluster(const MeasuredCase& measured) {
  return measured.node_network || measured.gpus_per_node;
}

/// Predicts a complete case.
CasePrediction predict_complete(const MeasuredCase& measured, const GpuProfile& profile) {
  const ParallelPlan& plan = measured.plan;
  const GpuProfile in_cluster = profile_of(measured, profile);
  CasePrediction prediction{
      .measured = measured,
      .profile = profile.base_name,
      .predicted = predict_time(measured, profile, {}),
      .memory = estimate_memory(measured.model, plan, in_cluster, measured.stack.memory)};
  const StageMemory fullest =
      stage_memory(measured.model, plan, prediction.memory.stage, in_cluster, measured.stack.memory);
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

const Result<GpuProfile>& ProfileShelf::profile(const std::string& name) {
  const std::string& wanted = only_.empty() ? name : only_;
  const auto found = known_.find(wanted);
  if (found != known_.end()) return found->second;
  return known_.emplace(wanted, load_gpu_profile(wanted)).first->second;
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
    const Result<GpuProfile>& profile = profiles.profile(measured.profile);
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

Seconds predict_time(const MeasuredCase& measured, const GpuProfile& profile, const KernelFactors& factors) {
  Stack stack = measured.stack;
  stack.factors = factors;
  const auto predict = [&](const GpuProfile& in_cluster) -> Seconds {
    LayerCostCache cache(measured.model, in_cluster, stack);
    return fast_iteration_times(cache.work(measured.plan)).iteration;
  };
  return has_own_cluster(measured) ? predict(profile_of(measured, profile)) : predict(profile);
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
    outcomes.back().predicted = predict_time(measured, *profiles.profile(measured.profile), factors);
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
    const GpuProfile& profile = *profiles.profile(rows.predicted.front().measured.profile);
    const auto predict = [&](std::size_t row, const KernelFactors& factors) {
      return predict_time(rows.predicted[row].measured, profile, factors);
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
