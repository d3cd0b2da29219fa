#include "workloads/model/model_fields.hpp"

#include <array>

#include <fmt/format.h>

namespace vtrain {
namespace {

/// `check_model` has closer bounds.
constexpr std::int64_t kMaxModelSize = 1'000'000'000;
constexpr std::int64_t kMaxFactor = 1'000'000;

std::span<const std::string_view> activation_names() {
  static constexpr std::array<std::string_view, 4> kNames = {"gelu", "swiglu", "squared_relu", "relu"};
  return kNames;
}

std::span<const std::string_view> normalization_names() {
  static constexpr std::array<std::string_view, 2> kNames = {"layer_norm", "rms_norm"};
  return kNames;
}

std::span<const std::string_view> positions_names() {
  static constexpr std::array<std::string_view, 3> kNames = {"learned", "rotary", "none"};
  return kNames;
}

/// A size that must be given, unless the model that others are based on has it.
template <class Struct>
constexpr Field<Struct> size(std::string_view key, std::int64_t Struct::*member, std::string_view meaning) {
  return {
      .key = key, .member = member, .meaning = meaning, .low = 1, .high = kMaxModelSize, .required = true};
}

/// A size that may be 0.
template <class Struct>
constexpr Field<Struct> optional_size(std::string_view key, std::int64_t Struct::*member,
                                      std::string_view meaning) {
  return {.key = key, .member = member, .meaning = meaning, .high = kMaxModelSize};
}

/// The size without which a part says nothing; 0, for a model without the part, only where that is said.
template <class Struct>
constexpr Field<Struct> main_size(std::string_view key, std::int64_t Struct::*member,
                                  std::string_view meaning) {
  return {.key = key, .member = member, .meaning = meaning, .high = kMaxModelSize, .required = true};
}

/// A member that is no number.
template <class Struct, class Member>
constexpr Field<Struct> choice(std::string_view key, Member member, std::string_view meaning) {
  return {.key = key, .member = member, .meaning = meaning};
}

constexpr auto kModelFields = std::to_array<Field<TransformerModel>>({
    choice<TransformerModel>("name", &TransformerModel::name, "name, for people"),
    size("num_layers", &TransformerModel::num_layers, "layers"),
    size("hidden_size", &TransformerModel::hidden_size, "columns of what passes from layer to layer"),
    size("num_heads", &TransformerModel::num_heads, "heads of queries"),
    optional_size("num_kv_heads", &TransformerModel::num_kv_heads,
                  "heads of keys and values; 0: as many as num_heads"),
    optional_size("size_per_head", &TransformerModel::size_per_head,
                  "columns of a head; 0: hidden_size / num_heads"),
    optional_size("ffn_size", &TransformerModel::ffn_size, "columns inside the MLP; 0: 4 x hidden_size"),
    size("sequence_length", &TransformerModel::sequence_length, "tokens of a sequence"),
    size("vocab_size", &TransformerModel::vocab_size, "words"),
    choice<TransformerModel>("activation", named_member<&TransformerModel::activation, activation_names>(),
                             "non-linearity of the MLP"),
    choice<TransformerModel>("normalization",
                             named_member<&TransformerModel::normalization, normalization_names>(),
                             "norms before attention and MLP and after the last layer"),
    choice<TransformerModel>("positions", named_member<&TransformerModel::positions, positions_names>(),
                             "positions of tokens"),
    choice<TransformerModel>("tied_embeddings", &TransformerModel::tied_embeddings,
                             "the logits use the word embedding"),
    choice<TransformerModel>("has_bias", &TransformerModel::has_bias, "linear layers add a bias"),
    choice<TransformerModel>("has_qkv_bias", &TransformerModel::has_qkv_bias,
                             "without has_bias: queries, keys and values add one all the same"),
    choice<TransformerModel>("has_qk_norm", &TransformerModel::has_qk_norm,
                             "queries and keys are normalised, head by head"),
    choice<TransformerModel>("scales_rotation", &TransformerModel::scales_rotation,
                             "sines and cosines are multiplied by a factor that is not 1"),
    choice<TransformerModel>("clamps_activation", &TransformerModel::clamps_activation,
                             "inputs of the non-linearity are clamped"),
    choice<TransformerModel>("is_bidirectional", &TransformerModel::is_bidirectional,
                             "tokens attend to those after them as well"),
    choice<TransformerModel>("has_attention_sinks", &TransformerModel::has_attention_sinks,
                             "each head learns a score that takes part in the softmax"),
    choice<TransformerModel>(
        "layer_pattern", &TransformerModel::layer_pattern,
        "one letter a layer of a hybrid; empty: every layer has attention and an MLP or experts"),
});

constexpr auto kExpertFields = std::to_array<Field<MixtureOfExperts>>({
    main_size("num_experts", &MixtureOfExperts::num_experts, "experts of a layer; 0: none"),
    size("top_k", &MixtureOfExperts::top_k, "experts that each token is routed to"),
    size("expert_ffn_size", &MixtureOfExperts::expert_ffn_size, "columns inside one expert"),
    optional_size("shared_ffn_size", &MixtureOfExperts::shared_ffn_size,
                  "columns inside all experts that every token passes"),
    optional_size("num_dense_layers", &MixtureOfExperts::num_dense_layers,
                  "first layers, which have an MLP instead"),
    {.key = "capacity_factor",
     .member = &MixtureOfExperts::capacity_factor,
     .meaning = "rows of an expert over the mean; 0: as many as are routed to it",
     .high = kMaxFactor},
    optional_size("latent_size", &MixtureOfExperts::latent_size,
                  "columns of the tokens that experts see; 0: hidden_size"),
    optional_size("num_groups", &MixtureOfExperts::num_groups, "equal groups of experts"),
    optional_size("groups_per_token", &MixtureOfExperts::groups_per_token,
                  "groups from which the experts of a token come"),
});

constexpr auto kLatentFields = std::to_array<Field<LatentAttention>>({
    optional_size("query_rank", &LatentAttention::query_rank,
                  "columns of compressed queries; 0: queries are projected directly"),
    main_size("kv_rank", &LatentAttention::kv_rank,
              "columns of compressed keys and values; 0: ordinary attention"),
    optional_size("plain_head_size", &LatentAttention::plain_head_size,
                  "columns of a head of queries and keys without positions"),
    optional_size("rotary_head_size", &LatentAttention::rotary_head_size,
                  "columns of a head of queries and keys that are rotated"),
    optional_size("value_head_size", &LatentAttention::value_head_size, "columns of a head of values"),
});

constexpr auto kWindowFields = std::to_array<Field<AttentionWindow>>({
    main_size("size", &AttentionWindow::size,
              "tokens that a token attends to, itself included; 0: all before"),
    optional_size("first_layer", &AttentionWindow::first_layer, "first layer with a window"),
    optional_size("full_every", &AttentionWindow::full_every,
                  "the last of full_every layers has none; 0: all have it"),
});

constexpr auto kStateSpaceFields = std::to_array<Field<StateSpace>>({
    main_size("num_heads", &StateSpace::num_heads, "heads; 0: the model has no state space"),
    optional_size("head_size", &StateSpace::head_size, "columns of a head"),
    optional_size("state_size", &StateSpace::state_size, "columns of the state"),
    optional_size("num_groups", &StateSpace::num_groups,
                  "groups of heads that share projections into and out of the state"),
    optional_size("conv_width", &StateSpace::conv_width, "tokens that the causal convolution sees"),
    optional_size("chunk_size", &StateSpace::chunk_size, "tokens that are computed together"),
});

constexpr auto kPredictionFields = std::to_array<Field<MultiTokenPrediction>>({
    main_size("depth", &MultiTokenPrediction::depth, "tokens that are predicted after the next; 0: none"),
    choice<MultiTokenPrediction>("shares_weights", &MultiTokenPrediction::shares_weights,
                                 "all depths use the same weights"),
    choice<MultiTokenPrediction>("layer_pattern", &MultiTokenPrediction::layer_pattern,
                                 "letters of the layers of a hybrid"),
});

constexpr auto kDropoutFields = std::to_array<Field<Dropout>>({
    choice<Dropout>("attention", &Dropout::attention, "of what the softmax of the scores gives"),
    choice<Dropout>("hidden", &Dropout::hidden, "after the embedding, attention and MLP"),
});

// The model has one member more than rows and parts: its dropout.
static_assert(kModelFields.size() + std::tuple_size_v<decltype(kModelParts)> + 1 ==
                  num_members<TransformerModel>(),
              "a member of TransformerModel lacks a row");
static_assert(kExpertFields.size() == num_members<MixtureOfExperts>(),
              "a member of MixtureOfExperts lacks a row");
static_assert(kLatentFields.size() == num_members<LatentAttention>(),
              "a member of LatentAttention lacks a row");
static_assert(kWindowFields.size() == num_members<AttentionWindow>(),
              "a member of AttentionWindow lacks a row");
static_assert(kStateSpaceFields.size() == num_members<StateSpace>(), "a member of StateSpace lacks a row");
static_assert(kPredictionFields.size() == num_members<MultiTokenPrediction>(),
              "a member of MultiTokenPrediction lacks a row");
static_assert(kDropoutFields.size() == num_members<Dropout>(), "a member of Dropout lacks a row");

}  // namespace

std::span<const Field<TransformerModel>> model_fields() {
  return kModelFields;
}

std::span<const Field<MixtureOfExperts>> expert_fields() {
  return kExpertFields;
}

std::span<const Field<LatentAttention>> latent_fields() {
  return kLatentFields;
}

std::span<const Field<AttentionWindow>> window_fields() {
  return kWindowFields;
}

std::span<const Field<StateSpace>> state_space_fields() {
  return kStateSpaceFields;
}

std::span<const Field<MultiTokenPrediction>> prediction_fields() {
  return kPredictionFields;
}

std::span<const Field<Dropout>> dropout_fields() {
  return kDropoutFields;
}

std::string model_fingerprint(const TransformerModel& model) {
  TransformerModel nameless = model;
  nameless.name.clear();
  std::string text = fingerprint(model_fields(), nameless);
  for_each_part([&](const auto& part) {
    text += fmt::format(" {}: {}", part.key, fingerprint(part.fields(), model.*part.member));
  });
  return text + " dropout: " + (model.dropout ? fingerprint(dropout_fields(), *model.dropout) : "by stack");
}

}  // namespace vtrain
