#include "workloads/case_prediction.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "workloads/memory_model.hpp"
#include "workloads/physical_semantics.hpp"

namespace vtrain {
namespace {

/// Predicts a complete case.
CasePrediction predict_complete(const MeasuredCase& measured, const GpuProfile& of_gpu) {
  const ParallelPlan& plan = measured.plan;
  GpuProfile profile = of_gpu;
  if (measured.node_network) profile.node_network_bandwidth = *measured.node_network;
  LayerCostCache cache(measured.model, profile, measured.stack);
  CasePrediction prediction{.measured = measured,
                            .predicted = fast_iteration_times(cache.work(plan)).iteration,
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
  Outcome outcome = outcome_of(prediction, {});
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

Outcome outcome_of(const CasePrediction& prediction, const Calibration& calibration) {
  const MeasuredCase& measured = prediction.measured;
  return {.id = measured.id,
          .group = measured.group,
          .configuration = measured.configuration(),
          .choice = measured.choice(),
          .measured = measured.measured,
          .predicted = prediction.predicted * calibration.factor(measured.stack.name, measured.profile)};
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
