#include "workloads/model.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/text.hpp"
#include "workloads/size_checks.hpp"

namespace vtrain {
namespace {

/// Bounds far beyond every model trained so far. They keep memory bounded and integer products exact.
constexpr std::int64_t kMaxLayers = 10'000;
constexpr std::int64_t kMaxHidden = std::int64_t{1} << 20;
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 16;
constexpr std::int64_t kMaxSequence = std::int64_t{1} << 24;
constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << 24;
constexpr std::int64_t kMaxFfn = std::int64_t{1} << 22;
constexpr std::int64_t kMaxExperts = std::int64_t{1} << 14;
constexpr std::int64_t kMaxHeadSize = std::int64_t{1} << 14;
constexpr double kMaxCapacityFactor = 1e6;
/// Parameters of all layers; a product of the bounds above would not be exact.
constexpr double kMaxParameters = 1e17;

std::int64_t norm_weights(const TransformerModel& model, std::int64_t size) {
  return model.normalization == Normalization::LayerNorm && model.has_bias ? 2 * size : size;
}

/// Elements of the projections' matrices.
std::int64_t attention_products(const TransformerModel& model) {
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t output = model.attention_output_size() * hidden;
  if (!model.has_latent_attention()) {
    return hidden * (model.query_size() + model.key_size() + model.value_size()) + output;
  }
  const LatentAttention& latent = model.latent;
  const std::int64_t queries =
      latent.query_rank > 0 ? latent.query_rank * (hidden + model.query_size()) : hidden * model.query_size();
  const std::int64_t expanded = model.num_heads * (latent.plain_head_size + latent.value_head_size);
  return queries + hidden * (latent.kv_rank + latent.rotary_head_size) + latent.kv_rank * expanded + output;
}

/// Biases of the projections, and norms between them.
std::int64_t attention_vectors(const TransformerModel& model) {
  if (model.has_latent_attention()) {
    const LatentAttention& latent = model.latent;
    return norm_weights(model, latent.kv_rank) +
           (latent.query_rank > 0 ? norm_weights(model, latent.query_rank) : 0);
  }
  std::int64_t vectors = model.has_bias ? model.hidden_size : 0;
  if (model.has_bias || model.has_qkv_bias) {
    vectors += model.query_size() + model.key_size() + model.value_size();
  }
  return vectors + (model.has_qk_norm ? 2 * norm_weights(model, model.head_size()) : 0);
}

/// Elements of the matrices of an MLP of inner size `ffn`.
std::int64_t mlp_products(const TransformerModel& model, std::int64_t ffn) {
  return (model.mlp_inputs() + 1) * model.hidden_size * ffn;
}

std::int64_t mlp_weights(const TransformerModel& model, std::int64_t ffn) {
  const std::int64_t biases = model.has_bias ? model.mlp_inputs() * ffn + model.hidden_size : 0;
  return mlp_products(model, ffn) + biases;
}

Result<void> check_attention(const TransformerModel& model) {
  if (model.has_latent_attention()) {
    const LatentAttention& latent = model.latent;
    if (model.has_bias || model.has_qkv_bias) {
      return fail({.field = "has_bias", .message = expected_found("false with latent attention", "true")});
    }
    return first_error({check_range("latent.kv_rank", latent.kv_rank, kMaxHidden),
                        check_range("latent.query_rank", latent.query_rank, kMaxHidden, 0),
                        check_range("latent.plain_head_size", latent.plain_head_size, kMaxHeadSize),
                        check_range("latent.rotary_head_size", latent.rotary_head_size, kMaxHeadSize, 0),
                        check_range("latent.value_head_size", latent.value_head_size, kMaxHeadSize)});
  }
  auto checked = first_error({check_range("latent.kv_rank", model.latent.kv_rank, kMaxHidden, 0),
                              check_range("size_per_head", model.size_per_head, kMaxHeadSize, 0),
                              check_range("num_kv_heads", model.num_kv_heads, kMaxHeads, 0)});
  if (!checked) return checked;
  if (model.size_per_head == 0) {
    checked = check_divides("num_heads", model.num_heads, "hidden size", model.hidden_size);
    if (!checked) return checked;
  }
  return check_divides("num_kv_heads", model.kv_heads(), "heads", model.num_heads);
}

Result<void> check_experts(const TransformerModel& model) {
  const MixtureOfExperts& experts = model.experts;
  auto checked = check_range("experts.num_experts", experts.num_experts, kMaxExperts, 0);
  if (!checked || !model.has_experts()) return checked;
  checked = first_error(
      {check_range("experts.top_k", experts.top_k, experts.num_experts),
       check_range("experts.expert_ffn_size", experts.expert_ffn_size, kMaxFfn),
       check_range("experts.shared_ffn_size", experts.shared_ffn_size, kMaxFfn, 0),
       check_range("experts.num_dense_layers", experts.num_dense_layers, model.num_layers - 1, 0)});
  if (!checked) return checked;
  if (experts.capacity_factor >= 0 && experts.capacity_factor <= kMaxCapacityFactor) return {};
  return fail({.field = "experts.capacity_factor",
               .message = expected_found(fmt::format("a number from 0 to {}", kMaxCapacityFactor),
                                         fmt::format("{}", experts.capacity_factor))});
}

/// The layers' parameters in double, where they cannot overflow.
Result<void> check_total(const TransformerModel& model) {
  const auto layer = [&model](LayerKind kind, std::int64_t count) {
    const LayerWeights weights = layer_weights(model, kind);
    const double experts = static_cast<double>(weights.num_experts) * static_cast<double>(weights.expert);
    return static_cast<double>(count) * (static_cast<double>(weights.shared()) + experts);
  };
  const double total =
      layer(LayerKind::Dense, model.dense_layers()) + layer(LayerKind::Experts, model.expert_layers());
  if (total <= kMaxParameters) return {};
  return fail({.field = "num_layers",
               .message = expected_found(fmt::format("a model of at most {:g} parameters", kMaxParameters),
                                         fmt::format("{:g}", total))});
}

/// Multiply-adds of a forward pass for one token.
struct TokenProducts {
  double layers = 0;     ///< with the layers' weights
  double attention = 0;  ///< of queries with keys and of scores with values
  double output_layer = 0;
};

TokenProducts token_products(const TransformerModel& model) {
  const auto layers = static_cast<double>(model.num_layers);
  const double attention = layers * static_cast<double>(attention_products(model));
  const double dense =
      static_cast<double>(model.dense_layers()) * static_cast<double>(mlp_products(model, model.mlp_size()));
  double experts = 0;
  if (model.has_experts()) {
    const std::int64_t inner =
        model.experts.shared_ffn_size + model.experts.top_k * model.experts.expert_ffn_size;
    const std::int64_t router = model.hidden_size * model.experts.num_experts;
    experts =
        static_cast<double>(model.expert_layers()) * static_cast<double>(mlp_products(model, inner) + router);
  }
  return {.layers = attention + dense + experts,
          .attention = layers * static_cast<double>(model.sequence_length) *
                       static_cast<double>(model.query_size() + model.attention_output_size()),
          .output_layer = static_cast<double>(model.vocab_size) * static_cast<double>(model.hidden_size)};
}

/// So many forward passes' worth of the layers' and of the output layer's products. In units of 12 L h^2, a
/// GPT-3 layer's weights, so that for GPT-3's architecture it is the published formula to the last bit.
Flops product_flops(const TransformerModel& model, std::int64_t global_batch, double layer_passes,
                    double output_passes) {
  const auto layers = static_cast<double>(model.num_layers);
  const auto hidden = static_cast<double>(model.hidden_size);
  const double tokens = static_cast<double>(global_batch) * static_cast<double>(model.sequence_length);
  const TokenProducts products = token_products(model);
  const double unit = 12 * layers * hidden * hidden;
  return Flops(24 * layer_passes * tokens * layers * hidden * hidden *
               (products.layers / unit + products.attention / unit +
                products.output_layer * (output_passes / layer_passes) / unit));
}

/// All weights, with `experts` routed experts counted in each layer that has them.
std::int64_t count_parameters(const TransformerModel& model, std::int64_t experts) {
  std::int64_t layers = model.dense_layers() * layer_weights(model, LayerKind::Dense).total();
  if (model.has_experts()) {
    const LayerWeights layer = layer_weights(model, LayerKind::Experts);
    layers += model.expert_layers() * (layer.shared() + experts * layer.expert);
  }
  const std::int64_t positions = model.positions == Positions::Learned ? model.sequence_length : 0;
  const std::int64_t vocabularies = model.tied_embeddings ? 1 : 2;
  return layers + (vocabularies * model.vocab_size + positions) * model.hidden_size +
         norm_weights(model, model.hidden_size);
}

}  // namespace

std::int64_t TransformerModel::query_size() const {
  return num_heads *
         (has_latent_attention() ? latent.plain_head_size + latent.rotary_head_size : head_size());
}

std::int64_t TransformerModel::key_size() const {
  return has_latent_attention() ? query_size() : kv_heads() * head_size();
}

std::int64_t TransformerModel::value_size() const {
  return has_latent_attention() ? attention_output_size() : kv_heads() * head_size();
}

std::int64_t TransformerModel::attention_output_size() const {
  return num_heads * (has_latent_attention() ? latent.value_head_size : head_size());
}

std::int64_t TransformerModel::num_parameters() const {
  return count_parameters(*this, experts.num_experts);
}

std::int64_t TransformerModel::active_parameters() const {
  return count_parameters(*this, experts.top_k);
}

LayerWeights layer_weights(const TransformerModel& model, LayerKind kind) {
  LayerWeights weights{.attention = attention_products(model) + attention_vectors(model),
                       .norms = 2 * norm_weights(model, model.hidden_size)};
  if (kind == LayerKind::Dense) {
    weights.mlp = mlp_weights(model, model.mlp_size());
    return weights;
  }
  const MixtureOfExperts& experts = model.experts;
  if (experts.shared_ffn_size > 0) weights.mlp = mlp_weights(model, experts.shared_ffn_size);
  weights.router = model.hidden_size * experts.num_experts;
  weights.expert = mlp_weights(model, experts.expert_ffn_size);
  weights.num_experts = experts.num_experts;
  return weights;
}

Result<void> check_model(const TransformerModel& model) {
  auto checked = first_error({check_range("num_layers", model.num_layers, kMaxLayers),
                              check_range("hidden_size", model.hidden_size, kMaxHidden),
                              check_range("num_heads", model.num_heads, kMaxHeads),
                              check_range("sequence_length", model.sequence_length, kMaxSequence),
                              check_range("vocab_size", model.vocab_size, kMaxVocabulary),
                              check_range("ffn_size", model.ffn_size, kMaxFfn, 0)});
  if (!checked) return checked;
  checked = check_attention(model);
  if (!checked) return checked;
  checked = check_experts(model);
  return checked ? check_total(model) : checked;
}

Flops model_flops(const TransformerModel& model, std::int64_t global_batch) {
  return product_flops(model, global_batch, 3, 3);
}

Flops model_flops_with_recompute(const TransformerModel& model, std::int64_t global_batch) {
  return product_flops(model, global_batch, 4, 3);
}

}  // namespace vtrain
