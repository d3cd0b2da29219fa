#include "workloads/hugging_face.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/json_reader.hpp"
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
    "return_dict",
    "task_specific_params",
    "unk_token_id",
    "use_cache",
    // Initialisation and numbers inside kernels.
    "initializer_range",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "norm_eps",
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
    "n_group",
    "norm_topk_prob",
    "routed_scaling_factor",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "scoring_func",
    "seq_aux",
    "topk_group",
    "topk_method",
    // Slices of the products at inference, and places of weights.
    "ep_size",
    "pretraining_tp",
    // The same sizes under older names.
    "n_ctx",
    "qk_head_dim",
});

/// Dropout: 0 is as good as absent.
constexpr std::array kDropouts =
    std::to_array<std::string_view>({"attention_dropout", "attention_probs_dropout_prob", "attn_pdrop",
                                     "embd_pdrop", "hidden_dropout", "hidden_dropout_prob", "resid_pdrop"});

/// Reads a configuration and remembers which keys it has looked at.
class ConfigReader {
 public:
  ConfigReader(const JsonDocument& document, const json& object)
      : fields_(document, object), object_(object) {}

  bool has(std::string_view key) {
    seen_.emplace(key);
    return fields_.has(key);
  }
  /// A size that must be there.
  std::int64_t size(std::string_view key) {
    seen_.emplace(key);
    return fields_.integer(key, 1, kMaxSize);
  }
  std::int64_t size_or(std::string_view key, std::int64_t absent) {
    seen_.emplace(key);
    return fields_.integer_or(key, 0, kMaxSize, absent);
  }
  bool flag_or(std::string_view key, bool absent) {
    seen_.emplace(key);
    return fields_.boolean_or(key, absent);
  }
  double number_or(std::string_view key, double absent) {
    seen_.emplace(key);
    return fields_.number_or(key, -1e300, 1e300, absent);
  }
  /// Complains unless the key is absent or has one of these texts.
  void expect_text(std::string_view key, std::initializer_list<std::string_view> allowed) {
    if (!has(key)) return;
    const std::string text = fields_.string(key);
    if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
      const std::vector<std::string_view> names(allowed);
      complain(key, expected_found((names.size() > 1 ? "one of " : "") + list_names(names), text));
    }
  }
  /// Complains unless the key is absent or has this value.
  void expect_size(std::string_view key, std::int64_t expected, std::string_view why) {
    const std::int64_t value = size_or(key, expected);
    if (value != expected) {
      complain(key,
               fmt::format("{} ({})", expected_found(std::to_string(expected), std::to_string(value)), why));
    }
  }
  /// The list under a key, empty when absent.
  const json& list(std::string_view key) {
    static const json kEmpty = json::array();
    if (!has(key)) return kEmpty;
    const json& value = *object_.find(key);
    if (value.is_array()) return value;
    complain(key, expected_found("a list", value.dump()));
    return kEmpty;
  }
  void complain(std::string_view key, std::string message) { fields_.complain(key, std::move(message)); }
  void warn(std::string message) { warnings_.push_back(std::move(message)); }

  /// Warns of keys that nobody asked for.
  void warn_of_the_rest() {
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

  const std::optional<Error>& error() const { return fields_.error(); }
  std::vector<std::string> take_warnings() { return std::move(warnings_); }

 private:
  JsonFields fields_;
  const json& object_;
  std::set<std::string, std::less<>> seen_;
  std::vector<std::string> warnings_;
};

void read_sequence(ConfigReader& config, std::string_view key, std::int64_t sequence_length,
                   TransformerModel& model) {
  const std::int64_t longest = config.size(key);
  model.sequence_length = sequence_length > 0 ? sequence_length : longest;
  if (sequence_length == 0) {
    config.warn(fmt::format("{} {}: taken as the sequence length of training", key, longest));
  }
}

/// Attention over a window is computed over the whole sequence, unless the window holds it.
void read_window(ConfigReader& config, const TransformerModel& model) {
  const bool is_used = config.flag_or("use_sliding_window", true);
  const std::int64_t window = config.size_or("sliding_window", 0);
  config.has("max_window_layers");
  if (is_used && window > 0 && window < model.sequence_length) {
    config.warn(fmt::format("sliding_window {}: attention is computed over the whole sequence of {}", window,
                            model.sequence_length));
  }
  for (const json& type : config.list("layer_types")) {
    if (type == "full_attention") continue;
    config.warn("layer_types: layers of sliding attention are computed over the whole sequence");
    break;
  }
}

/// What Llama's descendants have in common.
void read_llama(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  model.num_layers = config.size("num_hidden_layers");
  model.hidden_size = config.size("hidden_size");
  model.num_heads = config.size("num_attention_heads");
  model.vocab_size = config.size("vocab_size");
  model.num_kv_heads = config.size_or("num_key_value_heads", 0);
  model.size_per_head = config.size_or("head_dim", 0);
  model.ffn_size = config.size("intermediate_size");
  config.expect_text("hidden_act", {"silu", "swish"});
  model.activation = Activation::SwiGlu;
  model.normalization = Normalization::RmsNorm;
  model.positions = Positions::Rotary;
  model.tied_embeddings = config.flag_or("tie_word_embeddings", false);
  const bool attention_bias = config.flag_or("attention_bias", false);
  const bool mlp_bias = config.flag_or("mlp_bias", false);
  model.has_bias = attention_bias && mlp_bias;
  model.has_qkv_bias = attention_bias && !mlp_bias;
  read_sequence(config, "max_position_embeddings", sequence_length, model);
  read_window(config, model);
}

void read_mixtral(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_llama(config, sequence_length, model);
  model.experts = {.num_experts = config.size("num_local_experts"),
                   .top_k = config.size("num_experts_per_tok"),
                   .expert_ffn_size = model.ffn_size};
}

void read_qwen2(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_llama(config, sequence_length, model);
  model.has_qkv_bias = true;
}

void read_qwen3(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_llama(config, sequence_length, model);
  if (model.size_per_head == 0) model.size_per_head = 128;  // the default of transformers
  model.has_qk_norm = true;
}

/// The experts of Qwen's models: in every layer but those listed, which must be the first ones.
void read_qwen_experts(ConfigReader& config, TransformerModel& model) {
  config.expect_size("decoder_sparse_step", 1, "experts in every layer");
  model.experts = {.num_experts = config.size("num_experts"),
                   .top_k = config.size("num_experts_per_tok"),
                   .expert_ffn_size = config.size("moe_intermediate_size"),
                   .shared_ffn_size = config.size_or("shared_expert_intermediate_size", 0)};
  for (const json& layer : config.list("mlp_only_layers")) {
    if (layer != model.experts.num_dense_layers) {
      config.complain("mlp_only_layers", expected_found("the first layers, in order", layer.dump()));
    }
    ++model.experts.num_dense_layers;
  }
}

void read_qwen2_moe(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_qwen2(config, sequence_length, model);
  read_qwen_experts(config, model);
}

void read_qwen3_moe(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_qwen3(config, sequence_length, model);
  read_qwen_experts(config, model);
}

void read_deepseek(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_llama(config, sequence_length, model);
  model.num_kv_heads = 0;  // latent attention has one of each for every head
  model.latent = {.query_rank = config.size_or("q_lora_rank", 0),
                  .kv_rank = config.size("kv_lora_rank"),
                  .plain_head_size = config.size("qk_nope_head_dim"),
                  .rotary_head_size = config.size("qk_rope_head_dim"),
                  .value_head_size = config.size("v_head_dim")};
  model.size_per_head = 0;
  config.expect_size("moe_layer_freq", 1, "experts in every layer after the first ones");
  const std::int64_t num_experts = config.size_or("n_routed_experts", 0);
  if (num_experts > 0) {
    const std::int64_t expert_size = config.size("moe_intermediate_size");
    model.experts = {.num_experts = num_experts,
                     .top_k = config.size("num_experts_per_tok"),
                     .expert_ffn_size = expert_size,
                     .shared_ffn_size = config.size_or("n_shared_experts", 0) * expert_size,
                     .num_dense_layers = config.size_or("first_k_dense_replace", 0)};
  }
  const std::int64_t more = config.size_or("num_nextn_predict_layers", 0);
  if (more > 0) {
    config.warn(
        fmt::format("num_nextn_predict_layers {}: the layers of multi-token prediction are left out", more));
  }
}

void read_gpt2(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  model.num_layers = config.size("n_layer");
  model.hidden_size = config.size("n_embd");
  model.num_heads = config.size("n_head");
  model.vocab_size = config.size("vocab_size");
  model.ffn_size = config.size_or("n_inner", 0);
  config.expect_text("activation_function", {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"});
  model.tied_embeddings = config.flag_or("tie_word_embeddings", true);
  if (config.flag_or("add_cross_attention", false)) {
    config.complain("add_cross_attention", expected_found("false", "true"));
  }
  read_sequence(config, "n_positions", sequence_length, model);
}

void read_gpt_neox(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  model.num_layers = config.size("num_hidden_layers");
  model.hidden_size = config.size("hidden_size");
  model.num_heads = config.size("num_attention_heads");
  model.vocab_size = config.size("vocab_size");
  model.ffn_size = config.size("intermediate_size");
  config.expect_text("hidden_act", {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"});
  model.positions = Positions::Rotary;
  model.tied_embeddings = config.flag_or("tie_word_embeddings", false);
  if (!config.flag_or("attention_bias", true))
    config.warn("attention_bias false: biases are counted all the same");
  if (config.flag_or("use_parallel_residual", true)) {
    config.warn("use_parallel_residual true: attention and MLP are computed one after the other");
  }
  read_sequence(config, "max_position_embeddings", sequence_length, model);
}

void read_nemotron(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  model.num_layers = config.size("num_hidden_layers");
  model.hidden_size = config.size("hidden_size");
  model.num_heads = config.size("num_attention_heads");
  model.vocab_size = config.size("vocab_size");
  model.num_kv_heads = config.size_or("num_key_value_heads", 0);
  model.size_per_head = config.size_or("head_dim", 0);
  model.ffn_size = config.size("intermediate_size");
  config.expect_text("hidden_act", {"relu2"});
  model.activation = Activation::SquaredRelu;
  model.positions = Positions::Rotary;
  model.tied_embeddings = config.flag_or("tie_word_embeddings", false);
  const bool attention_bias = config.flag_or("attention_bias", false);
  const bool mlp_bias = config.flag_or("mlp_bias", false);
  model.has_bias = attention_bias && mlp_bias;
  model.has_qkv_bias = attention_bias && !mlp_bias;
  read_sequence(config, "max_position_embeddings", sequence_length, model);
}

/// How the configurations of a `model_type` are read.
struct Family {
  std::string_view model_type;
  void (*read)(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model);
};

constexpr std::array kFamilies = std::to_array<Family>({{"llama", read_llama},
                                                        {"mistral", read_llama},
                                                        {"mixtral", read_mixtral},
                                                        {"qwen2", read_qwen2},
                                                        {"qwen2_moe", read_qwen2_moe},
                                                        {"qwen3", read_qwen3},
                                                        {"qwen3_moe", read_qwen3_moe},
                                                        {"deepseek_v2", read_deepseek},
                                                        {"deepseek_v3", read_deepseek},
                                                        {"kimi_k2", read_deepseek},
                                                        {"gpt2", read_gpt2},
                                                        {"gpt_neox", read_gpt_neox},
                                                        {"nemotron", read_nemotron}});

Result<Family> find_family(const JsonDocument& document, const json& object) {
  JsonFields fields(document, object);
  const std::string type = fields.string("model_type");
  if (fields.error()) return fail(*fields.error());
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) {
    if (family.model_type == type) return family;
    names.push_back(family.model_type);
  }
  return fail(document.error_at("model_type", expected_found("one of " + list_names(names), type)));
}

}  // namespace

bool is_hugging_face_config(const json& object) {
  return object.is_object() && (object.contains("model_type") || object.contains("architectures"));
}

Result<HuggingFaceModel> read_hugging_face_config(const JsonDocument& document, const json& object,
                                                  std::int64_t sequence_length) {
  const auto family = find_family(document, object);
  if (!family) return fail(family.error());
  HuggingFaceModel result;
  ConfigReader config(document, object);
  family->read(config, sequence_length, result.model);
  for (const std::string_view key : kDropouts) {
    const double rate = config.number_or(key, 0);
    if (rate > 0) config.warn(fmt::format("{} {}: whether there is dropout, the stack decides", key, rate));
  }
  if (config.error()) return fail(*config.error());
  if (const auto checked = check_model(result.model); !checked) {
    Error error = checked.error();
    error.file = document.file();
    return fail(std::move(error));
  }
  config.warn_of_the_rest();
  result.warnings = config.take_warnings();
  return result;
}

}  // namespace vtrain
