/// The accurate predictor, `--semantics physical`: kernel times from a model of the GPU, communication from
/// measured tables and link rates, and the rules of a software stack.
///
/// GPUs are numbered as in Megatron: tensor-parallel neighbours first, then context, then data, then
/// pipeline. Experts are spread over consecutive GPUs. Each group stores the number of its members that share
/// a node.
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
#include "core/kernels/evidence.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/physical/memory_model.hpp"

namespace vtrain {

struct GpuProfile;
struct LayerCosts;
struct ParallelPlan;
struct Stack;
struct TransformerModel;

/// Parts of a prediction that the profile's measurements do not cover.
struct Fallbacks {
  std::vector<Extrapolation> extrapolated{};  ///< operators and messages outside the measured sizes
  std::vector<std::string> missing{};         ///< data that profile or stack lack, a sentence each

  /// True if every number was measured or interpolated.
  bool empty() const { return extrapolated.empty() && missing.empty(); }
  /// All fallbacks, a sentence each.
  std::vector<std::string> sentences() const;
};

/// The extrapolation farthest from the measured sizes, the first of equal ones; null if there is none.
const Extrapolation* furthest_extrapolation(const Fallbacks& fallbacks);

/// Largest ratio of a size to the nearest measured one, 1 or more; 1 if nothing is extrapolated.
double furthest(const Fallbacks& fallbacks);

/// Distance in words: `5.0 GiB, 4.2 times the largest measured`.
std::string describe_reach(const Reach& reach);

/// Finds the fallbacks in a prediction of this plan, which has passed `check_plan`. `costs` are the layer
/// costs of `layer_key(plan)`.
Fallbacks find_fallbacks(const TransformerModel& model, const ParallelPlan& plan, const GpuProfile& profile,
                         const Stack& stack, const LayerCosts& costs);

/// Sources of the numbers of a prediction.
struct PhysicalProvenance {
  std::string all_reduce_source;  ///< source of the collectives' times within a node
  /// Operators whose time comes from a formula, because the profile has no measurements of their kind.
  std::vector<std::string> modelled;
  /// Facts about plan and model on this stack that a user should know, though no number is missing for them;
  /// a sentence each.
  std::vector<std::string> remarks;
  Fallbacks fallbacks;  ///< numbers that were extrapolated or missing
};

/// The work of an iteration, its memory and the sources of both.
struct PhysicalPrediction {
  IterationWork work;             ///< work of each stage
  MemoryEstimate memory;          ///< memory of a GPU on the fullest stage
  PhysicalProvenance provenance;  ///< sources of both
};

/// Predicts one iteration: `fast_iteration_times` or a graph of `work` gives the time. A plan that does not
/// fit into memory is predicted too; see `memory`. Errors: those of `check_plan` and `check_precision`.
Result<PhysicalPrediction> predict_physical(const TransformerModel& model, const ParallelPlan& plan,
                                            const GpuProfile& profile, const Stack& stack);

}  // namespace vtrain
