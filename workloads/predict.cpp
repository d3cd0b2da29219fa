#include "workloads/predict.hpp"

#include <cmath>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/numbers.hpp"
#include "workloads/model/model.hpp"
#include "workloads/release/release_predictor.hpp"

namespace vtrain {
namespace {

std::string all_reduces(std::int64_t count) {
  return fmt::format("{} all-reduce{}", with_thousands(count), count == 1 ? "" : "s");
}

/// Gbit/s, to four digits.
std::string gigabits(BytesPerSecond bandwidth) {
  constexpr double kLarge = 999.95;
  const double rate = bandwidth.value * 8 / 1e9;
  return rate >= kLarge ? with_thousands(std::llround(rate)) : fmt::format("{:.4g}", rate);
}

std::vector<PredictionSource> physical_sources(const Target& target, const PhysicalProvenance& from) {
  std::vector<PredictionSource> sources;
  const auto add = [&sources](SourceKind kind, std::string text, std::size_t count = 1) {
    sources.push_back({kind, static_cast<std::int64_t>(count), std::move(text)});
  };
  const GpuProfile& profile = target.profile;
  add(SourceKind::Profile, fmt::format("profile {}: {}", profile.name, profile.description));
  add(SourceKind::Stack, fmt::format("stack {}: {}", target.stack.name, target.stack.summary));
  add(SourceKind::Collectives, "all-reduces within a node: " + from.all_reduce_source);
  if (target.network_is_given) {
    add(SourceKind::Network, fmt::format("network of a node: {} Gbit/s, from the configuration",
                                         gigabits(profile.node_network_bandwidth)));
  }
  if (std::string calibration = describe_calibration(target.calibration, target.stack); !calibration.empty())
    add(SourceKind::Calibration, std::move(calibration));
  if (!from.modelled.empty()) {
    add(SourceKind::Formulas, fmt::format("by formula: {}", fmt::join(from.modelled, ", ")),
        from.modelled.size());
  }
  return sources;
}

Result<Prediction> predict_on_gpu(const TransformerModel& model, const ParallelPlan& plan,
                                  const Target& target) {
  auto predicted = predict_physical(model, plan, target.profile, target.stack);
  if (!predicted) return fail(std::move(predicted.error()));
  Prediction prediction{.semantics = Semantics::Physical, .plan = plan};
  prediction.times = fast_iteration_times(predicted->work);
  prediction.memory = predicted->memory;
  const RunTraits traits = traits_of(model, target);
  prediction.uncertainty = uncertainty_of(model, target);
  prediction.provenance = {.sources = physical_sources(target, predicted->provenance),
                           .remarks = std::move(predicted->provenance.remarks),
                           .fallbacks = std::move(predicted->provenance.fallbacks)};
  if (std::string never = never_validated_text(traits, *prediction.uncertainty); !never.empty())
    prediction.provenance.remarks.push_back(std::move(never));
  prediction.work = std::move(predicted->work);
  return prediction;
}

PredictionProvenance release_provenance(const VtrainProvenance& from) {
  PredictionProvenance provenance;
  provenance.sources.push_back({SourceKind::Kernels, 1, "kernels measured: " + from.trace_file});
  if (!from.collectives_folder.empty()) {
    provenance.sources.push_back(
        {SourceKind::Collectives, from.measured_collectives,
         fmt::format("{} measured: {}", all_reduces(from.measured_collectives), from.collectives_folder)});
  }
  if (from.modelled_collectives > 0) {
    provenance.sources.push_back({SourceKind::Formulas, from.modelled_collectives,
                                  all_reduces(from.modelled_collectives) + " by formula"});
  }
  std::vector<std::string>& missing = provenance.fallbacks.missing;
  if (from.fallback_collectives > 0)
    missing.push_back(all_reduces(from.fallback_collectives) + " beyond the tables, by bandwidth");
  for (const std::string& name : from.operators_without_kernels)
    missing.push_back(name + " has no kernels in the trace and takes no time");
  return provenance;
}

Result<Prediction> predict_as_release(const TransformerModel& model, const ParallelPlan& plan,
                                      const Target& target) {
  const ReleaseInputs& inputs = target.release;
  const auto config = make_vtrain_config(model, plan, inputs.machine);
  if (!config) return fail(config.error());
  auto predicted = predict_vtrain(*config, inputs.traces, inputs.collectives);
  if (!predicted) return fail(std::move(predicted.error()));
  Prediction prediction{.semantics = Semantics::Release, .plan = config->plan};
  prediction.times = fast_iteration_times(predicted->work);
  prediction.provenance = release_provenance(predicted->provenance);
  prediction.work = std::move(predicted->work);
  prediction.kernels = std::move(predicted->kernels);
  return prediction;
}

}  // namespace

RunTraits traits_of(const TransformerModel& model, const Target& target) {
  return {.set_up = target.set_up,
          .stack = target.stack.name,
          .profile = target.profile.base_name,
          .generation = std::string(generation_of(target.profile)),
          .kind = kind_of(model)};
}

Uncertainty uncertainty_of(const TransformerModel& model, const Target& target) {
  Uncertainty uncertainty = uncertainty_of(traits_of(model, target));
  if (target.left_out.size() >= kFewestLogs) {
    uncertainty.time = interval_of_logs(target.left_out);
    uncertainty.num_own = std::ssize(target.left_out);
    uncertainty.never_validated = false;
  }
  return uncertainty;
}

Result<Prediction> predict(const TransformerModel& model, const ParallelPlan& plan, const Target& target) {
  if (target.profile.gpus_per_node < 1 || target.profile.nvlink_domain < 1) {
    return fail(
        {.field = "profile", .message = expected_found("a profile of GPUs in nodes", target.profile.name)});
  }
  try {
    auto prediction = target.semantics == Semantics::Release ? predict_as_release(model, plan, target)
                                                             : predict_on_gpu(model, plan, target);
    if (prediction) prediction->peak_rate = target.profile.peak_rate_of(prediction->plan.precision);
    return prediction;
  } catch (const std::exception& error) {
    return fail(
        {.kind = ErrorKind::Failed,
         .message = fmt::format("no iteration time on profile '{}': {}", target.profile.name, error.what())});
  }
}

}  // namespace vtrain
