#include "workloads/layer_shape.hpp"

#include <algorithm>

namespace vtrain {
namespace {

void add_experts(LayerShape& shape, const TransformerModel& model, const LayerKey& key,
                 const GpuProfile& profile) {
  const MixtureOfExperts& experts = model.experts;
  shape.routed_tokens = std::max<std::int64_t>(1, shape.tokens / (key.sequence_parallel ? key.tensor : 1));
  shape.routed_rows = shape.routed_tokens * experts.top_k;
  shape.expert_rows = shape.routed_rows * key.expert_tensor;
  shape.expert_inner = std::max<std::int64_t>(1, experts.expert_ffn_size / key.expert_tensor);
  shape.local_experts = std::max<std::int64_t>(1, experts.num_experts / key.expert);
  shape.expert_group = placed_group(profile, key.expert, key.expert_tensor);
  shape.expert_tensor_group = placed_group(profile, key.expert_tensor, 1);
}

}  // namespace

GpuGroup placed_group(const GpuProfile& profile, std::int64_t size, std::int64_t stride) {
  return {.size = size, .per_node = std::clamp<std::int64_t>(profile.nvlink_domain / stride, 1, size)};
}

LayerShape layer_shape(const TransformerModel& model, const LayerKey& key, const GpuProfile& profile) {
  const std::int64_t tensor = key.tensor;
  const std::int64_t head_size = model.query_size() / model.num_heads;
  // With fewer heads of keys and values than GPUs each GPU holds one all the same.
  const std::int64_t least_key = model.has_latent_attention() ? 1 : model.head_size();
  LayerShape shape{.tensor = tensor,
                   .hidden = model.hidden_size,
                   .tokens = std::max<std::int64_t>(1, key.micro_batch * model.sequence_length / key.context),
                   .query = model.query_size() / tensor,
                   .key = std::max(model.key_size() / tensor, least_key),
                   .value = std::max(model.value_size() / tensor, least_key),
                   .attention_output = model.attention_output_size() / tensor,
                   .mlp = std::max<std::int64_t>(1, model.mlp_size() / tensor),
                   .mlp_inputs = model.mlp_inputs(),
                   .vocabulary = (model.vocab_size + tensor - 1) / tensor};
  shape.attention = {.sequence = model.sequence_length,
                     .queries = std::max<std::int64_t>(1, model.sequence_length / key.context),
                     .heads = key.micro_batch * model.num_heads / tensor,
                     .head_size = head_size,
                     .value_head_size = model.attention_output_size() / model.num_heads};
  const double elements = static_cast<double>(shape.tokens) * static_cast<double>(shape.hidden);
  shape.split_elements = elements / static_cast<double>(key.sequence_parallel ? tensor : 1);
  shape.activations = Bytes(2 * elements);
  shape.tensor_group = placed_group(profile, tensor, 1);
  shape.sharding_group = placed_group(profile, key.replicas, tensor);
  const auto per_gpu = [&](const LayerWeights& weights) {
    return static_cast<double>(weights.attention + weights.mlp) / static_cast<double>(tensor) +
           static_cast<double>(weights.router + weights.norms);
  };
  shape.dense_weights = per_gpu(layer_weights(model, LayerKind::Dense));
  if (model.has_experts()) {
    add_experts(shape, model, key, profile);
    const LayerWeights weights = layer_weights(model, LayerKind::Experts);
    shape.routed_weights = static_cast<double>(shape.local_experts) * static_cast<double>(weights.expert) /
                           static_cast<double>(key.expert_tensor);
    shape.expert_weights = per_gpu(weights) + shape.routed_weights;
  }
  return shape;
}

}  // namespace vtrain
