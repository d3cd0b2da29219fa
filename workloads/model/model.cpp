#include "workloads/model/model.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "core/base/utf8.hpp"
#include "workloads/model/layer_kinds.hpp"
#include "workloads/model/size_checks.hpp"
#include "workloads/model/token_products.hpp"

namespace vtrain {
namespace {

/// Bounds far beyond every model trained so far. They keep memory bounded and integer products exact.
constexpr std::int64_t kMostLayers = 10'000;
constexpr std::int64_t kMostHidden = std::int64_t{1} << 20;
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 16;
constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << 24;
constexpr std::int64_t kMaxFfn = std::int64_t{1} << 22;
constexpr std::int64_t kMaxExperts = std::int64_t{1} << 14;
constexpr std::int64_t kMaxGroups = 512;  // so that numbers of choices of them fit a double
constexpr std::int64_t kMaxHeadSize = std::int64_t{1} << 14;
constexpr std::int64_t kMaxConvWidth = 1024;
constexpr double kMaxCapacityFactor = 1e6;
/// Parameters of all layers; a product of the bounds above would not be exact.
constexpr double kMaxParameters = 1e17;

Result<void> check_attention(const TransformerModel& model) {
  if (model.has_latent_attention()) {
    const LatentAttention& latent = model.latent;
    if (model.has_bias || model.has_qkv_bias) {
      return fail({.field = "has_bias", .message = expected_found("false with latent attention", "true")});
    }
    return first_error({check_range("latent.kv_rank", latent.kv_rank, kMostHidden),
                        check_range("latent.query_rank", latent.query_rank, kMostHidden, 0),
                        check_range("latent.plain_head_size", latent.plain_head_size, kMaxHeadSize),
                        check_range("latent.rotary_head_size", latent.rotary_head_size, kMaxHeadSize, 0),
                        check_range("latent.value_head_size", latent.value_head_size, kMaxHeadSize)});
  }
  auto checked = first_error({check_range("latent.kv_rank", model.latent.kv_rank, kMostHidden, 0),
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
  checked =
      first_error({check_range("experts.top_k", experts.top_k, experts.num_experts),
                   check_range("experts.expert_ffn_size", experts.expert_ffn_size, kMaxFfn),
                   check_range("experts.shared_ffn_size", experts.shared_ffn_size, kMaxFfn, 0),
                   check_range("experts.num_dense_layers", experts.num_dense_layers, model.num_layers - 1, 0),
                   check_range("experts.latent_size", experts.latent_size, kMostHidden, 0),
                   check_range("experts.num_groups", experts.num_groups, kMaxGroups),
                   check_range("experts.groups_per_token", experts.groups_per_token, experts.num_groups)});
  if (!checked) return checked;
  checked = check_divides("experts.num_groups", experts.num_groups, "experts", experts.num_experts);
  if (!checked) return checked;
  const std::int64_t in_reach = experts.num_experts / experts.num_groups * experts.groups_per_token;
  if (experts.top_k > in_reach) {
    return fail(
        {.field = "experts.top_k",
         .message = expected_found(fmt::format("at most the {} experts of a token's groups", in_reach),
                                   std::to_string(experts.top_k))});
  }
  if (experts.capacity_factor >= 0 && experts.capacity_factor <= kMaxCapacityFactor) return {};
  return fail({.field = "experts.capacity_factor",
               .message = expected_found(fmt::format("a number from 0 to {}", kMaxCapacityFactor),
                                         fmt::format("{}", experts.capacity_factor))});
}

Result<void> check_window(const TransformerModel& model) {
  const AttentionWindow& window = model.window;
  return first_error({check_range("window.size", window.size, kMaxSequenceLength, 0),
                      check_range("window.first_layer", window.first_layer, kMostLayers, 0),
                      check_range("window.full_every", window.full_every, kMostLayers, 0)});
}

Result<void> check_state_space(const TransformerModel& model) {
  const StateSpace& space = model.state_space;
  auto checked = check_range("state_space.num_heads", space.num_heads, kMaxHeads, 0);
  if (!checked || space.num_heads == 0) return checked;
  checked = first_error({check_range("state_space.head_size", space.head_size, kMaxHeadSize),
                         check_range("state_space.state_size", space.state_size, kMaxHeadSize),
                         check_range("state_space.num_groups", space.num_groups, kMaxHeads),
                         check_range("state_space.conv_width", space.conv_width, kMaxConvWidth),
                         check_range("state_space.chunk_size", space.chunk_size, kMaxSequenceLength)});
  if (!checked) return checked;
  return check_divides("state_space.num_groups", space.num_groups, "heads of the state space",
                       space.num_heads);
}

Result<void> check_pattern(const TransformerModel& model) {
  const std::string& pattern = model.layer_pattern;
  const auto expect = [](std::string what, std::string found) {
    return fail({.field = "layer_pattern", .message = expected_found(what, found)});
  };
  if (pattern.empty()) {
    if (model.state_space.num_heads == 0) return {};
    return expect("a letter for each layer, as the model has state-space layers", "nothing");
  }
  if (std::ssize(pattern) != model.num_layers) {
    return expect(fmt::format("{} letters, one a layer", model.num_layers),
                  fmt::format("{}", pattern.size()));
  }
  const std::size_t unknown = pattern.find_first_not_of("M*-E");
  if (unknown != std::string::npos) {
    return expect("M (state space), * (attention), - (MLP) or E (experts)",
                  printable(pattern.substr(unknown, 1)));
  }
  if ((pattern.find('M') != std::string::npos) != (model.state_space.num_heads > 0))
    return expect("M if and only if state_space is given", pattern);
  if ((pattern.find('E') != std::string::npos) != model.has_experts())
    return expect("E if and only if experts are given", pattern);
  if (model.has_experts() && model.experts.num_dense_layers > 0) {
    return fail({.field = "experts.num_dense_layers",
                 .message = expected_found("0, as layer_pattern says where experts are",
                                           std::to_string(model.experts.num_dense_layers))});
  }
  return check_range("window.size", model.window.size, 0, 0);
}

Result<void> check_prediction(const TransformerModel& model) {
  const MultiTokenPrediction& prediction = model.prediction;
  auto checked = check_range("prediction.depth", prediction.depth, kMostLayers, 0);
  if (!checked || prediction.depth == 0) return checked;
  const std::string& pattern = prediction.layer_pattern;
  const bool is_known = pattern.find_first_not_of(model.layer_pattern) == std::string::npos;
  if (is_known && pattern.empty() != model.is_hybrid() && std::ssize(pattern) <= model.num_layers) return {};
  return fail({.field = "prediction.layer_pattern",
               .message = expected_found(
                   model.is_hybrid() ? "letters of layer_pattern" : "nothing, without layer_pattern",
                   printable(pattern))});
}

/// The layers' parameters in double, where they cannot overflow.
Result<void> check_total(const TransformerModel& model) {
  const LayerCounts counts = count_layers(model);
  const LayerCounts predicting = prediction_layers(model);
  double total = static_cast<double>(prediction_sets(model)) * static_cast<double>(prediction_weights(model));
  for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
    const double count = static_cast<double>(counts[kind]) +
                         static_cast<double>(prediction_sets(model)) * static_cast<double>(predicting[kind]);
    if (count == 0) continue;
    const LayerWeights weights = layer_weights(model, layer_kinds(model)[kind]);
    const double experts = static_cast<double>(weights.num_experts) * static_cast<double>(weights.expert);
    total += count * (static_cast<double>(weights.shared()) + experts);
  }
  if (total <= kMaxParameters) return {};
  return fail({.field = "num_layers",
               .message = expected_found(fmt::format("a model of at most {:g} parameters", kMaxParameters),
                                         fmt::format("{:g}", total))});
}

/// Multiply-adds of the mixer of one layer for one token, without those with weights.
double mixing_products(const TransformerModel& model, Mixer mixer) {
  const auto sequence = static_cast<double>(model.sequence_length);
  const auto columns = static_cast<double>(model.query_size() + model.attention_output_size());
  switch (mixer) {
    case Mixer::None:
      return 0;
    case Mixer::Attention:
      return sequence * columns;
    case Mixer::WindowedAttention: {
      // With the masked half, as over the whole sequence: twice the mean of the tokens attended to.
      const double window = std::min(static_cast<double>(model.window.size), sequence);
      return (2 * window - window * window / sequence) * columns;
    }
    case Mixer::StateSpace:
      break;
  }
  const StateSpace& space = model.state_space;
  const double chunk = std::min(static_cast<double>(space.chunk_size), sequence);
  const auto inner = static_cast<double>(space.inner_size());
  const auto state = static_cast<double>(space.state_size);
  return chunk * (static_cast<double>(space.num_groups) * state + inner) + 2 * inner * state;
}

}  // namespace

TokenProducts token_products(const TransformerModel& model) {
  TokenProducts products{.output_layer =
                             static_cast<double>(model.vocab_size) * static_cast<double>(model.hidden_size)};
  const auto depth = static_cast<double>(model.prediction.depth);
  const auto hidden = static_cast<double>(model.hidden_size);
  products.layers = depth * 2 * hidden * hidden;
  products.output_layer *= 1 + depth;
  const LayerCounts counts = count_layers(model);
  const LayerCounts predicting = prediction_layers(model);
  for (std::size_t i = 0; i < kNumLayerKinds; ++i) {
    const LayerKind kind = layer_kinds(model)[i];
    const double count = static_cast<double>(counts[i]) + depth * static_cast<double>(predicting[i]);
    if (count == 0) continue;
    products.layers += count * static_cast<double>(product_weights(model, kind));
    const double mixing = count * mixing_products(model, kind.mixer);
    products.mixing += mixing;
    if (kind.mixer != Mixer::StateSpace && !model.is_bidirectional) products.masked += mixing / 2;
  }
  return products;
}

namespace {

/// All weights, with `experts` routed experts counted in each layer that has them.
std::int64_t count_parameters(const TransformerModel& model, std::int64_t experts) {
  const LayerCounts counts = count_layers(model);
  const LayerCounts predicting = prediction_layers(model);
  std::int64_t layers = prediction_sets(model) * prediction_weights(model);
  for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
    const std::int64_t count = counts[kind] + prediction_sets(model) * predicting[kind];
    if (count == 0) continue;
    const LayerWeights layer = layer_weights(model, layer_kinds(model)[kind]);
    layers += count * (layer.shared() + std::min(experts, layer.num_experts) * layer.expert);
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

Result<void> check_model(const TransformerModel& model) {
  auto checked = first_error({check_range("num_layers", model.num_layers, kMostLayers),
                              check_range("hidden_size", model.hidden_size, kMostHidden),
                              check_range("num_heads", model.num_heads, kMaxHeads),
                              check_range("sequence_length", model.sequence_length, kMaxSequenceLength),
                              check_range("vocab_size", model.vocab_size, kMaxVocabulary),
                              check_range("ffn_size", model.ffn_size, kMaxFfn, 0)});
  if (!checked) return checked;
  checked = check_attention(model);
  if (!checked) return checked;
  checked = check_experts(model);
  if (!checked) return checked;
  checked = first_error(
      {check_window(model), check_state_space(model), check_pattern(model), check_prediction(model)});
  return checked ? check_total(model) : checked;
}

Flops model_flops(const TransformerModel& model, std::int64_t global_batch) {
  const auto layers = static_cast<double>(model.num_layers);
  const auto hidden = static_cast<double>(model.hidden_size);
  const double tokens = static_cast<double>(global_batch) * static_cast<double>(model.sequence_length);
  const TokenProducts products = token_products(model);
  // In units of a GPT-3 layer's weights, so that for its architecture this is the published formula to the
  // last bit.
  const double unit = 12 * layers * hidden * hidden;
  return Flops(72 * tokens * layers * hidden * hidden *
               (products.layers / unit + products.mixing / unit + products.output_layer / unit));
}

double masked_share(const TransformerModel& model) {
  const TokenProducts products = token_products(model);
  return products.masked / (products.layers + products.mixing + products.output_layer);
}

}  // namespace vtrain
