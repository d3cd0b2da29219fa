/// The accurate predictor, `--semantics physical`: kernel times from a model of the GPU, communication from
/// measured tables and link rates, and what a software stack makes of them.
///
/// GPUs are numbered as Megatron numbers them: tensor-parallel neighbours first, then context, then data,
/// then pipeline; experts are spread over consecutive GPUs. Each group knows how many of its members share a
/// node.
///
/// Choices of this model:
///  * recomputation is part of the backward block: Megatron-LM recomputes a layer just before its backward
///    pass, which needs the incoming gradient to have arrived;
///  * the weight update waits for all stages, because clipping needs the norm of all gradients;
///  * not modelled: the three small all-reduces of the tensor-parallel loss, data loading, stragglers,
///    allocator pressure.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/physical/memory_model.hpp"

namespace vtrain {

struct GpuProfile;
struct LayerCosts;
struct ParallelPlan;
struct Stack;
struct TransformerModel;

/// What of a prediction the profile's measurements do not cover.
struct Fallbacks {
  std::vector<std::string> extrapolated{};  ///< operators and messages outside the measured sizes
  std::vector<std::string> missing{};       ///< what profile or stack do not have, a sentence each

  bool empty() const { return extrapolated.empty() && missing.empty(); }
  /// All of it, a sentence each.
  std::vector<std::string> sentences() const;
};

/// What there is of them in a prediction of this plan, which has passed `check_plan`. `costs` are those of
/// `layer_key(plan)`.
Fallbacks find_fallbacks(const TransformerModel& model, const ParallelPlan& plan, const GpuProfile& profile,
                         const Stack& stack, const LayerCosts& costs);

/// Where the numbers of a prediction come from.
struct PhysicalProvenance {
  std::string all_reduce_source;  ///< of the collectives' times within a node
  /// Operators whose time is a formula's, because the profile has no measurements of their kind.
  std::vector<std::string> modelled;
  /// What a user should know of the plan and the model on this stack, though no number is missing for it; a
  /// sentence each.
  std::vector<std::string> remarks;
  Fallbacks fallbacks;
};

/// The work of an iteration, the memory it takes and where both come from.
struct PhysicalPrediction {
  IterationWork work;
  MemoryEstimate memory;
  PhysicalProvenance provenance;
};

/// Predicts one iteration: `fast_iteration_times` or a graph of `work` gives the time. A plan that does not
/// fit into memory is predicted all the same; see `memory`. Errors: those of `check_plan` and
/// `check_precision`.
Result<PhysicalPrediction> predict_physical(const TransformerModel& model, const ParallelPlan& plan,
                                            const GpuProfile& profile, const Stack& stack);

}  // namespace vtrain
