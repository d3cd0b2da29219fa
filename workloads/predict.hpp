/// The time of one training iteration by either predictor: the entry point for the time of one plan.
///
///     const auto target = resolve_target({.profile = "h100", .stack = "megatron-core"});
///     const auto prediction = predict(model, plan, *target);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/kernels/kernel_trace.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/physical/memory_model.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/target.hpp"

namespace vtrain {

struct TransformerModel;

/// Measurements and rules that a prediction rests on.
enum class SourceKind : std::uint8_t {
  Profile,      ///< constants and tables of the GPU profile
  Stack,        ///< rules of the software stack
  Collectives,  ///< measured tables of collectives
  Network,      ///< a network that is not the profile's
  Calibration,  ///< factors of a calibration
  Formulas,     ///< operators or collectives that nothing measures
  Kernels,      ///< a kernel trace
};

/// One source of a prediction.
struct PredictionSource {
  SourceKind kind = SourceKind::Profile;  ///< kind of the source
  std::int64_t count = 1;                 ///< operators or collectives that use it; 1 if they are not counted
  std::string text{};                     ///< a sentence
};

/// Sources of a prediction, and the gaps in them.
struct PredictionProvenance {
  std::vector<PredictionSource> sources{};  ///< sources, at least one
  /// Facts about plan and model on this stack that a user should know, though no number is missing for them;
  /// a sentence each.
  std::vector<std::string> remarks{};
  Fallbacks fallbacks{};  ///< numbers that were extrapolated or missing
};

/// One iteration as predicted.
struct Prediction {
  Semantics semantics = Semantics::Physical;  ///< predictor that was used
  /// The plan as the predictor takes it: the release takes the batch of a single stage as one micro-batch.
  ParallelPlan plan{};
  IterationTimes times{};                  ///< the iteration, its breakdown and its stages
  std::optional<MemoryEstimate> memory{};  ///< the release has no memory model
  /// How sure time and memory are; none for the release's arithmetic, which is exact as such.
  std::optional<Uncertainty> uncertainty{};
  FlopsPerSecond peak_rate{0};                     ///< peak of one GPU in the precision of the plan
  PredictionProvenance provenance{};               ///< sources and gaps of the prediction
  IterationWork work{};                            ///< input of graphs and timelines (`build_graph`)
  std::shared_ptr<const TracedKernels> kernels{};  ///< kernels that `work` points to; may be null
};

/// What decides the interval of predictions of a model on a target.
RunTraits traits_of(const TransformerModel& model, const Target& target);

/// How sure predictions of a model on a target are: by the runs that the target's calibration was fitted to,
/// if there are enough of them, else by the validated runs of the program.
Uncertainty uncertainty_of(const TransformerModel& model, const Target& target);

/// Predicts one iteration of a model with a plan. A plan that does not fit into memory is predicted too.
/// Reads nothing but its arguments, and under `Semantics::Release` the files that `Target::release` names;
/// threads may call it with one target.
///
/// Errors, never exceptions: those of `predict_physical`, or of `make_vtrain_config` and `predict_vtrain`;
/// `InvalidInput` for a target without a profile; `Failed` where constants of the target give no finite time.
Result<Prediction> predict(const TransformerModel& model, const ParallelPlan& plan, const Target& target);

}  // namespace vtrain
