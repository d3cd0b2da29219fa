#include "workloads/config/config_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/utf8.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// Beyond it, products of two sizes might overflow. `check_model` has closer bounds, which messages name.
constexpr std::int64_t kMaxSize = 1'000'000'000;

/// Keys that change neither the shape nor the amount of the computation.
constexpr std::array kHarmless = std::to_array<std::string_view>({
    // Kind of the file and ways to load it.
    "_attn_implementation",
    "_name_or_path",
    "attn_implementation",
    "auto_map",
    "dtype",
    "is_llama_config",
    "model_type",
    "tokenizer_class",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "unsloth_version",
    // Tokens and generation.
    "bos_token_id",
    "eos_token_id",
    "is_decoder",
    "max_length",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_router_logits",
    "pad_token_id",
    "predict_special_tokens",
    "prefix",
    "return_dict",
    "task_specific_params",
    "unk_token_id",
    "use_cache",
    "bad_words_ids",
    "begin_suppress_tokens",
    "chunk_size_feed_forward",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "length_penalty",
    "min_length",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_return_sequences",
    "output_scores",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict_in_generate",
    "sep_token_id",
    "suppress_tokens",
    "temperature",
    "top_k",
    "top_p",
    "typical_p",
    "use_bfloat16",
    // Places of images and videos among the tokens.
    "ignore_index",
    "image_token_id",
    "media_placeholder_token_id",
    "use_unified_vision_chunk",
    "video_placeholder",
    "video_token_id",
    "vision_end_token_id",
    "vision_start_token_id",
    // Initialisation and numbers inside kernels.
    "init_std",
    "initializer_range",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "norm_eps",
    "original_max_position_embeddings",
    "partial_rotary_factor",
    "reorder_and_upcast_attn",
    "rms_norm_eps",
    "rope_interleave",
    "rope_interleaved",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "rotary_emb_base",
    "rotary_pct",
    "scale_attn_by_inverse_layer_idx",
    "scale_attn_weights",
    "use_mrope",
    "gradient_checkpointing",
    // Heads of other tasks.
    "_num_labels",
    "classifier_dropout",
    "id2label",
    "label2id",
    "num_labels",
    "problem_type",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    // How the router scores and which losses it has.
    "aux_loss_alpha",
    "norm_topk_prob",
    "routed_scaling_factor",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "scoring_func",
    "seq_aux",
    "topk_method",
    // Slices of the products at inference, and places of weights.
    "ep_size",
    "pretraining_tp",
    // Numbers inside kernels of gpt-oss and Nemotron-H, and how their kernels are chosen.
    "expand",
    "initial_context_length",
    "mamba_hidden_act",
    "mamba_ssm_cache_dtype",
    "moe_shared_expert_overlap",
    "num_logits_to_keep",
    "rescale_prenorm_residual",
    "residual_in_fp32",
    "swiglu_alpha",
    "time_step_floor",
    "time_step_limit",
    "time_step_max",
    "time_step_min",
    "time_step_rank",
    "use_mamba_kernels",
    // Sizes under older names.
    "max_sequence_length",
    "n_ctx",
    "qk_head_dim",
});

/// Keys that say, with this value, what is computed anyway: of Phi-4-mini, OPT, GPT-2, Qwen3-Coder, Kimi K2.5
/// and Nemotron 3, whose router has one group of experts.
struct NeutralValue {
  std::string_view key;
  std::string_view value;  ///< value as JSON
};
constexpr std::array kNeutral = std::to_array<NeutralValue>({{"_remove_final_layer_norm", "false"},
                                                             {"add_cross_attention", "false"},
                                                             {"full_attn_mod", "1"},
                                                             {"interpolate_factor", "1"},
                                                             {"is_encoder_decoder", "false"},
                                                             {"layer_norm_elementwise_affine", "true"},
                                                             {"lm_head_bias", "false"},
                                                             {"n_group", "1"},
                                                             {"n_special", "0"},
                                                             {"pruned_heads", "{}"},
                                                             {"qkv_bias", "false"},
                                                             {"tf_legacy_loss", "false"},
                                                             {"tie_encoder_decoder", "false"},
                                                             {"topk_group", "1"}});

/// A field in errors of `check_model`, and a key that holds it. If families have several keys, the first
/// present one is meant; if none is present, the value is a default of the first one.
struct FieldKey {
  std::string_view field;
  std::string_view key;
};
constexpr std::array kFieldKeys =
    std::to_array<FieldKey>({{"num_layers", "num_hidden_layers"},
                             {"num_layers", "n_layer"},
                             {"hidden_size", "n_embd"},
                             {"num_heads", "num_attention_heads"},
                             {"num_heads", "n_head"},
                             {"num_kv_heads", "num_key_value_heads"},
                             {"size_per_head", "head_dim"},
                             {"size_per_head", "attention_head_dim"},
                             {"ffn_size", "intermediate_size"},
                             {"ffn_size", "ffn_dim"},
                             {"ffn_size", "n_inner"},
                             {"sequence_length", "max_position_embeddings"},
                             {"sequence_length", "n_positions"},
                             {"experts.num_experts", "num_local_experts"},
                             {"experts.num_experts", "num_experts"},
                             {"experts.num_experts", "n_routed_experts"},
                             {"experts.top_k", "num_experts_per_tok"},
                             {"experts.top_k", "experts_per_token"},
                             {"experts.expert_ffn_size", "moe_intermediate_size"},
                             {"experts.expert_ffn_size", "intermediate_size"},
                             {"experts.shared_ffn_size", "shared_expert_intermediate_size"},
                             {"experts.shared_ffn_size", "moe_shared_expert_intermediate_size"},
                             {"experts.shared_ffn_size", "n_shared_experts"},
                             {"experts.num_dense_layers", "first_k_dense_replace"},
                             {"experts.num_dense_layers", "mlp_only_layers"},
                             {"experts.latent_size", "moe_latent_size"},
                             {"experts.num_groups", "n_group"},
                             {"experts.groups_per_token", "topk_group"},
                             {"latent.query_rank", "q_lora_rank"},
                             {"latent.kv_rank", "kv_lora_rank"},
                             {"latent.plain_head_size", "qk_nope_head_dim"},
                             {"latent.rotary_head_size", "qk_rope_head_dim"},
                             {"latent.value_head_size", "v_head_dim"},
                             {"has_bias", "attention_bias"},
                             {"window.size", "sliding_window"},
                             {"window.first_layer", "max_window_layers"},
                             {"window.full_every", "sliding_window_pattern"},
                             {"layer_pattern", "hybrid_override_pattern"},
                             {"layer_pattern", "layers_block_type"},
                             {"state_space.num_heads", "mamba_num_heads"},
                             {"state_space.head_size", "mamba_head_dim"},
                             {"state_space.state_size", "ssm_state_size"},
                             {"state_space.num_groups", "n_groups"},
                             {"state_space.conv_width", "conv_kernel"},
                             {"state_space.chunk_size", "chunk_size"}});

}  // namespace

bool ConfigReader::contains(std::string_view key) {
  seen_.emplace(key);
  return object_.find(key) != object_.end();
}

bool ConfigReader::has(std::string_view key) {
  seen_.emplace(key);
  return fields_.has(key);
}

std::int64_t ConfigReader::whole_number(std::string_view key, std::int64_t low) {
  seen_.emplace(key);
  const std::int64_t value = fields_.integer(key, low, std::numeric_limits<std::int64_t>::max());
  if (value <= kMaxSize) return value;
  complain(key, expected_found("a size that a model can have", std::to_string(value)));
  return low;
}

std::int64_t ConfigReader::size(std::string_view key) {
  return whole_number(key, 1);
}

std::int64_t ConfigReader::size(std::string_view key, std::string_view other_key) {
  const std::int64_t other = size_or(other_key, 0);
  return other > 0 ? size_or(key, other) : size(key);
}

std::int64_t ConfigReader::size_or(std::string_view key, std::int64_t absent) {
  return has(key) ? whole_number(key, 0) : absent;
}

std::int64_t ConfigReader::size_or_none(std::string_view key, std::int64_t absent) {
  return size_or(key, contains(key) ? 0 : absent);
}

bool ConfigReader::flag_or(std::string_view key, bool absent) {
  seen_.emplace(key);
  return fields_.boolean_or(key, absent);
}

double ConfigReader::number_or(std::string_view key, double absent) {
  seen_.emplace(key);
  return fields_.number_or(key, -1e300, 1e300, absent);
}

double ConfigReader::rate_or(std::string_view key, double absent) {
  seen_.emplace(key);
  return fields_.number_or(key, 0, 1, absent);
}

std::string ConfigReader::text_or(std::string_view key, std::string absent) {
  seen_.emplace(key);
  return fields_.string_or(key, std::move(absent));
}

void ConfigReader::expect_text(std::string_view key, std::initializer_list<std::string_view> allowed) {
  if (!has(key)) return;
  const std::string text = fields_.string(key);
  if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
    const std::vector<std::string_view> names(allowed);
    complain(key, expected_found((names.size() > 1 ? "one of " : "") + list_names(names), text));
  }
}

void ConfigReader::expect_size(std::string_view key, std::int64_t expected, std::string_view why) {
  const std::int64_t value = size_or(key, expected);
  if (value != expected) {
    complain(key,
             fmt::format("{} ({})", expected_found(std::to_string(expected), std::to_string(value)), why));
  }
}

const json& ConfigReader::list(std::string_view key) {
  static const json kEmpty = json::array();
  return nested(key, kEmpty, "a list");
}

const json& ConfigReader::object(std::string_view key) {
  static const json kEmpty = json::object();
  return nested(key, kEmpty, "an object");
}

const json& ConfigReader::nested(std::string_view key, const json& empty, std::string_view kind) {
  if (!has(key)) return empty;
  const json& value = *object_.find(key);
  if (value.type() == empty.type()) return value;
  complain(key, expected_found(kind, value.dump()));
  return empty;
}

void ConfigReader::complain(const Error& error) {
  const auto is_meant = [&](const FieldKey& known) { return known.field == error.field; };
  const auto* const first = std::find_if(kFieldKeys.begin(), kFieldKeys.end(), is_meant);
  const auto* const held = std::find_if(first, kFieldKeys.end(), [&](const FieldKey& known) {
    return is_meant(known) && fields_.has(known.key);
  });
  if (first == kFieldKeys.end()) return complain(error.field, error.message);
  complain(held == kFieldKeys.end() ? first->key : held->key, error.message);
}

void ConfigReader::warn_of_the_rest() {
  if (!object_.is_object()) return;
  for (const auto& item : object_.items()) {
    const std::string& key = item.key();
    const bool is_known =
        seen_.contains(key) || std::find(kHarmless.begin(), kHarmless.end(), key) != kHarmless.end();
    if (is_known || item.value().is_null()) continue;
    const auto* const neutral = std::find_if(kNeutral.begin(), kNeutral.end(),
                                             [&key](const NeutralValue& known) { return known.key == key; });
    if (neutral == kNeutral.end()) {
      warn(fmt::format("{}: unknown key, not taken into account", printable(key)));
    } else if (const std::string value = item.value().dump(); value != neutral->value) {
      warn(fmt::format("{} {}: not taken into account, computed as with {}", key, printable(value),
                       neutral->value));
    }
  }
}

}  // namespace vtrain
