/// The operators of a transformer's layers, of its embedding and of its head on one GPU, with their times:
/// for one micro-batch of a parallel plan.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/profile/gpu_profile.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/model/layer_kinds.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

/// The passes of one part of the model for one micro-batch; `Operator::layer` is still -1.
struct PassCosts {
  std::vector<Operator> forward{};
  std::vector<Operator> recompute{};  ///< what of the forward pass runs again just before the backward pass
  std::vector<Operator> backward{};
  std::vector<Operator> weight{};  ///< weight gradients, where the schedule takes them out of `backward`
};

/// What a stage is put together from. Durations are whole nanoseconds, so that sums do not depend on their
/// order.
struct LayerCosts {
  PerLayerKind<PassCosts> layers;  ///< of `layer_kinds`; empty where the model has none of the kind
  PassCosts embedding;             ///< before the first layer
  PassCosts head;                  ///< after the last layer: final norm, logits, loss
  /// Where sharded weights are gathered only once an iteration (`WeightGather::EveryIteration`): the gathers
  /// and reductions of one layer of each kind that nothing hides.
  PerLayerKind<Nanoseconds> gathers{};
  Nanoseconds embedding_gathers{0};  ///< the same for the word embedding
  Nanoseconds head_gathers{0};       ///< and for the output layer and the layers of multi-token prediction
  /// Operators with a kernel or message outside the sizes that the profile measured.
  std::vector<std::string_view> extrapolated;
  /// Operators with a kernel or message whose time is a formula's, because the profile has no measurements.
  std::vector<std::string_view> modelled;
};

/// How often sharded weights are gathered.
enum class WeightGather : std::uint8_t {
  EveryPass,      ///< before the forward and again before the backward pass of a micro-batch
  EveryForward,   ///< the backward pass finds them gathered
  EveryIteration  ///< with several stages: they stay, and gradients are reduced once
};

/// All of a plan that layer costs depend on: plans with equal keys share them.
struct LayerKey {
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 1;
  std::int64_t micro_batch = 1;
  bool is_sharded = false;     ///< replicas share the weights
  std::int64_t replicas = 1;   ///< of a layer where these are sharded, else 1
  std::int64_t replicate = 1;  ///< sets of them that each hold all weights
  bool sequence_parallel = false;
  WeightGather gather = WeightGather::EveryPass;  ///< of interest with sharded weights only
  bool splits_weight_gradients = false;
  Recompute recompute = Recompute::None;
  Precision precision = Precision::Bf16;
  friend auto operator<=>(const LayerKey&, const LayerKey&) = default;
};

/// The key of a plan.
LayerKey layer_key(const ParallelPlan& plan);

/// Computes the costs. The model and the plan must have passed `check_plan`. Takes some 100 kernel look-ups.
LayerCosts layer_costs(const TransformerModel& model, const LayerKey& key, const GpuProfile& profile,
                       const Stack& stack);

}  // namespace vtrain
