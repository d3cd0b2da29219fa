/// Sizes of a transformer's layers on one GPU of a parallel plan, and the groups that it communicates in.
#pragma once

#include <cstdint>

#include "core/gpu_profile.hpp"
#include "workloads/kernel_cost.hpp"
#include "workloads/layer_cost.hpp"
#include "workloads/model.hpp"

namespace vtrain {

/// Counts are per GPU and micro-batch.
struct LayerShape {
  std::int64_t tensor = 1;
  std::int64_t hidden = 0;
  std::int64_t tokens = 0;    ///< micro-batch x sequence / context
  double split_elements = 0;  ///< tokens x hidden, divided by tensor where sequence parallelism splits
  std::int64_t query = 0;     ///< columns of the queries
  std::int64_t key = 0;       ///< columns of the keys
  std::int64_t value = 0;     ///< columns of the values
  std::int64_t attention_output = 0;  ///< columns of the attention's output
  std::int64_t mlp = 0;               ///< columns of the inner MLP layer
  std::int64_t mlp_inputs = 1;        ///< 2 for a gated MLP
  std::int64_t vocabulary = 0;        ///< rows of the embedding
  AttentionShape attention{};

  GpuGroup tensor_group{};
  GpuGroup sharding_group{};  ///< GPUs over which weights are fully sharded; of size 1 otherwise
  Bytes activations{};        ///< of a layer's input on all GPUs of the tensor-parallel group

  // Mixture of experts.
  std::int64_t routed_tokens = 0;  ///< tokens that this GPU routes
  std::int64_t routed_rows = 0;    ///< top_k for each of them
  std::int64_t expert_rows = 0;    ///< rows that its experts work on: those of all GPUs that share them
  std::int64_t expert_inner = 0;   ///< columns of the inner layer of an expert
  std::int64_t local_experts = 0;
  GpuGroup expert_group{};
  GpuGroup expert_tensor_group{};  ///< GPUs that share each expert's weights

  double dense_weights = 0;   ///< of a layer with an MLP
  double expert_weights = 0;  ///< of a layer with experts, routed experts on this GPU included
  double routed_weights = 0;  ///< of these routed experts
};

/// How many members of a group share a node when neighbours in it are `stride` GPUs apart, GPUs being
/// numbered node by node.
GpuGroup placed_group(const GpuProfile& profile, std::int64_t size, std::int64_t stride);

/// The sizes of a plan's layers.
LayerShape layer_shape(const TransformerModel& model, const LayerKey& key, const GpuProfile& profile);

}  // namespace vtrain
