/// The operators of a transformer's layers, of its embedding and of its head on one GPU, with their times:
/// for one micro-batch of a parallel plan.
#pragma once

#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/layers/layer_shape.hpp"
#include "workloads/layers/pass_builder.hpp"
#include "workloads/model/layer_kinds.hpp"

namespace vtrain {

struct Stack;

/// The passes of one part of the model for one micro-batch; `Operator::layer` is still -1.
struct PassCosts {
  std::vector<Operator> forward{};
  std::vector<Operator> recompute{};  ///< parts of `forward` that run again just before the backward pass
  std::vector<Operator> backward{};
  std::vector<Operator> weight{};  ///< weight gradients, if the schedule takes them out of `backward`
};

/// Costs of the parts that make up a stage. Durations are whole nanoseconds, so that sums do not depend on
/// their order.
struct LayerCosts {
  PerLayerKind<PassCosts> layers;  ///< by `layer_kinds`; empty if the model has no such layer
  PassCosts embedding;             ///< before the first layer
  PassCosts head;                  ///< after the last layer: final norm, logits, loss
  /// Gathers and reductions of one layer of each kind that nothing hides, if sharded weights are gathered
  /// only once an iteration (`WeightGather::EveryIteration`).
  PerLayerKind<Nanoseconds> gathers{};
  Nanoseconds embedding_gathers{0};  ///< gathers and reductions of the word embedding
  Nanoseconds head_gathers{0};       ///< gathers and reductions of output layer and multi-token prediction
  /// Operators with a kernel or message outside the sizes that the profile measured.
  ExtrapolatedOperators extrapolated;
  /// Operators with a kernel or message whose time comes from a formula, because the profile has no
  /// measurements.
  std::vector<std::string_view> modelled;
};

/// Computes the costs. The model and the plan must have passed `check_plan`. Takes about 100 kernel look-ups.
LayerCosts layer_costs(const TransformerModel& model, const LayerKey& key, const GpuProfile& profile,
                       const Stack& stack);

}  // namespace vtrain
