// Configurations with the keys that the model families have, written for these tests; the parameter counts
// are those of the published weights.
#include "workloads/config/hugging_face.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "workloads/config/families.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

Result<HuggingFaceModel> read(const json& object, std::int64_t sequence_length = 0) {
  const auto document = JsonDocument::parse(object.dump(), "config.json");
  REQUIRE(document);
  return read_hugging_face_config(*document, document->root(), sequence_length);
}

json without(json config, const char* key) {
  config.erase(key);
  return config;
}

json with(json config, const char* key, const json& value) {
  config[key] = value;
  return config;
}

json llama3() {
  return json::parse(
      R"({"attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": [1, 2], "hidden_act": "silu", "hidden_size": 4096,
    "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 131072,
    "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
    "rope_scaling": {"factor": 8.0, "rope_type": "llama3"}, "rope_theta": 500000.0,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.43.0",
    "use_cache": true, "vocab_size": 128256})");
}

json gpt2() {
  return json::parse(R"({"model_type": "gpt2", "activation_function": "gelu_new",
    "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1, "layer_norm_epsilon": 1e-05, "n_ctx": 1024,
    "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "summary_type": "cls_index",
    "task_specific_params": {}, "vocab_size": 50257})");
}

json mixtral() {
  json config = llama3();
  config["model_type"] = "mixtral";
  config["num_local_experts"] = 8;
  config["num_experts_per_tok"] = 2;
  return config;
}

json qwen3_moe() {
  return json::parse(R"({"model_type": "qwen3_moe", "attention_bias": false, "decoder_sparse_step": 1,
    "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144,
    "max_position_embeddings": 4096, "max_window_layers": 48, "mlp_only_layers": [],
    "moe_intermediate_size": 768, "norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 128,
    "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4, "output_router_logits": false,
    "router_aux_loss_coef": 0.001, "sliding_window": null, "use_sliding_window": false, "vocab_size": 151936})");
}

json deepseek_v3() {
  return json::parse(R"({"model_type": "deepseek_v3", "attention_bias": false, "first_k_dense_replace": 3,
    "ep_size": 1, "hidden_act": "silu", "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
    "max_position_embeddings": 163840, "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 8,
    "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 128, "num_experts_per_tok": 8,
    "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,     "scoring_func": "sigmoid", "topk_group": 4, "v_head_dim": 128, "vocab_size": 129280})");
}

std::string error_of(const json& object) {
  const auto model = read(object);
  return model ? "" : model.error().describe();
}

/// The zoo's model without its name, with another sequence length.
TransformerModel known(std::string_view name, std::int64_t sequence_length) {
  TransformerModel model = find_model(name)->model();
  model.name.clear();
  model.sequence_length = sequence_length;
  return model;
}

/// Checks that models are equal, except for defaults that the file states.
void check_same(const HuggingFaceModel& read, TransformerModel expected) {
  CHECK(read.model.num_parameters() == expected.num_parameters());
  CHECK(read.model.active_parameters() == expected.active_parameters());
  CHECK(model_flops(read.model, 3) == model_flops(expected, 3));
  expected.num_kv_heads = read.model.num_kv_heads;
  expected.size_per_head = read.model.size_per_head;
  expected.ffn_size = read.model.ffn_size;
  CHECK(read.model == expected);
}

TEST_CASE("hugging_face: llama") {
  const auto model = read(llama3());
  REQUIRE(model);
  check_same(*model, known("llama3.1-8b", 8192));
  CHECK(model->warnings ==
        std::vector<std::string>{"max_position_embeddings 131072: sequences of 8192 tokens are assumed"});
  CHECK(model->model.num_parameters() == 8'030'261'248);
  const auto longest = read(with(llama3(), "max_position_embeddings", 2048));
  REQUIRE(longest);
  CHECK(longest->model.sequence_length == 2048);
  CHECK(longest->warnings ==
        std::vector<std::string>{"max_position_embeddings 2048: taken as the sequence length of training"});
  const auto given = read(llama3(), 16384);
  REQUIRE(given);
  CHECK(given->model.sequence_length == 16384);
  CHECK(given->warnings.empty());
}

TEST_CASE("hugging_face: mistral and mixtral") {
  json config = llama3();
  config["model_type"] = "mistral";
  config["vocab_size"] = 32000;
  config["sliding_window"] = 4096;
  const auto mistral = read(config, 8192);
  REQUIRE(mistral);
  check_same(*mistral, known("mistral-7b", 8192));
  CHECK(mistral->warnings.empty());
  CHECK(mistral->model.window == AttentionWindow{.size = 4096});
  CHECK(read(config, 4096)->model.window == AttentionWindow{});  // it holds the whole sequence

  config = mixtral();
  config["vocab_size"] = 32000;
  config["sliding_window"] = nullptr;
  const auto experts = read(config, 32768);
  REQUIRE(experts);
  check_same(*experts, known("mixtral-8x7b", 32768));
  CHECK(experts->warnings.empty());
}

TEST_CASE("hugging_face: qwen2 and qwen3") {
  json config = llama3();
  config["model_type"] = "qwen2";
  config["num_hidden_layers"] = 28;
  config["hidden_size"] = 3584;
  config["num_attention_heads"] = 28;
  config["num_key_value_heads"] = 4;
  config["intermediate_size"] = 18944;
  config["vocab_size"] = 152064;
  config["use_sliding_window"] = false;
  config["sliding_window"] = 131072;
  config["max_window_layers"] = 28;
  config["use_mrope"] = false;
  const auto qwen2 = read(config, 4096);
  REQUIRE(qwen2);
  check_same(*qwen2, known("qwen2.5-7b", 4096));
  CHECK(qwen2->warnings.empty());

  const auto qwen3 = read(qwen3_moe(), 4096);
  REQUIRE(qwen3);
  check_same(*qwen3, known("qwen3-30b-a3b", 4096));
  CHECK(qwen3->warnings.empty());

  json renamed = without(qwen3_moe(), "num_experts");
  renamed["num_local_experts"] = 128;  // as transformers 5 has it
  check_same(*read(renamed, 4096), known("qwen3-30b-a3b", 4096));
  CHECK(error_of(without(qwen3_moe(), "num_experts")) == "config.json: num_experts: missing");
  json dense_first = qwen3_moe();
  dense_first["mlp_only_layers"] = {0, 1};
  CHECK(read(dense_first, 4096)->model.experts.num_dense_layers == 2);
  dense_first["mlp_only_layers"] = {1};
  CHECK(error_of(dense_first) ==
        "config.json:1: mlp_only_layers: expected the first layers, in order, found '1'");
  json every_second = qwen3_moe();
  every_second["decoder_sparse_step"] = 2;
  CHECK(error_of(every_second) ==
        "config.json:1: decoder_sparse_step: expected 1, found '2' (experts in every layer)");
}

TEST_CASE("hugging_face: phi3, olmo2 and olmo3") {
  // Phi-4: 14.66 billion; huggingface.co/microsoft/phi-4.
  const auto phi =
      read(json::parse(R"({"model_type": "phi3", "attention_bias": false, "attention_dropout": 0.0,
    "embd_pdrop": 0.0, "hidden_act": "silu", "hidden_size": 5120, "intermediate_size": 17920,
    "max_position_embeddings": 16384, "num_attention_heads": 40, "num_hidden_layers": 40,
    "num_key_value_heads": 10, "original_max_position_embeddings": 16384, "partial_rotary_factor": 1.0,
    "resid_pdrop": 0.0, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 250000, "sliding_window": null,
    "tie_word_embeddings": false, "vocab_size": 100352})"),
           16384);
  REQUIRE(phi);
  CHECK(phi->warnings.empty());
  CHECK(phi->model.num_parameters() == 14'659'507'200);

  // OLMo 2 7B: weights of 4 h^2 + 3 h f and four norms a layer, where those of queries and keys span all
  // heads; here they are as wide as one.
  json config = llama3();
  config["model_type"] = "olmo2";
  config["num_key_value_heads"] = 32;
  config["intermediate_size"] = 11008;
  config["vocab_size"] = 100352;
  const auto olmo = read(config, 4096);
  REQUIRE(olmo);
  CHECK(olmo->warnings.empty());
  CHECK(olmo->model.has_qk_norm);
  CHECK(olmo->model.num_parameters() == 7'298'617'344 - 32 * 2 * 31 * 128);

  config["model_type"] = "olmo3";
  config["sliding_window"] = 4096;
  config["layer_types"] = json::array();
  for (int layer = 1; layer <= 32; ++layer)
    config["layer_types"].push_back(layer % 4 == 0 ? "full_attention" : "sliding_attention");
  CHECK(read(config, 8192)->model.window == AttentionWindow{.size = 4096, .full_every = 4});
  config.erase("layer_types");  // which transformers makes up alike
  CHECK(read(config, 8192)->model.window == AttentionWindow{.size = 4096, .full_every = 4});
}

TEST_CASE("hugging_face: windows in some layers") {
  json config = llama3();
  config["model_type"] = "qwen2";
  config["sliding_window"] = 1024;
  config["use_sliding_window"] = true;
  config["max_window_layers"] = 28;
  CHECK(read(config, 4096)->model.window == AttentionWindow{.size = 1024, .first_layer = 28});
  for (const char* type : {"qwen2", "qwen3"}) {
    config["model_type"] = type;
    config.erase("use_sliding_window");  // false unless said
    CHECK(read(config, 4096)->model.window == AttentionWindow{});
  }
  config["model_type"] = "qwen2";
  config["use_sliding_window"] = true;
  config["max_window_layers"] = 32;
  CHECK(read(config, 4096)->model.window == AttentionWindow{});
  config["max_window_layers"] = 0;
  config["sliding_window_pattern"] = 6;
  CHECK(read(config, 4096)->model.window == AttentionWindow{.size = 1024, .full_every = 6});
  config.erase("sliding_window_pattern");
  json types = json::array();
  for (int layer = 0; layer < 32; ++layer)
    types.push_back(layer % 4 == 3 ? "full_attention" : "sliding_attention");
  config["layer_types"] = types;
  CHECK(read(config, 4096)->model.window == AttentionWindow{.size = 1024, .full_every = 4});
  CHECK(read(config, 4096)->warnings.empty());
  types[10] = "full_attention";
  config["layer_types"] = types;
  CHECK(error_of(config) ==
        "config.json:1: layer_types: expected windows in all layers from one on, or in all "
        "but the last of every so many, found 'another type in layer 10'");
  config["layer_types"] = {"linear_attention"};
  CHECK(error_of(config) ==
        "config.json:1: layer_types: expected full_attention or sliding_attention, found "
        "'\"linear_attention\"'");
  config["layer_types"] = {"sliding_attention", "full_attention"};
  CHECK(error_of(config) == "config.json:1: layer_types: expected 32 types, one a layer, found '2'");
}

// The defaults are those of the classes in transformers (configuration_*.py).
TEST_CASE("hugging_face: what a file lacks is as the family's class has it, null is none") {
  const auto window_of = [](const json& config) { return read(config, 65536)->model.window; };
  const json mistral = with(llama3(), "model_type", "mistral");  // without a window
  CHECK(window_of(mistral) == AttentionWindow{.size = 4096});
  CHECK(window_of(with(mistral, "sliding_window", nullptr)) == AttentionWindow{});
  CHECK(window_of(with(mixtral(), "sliding_window", nullptr)) == AttentionWindow{});
  CHECK(window_of(mixtral()) == AttentionWindow{});
  CHECK(window_of(with(llama3(), "model_type", "phi3")) == AttentionWindow{});
  const json olmo3 = with(llama3(), "model_type", "olmo3");
  CHECK(window_of(olmo3) == AttentionWindow{.size = 4096, .full_every = 4});
  CHECK(window_of(with(olmo3, "sliding_window", nullptr)) == AttentionWindow{});
  const json qwen2 = with(with(llama3(), "model_type", "qwen2"), "use_sliding_window", true);  // 32 layers
  CHECK(window_of(qwen2) == AttentionWindow{.size = 4096, .first_layer = 28});
  CHECK(window_of(with(qwen2, "sliding_window", 1024)) == AttentionWindow{.size = 1024, .first_layer = 28});
  CHECK(window_of(with(qwen2, "sliding_window", nullptr)) == AttentionWindow{});
  const json qwen3 = with(qwen3_moe(), "use_sliding_window", true);
  CHECK(window_of(without(without(qwen3, "sliding_window"), "max_window_layers")) ==
        AttentionWindow{.size = 4096});

  const auto kv_heads_of = [](const json& config) { return read(config, 4096)->model.kv_heads(); };
  for (const json& config : {mistral, mixtral()}) {  // 32 heads
    CHECK(kv_heads_of(without(config, "num_key_value_heads")) == 8);
    CHECK(kv_heads_of(with(config, "num_key_value_heads", nullptr)) == 32);
  }
  CHECK(kv_heads_of(without(qwen3_moe(), "num_key_value_heads")) == 4);
  CHECK(kv_heads_of(without(llama3(), "num_key_value_heads")) == 32);
  CHECK(kv_heads_of(with(without(qwen2, "num_key_value_heads"), "num_attention_heads", 64)) == 32);
  const auto head_size_of = [](const json& config) { return read(config, 4096)->model.head_size(); };
  CHECK(head_size_of(without(qwen3_moe(), "head_dim")) == 2048 / 32);
  CHECK(head_size_of(with(without(with(llama3(), "num_attention_heads", 64), "head_dim"), "model_type",
                          "qwen3")) == 128);
}

TEST_CASE("hugging_face: experts that a file lacks are as the family's class has them") {
  const auto dense_layers_of = [](const char* type) {
    return read(with(without(deepseek_v3(), "first_k_dense_replace"), "model_type", type), 4096)
        ->model.experts.num_dense_layers;
  };
  CHECK(dense_layers_of("deepseek_v3") == 3);
  CHECK(dense_layers_of("kimi_k2") == 3);
  CHECK(dense_layers_of("deepseek_v2") == 0);
  const auto experts_without = [](const char* key) {
    return read(without(deepseek_v3(), key), 4096)->model.experts;
  };
  CHECK(experts_without("n_shared_experts").shared_ffn_size == 2048);
  CHECK(experts_without("n_group").num_groups == 8);
  CHECK(experts_without("topk_group").groups_per_token == 4);
  CHECK(
      read(with(without(deepseek_v3(), "topk_group"), "n_group", 1), 4096)->model.experts.groups_per_token ==
      1);
  CHECK(error_of(without(deepseek_v3(), "n_routed_experts")) == "config.json: n_routed_experts: missing");
  const json qwen2_moe = with(qwen3_moe(), "model_type", "qwen2_moe");
  CHECK(read(qwen2_moe, 4096)->model.experts.shared_ffn_size == 5632);
  CHECK(read(qwen3_moe(), 4096)->model.experts.shared_ffn_size == 0);
}

TEST_CASE("hugging_face: the longest sequence need not be said where it is known") {
  const json llama = without(llama3(), "max_position_embeddings");  // as Llama 1 was first published
  const auto model = read(llama);
  REQUIRE(model);
  CHECK(model->model.sequence_length == 2048);
  CHECK(model->warnings ==
        std::vector<std::string>{"max_position_embeddings 2048: taken as the sequence length of training"});
  CHECK(read(llama, 1024)->warnings.empty());
  const json qwen = without(qwen3_moe(), "max_position_embeddings");
  CHECK(error_of(qwen) == "config.json: max_position_embeddings: missing");
  CHECK(read(qwen, 1024)->model.sequence_length == 1024);
  CHECK(read(with(qwen, "max_position_embeddings", 0), 1024).error().message ==
        "expected a whole number of at least 1, found '0'");
}

TEST_CASE("hugging_face: gpt_oss") {
  json config = json::parse(R"({"model_type": "gpt_oss", "attention_bias": true, "attention_dropout": 0.0,
    "experts_per_token": 4, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2880,
    "initial_context_length": 4096, "intermediate_size": 2880, "max_position_embeddings": 131072,
    "num_attention_heads": 64, "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_key_value_heads": 8,
    "num_local_experts": 32, "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0,
    "original_max_position_embeddings": 4096, "rope_type": "yarn", "truncate": false}, "rope_theta": 150000,
    "sliding_window": 128, "swiglu_limit": 7.0, "tie_word_embeddings": false,
    "vocab_size": 201088})");
  json types = json::array();
  for (int layer = 0; layer < 24; ++layer)
    types.push_back(layer % 2 == 1 ? "full_attention" : "sliding_attention");
  for (const bool is_listed : {true, false}) {
    if (is_listed) {
      config["layer_types"] = types;
    } else {
      config.erase("layer_types");
    }
    const auto model = read(config, 4096);
    REQUIRE(model);
    check_same(*model, known("gpt-oss-20b", 4096));
    CHECK(model->warnings.empty());
  }
  for (const char* key : {"sliding_window", "head_dim", "num_key_value_heads", "rope_scaling"}) {
    CAPTURE(key);
    check_same(*read(without(config, key), 4096), known("gpt-oss-20b", 4096));
  }
  CHECK(read(with(config, "sliding_window", nullptr), 4096)->model.window == AttentionWindow{});
}

TEST_CASE("hugging_face: a factor on sines and cosines") {
  const auto scales = [](const json& scaling) {
    json config = llama3();
    config["rope_scaling"] = scaling;
    return read(config, 4096)->model.scales_rotation;
  };
  CHECK_FALSE(scales(nullptr));
  CHECK_FALSE(scales({{"rope_type", "llama3"}, {"factor", 8.0}}));
  CHECK(scales({{"rope_type", "yarn"}, {"factor", 4.0}}));
  CHECK(scales({{"type", "yarn"}, {"factor", 4.0}}));
  CHECK_FALSE(scales({{"rope_type", "yarn"}, {"factor", 1.0}}));
  CHECK_FALSE(scales({{"rope_type", "yarn"}, {"factor", 4.0}, {"attention_factor", 1.0}}));
  // As DeepSeek-V3 has it: the factors of both parts are equal.
  CHECK_FALSE(scales({{"type", "yarn"}, {"factor", 40}, {"mscale", 1.0}, {"mscale_all_dim", 1.0}}));
  CHECK(scales({{"type", "yarn"}, {"factor", 40}, {"mscale", 1.0}, {"mscale_all_dim", 0.5}}));
  json config = llama3();
  config["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", "4"}};
  CHECK(error_of(config) == "config.json:1: rope_scaling.factor: expected a number, found '\"4\"'");
  config["rope_scaling"] = nullptr;
  config["rope_parameters"] = {{"full_attention", {{"rope_type", "yarn"}, {"factor", 4.0}}},
                               {"sliding_attention", {{"rope_type", "default"}}}};
  CHECK(read(config, 4096)->model.scales_rotation);
  config["rope_parameters"]["full_attention"]["factor"] = 1.0;
  CHECK_FALSE(read(config, 4096)->model.scales_rotation);
  config["rope_scaling"] = "yarn";
  CHECK(error_of(config) == "config.json:1: rope_scaling: expected an object, found '\"yarn\"'");
}

// _compute_longrope_parameters of transformers: sqrt(1 + ln(factor) / ln(original)), 1 where the factor is at
// most 1; the factor is the ratio of both lengths where the file has them.
TEST_CASE("hugging_face: LongRoPE's factor on sines and cosines") {
  const auto scales = [](json config, const json& rule) {
    config["rope_scaling"] = rule;
    return read(config, 4096)->model.scales_rotation;
  };
  for (const char* type : {"longrope", "su"}) {
    for (const char* key : {"rope_type", "type"}) {
      CAPTURE(type);
      CAPTURE(key);
      const json rule = {{key, type}, {"short_factor", {1.0}}, {"long_factor", {1.0}}};
      const json phi3 = with(with(llama3(), "model_type", "phi3"), "original_max_position_embeddings", 4096);
      CHECK(scales(phi3, rule));  // 131072 / 4096
      CHECK(scales(without(phi3, "original_max_position_embeddings"), rule));
      CHECK_FALSE(scales(with(phi3, "max_position_embeddings", 4096), rule));
      CHECK_FALSE(scales(with(phi3, "max_position_embeddings", 4096), with(rule, "factor", 32.0)));
      CHECK_FALSE(scales(phi3, with(rule, "attention_factor", 1.0)));
      CHECK(scales(phi3, with(rule, "attention_factor", 1.19)));
      CHECK(scales(llama3(), with(rule, "factor", 32.0)));
      CHECK_FALSE(scales(llama3(), with(rule, "factor", 1.0)));
      CHECK(scales(llama3(), with(rule, "original_max_position_embeddings", 4096)));
      CHECK_FALSE(scales(llama3(), with(rule, "original_max_position_embeddings", 131072)));
    }
  }
  json newer = with(llama3(), "model_type", "phi3");
  newer["rope_parameters"] = {{"rope_type", "longrope"}, {"original_max_position_embeddings", 4096}};
  CHECK(scales(newer, nullptr));
}

TEST_CASE("hugging_face: nemotron_h") {
  json config = json::parse(R"({"model_type": "nemotron_h", "attention_bias": false, "chunk_size": 128,
    "conv_kernel": 4, "expand": 2, "head_dim": 128, "hidden_size": 2688, "intermediate_size": 1856,
    "mamba_head_dim": 64, "mamba_hidden_act": "silu", "mamba_num_heads": 64, "mamba_proj_bias": false,
    "max_position_embeddings": 262144, "mlp_bias": false, "mlp_hidden_act": "relu2",
    "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712, "n_groups": 8,
    "n_routed_experts": 128, "n_shared_experts": 1, "num_attention_heads": 32, "num_experts_per_tok": 6,
    "num_hidden_layers": 52, "num_key_value_heads": 2, "sliding_window": null, "ssm_state_size": 128,
    "tie_word_embeddings": false, "use_bias": false, "use_conv_bias": true, "vocab_size": 131072,
    "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"})");
  const auto model = read(config, 8192);
  REQUIRE(model);
  check_same(*model, known("nemotron-3-nano", 8192));
  CHECK(model->warnings.empty());

  json listed = config;
  listed.erase("hybrid_override_pattern");
  for (const char letter : config["hybrid_override_pattern"].get<std::string>())
    listed["layers_block_type"].push_back(letter == 'M' ? "mamba" : letter == 'E' ? "moe" : "attention");
  check_same(*read(listed, 8192), known("nemotron-3-nano", 8192));
  for (json& type : listed["layers_block_type"])  // as transformers 5 has them
    type = type == "mamba" ? "linear_attention" : type == "attention" ? "full_attention" : type;
  check_same(*read(listed, 8192), known("nemotron-3-nano", 8192));
  listed["layers_block_type"][3] = "conv";
  CHECK(error_of(listed) ==
        "config.json:1: layers_block_type: expected mamba (or linear_attention), attention (or "
        "full_attention), "
        "mlp or moe, found '\"conv\"'");
  listed.erase("layers_block_type");
  CHECK(error_of(listed) ==
        "config.json: hybrid_override_pattern: expected a letter for each layer, found ''");
  // Nemotron-H has attention_head_dim; 128 is the default of both.
  const json bare = without(config, "head_dim");
  CHECK(read(bare, 8192)->model.head_size() == 128);
  CHECK(read(with(bare, "attention_head_dim", 64), 8192)->model.head_size() == 64);
  CHECK(read(with(config, "attention_head_dim", 64), 8192)->model.head_size() == 128);
  CHECK(read(with(config, "attention_head_dim", 64), 8192)->warnings.empty());
  CHECK(read(without(config, "num_key_value_heads"), 8192)->model.kv_heads() == 8);
  for (const char* key : {"n_group", "topk_group"}) {
    CHECK(read(with(config, key, 1), 8192)->warnings.empty());
    CHECK(read(with(config, key, 2), 8192)->warnings ==
          std::vector<std::string>{fmt::format("{} 2: not taken into account, computed as with 1", key)});
  }
  config["use_bias"] = true;
  CHECK(error_of(config) == "config.json:1: use_bias: expected false, found 'true'");
}

TEST_CASE("hugging_face: deepseek_v3") {
  const auto model = read(deepseek_v3(), 4096);
  REQUIRE(model);
  check_same(*model, known("deepseek-v3", 4096));
  CHECK(model->warnings ==
        std::vector<std::string>{
            "num_nextn_predict_layers 1: the layers of multi-token prediction are left out"});
  json lite = deepseek_v3();
  lite["q_lora_rank"] = nullptr;
  CHECK(read(lite, 4096)->model.latent.query_rank == 0);
  CHECK(read(lite, 4096)->model.experts.groups_per_token == 4);
  lite["topk_method"] = "greedy";
  CHECK(read(lite, 4096)->model.experts.num_groups == 1);
}

TEST_CASE("hugging_face: glm4_moe") {
  // GLM-4.5: "355 billion total parameters with 32 billion active" (docs of transformers), with a layer of
  // multi-token prediction, which is left out.
  const json config =
      json::parse(R"({"model_type": "glm4_moe", "attention_bias": true, "attention_dropout": 0.0,
    "first_k_dense_replace": 3, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
    "intermediate_size": 12288, "max_position_embeddings": 131072, "moe_intermediate_size": 1536, "n_group": 1,
    "n_routed_experts": 160, "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 96,
    "num_experts_per_tok": 8, "num_hidden_layers": 92, "num_key_value_heads": 8, "num_nextn_predict_layers": 1,
    "partial_rotary_factor": 0.5, "rope_scaling": null, "routed_scaling_factor": 2.5, "topk_group": 1,
    "use_qk_norm": true, "vocab_size": 151552})");
  const auto model = read(config, 4096);
  REQUIRE(model);
  CHECK(model->warnings ==
        std::vector<std::string>{
            "num_nextn_predict_layers 1: the layers of multi-token prediction are left out"});
  CHECK(model->model.has_qkv_bias);
  CHECK(model->model.has_qk_norm);
  CHECK(static_cast<double>(model->model.num_parameters()) == doctest::Approx(355e9).epsilon(0.01));
  CHECK(static_cast<double>(model->model.active_parameters()) == doctest::Approx(32e9).epsilon(0.06));
}

TEST_CASE("hugging_face: opt and bert") {
  json opt = json::parse(R"({"model_type": "opt", "activation_dropout": 0.0, "activation_function": "relu",
    "attention_dropout": 0.0, "bos_token_id": 2, "do_layer_norm_before": true, "dropout": 0.1, "ffn_dim": 8192,
    "hidden_size": 2048, "init_std": 0.02, "layerdrop": 0.0, "max_position_embeddings": 2048,
    "num_attention_heads": 32, "num_hidden_layers": 24, "prefix": "</s>", "vocab_size": 50272,
    "word_embed_proj_dim": 2048})");
  const auto read_opt = read(opt, 1024);
  REQUIRE(read_opt);
  check_same(*read_opt, known("opt-1.3b", 1024));
  CHECK(read_opt->warnings.empty());
  opt["dropout"] = 0;
  opt["attention_dropout"] = 0.05;
  opt["activation_dropout"] = 0.2;
  const auto other_rates = read(opt, 1024);
  REQUIRE(other_rates);
  CHECK(other_rates->model.dropout == Dropout{.attention = true, .hidden = false});
  CHECK(other_rates->warnings ==
        std::vector<std::string>{"activation_dropout 0.2: dropout inside the MLP is not counted"});
  opt["activation_dropout"] = 1.5;
  CHECK(error_of(opt).find("activation_dropout: expected a number from 0 to 1, found '1.5'") !=
        std::string::npos);
  opt["activation_dropout"] = 0;
  opt["word_embed_proj_dim"] = 512;
  CHECK(error_of(opt).find("expected 2048, found '512' (projections of embeddings are not modelled)") !=
        std::string::npos);

  const auto bert = read(json::parse(R"({"model_type": "bert", "hidden_act": "gelu", "hidden_size": 1024,
    "intermediate_size": 4096, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
    "num_attention_heads": 16, "num_hidden_layers": 24, "position_embedding_type": "absolute",
    "type_vocab_size": 2, "vocab_size": 30522})"),
                         512);
  REQUIRE(bert);
  check_same(*bert, known("bert-large", 512));
  CHECK(bert->warnings.empty());
}

TEST_CASE("hugging_face: gpt2, gpt_neox and nemotron") {
  const auto small = read(gpt2());
  REQUIRE(small);
  check_same(*small, known("gpt2-124m", 1024));
  CHECK(small->warnings.size() == 1);  // the sequence length

  const auto neox = read(json::parse(R"({"model_type": "gpt_neox", "hidden_act": "gelu_fast",
    "hidden_size": 6144, "intermediate_size": 24576, "max_position_embeddings": 2048,
    "num_attention_heads": 64, "num_hidden_layers": 44, "rotary_pct": 0.25, "tie_word_embeddings": false,
    "use_parallel_residual": true, "vocab_size": 50432})"),
                         2048);
  REQUIRE(neox);
  check_same(*neox, known("gpt-neox-20b", 2048));
  CHECK(neox->warnings ==
        std::vector<std::string>{
            "use_parallel_residual true: attention and MLP are computed one after the other"});

  const auto nemotron = read(json::parse(R"({"model_type": "nemotron", "hidden_act": "relu2",
    "hidden_size": 18432, "intermediate_size": 73728, "max_position_embeddings": 4096, "norm_eps": 1e-05,
    "num_attention_heads": 96, "num_hidden_layers": 96, "num_key_value_heads": 8, "partial_rotary_factor": 0.5,
    "vocab_size": 256000})"),
                             4096);
  REQUIRE(nemotron);
  check_same(*nemotron, known("nemotron4-340b", 4096));
  CHECK(nemotron->warnings.empty());
}

TEST_CASE("hugging_face: what is not supported is named") {
  json config = llama3();
  config["residual_multiplier"] = 0.22;
  const auto unknown = read(config, 8192);
  REQUIRE(unknown);
  CHECK(unknown->warnings ==
        std::vector<std::string>{"residual_multiplier: unknown key, not taken into account"});
  config["layer_types"] = {"full_attention", "sliding_attention"};
  CHECK(read(config, 8192)->warnings.front() ==
        "layer_types: layers with a window of unknown size are computed over the whole sequence");

  json family = llama3();
  family["model_type"] = "t5";
  CHECK(error_of(family).starts_with(
      "config.json:1: model_type: expected one of 'llama', 'mistral', 'mixtral', "));
  family.erase("model_type");
  CHECK(error_of(family) == "config.json: model_type: missing");
  json activation = llama3();
  activation["hidden_act"] = "gelu";
  CHECK(error_of(activation) ==
        "config.json:1: hidden_act: expected one of 'silu' and 'swish', found 'gelu'");
  json missing = llama3();
  missing.erase("num_hidden_layers");
  CHECK(error_of(missing) == "config.json: num_hidden_layers: missing");
  json frequency = deepseek_v3();
  frequency["moe_layer_freq"] = 2;
  CHECK(error_of(frequency).starts_with("config.json:1: moe_layer_freq: expected 1, found '2'"));
  for (const char* type : {"llama", "qwen3", "olmo2", "olmo3"}) {
    CAPTURE(type);
    const auto biased = read(with(with(llama3(), "attention_bias", true), "model_type", type), 4096);
    CHECK(biased->model.has_qkv_bias);
    CHECK(biased->warnings ==
          std::vector<std::string>{"attention_bias true: the bias after attention is not counted"});
  }
  // Qwen2's class knows no such key.
  CHECK(read(with(with(llama3(), "attention_bias", true), "model_type", "qwen2"), 4096)->warnings.empty());
  const auto longest = llama3()["max_position_embeddings"].get<std::int64_t>();
  CHECK(read(llama3(), longest)->warnings.empty());
  CHECK(read(llama3(), 2 * longest)->warnings ==
        std::vector<std::string>{fmt::format("max_position_embeddings {}: sequences of {} tokens are longer",
                                             longest, 2 * longest)});
  json mlp_bias = llama3();
  mlp_bias["mlp_bias"] = true;
  CHECK(read(mlp_bias, 8192)->warnings ==
        std::vector<std::string>{"mlp_bias true: biases of the MLP alone are not counted"});
}

TEST_CASE("hugging_face: keys that change the computation with some values only") {
  const auto warnings_with = [](const json& config, const char* key, const json& value) {
    return read(with(config, key, value), 128)->warnings;
  };
  const json bert = json::parse(R"({"model_type": "bert", "hidden_act": "gelu", "hidden_size": 1024,
    "intermediate_size": 4096, "max_position_embeddings": 512, "num_attention_heads": 16,
    "num_hidden_layers": 24, "vocab_size": 30522})");
  CHECK(warnings_with(bert, "is_decoder", false).empty());
  CHECK(warnings_with(bert, "is_decoder", true) ==
        std::vector<std::string>{"is_decoder true: attention is computed in both directions all the same"});
  CHECK(warnings_with(llama3(), "is_decoder", true).empty());
  struct Neutral {
    const char* key;
    json value;
    json other;
  };
  const std::vector<Neutral> neutrals = {{"n_special", 0, 3},
                                         {"is_encoder_decoder", false, true},
                                         {"_remove_final_layer_norm", false, true},
                                         {"layer_norm_elementwise_affine", true, false},
                                         {"full_attn_mod", 1, 2},
                                         {"interpolate_factor", 1, 2},
                                         {"lm_head_bias", false, true},
                                         {"qkv_bias", false, true}};
  for (const Neutral& neutral : neutrals) {
    CAPTURE(neutral.key);
    CHECK(warnings_with(llama3(), neutral.key, neutral.value).empty());
    CHECK(warnings_with(llama3(), neutral.key, neutral.other) ==
          std::vector<std::string>{fmt::format("{} {}: not taken into account, computed as with {}",
                                               neutral.key, neutral.other.dump(), neutral.value.dump())});
  }
  for (const char* key : {"_num_labels", "attn_implementation", "is_llama_config", "max_length",
                          "max_sequence_length", "output_past", "predict_special_tokens", "rope_interleaved",
                          "swiglu_alpha", "tokenizer_class", "torchscript", "unsloth_version"}) {
    CAPTURE(key);
    CHECK(warnings_with(llama3(), key, 1).empty());
  }
  CHECK(warnings_with(qwen3_moe(), "use_qk_norm", true).empty());
  CHECK(warnings_with(qwen3_moe(), "use_qk_norm", false) ==
        std::vector<std::string>{"use_qk_norm false: queries and keys are normalised all the same"});
  CHECK(warnings_with(llama3(), "use_qk_norm", true) ==
        std::vector<std::string>{"use_qk_norm: unknown key, not taken into account"});
  const json qwen2_moe = with(qwen3_moe(), "model_type", "qwen2_moe");
  CHECK(read(qwen2_moe, 128)->model.has_qkv_bias);
  CHECK_FALSE(read(with(qwen2_moe, "qkv_bias", false), 128)->model.has_qkv_bias);
}

TEST_CASE("hugging_face: only classes whose source was checked are read") {
  const auto with_class = [](const json& config, const char* name) {
    return with(config, "architectures", json::array({name}));
  };
  for (const char* usual : {"LlamaForCausalLM", "LLaMAForCausalLM", "LlamaModel"})
    CHECK(read(with_class(llama3(), usual), 128)->warnings.empty());
  CHECK(read(with_class(gpt2(), "GPT2LMHeadModel"), 128)->warnings.empty());
  CHECK(read(with_class(with(deepseek_v3(), "model_type", "kimi_k2"), "DeepseekV3ForCausalLM"), 128));
  for (const char* other : {"LlamaForSequenceClassification", "LlamaForTokenClassification",
                            "LlamaForQuestionAnswering", "LlamaForRewardModel"}) {
    CHECK(read(with_class(llama3(), other), 128)->warnings ==
          std::vector<std::string>{
              fmt::format("architectures {}: the logits of a vocabulary are computed instead", other)});
  }
  CHECK(error_of(with_class(llama3(), "DeciLMForCausalLM")) ==
        "config.json:1: architectures: expected a class of Llama (only llama/modeling_llama.py of "
        "transformers was checked), found 'DeciLMForCausalLM'");
  for (const char* other : {"LlamaMoeForCausalLM", "Llama4ForCausalLM", "LlamaForCausalLMEagle3",
                            "MyLlamaForCausalLM", "Llama", ""})
    CHECK(error_of(with_class(llama3(), other)).starts_with("config.json:1: architectures: "));
  CHECK(error_of(with(llama3(), "architectures", json::array({1}))).starts_with("config.json:1: archi"));
  const std::string page =
      read_file(std::string(VTRAIN_SOURCE_DIR) + "/docs/families.md", InputKind::Model).value();
  std::set<std::string_view> types;
  for (const Family& family : families()) {
    CAPTURE(family.model_type);
    CHECK(types.insert(family.model_type).second);
    CHECK(family.source.ends_with(".py"));
    CHECK_FALSE(family.class_name.empty());
    CHECK(page.find(fmt::format("| `{}` | `{}` |", family.model_type, family.source)) != std::string::npos);
  }
}

TEST_CASE("hugging_face: biases are those that the class has") {
  struct Case {
    const char* type;
    bool attention;  // with attention_bias
    bool both;       // with mlp_bias as well
  };
  for (const Case& example :
       {Case{"llama", true, true}, Case{"mistral", false, false}, Case{"phi3", false, false},
        Case{"olmo2", true, false}, Case{"qwen3", true, false}}) {
    CAPTURE(example.type);
    const json config = with(with(llama3(), "attention_bias", true), "model_type", example.type);
    CHECK(read(config, 4096)->model.has_qkv_bias == example.attention);
    CHECK(read(with(config, "mlp_bias", true), 4096)->model.has_bias == example.both);
  }
}

TEST_CASE("hugging_face: known types that are not modelled are refused by what they need") {
  const auto config = [](const char* type, const char* key) {
    return json{{"model_type", type}, {key, json::array()}};
  };
  CHECK(
      error_of(config("deepseek_v32", "index_topk")) ==
      "config.json:1: index_topk: model_type deepseek_v32 is not modelled: an indexer picks the tokens that "
      "each token attends to");
  json outer = config("qwen3_5", "vision_config");
  outer["text_config"] = config("qwen3_5_text", "layer_types");
  CHECK(error_of(outer) ==
        "config.json:1: text_config.layer_types: model_type qwen3_5 is not modelled: linear attention (gated "
        "delta rule) in three layers of four");
  CHECK(error_of(outer["text_config"]).starts_with("config.json:1: layer_types: model_type qwen3_5_text is"));
  // Without the key the type itself is named.
  CHECK(error_of(config("nemotron-nas", "vocab_size")).starts_with("config.json:1: model_type: "));
}

TEST_CASE("hugging_face: quantised weights are trained in the precision of the plan") {
  const auto warnings_with = [](const char* key, const json& rule) {
    return read(with(llama3(), key, rule), 4096)->warnings;
  };
  const std::string rest = ": the published weights are quantised; training is in the precision of the plan";
  CHECK(warnings_with("quantization_config", {{"quant_method", "fp8"}, {"fmt", "e4m3"}}) ==
        std::vector<std::string>{"quantization_config fp8" + rest});
  CHECK(warnings_with("quantization_config", {{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}}) ==
        std::vector<std::string>{"quantization_config modelopt NVFP4" + rest});
  CHECK(warnings_with("compression_config", json::object()) ==
        std::vector<std::string>{"compression_config" + rest});
  CHECK(warnings_with("quantization_config", nullptr).empty());
  CHECK(error_of(with(llama3(), "quantization_config", "fp8")) ==
        "config.json:1: quantization_config: expected an object, found '\"fp8\"'");
}

TEST_CASE("hugging_face: the language model of a model that takes images") {
  json inner =
      without(without(with(llama3(), "model_type", "qwen3_vl_text"), "tie_word_embeddings"), "head_dim");
  inner["num_hidden_layers"] = 28;
  inner["hidden_size"] = 2048;
  inner["intermediate_size"] = 6144;
  inner["num_attention_heads"] = 16;
  inner["vocab_size"] = 151936;
  const json outer = {{"model_type", "qwen3_vl"},    {"architectures", {"Qwen3VLForConditionalGeneration"}},
                      {"image_token_id", 1},         {"text_config", inner},
                      {"tie_word_embeddings", true}, {"vision_config", json::object()},
                      {"vision_start_token_id", 2}};
  const auto model = read(outer);
  REQUIRE(model);
  check_same(*model, known("qwen3-1.7b", 8192));
  CHECK(model->warnings ==
        std::vector<std::string>{
            "text_config: only the language model is taken; the vision tower is not modelled",
            "text_config.max_position_embeddings 131072: sequences of 8192 tokens are assumed"});
  CHECK(read(with(outer, "tie_word_embeddings", false))->model.tied_embeddings == false);
  CHECK(read(inner)->model.tied_embeddings == false);  // the class's default
  json both = outer;
  both["text_config"]["tie_word_embeddings"] = false;
  CHECK(error_of(both) == "config.json:1: tie_word_embeddings: expected what text_config says, found 'true'");
  CHECK(error_of(without(outer, "text_config")) ==
        "config.json: text_config: expected an object, found 'null'");
  CHECK(
      error_of(with(outer, "text_config", llama3())) ==
      "config.json:1: text_config.model_type: expected 'qwen3_vl_text' in a file of qwen3_vl, found 'llama'");
  CHECK(error_of(with(outer, "text_config", without(inner, "hidden_size"))) ==
        "config.json:1: text_config.hidden_size: missing");
  CHECK(error_of(with(outer, "architectures", json::array({"Qwen3VLMoeForConditionalGeneration"})))
            .starts_with("config.json:1: architectures: expected a class of Qwen3VL "));
  const auto unknown = read(with(outer, "audio_config", json::object()));
  REQUIRE(unknown);
  CHECK(unknown->warnings[1] == "audio_config: unknown key, not taken into account");

  // Experts, and shared weights said inside.
  json experts = with(with(qwen3_moe(), "model_type", "qwen3_vl_moe_text"), "tie_word_embeddings", true);
  const auto moe = read({{"model_type", "qwen3_vl_moe"}, {"text_config", experts}}, 4096);
  REQUIRE(moe);
  CHECK(moe->model.experts == read(qwen3_moe(), 4096)->model.experts);
  CHECK(moe->model.tied_embeddings);

  for (const char* type : {"kimi_k2", "deepseek_v3"}) {
    json kimi = with(with(deepseek_v3(), "model_type", type), "quantization_config", json::object());
    const auto read_kimi = read({{"model_type", "kimi_k25"}, {"text_config", kimi}}, 4096);
    REQUIRE(read_kimi);
    CHECK(read_kimi->model == read(deepseek_v3(), 4096)->model);
    CHECK(read_kimi->warnings.size() == 3);  // the tower, quantisation, further predictions
  }
}

TEST_CASE("hugging_face: a language model inside another") {
  json outer;
  outer["text_config"] = llama3();
  for (const json& config : {outer, with(outer, "model_type", "mistral3")}) {
    CHECK(is_hugging_face_config(config));
    const std::string error = error_of(config);
    CHECK(error.find("model_type: ") != std::string::npos);
    CHECK(
        error.ends_with("the language model is inside text_config, which can be given as a file of its own"));
  }
  CHECK(error_of(with(llama3(), "text_config", json::object())).empty());
}

TEST_CASE("hugging_face: sizes have one bound") {
  CHECK(error_of(with(llama3(), "hidden_size", std::int64_t{1} << 60)) ==
        "config.json:1: hidden_size: expected a size that a model can have, found '1152921504606846976'");
  CHECK(error_of(with(llama3(), "hidden_size", 0)) ==
        "config.json:1: hidden_size: expected a whole number of at least 1, found '0'");
  CHECK(error_of(with(llama3(), "hidden_size", 1e30)) ==
        "config.json:1: hidden_size: expected a whole number of at least 1, found '1e+30'");
  CHECK(error_of(with(llama3(), "hidden_size", 1.5)) ==
        "config.json:1: hidden_size: expected a whole number of at least 1, found '1.5'");
  CHECK(error_of(with(llama3(), "head_dim", -1)) ==
        "config.json:1: head_dim: expected a whole number of at least 0, found '-1'");
}

TEST_CASE("hugging_face: a dense model of a family with experts") {
  for (const json& none : {json(nullptr), json(0)}) {
    const auto model = read(with(deepseek_v3(), "n_routed_experts", none), 4096);
    REQUIRE(model);
    CHECK_FALSE(model->model.has_experts());
    CHECK(model->warnings ==
          std::vector<std::string>{
              "num_nextn_predict_layers 1: the layers of multi-token prediction are left out"});
  }
}

TEST_CASE("hugging_face: what no model can be is named by the keys of the family") {
  const auto error_with = [](json config, const char* key, std::int64_t value) {
    config[key] = value;
    return error_of(config);
  };
  CHECK(error_with(llama3(), "num_key_value_heads", 7) ==
        "config.json:1: num_key_value_heads: expected a divisor of the 32 heads, found '7'");
  CHECK(error_with(gpt2(), "n_head", 7) ==
        "config.json:1: n_head: expected a divisor of the 768 hidden size, found '7'");
  CHECK(error_with(gpt2(), "n_positions", 2'000'000'000) ==
        "config.json:1: n_positions: expected a size that a model can have, found '2000000000'");
  CHECK(error_with(qwen3_moe(), "num_experts_per_tok", 129) ==
        "config.json:1: num_experts_per_tok: expected a whole number from 1 to 128, found '129'");
  CHECK(error_with(mixtral(), "intermediate_size", 100'000'000) ==
        "config.json:1: intermediate_size: expected a whole number from 0 to 4194304, found '100000000'");
  CHECK(error_with(deepseek_v3(), "n_group", 7) ==
        "config.json:1: n_group: expected a divisor of the 256 experts, found '7'");
  CHECK(error_with(deepseek_v3(), "qk_nope_head_dim", 100'000) ==
        "config.json:1: qk_nope_head_dim: expected a whole number from 1 to 16384, found '100000'");
  const json qwen2 = with(without(llama3(), "num_key_value_heads"), "model_type", "qwen2");  // 32 by default
  CHECK(error_with(qwen2, "num_attention_heads", 16) ==
        "config.json: num_key_value_heads: expected a divisor of the 16 heads, found '32'");
  json nested = {{"model", llama3()}};
  nested["model"]["num_attention_heads"] = 31;
  const auto document = JsonDocument::parse(nested.dump(), "c.json");
  REQUIRE(document);
  CHECK(read_hugging_face_config(*document, document->root()["model"], 0).error().describe() ==
        "c.json:1: model.num_attention_heads: expected a divisor of the 4096 hidden size, found '31'");
}

}  // namespace
}  // namespace vtrain
