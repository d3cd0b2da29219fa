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

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/profile/gpu_profile.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/physical/memory_model.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

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

/// Layer costs of one model, profile and stack, computed when first asked for. Not safe to share between
/// threads. The profile must outlive it.
class LayerCostCache {
 public:
  /// The model must have passed `check_model`.
  LayerCostCache(TransformerModel model, const GpuProfile& profile, Stack stack)
      : model_(std::move(model)), profile_(profile), stack_(std::move(stack)) {}

  /// What the costs are of.
  const TransformerModel& model() const { return model_; }
  const GpuProfile& profile() const { return profile_; }
  const Stack& stack() const { return stack_; }
  /// The costs of a plan that has passed `check_plan`; valid as long as the cache.
  const LayerCosts& costs(const ParallelPlan& plan);

 private:
  TransformerModel model_;
  const GpuProfile& profile_;
  Stack stack_;
  std::map<LayerKey, LayerCosts> known_;
};

/// Predicts one iteration: `fast_iteration_times` or a graph of `work` gives the time. A plan that does not
/// fit into memory is predicted all the same; see `memory`. Errors: those of `check_plan` and
/// `check_precision`.
Result<PhysicalPrediction> predict_physical(const TransformerModel& model, const ParallelPlan& plan,
                                            const GpuProfile& profile, const Stack& stack);

}  // namespace vtrain
