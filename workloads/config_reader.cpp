#include "workloads/config_reader.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/text.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// `check_model` has closer bounds.
constexpr std::int64_t kMaxSize = 1'000'000'000;

/// Keys that change neither the shape nor the amount of the computation.
constexpr std::array kHarmless = std::to_array<std::string_view>({
    // What the file is and how it is loaded.
    "_attn_implementation",
    "_name_or_path",
    "architectures",
    "auto_map",
    "dtype",
    "model_type",
    "torch_dtype",
    "transformers_version",
    "quantization_config",
    // Tokens and generation.
    "bos_token_id",
    "decoder_start_token_id",
    "eos_token_id",
    "is_decoder",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "pad_token_id",
    "prefix",
    "return_dict",
    "task_specific_params",
    "unk_token_id",
    "use_cache",
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
    "time_step_floor",
    "time_step_limit",
    "time_step_max",
    "time_step_min",
    "time_step_rank",
    "use_mamba_kernels",
    // The same sizes under older names.
    "n_ctx",
    "qk_head_dim",
});

}  // namespace

bool ConfigReader::has(std::string_view key) {
  seen_.emplace(key);
  return fields_.has(key);
}

std::int64_t ConfigReader::size(std::string_view key) {
  seen_.emplace(key);
  return fields_.integer(key, 1, kMaxSize);
}

std::int64_t ConfigReader::size_or(std::string_view key, std::int64_t absent) {
  seen_.emplace(key);
  return fields_.integer_or(key, 0, kMaxSize, absent);
}

bool ConfigReader::flag_or(std::string_view key, bool absent) {
  seen_.emplace(key);
  return fields_.boolean_or(key, absent);
}

double ConfigReader::number_or(std::string_view key, double absent) {
  seen_.emplace(key);
  return fields_.number_or(key, -1e300, 1e300, absent);
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

void ConfigReader::warn_of_the_rest() {
  if (!object_.is_object()) return;
  for (const auto& item : object_.items()) {
    const std::string& key = item.key();
    const bool is_known =
        seen_.contains(key) || std::find(kHarmless.begin(), kHarmless.end(), key) != kHarmless.end();
    if (!is_known && !item.value().is_null()) {
      warn(fmt::format("{}: unknown key, not taken into account", printable(key)));
    }
  }
}

}  // namespace vtrain
