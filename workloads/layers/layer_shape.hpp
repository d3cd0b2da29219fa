/// Sizes of a transformer's layers on one GPU of a parallel plan, and the GPU's communication groups.
#pragma once

#include <compare>
#include <cstdint>

#include "core/kernels/precision.hpp"
#include "core/profile/gpu_profile.hpp"
#include "workloads/model/layer_kinds.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/stack/kernel_cost.hpp"

namespace vtrain {

/// Frequency of gathers of sharded weights.
enum class WeightGather : std::uint8_t {
  EveryPass,      ///< before the forward and again before the backward pass of a micro-batch
  EveryForward,   ///< before the forward pass; weights stay gathered for the backward pass
  EveryIteration  ///< with several stages: weights stay gathered, and gradients are reduced once
};

/// Members of a plan that determine layer costs: plans with equal keys share them.
struct LayerKey {
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 1;
  std::int64_t micro_batch = 1;
  bool is_sharded = false;     ///< replicas share the weights
  std::int64_t replicas = 1;   ///< replicas of a layer if weights are sharded, else 1
  std::int64_t replicate = 1;  ///< sets of replicas that each hold all weights
  bool sequence_parallel = false;
  WeightGather gather = WeightGather::EveryPass;  ///< used with sharded weights only
  bool splits_weight_gradients = false;
  Recompute recompute = Recompute::None;
  Precision precision = Precision::Bf16;
  friend auto operator<=>(const LayerKey&, const LayerKey&) = default;
};

/// The key of a plan.
LayerKey layer_key(const ParallelPlan& plan);

/// Sizes of a layer per GPU and micro-batch.
struct LayerShape {
  std::int64_t tensor = 1;
  std::int64_t hidden = 0;
  std::int64_t tokens = 0;            ///< micro-batch x sequence / context
  std::int64_t split_tokens = 0;      ///< tokens, divided by tensor with sequence parallelism
  double split_elements = 0;          ///< tokens x hidden, divided the same way
  std::int64_t query = 0;             ///< columns of the queries
  std::int64_t key = 0;               ///< columns of the keys
  std::int64_t value = 0;             ///< columns of the values
  std::int64_t attention_output = 0;  ///< columns of the attention's output
  std::int64_t mlp = 0;               ///< columns of the inner MLP layer
  std::int64_t mlp_inputs = 1;        ///< 2 for a gated MLP
  std::int64_t vocabulary = 0;        ///< rows of the embedding
  AttentionShape attention{};

  GpuGroup tensor_group{};
  GpuGroup context_group{};

  // Mixture of experts.
  std::int64_t routed_rows = 0;    ///< split tokens x top_k x capacity factor
  std::int64_t expert_rows = 0;    ///< rows of the GPU's experts, from all GPUs that share them
  std::int64_t expert_hidden = 0;  ///< columns of these rows
  std::int64_t expert_inner = 0;   ///< columns of the inner layer of an expert
  std::int64_t local_experts = 0;
  GpuGroup expert_group{};
  GpuGroup expert_tensor_group{};  ///< GPUs that share each expert's weights

  double routed_weights = 0;  ///< weights of a layer's routed experts on this GPU

  // State space.
  std::int64_t space_heads = 0;       ///< heads for one sequence
  std::int64_t space_inner = 0;       ///< columns of the inner layer
  std::int64_t space_conv = 0;        ///< columns that pass the convolution
  std::int64_t space_projection = 0;  ///< columns of the input projection
};

/// Group whose neighbours are `stride` GPUs apart, with the number of members that share a node. GPUs are
/// numbered node by node.
GpuGroup placed_group(const GpuProfile& profile, std::int64_t size, std::int64_t stride);

/// GPUs over which a layer's weights are fully sharded; routed experts only over replicas with the same
/// experts. Size 1 if there is nothing to share.
struct ShardingGroups {
  GpuGroup shared{};
  GpuGroup routed{};
};

/// The groups of `replicas` (data x context) replicas of `tensor` GPUs, each expert spread over
/// `expert_stride` GPUs (expert x expert tensor), in `replicate` sets that each hold all weights.
ShardingGroups sharding_groups(const GpuProfile& profile, std::int64_t replicas, std::int64_t tensor,
                               std::int64_t expert_stride, std::int64_t replicate);
/// Group between such sets: GPUs that hold equal parts.
GpuGroup replicate_group(const GpuProfile& profile, std::int64_t replicas, std::int64_t tensor,
                         std::int64_t replicate);

/// Weights of a layer on one GPU, including its share of the routed experts.
double gpu_weights(const TransformerModel& model, const LayerShape& shape, LayerKind kind);

/// The sizes of a plan's layers.
LayerShape layer_shape(const TransformerModel& model, const LayerKey& key, const GpuProfile& profile);

}  // namespace vtrain
