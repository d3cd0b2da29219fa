#include "workloads/config/model_json.hpp"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "core/base/utf8.hpp"
#include "core/io/json_reader.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// `check_model` has closer bounds.
constexpr std::int64_t kMaxModelSize = 1'000'000'000;
constexpr double kMaxFactor = 1e6;

constexpr std::array<std::string_view, 4> kActivations = {"gelu", "swiglu", "squared_relu", "relu"};
constexpr std::array<std::string_view, 2> kNormalizations = {"layer_norm", "rms_norm"};
constexpr std::array<std::string_view, 3> kPositions = {"learned", "rotary", "none"};

constexpr std::array<std::string_view, 28> kModelKeys = {"base",
                                                         "name",
                                                         "num_layers",
                                                         "hidden_size",
                                                         "num_heads",
                                                         "sequence_length",
                                                         "vocab_size",
                                                         "num_kv_heads",
                                                         "size_per_head",
                                                         "ffn_size",
                                                         "activation",
                                                         "normalization",
                                                         "positions",
                                                         "tied_embeddings",
                                                         "has_bias",
                                                         "has_qkv_bias",
                                                         "has_qk_norm",
                                                         "clamps_activation",
                                                         "prediction",
                                                         "has_attention_sinks",
                                                         "experts",
                                                         "latent",
                                                         "window",
                                                         "state_space",
                                                         "layer_pattern",
                                                         "scales_rotation",
                                                         "is_bidirectional",
                                                         "dropout"};
constexpr std::array<std::string_view, 9> kExpertKeys = {
    "num_experts",     "top_k",       "expert_ffn_size", "shared_ffn_size", "num_dense_layers",
    "capacity_factor", "latent_size", "num_groups",      "groups_per_token"};
constexpr std::array<std::string_view, 5> kLatentKeys = {"query_rank", "kv_rank", "plain_head_size",
                                                         "rotary_head_size", "value_head_size"};
constexpr std::array<std::string_view, 3> kWindowKeys = {"size", "first_layer", "full_every"};
constexpr std::array<std::string_view, 3> kPredictionKeys = {"depth", "shares_weights", "layer_pattern"};
constexpr std::array<std::string_view, 2> kDropoutKeys = {"attention", "hidden"};
constexpr std::array<std::string_view, 6> kStateSpaceKeys = {"num_heads",  "head_size",  "state_size",
                                                             "num_groups", "conv_width", "chunk_size"};

/// A size that the model has already or that must be given.
void read_size(JsonFields& fields, std::string_view key, std::int64_t& size) {
  size = size > 0 ? fields.integer_or(key, 1, kMaxModelSize, size) : fields.integer(key, 1, kMaxModelSize);
}

/// A size that may be 0.
void read_optional(JsonFields& fields, std::string_view key, std::int64_t& size) {
  size = fields.integer_or(key, 0, kMaxModelSize, size);
}

/// The size without which the others of a part say nothing; 0 for none only where that is said.
void read_main_size(JsonFields& fields, std::string_view key, std::int64_t& size) {
  if (size == 0 && !fields.has(key)) fields.complain(key, "missing");
  read_optional(fields, key, size);
}

void read_top_level(JsonFields& fields, TransformerModel& model) {
  fields.allow_only(kModelKeys);
  model.name = fields.string_or("name", model.name);
  if (!is_plain_text(model.name))
    fields.complain("name", expected_found("text without control characters", printable(model.name)));
  read_size(fields, "num_layers", model.num_layers);
  read_size(fields, "hidden_size", model.hidden_size);
  read_size(fields, "num_heads", model.num_heads);
  read_size(fields, "sequence_length", model.sequence_length);
  read_size(fields, "vocab_size", model.vocab_size);
  read_optional(fields, "num_kv_heads", model.num_kv_heads);
  read_optional(fields, "size_per_head", model.size_per_head);
  read_optional(fields, "ffn_size", model.ffn_size);
  const auto choose = [&fields](std::string_view key, const auto& names, auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    value = static_cast<Value>(fields.choice_or(key, names, static_cast<std::size_t>(value)));
  };
  choose("activation", kActivations, model.activation);
  choose("normalization", kNormalizations, model.normalization);
  choose("positions", kPositions, model.positions);
  model.tied_embeddings = fields.boolean_or("tied_embeddings", model.tied_embeddings);
  model.has_bias = fields.boolean_or("has_bias", model.has_bias);
  model.has_qkv_bias = fields.boolean_or("has_qkv_bias", model.has_qkv_bias);
  model.has_qk_norm = fields.boolean_or("has_qk_norm", model.has_qk_norm);
  model.scales_rotation = fields.boolean_or("scales_rotation", model.scales_rotation);
  model.clamps_activation = fields.boolean_or("clamps_activation", model.clamps_activation);
  model.is_bidirectional = fields.boolean_or("is_bidirectional", model.is_bidirectional);
  model.has_attention_sinks = fields.boolean_or("has_attention_sinks", model.has_attention_sinks);
  model.layer_pattern = fields.string_or("layer_pattern", model.layer_pattern);
}

void read_experts(JsonFields& fields, MixtureOfExperts& experts) {
  fields.allow_only(kExpertKeys);
  read_main_size(fields, "num_experts", experts.num_experts);
  const auto read = experts.num_experts > 0 ? read_size : read_optional;
  read(fields, "top_k", experts.top_k);
  read(fields, "expert_ffn_size", experts.expert_ffn_size);
  read_optional(fields, "shared_ffn_size", experts.shared_ffn_size);
  read_optional(fields, "num_dense_layers", experts.num_dense_layers);
  read_optional(fields, "latent_size", experts.latent_size);
  read_optional(fields, "num_groups", experts.num_groups);
  read_optional(fields, "groups_per_token", experts.groups_per_token);
  experts.capacity_factor = fields.number_or("capacity_factor", 0, kMaxFactor, experts.capacity_factor);
}

void read_latent(JsonFields& fields, LatentAttention& latent) {
  fields.allow_only(kLatentKeys);
  read_optional(fields, "query_rank", latent.query_rank);
  read_main_size(fields, "kv_rank", latent.kv_rank);
  read_optional(fields, "plain_head_size", latent.plain_head_size);
  read_optional(fields, "rotary_head_size", latent.rotary_head_size);
  read_optional(fields, "value_head_size", latent.value_head_size);
}

void read_window(JsonFields& fields, AttentionWindow& window) {
  fields.allow_only(kWindowKeys);
  read_main_size(fields, "size", window.size);
  read_optional(fields, "first_layer", window.first_layer);
  read_optional(fields, "full_every", window.full_every);
}

void read_state_space(JsonFields& fields, StateSpace& space) {
  fields.allow_only(kStateSpaceKeys);
  read_main_size(fields, "num_heads", space.num_heads);
  read_optional(fields, "head_size", space.head_size);
  read_optional(fields, "state_size", space.state_size);
  read_optional(fields, "num_groups", space.num_groups);
  read_optional(fields, "conv_width", space.conv_width);
  read_optional(fields, "chunk_size", space.chunk_size);
}

void read_prediction(JsonFields& fields, MultiTokenPrediction& prediction) {
  fields.allow_only(kPredictionKeys);
  read_main_size(fields, "depth", prediction.depth);
  prediction.shares_weights = fields.boolean_or("shares_weights", prediction.shares_weights);
  prediction.layer_pattern = fields.string_or("layer_pattern", prediction.layer_pattern);
}

/// What the object does not name is as the base has it, or not dropped.
void read_dropout(JsonFields& fields, std::optional<Dropout>& dropout) {
  fields.allow_only(kDropoutKeys);
  const Dropout base = dropout.value_or(Dropout{});
  dropout = Dropout{.attention = fields.boolean_or("attention", base.attention),
                    .hidden = fields.boolean_or("hidden", base.hidden)};
}

/// Reads the object under a key, if there is one.
template <class Part>
Result<void> read_part(const JsonDocument& document, const json& object, const char* key, Part& part,
                       void (*read)(JsonFields&, Part&)) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  JsonFields nested(document, *found);
  read(nested, part);
  if (nested.error()) return fail(*nested.error());
  return {};
}

}  // namespace

Result<TransformerModel> read_model(const JsonDocument& document, const json& object) {
  JsonFields fields(document, object);
  TransformerModel model;
  if (fields.has("base")) {
    const auto base = find_model(fields.string("base"));
    if (!fields.error() && !base) return fail(document.error_at(object, "base", base.error().message));
    if (base) model = base->model();
  } else {
    model.vocab_size = 0;  // no default: it must be given
  }
  read_top_level(fields, model);
  if (fields.error()) return fail(*fields.error());
  for (const auto& part : {read_part(document, object, "experts", model.experts, read_experts),
                           read_part(document, object, "latent", model.latent, read_latent),
                           read_part(document, object, "window", model.window, read_window),
                           read_part(document, object, "prediction", model.prediction, read_prediction),
                           read_part(document, object, "state_space", model.state_space, read_state_space),
                           read_part(document, object, "dropout", model.dropout, read_dropout)}) {
    if (!part) return fail(part.error());
  }
  if (const auto checked = check_model(model); !checked)
    return fail(document.error_at(object, checked.error().field, checked.error().message));
  return model;
}

namespace {

template <std::size_t size, class Value>
std::string_view name_in(const std::array<std::string_view, size>& names, Value value) {
  return names.at(static_cast<std::size_t>(value));
}

// A new member of a part does not compile here until it is written too.

ordered_json to_json(const MixtureOfExperts& experts) {
  const auto& [num_experts, top_k, expert_ffn_size, shared_ffn_size, num_dense_layers, capacity_factor,
               latent_size, num_groups, groups_per_token] = experts;
  return {{"num_experts", num_experts},           {"top_k", top_k},
          {"expert_ffn_size", expert_ffn_size},   {"shared_ffn_size", shared_ffn_size},
          {"num_dense_layers", num_dense_layers}, {"capacity_factor", capacity_factor},
          {"latent_size", latent_size},           {"num_groups", num_groups},
          {"groups_per_token", groups_per_token}};
}

ordered_json to_json(const LatentAttention& latent) {
  const auto& [query_rank, kv_rank, plain_head_size, rotary_head_size, value_head_size] = latent;
  return {{"query_rank", query_rank},
          {"kv_rank", kv_rank},
          {"plain_head_size", plain_head_size},
          {"rotary_head_size", rotary_head_size},
          {"value_head_size", value_head_size}};
}

ordered_json to_json(const AttentionWindow& window) {
  const auto& [size, first_layer, full_every] = window;
  return {{"size", size}, {"first_layer", first_layer}, {"full_every", full_every}};
}

ordered_json to_json(const StateSpace& space) {
  const auto& [num_heads, head_size, state_size, num_groups, conv_width, chunk_size] = space;
  return {{"num_heads", num_heads},   {"head_size", head_size},   {"state_size", state_size},
          {"num_groups", num_groups}, {"conv_width", conv_width}, {"chunk_size", chunk_size}};
}

ordered_json to_json(const MultiTokenPrediction& prediction) {
  const auto& [depth, shares_weights, layer_pattern] = prediction;
  return {{"depth", depth}, {"shares_weights", shares_weights}, {"layer_pattern", layer_pattern}};
}

ordered_json to_json(const Dropout& dropout) {
  const auto& [attention, hidden] = dropout;
  return {{"attention", attention}, {"hidden", hidden}};
}

}  // namespace

ordered_json model_to_json(const TransformerModel& model) {
  const auto& [name, num_layers, hidden_size, num_heads, sequence_length, vocab_size, num_kv_heads,
               size_per_head, ffn_size, activation, normalization, positions, tied_embeddings, has_bias,
               has_qkv_bias, has_qk_norm, scales_rotation, clamps_activation, is_bidirectional,
               has_attention_sinks, experts, latent, window, state_space, layer_pattern, prediction,
               dropout] = model;
  ordered_json json = {{"name", name},
                       {"num_layers", num_layers},
                       {"hidden_size", hidden_size},
                       {"num_heads", num_heads},
                       {"num_kv_heads", num_kv_heads},
                       {"size_per_head", size_per_head},
                       {"ffn_size", ffn_size},
                       {"sequence_length", sequence_length},
                       {"vocab_size", vocab_size},
                       {"activation", name_in(kActivations, activation)},
                       {"normalization", name_in(kNormalizations, normalization)},
                       {"positions", name_in(kPositions, positions)},
                       {"tied_embeddings", tied_embeddings},
                       {"has_bias", has_bias},
                       {"has_qkv_bias", has_qkv_bias},
                       {"has_qk_norm", has_qk_norm},
                       {"scales_rotation", scales_rotation},
                       {"clamps_activation", clamps_activation},
                       {"is_bidirectional", is_bidirectional},
                       {"has_attention_sinks", has_attention_sinks},
                       {"layer_pattern", layer_pattern}};
  // What a model does not have its description leaves out.
  if (model.has_experts()) json["experts"] = to_json(experts);
  if (model.has_latent_attention()) json["latent"] = to_json(latent);
  if (window.size > 0) json["window"] = to_json(window);
  if (state_space.num_heads > 0) json["state_space"] = to_json(state_space);
  if (prediction.depth > 0) json["prediction"] = to_json(prediction);
  if (dropout) json["dropout"] = to_json(*dropout);
  return json;
}

Result<TransformerModel> parse_model(std::string text, const std::string& file) {
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  return read_model(*document, document->root());
}

}  // namespace vtrain
