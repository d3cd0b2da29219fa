#include "workloads/layers/layer_shape.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/pipeline/schedule.hpp"

namespace vtrain {
namespace {

void add_experts(LayerShape& shape, const TransformerModel& model, const LayerKey& key,
                 const GpuProfile& profile) {
  const MixtureOfExperts& experts = model.experts;
  // Experts with a capacity take as many rows, filled up or with tokens dropped.
  const double capacity = experts.capacity_factor > 0 ? experts.capacity_factor : 1;
  constexpr double kMostRows = 0x1p40;  // so that products of it stay exact
  const double rows = static_cast<double>(shape.split_tokens * experts.top_k) * capacity;
  shape.routed_rows = std::llround(std::clamp(rows, 1.0, kMostRows));
  shape.expert_rows = shape.routed_rows * key.expert_tensor;
  shape.expert_hidden = model.routed_size();
  shape.expert_inner = std::max<std::int64_t>(1, experts.expert_ffn_size / key.expert_tensor);
  shape.local_experts = std::max<std::int64_t>(1, experts.num_experts / key.expert);
  shape.expert_group = placed_group(profile, key.expert, key.expert_tensor);
  shape.expert_tensor_group = placed_group(profile, key.expert_tensor, 1);
  const std::int64_t expert = layer_weights(model, {Mixer::None, FeedForward::Experts}).expert;
  shape.routed_weights = static_cast<double>(shape.local_experts) * static_cast<double>(expert) /
                         static_cast<double>(key.expert_tensor);
}

void add_state_space(LayerShape& shape, const TransformerModel& model, const LayerKey& key) {
  const StateSpace& space = model.state_space;
  shape.space_heads = std::max<std::int64_t>(1, space.num_heads / key.tensor);
  shape.space_inner = std::max<std::int64_t>(1, space.inner_size() / key.tensor);
  shape.space_conv = std::max<std::int64_t>(1, space.conv_size() / key.tensor);
  shape.space_projection = std::max<std::int64_t>(1, space.projection_size() / key.tensor);
}

}  // namespace

LayerKey layer_key(const ParallelPlan& plan) {
  const bool is_sharded = shards_weights(plan.sharding);
  WeightGather gather = WeightGather::EveryPass;
  if (plan.sharding == Sharding::Gradients) gather = WeightGather::EveryForward;
  if (is_sharded && plan.pipeline > 1) gather = WeightGather::EveryIteration;
  return {.tensor = plan.tensor,
          .context = plan.context,
          .expert = plan.expert,
          .expert_tensor = plan.expert_tensor,
          .micro_batch = plan.micro_batch,
          .is_sharded = is_sharded,
          .replicas = is_sharded ? plan.num_replicas() : 1,
          .replicate = plan.replicate,
          .sequence_parallel = plan.sequence_parallel && plan.tensor > 1,
          .gather = gather,
          .splits_weight_gradients = splits_backward(plan.schedule) && plan.pipeline > 1,
          .recompute = plan.recompute,
          .precision = plan.precision};
}

GpuGroup placed_group(const GpuProfile& profile, std::int64_t size, std::int64_t stride) {
  return {.size = size, .per_node = std::clamp<std::int64_t>(profile.nvlink_domain / stride, 1, size)};
}

ShardingGroups sharding_groups(const GpuProfile& profile, std::int64_t replicas, std::int64_t tensor,
                               std::int64_t expert_stride, std::int64_t replicate) {
  const std::int64_t in_set = replicas / replicate;
  return {.shared = placed_group(profile, in_set, tensor),
          .routed = placed_group(profile, std::max<std::int64_t>(1, in_set * tensor / expert_stride),
                                 expert_stride)};
}

GpuGroup replicate_group(const GpuProfile& profile, std::int64_t replicas, std::int64_t tensor,
                         std::int64_t replicate) {
  return placed_group(profile, replicate, replicas / replicate * tensor);
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
                     .value_head_size = model.attention_output_size() / model.num_heads,
                     .is_bidirectional = model.is_bidirectional};
  shape.split_tokens = std::max<std::int64_t>(1, shape.tokens / (key.sequence_parallel ? tensor : 1));
  const double elements = static_cast<double>(shape.tokens) * static_cast<double>(shape.hidden);
  shape.split_elements = elements / static_cast<double>(key.sequence_parallel ? tensor : 1);
  shape.tensor_group = placed_group(profile, tensor, 1);
  shape.context_group = placed_group(profile, key.context, tensor);
  if (model.has_experts()) add_experts(shape, model, key, profile);
  if (model.state_space.num_heads > 0) add_state_space(shape, model, key);
  return shape;
}

double gpu_weights(const TransformerModel& model, const LayerShape& shape, LayerKind kind) {
  return layer_weights(model, kind).shared_on_gpu(static_cast<double>(shape.tensor)) +
         (kind.has_experts() ? shape.routed_weights : 0);
}

}  // namespace vtrain
