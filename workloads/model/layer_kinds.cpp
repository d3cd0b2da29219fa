#include "workloads/model/layer_kinds.hpp"

#include <algorithm>
#include <string_view>

namespace vtrain {
namespace {

constexpr PerLayerKind<LayerKind> kWholeLayers = {{{Mixer::Attention, FeedForward::Mlp},
                                                   {Mixer::Attention, FeedForward::Experts},
                                                   {Mixer::WindowedAttention, FeedForward::Mlp},
                                                   {Mixer::WindowedAttention, FeedForward::Experts}}};
constexpr PerLayerKind<LayerKind> kHalfLayers = {{{Mixer::None, FeedForward::Mlp},
                                                  {Mixer::None, FeedForward::Experts},
                                                  {Mixer::Attention, FeedForward::None},
                                                  {Mixer::StateSpace, FeedForward::None}}};
/// The letters of `kHalfLayers`.
constexpr std::string_view kLetters = "-E*M";
/// The place of a kind with a window, less that of the same without.
constexpr std::size_t kWindowed = 2;

/// Layers before `layer` that have a window.
std::int64_t windowed_before(const AttentionWindow& window, std::int64_t layer) {
  if (window.size == 0 || layer <= window.first_layer) return 0;
  const auto full_before = [&window](std::int64_t end) {
    return window.full_every > 0 ? end / window.full_every : 0;
  };
  return layer - window.first_layer - (full_before(layer) - full_before(window.first_layer));
}

/// True if a mixer is latent attention.
bool is_latent(const TransformerModel& model, Mixer mixer) {
  return model.has_latent_attention() && (mixer == Mixer::Attention || mixer == Mixer::WindowedAttention);
}

/// Elements of the matrices by which latent attention compresses its input.
std::int64_t compression_products(const TransformerModel& model, Mixer mixer) {
  return is_latent(model, mixer) ? model.hidden_size * model.latent.compressed_columns() : 0;
}

/// Norms of the compressed form.
std::int64_t compression_vectors(const TransformerModel& model, Mixer mixer) {
  if (!is_latent(model, mixer)) return 0;
  const LatentAttention& latent = model.latent;
  return norm_weights(model, latent.kv_rank) +
         (latent.query_rank > 0 ? norm_weights(model, latent.query_rank) : 0);
}

/// Elements of attention's matrices without those of the compression.
std::int64_t attention_products(const TransformerModel& model) {
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t output = model.attention_output_size() * hidden;
  if (!model.has_latent_attention()) {
    return hidden * (model.query_size() + model.key_size() + model.value_size()) + output;
  }
  const LatentAttention& latent = model.latent;
  const std::int64_t queries = (latent.query_rank > 0 ? latent.query_rank : hidden) * model.query_size();
  const std::int64_t expanded = model.num_heads * (latent.plain_head_size + latent.value_head_size);
  return queries + latent.kv_rank * expanded + output;
}

/// Biases of attention, norms of queries and keys, and sinks.
std::int64_t attention_vectors(const TransformerModel& model) {
  const std::int64_t sinks = model.has_attention_sinks ? model.num_heads : 0;
  if (model.has_latent_attention()) return sinks;
  std::int64_t vectors = sinks + (model.has_bias ? model.hidden_size : 0);
  if (model.has_bias || model.has_qkv_bias) {
    vectors += model.query_size() + model.key_size() + model.value_size();
  }
  return vectors + (model.has_qk_norm ? 2 * norm_weights(model, model.head_size()) : 0);
}

std::int64_t mixer_products(const TransformerModel& model, Mixer mixer) {
  switch (mixer) {
    case Mixer::None:
      return 0;
    case Mixer::Attention:
    case Mixer::WindowedAttention:
      return attention_products(model);
    case Mixer::StateSpace:
      break;
  }
  return model.hidden_size * (model.state_space.projection_size() + model.state_space.inner_size());
}

std::int64_t mixer_vectors(const TransformerModel& model, Mixer mixer) {
  if (mixer == Mixer::None) return 0;
  if (mixer != Mixer::StateSpace) return attention_vectors(model);
  // The convolution with its bias, the gated norm, and of each head decay, skip and the time step's bias.
  const StateSpace& space = model.state_space;
  return space.conv_size() * (space.conv_width + 1) + space.inner_size() + 3 * space.num_heads;
}

/// Elements of the matrices of an MLP of inner size `ffn` between layers of `width` columns.
std::int64_t mlp_products(const TransformerModel& model, std::int64_t width, std::int64_t ffn) {
  return (model.mlp_inputs() + 1) * width * ffn;
}

std::int64_t mlp_weights(const TransformerModel& model, std::int64_t width, std::int64_t ffn) {
  const std::int64_t biases = model.has_bias ? model.mlp_inputs() * ffn + width : 0;
  return mlp_products(model, width, ffn) + biases;
}

/// Elements of the router's matrix and of the projections to and from the width of the routed experts.
std::int64_t router_products(const TransformerModel& model) {
  return model.hidden_size * (model.experts.num_experts + 2 * model.experts.latent_size);
}

}  // namespace

LayerCounts prediction_layers(const TransformerModel& model) {
  LayerCounts counts{};
  if (model.prediction.depth == 0) return counts;
  if (!model.is_hybrid()) {
    counts[kind_of_layer(model, model.num_layers - 1)] = 1;
    return counts;
  }
  for (const char letter : model.prediction.layer_pattern)
    ++counts[kLetters.find(letter)];
  return counts;
}

std::int64_t prediction_sets(const TransformerModel& model) {
  return model.prediction.shares_weights ? std::min<std::int64_t>(1, model.prediction.depth)
                                         : model.prediction.depth;
}

std::int64_t prediction_weights(const TransformerModel& model) {
  return 2 * model.hidden_size * model.hidden_size + 3 * norm_weights(model, model.hidden_size);
}

std::int64_t norm_weights(const TransformerModel& model, std::int64_t size) {
  return model.normalization == Normalization::LayerNorm && model.has_bias ? 2 * size : size;
}

const PerLayerKind<LayerKind>& layer_kinds(const TransformerModel& model) {
  return model.is_hybrid() ? kHalfLayers : kWholeLayers;
}

std::size_t kind_of_layer(const TransformerModel& model, std::int64_t layer) {
  if (model.is_hybrid()) return kLetters.find(model.layer_pattern[static_cast<std::size_t>(layer)]);
  const bool is_dense = !model.has_experts() || layer < model.experts.num_dense_layers;
  const bool is_windowed = windowed_before(model.window, layer + 1) > windowed_before(model.window, layer);
  return (is_dense ? 0 : 1) + (is_windowed ? kWindowed : 0);
}

LayerCounts count_layers(const TransformerModel& model, std::int64_t first, std::int64_t count) {
  LayerCounts counts{};
  if (model.is_hybrid()) {
    for (std::int64_t layer = first; layer < first + count; ++layer)
      ++counts[kind_of_layer(model, layer)];
    return counts;
  }
  const std::int64_t dense_before = model.has_experts() ? model.experts.num_dense_layers : model.num_layers;
  const std::int64_t dense = std::clamp<std::int64_t>(dense_before - first, 0, count);
  counts[0] = static_cast<std::int32_t>(dense);
  counts[1] = static_cast<std::int32_t>(count - dense);
  if (model.window.size == 0) return counts;
  const std::int64_t before = windowed_before(model.window, first);
  const std::int64_t middle = windowed_before(model.window, first + dense);
  counts[kWindowed] = static_cast<std::int32_t>(middle - before);
  counts[kWindowed + 1] = static_cast<std::int32_t>(windowed_before(model.window, first + count) - middle);
  counts[0] -= counts[kWindowed];
  counts[1] -= counts[kWindowed + 1];
  return counts;
}

LayerWeights layer_weights(const TransformerModel& model, LayerKind kind) {
  LayerWeights weights{
      .attention = mixer_products(model, kind.mixer) + mixer_vectors(model, kind.mixer),
      .compression = compression_products(model, kind.mixer) + compression_vectors(model, kind.mixer),
      .norms = kind.num_halves() * norm_weights(model, model.hidden_size)};
  if (kind.feed_forward == FeedForward::Mlp)
    weights.mlp = mlp_weights(model, model.hidden_size, model.mlp_size());
  if (!kind.has_experts()) return weights;
  const MixtureOfExperts& experts = model.experts;
  if (experts.shared_ffn_size > 0)
    weights.mlp = mlp_weights(model, model.hidden_size, experts.shared_ffn_size);
  weights.router = router_products(model) + (model.has_bias ? experts.num_experts : 0);
  weights.expert = mlp_weights(model, model.routed_size(), experts.expert_ffn_size);
  weights.num_experts = experts.num_experts;
  return weights;
}

std::int64_t product_weights(const TransformerModel& model, LayerKind kind) {
  const std::int64_t mixer = mixer_products(model, kind.mixer) + compression_products(model, kind.mixer);
  const MixtureOfExperts& experts = model.experts;
  switch (kind.feed_forward) {
    case FeedForward::None:
      return mixer;
    case FeedForward::Mlp:
      return mixer + mlp_products(model, model.hidden_size, model.mlp_size());
    case FeedForward::Experts:
      break;
  }
  return mixer + router_products(model) + mlp_products(model, model.hidden_size, experts.shared_ffn_size) +
         experts.top_k * mlp_products(model, model.routed_size(), experts.expert_ffn_size);
}

}  // namespace vtrain
