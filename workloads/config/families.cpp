#include "workloads/config/families.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "workloads/config/config_parts.hpp"
#include "workloads/config/config_reader.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// Reads the length of sequences. If the family's class has no longest sequence, the file or the caller must
/// give it.
void read_sequence(ConfigReader& config, std::string_view key, std::int64_t sequence_length,
                   TransformerModel& model, std::int64_t absent = 0) {
  std::int64_t longest = config.size_or_none(key, absent);
  if (longest == 0 && (sequence_length == 0 || config.has(key))) longest = config.size(key);
  model.sequence_length = sequence_length > 0 ? sequence_length : std::min(longest, kUsualSequence);
  if (longest == 0) return;
  if (sequence_length == 0) {
    config.warn(longest > kUsualSequence
                    ? fmt::format("{} {}: sequences of {} tokens are assumed", key, longest, kUsualSequence)
                    : fmt::format("{} {}: taken as the sequence length of training", key, longest));
  } else if (sequence_length > longest) {
    config.warn(fmt::format("{} {}: sequences of {} tokens are longer", key, longest, sequence_length));
  }
}

void read_width(ConfigReader& config, TransformerModel& model) {
  model.hidden_size = config.size("hidden_size");
  model.num_heads = config.size("num_attention_heads");
  model.vocab_size = config.size("vocab_size");
}

/// Reads the sizes other than the number of layers.
void read_sizes(ConfigReader& config, TransformerModel& model, const AttentionDefaults& absent = {}) {
  read_width(config, model);
  constexpr std::string_view kKvHeads = "num_key_value_heads";
  model.num_kv_heads = config.size_or_none(kKvHeads, absent.num_kv_heads);
  if (model.num_kv_heads == 0 && config.has(kKvHeads))
    config.complain(kKvHeads, expected_found("a number above 0", "0"));
  model.size_per_head = config.size_or_none("head_dim", absent.size_per_head);
  model.ffn_size = config.size("intermediate_size");
}

/// Reads the biases that the class adds where the file asks for them.
void read_biases(ConfigReader& config, TransformerModel& model, BiasKeys keys, bool has_output_bias) {
  const bool attention_bias = config.flag_or("attention_bias", false) && keys != BiasKeys::None;
  const bool mlp_bias = config.flag_or("mlp_bias", false) && keys == BiasKeys::AttentionAndMlp;
  model.has_bias = attention_bias && mlp_bias;
  model.has_qkv_bias = attention_bias && !mlp_bias;
  if (mlp_bias && !attention_bias) config.warn("mlp_bias true: biases of the MLP alone are not counted");
  if (model.has_qkv_bias && has_output_bias)
    config.warn("attention_bias true: the bias after attention is not counted");
}

/// Reads the common keys of Llama's descendants. The defaults are those of their classes in transformers
/// (configuration_*.py).
void read_descendant(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model,
                     const AttentionDefaults& absent) {
  model.num_layers = config.size("num_hidden_layers");
  read_sizes(config, model, absent);
  config.expect_text("hidden_act", {"silu", "swish"});
  model.activation = Activation::SwiGlu;
  model.normalization = Normalization::RmsNorm;
  model.positions = Positions::Rotary;
  model.scales_rotation = read_rotation(config, absent);
  model.tied_embeddings = config.flag_or("tie_word_embeddings", false);
  read_biases(config, model, absent.bias_keys, absent.has_output_bias);
  read_sequence(config, kLongestKey, sequence_length, model, absent.longest);
  read_window(config, model, absent);
}

void read_llama(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(config, sequence_length, model, {.longest = 2048, .bias_keys = BiasKeys::AttentionAndMlp});
}

void read_mistral(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(config, sequence_length, model,
                  {.num_kv_heads = 8, .window = {.size = 4096}, .bias_keys = BiasKeys::None});
}

void read_mixtral(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(config, sequence_length, model, {.num_kv_heads = 8, .bias_keys = BiasKeys::None});
  model.experts = {.num_experts = config.size("num_local_experts"),
                   .top_k = config.size("num_experts_per_tok"),
                   .expert_ffn_size = model.ffn_size};
}

void read_phi3(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(config, sequence_length, model, {.original_longest = 4096, .bias_keys = BiasKeys::None});
}

/// Qwen's models have the window only where they say so. In which layers the classes of its models with
/// experts have changed; it is in all of qwen3_moe.
constexpr AttentionWindow kQwenWindow{.size = 4096, .first_layer = 28};

void read_qwen2(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(
      config, sequence_length, model,
      {.num_kv_heads = 32, .window = kQwenWindow, .uses_window = false, .bias_keys = BiasKeys::None});
  model.has_qkv_bias = true;
}

/// Qwen3-Coder's files speak of the norms, which the class always has.
void read_qwen3_norm(ConfigReader& config, TransformerModel& model) {
  model.has_qk_norm = true;
  if (!config.flag_or("use_qk_norm", true))
    config.warn("use_qk_norm false: queries and keys are normalised all the same");
}

void read_qwen3(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(config, sequence_length, model,
                  {.num_kv_heads = 32, .size_per_head = 128, .window = kQwenWindow, .uses_window = false});
  read_qwen3_norm(config, model);
}

void read_qwen2_moe(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(
      config, sequence_length, model,
      {.num_kv_heads = 16, .window = kQwenWindow, .uses_window = false, .bias_keys = BiasKeys::None});
  model.has_qkv_bias = config.flag_or("qkv_bias", true);
  read_qwen_experts(config, model, 5632);
}

void read_qwen3_moe(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(config, sequence_length, model,
                  {.num_kv_heads = 4, .window = {.size = kQwenWindow.size}, .uses_window = false});
  read_qwen3_norm(config, model);
  read_qwen_experts(config, model, 0);
}

/// Like Qwen3, without windows.
void read_qwen3_vl_text(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(config, sequence_length, model,
                  {.num_kv_heads = 32, .size_per_head = 128, .uses_window = false, .longest = 128'000});
  read_qwen3_norm(config, model);
}

/// Like Qwen3's models with experts, without windows.
void read_qwen3_vl_moe_text(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(config, sequence_length, model,
                  {.num_kv_heads = 16, .uses_window = false, .longest = 128'000});
  read_qwen3_norm(config, model);
  read_qwen_experts(config, model, 0);
}

void warn_of_more_predictions(ConfigReader& config) {
  const std::int64_t more = config.size_or("num_nextn_predict_layers", 0);
  if (more > 0) {
    config.warn(
        fmt::format("num_nextn_predict_layers {}: the layers of multi-token prediction are left out", more));
  }
}

void read_deepseek(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model,
                   const DeepSeekDefaults& absent) {
  read_descendant(config, sequence_length, model, {});
  model.num_kv_heads = 0;  // latent attention has one of each for every head
  model.latent = {.query_rank = config.size_or("q_lora_rank", 0),
                  .kv_rank = config.size("kv_lora_rank"),
                  .plain_head_size = config.size("qk_nope_head_dim"),
                  .rotary_head_size = config.size("qk_rope_head_dim"),
                  .value_head_size = config.size("v_head_dim")};
  model.size_per_head = 0;
  config.expect_size("moe_layer_freq", 1, "experts in every layer after the first ones");
  read_deepseek_experts(config, model, absent);
  warn_of_more_predictions(config);
}

void read_deepseek_v2(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_deepseek(config, sequence_length, model, kDeepSeekV2);
}

/// Kimi K2 too, whose class is DeepSeek-V3's.
void read_deepseek_v3(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_deepseek(config, sequence_length, model, kDeepSeekV3);
}

/// Norms stand behind the halves of a layer, which costs the same as before them, and span the queries and
/// keys of all heads.
void read_olmo2(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(config, sequence_length, model, {});
  model.has_qk_norm = true;
}

/// Windows in three layers of four where the file does not say.
void read_olmo3(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(config, sequence_length, model, {.window = {.size = 4096, .full_every = 4}});
  model.has_qk_norm = true;
}

void read_glm4_moe(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(config, sequence_length, model, {.num_kv_heads = 8, .has_output_bias = false});
  model.has_qk_norm = config.flag_or("use_qk_norm", false);
  read_deepseek_experts(config, model, kGlm4Moe);
  warn_of_more_predictions(config);
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

void read_opt(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  model.num_layers = config.size("num_hidden_layers");
  read_width(config, model);
  model.ffn_size = config.size("ffn_dim");
  config.expect_text("activation_function", {"relu"});
  model.activation = Activation::Relu;
  model.has_bias = config.flag_or("enable_bias", true);
  model.tied_embeddings = config.flag_or("tie_word_embeddings", true);
  config.expect_size("word_embed_proj_dim", model.hidden_size, "projections of embeddings are not modelled");
  if (config.number_or("layerdrop", 0) > 0) config.warn("layerdrop: all layers are computed");
  // Norms before or after a half of a layer cost the same.
  config.accept_flag("do_layer_norm_before");
  read_sequence(config, kLongestKey, sequence_length, model);
}

/// An encoder and the logits of its masked tokens.
void read_bert(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  model.num_layers = config.size("num_hidden_layers");
  read_sizes(config, model);
  config.expect_text("hidden_act", {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"});
  config.expect_text("position_embedding_type", {"absolute"});
  config.accept_size("type_vocab_size");
  if (config.flag_or("is_decoder", false))
    config.warn("is_decoder true: attention is computed in both directions all the same");
  model.is_bidirectional = true;
  model.tied_embeddings = config.flag_or("tie_word_embeddings", true);
  read_sequence(config, kLongestKey, sequence_length, model);
}

void read_gpt_neox(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  model.num_layers = config.size("num_hidden_layers");
  read_width(config, model);
  model.ffn_size = config.size("intermediate_size");
  config.expect_text("hidden_act", {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"});
  model.positions = Positions::Rotary;
  model.tied_embeddings = config.flag_or("tie_word_embeddings", false);
  if (!config.flag_or("attention_bias", true))
    config.warn("attention_bias false: biases are counted all the same");
  if (config.flag_or("use_parallel_residual", true)) {
    config.warn("use_parallel_residual true: attention and MLP are computed one after the other");
  }
  read_sequence(config, kLongestKey, sequence_length, model);
}

void read_nemotron(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  model.num_layers = config.size("num_hidden_layers");
  read_sizes(config, model);
  config.expect_text("hidden_act", {"relu2"});
  model.activation = Activation::SquaredRelu;
  model.positions = Positions::Rotary;
  model.tied_embeddings = config.flag_or("tie_word_embeddings", false);
  read_biases(config, model, BiasKeys::AttentionAndMlp, true);
  read_sequence(config, kLongestKey, sequence_length, model);
}

/// Biases everywhere, a window in every second layer, experts in every layer.
void read_gpt_oss(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  read_descendant(config, sequence_length, model,
                  {.num_kv_heads = 8,
                   .size_per_head = 64,
                   .window = {.size = 128, .full_every = 2},
                   .scales_rotation = true,
                   .has_output_bias = false});  // counted with all others
  model.has_bias = true;
  model.has_qkv_bias = false;
  model.has_attention_sinks = true;
  model.clamps_activation = config.number_or("swiglu_limit", 7) > 0;
  model.experts = {.num_experts = config.size("num_local_experts"),
                   .top_k = config.size("num_experts_per_tok", "experts_per_token"),
                   .expert_ffn_size = model.ffn_size};
}

/// The letters of a hybrid's layers, from a string of them or a list of their names.
std::string read_pattern(ConfigReader& config) {
  std::string pattern = config.text_or("hybrid_override_pattern", "");
  const json& names = config.list("layers_block_type");
  if (!pattern.empty()) return pattern;
  for (const json& name : names) {
    // transformers 5 has other names for the first two.
    constexpr std::array<std::pair<std::string_view, char>, 6> kLetters = {{{"mamba", 'M'},
                                                                            {"linear_attention", 'M'},
                                                                            {"attention", '*'},
                                                                            {"full_attention", '*'},
                                                                            {"mlp", '-'},
                                                                            {"moe", 'E'}}};
    const std::string text = name.is_string() ? name.get<std::string>() : std::string();
    const auto* const letter = std::find_if(kLetters.begin(), kLetters.end(),
                                            [&text](const auto& known) { return text == known.first; });
    if (letter == kLetters.end()) {
      config.complain("layers_block_type",
                      expected_found("mamba (or linear_attention), attention (or full_attention), mlp or moe",
                                     name.dump()));
      return {};
    }
    pattern.push_back(letter->second);
  }
  if (pattern.empty())
    config.complain("hybrid_override_pattern", expected_found("a letter for each layer", ""));
  return pattern;
}

void read_nemotron_h(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model) {
  model.layer_pattern = read_pattern(config);
  model.num_layers = config.size_or("num_hidden_layers", std::ssize(model.layer_pattern));
  read_sizes(
      config, model,
      {.num_kv_heads = 8, .size_per_head = config.size_or("attention_head_dim", 128)});  // of Nemotron-H
  config.expect_text("mlp_hidden_act", {"relu2"});
  model.activation = Activation::SquaredRelu;
  model.normalization = Normalization::RmsNorm;
  model.positions = Positions::None;
  model.tied_embeddings = config.flag_or("tie_word_embeddings", false);
  model.has_bias = model.has_qkv_bias = false;
  for (const std::string_view key : {"attention_bias", "mlp_bias", "use_bias", "mamba_proj_bias"})
    if (config.flag_or(key, false)) config.complain(key, expected_found("false", "true"));
  if (!config.flag_or("use_conv_bias", true))
    config.warn("use_conv_bias false: the convolution's bias is counted all the same");
  read_sequence(config, kLongestKey, sequence_length, model);
  read_window(config, model, {});
  model.state_space = {.num_heads = config.size("mamba_num_heads"),
                       .head_size = config.size("mamba_head_dim"),
                       .state_size = config.size("ssm_state_size"),
                       .num_groups = config.size("n_groups"),
                       .conv_width = config.size_or("conv_kernel", 4),
                       .chunk_size = config.size_or("chunk_size", 128)};
  if (model.layer_pattern.find('E') != std::string::npos) {
    model.experts = {.num_experts = config.size("n_routed_experts"),
                     .top_k = config.size("num_experts_per_tok"),
                     .expert_ffn_size = config.size("moe_intermediate_size"),
                     .shared_ffn_size = config.size_or("n_shared_experts", 1) *
                                        config.size_or("moe_shared_expert_intermediate_size", 0),
                     .latent_size = config.size_or("moe_latent_size", 0)};
  }
  for (const std::string_view key : {"mtp_hybrid_override_pattern", "mtp_layers_block_type"})
    config.accept(key);
  warn_of_more_predictions(config);
}

constexpr Dropout kAllDropout{.attention = true, .hidden = true};

constexpr std::array kFamilies = std::to_array<Family>({
    {"llama", read_llama, "Llama", "llama/modeling_llama.py"},
    {"mistral", read_mistral, "Mistral", "mistral/modular_mistral.py"},
    {"mixtral", read_mixtral, "Mixtral", "mixtral/modular_mixtral.py"},
    {"phi3", read_phi3, "Phi3", "phi3/modular_phi3.py"},
    {"olmo2", read_olmo2, "Olmo2", "olmo2/modular_olmo2.py"},
    {"olmo3", read_olmo3, "Olmo3", "olmo3/modular_olmo3.py"},
    {"qwen2", read_qwen2, "Qwen2", "qwen2/modular_qwen2.py"},
    {"qwen2_moe", read_qwen2_moe, "Qwen2Moe", "qwen2_moe/modular_qwen2_moe.py"},
    {"qwen3", read_qwen3, "Qwen3", "qwen3/modular_qwen3.py"},
    {"qwen3_moe", read_qwen3_moe, "Qwen3Moe", "qwen3_moe/modular_qwen3_moe.py"},
    {"qwen3_vl_text", read_qwen3_vl_text, "Qwen3VLText", "qwen3_vl/modular_qwen3_vl.py"},
    {"qwen3_vl_moe_text", read_qwen3_vl_moe_text, "Qwen3VLMoeText", "qwen3_vl_moe/modular_qwen3_vl_moe.py"},
    {"deepseek_v2", read_deepseek_v2, "DeepseekV2", "deepseek_v2/modular_deepseek_v2.py"},
    {"deepseek_v3", read_deepseek_v3, "DeepseekV3", "deepseek_v3/modular_deepseek_v3.py"},
    // Its files name DeepSeek-V3's class.
    {"kimi_k2", read_deepseek_v3, "DeepseekV3", "deepseek_v3/modular_deepseek_v3.py"},
    {"glm4_moe", read_glm4_moe, "Glm4Moe", "glm4_moe/modular_glm4_moe.py"},
    {"gpt2", read_gpt2, "GPT2", "gpt2/modeling_gpt2.py", kAllDropout},
    {"opt", read_opt, "OPT", "opt/modeling_opt.py", {.hidden = true}},
    {"bert", read_bert, "Bert", "bert/modeling_bert.py", kAllDropout},
    {"gpt_neox", read_gpt_neox, "GPTNeoX", "gpt_neox/modular_gpt_neox.py"},
    {"gpt_oss", read_gpt_oss, "GptOss", "gpt_oss/modular_gpt_oss.py"},
    {"nemotron", read_nemotron, "Nemotron", "nemotron/modeling_nemotron.py"},
    {"nemotron_h", read_nemotron_h, "NemotronH", "nemotron_h/modular_nemotron_h.py"},
});

}  // namespace

std::span<const Family> families() {
  return kFamilies;
}

}  // namespace vtrain
