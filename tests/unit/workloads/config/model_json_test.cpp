#include "workloads/config/model_json.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/random_fields.hpp"
#include "workloads/model/model_fields.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

constexpr const char* kLlama = R"({
 "name": "mine", "num_layers": 4, "hidden_size": 64, "num_heads": 8, "sequence_length": 32, "vocab_size": 100,
 "num_kv_heads": 2, "ffn_size": 96, "activation": "swiglu", "normalization": "rms_norm",
 "positions": "rotary", "tied_embeddings": false, "has_bias": false
})";

std::string error_of(const std::string& text) {
  const auto model = parse_model(text, "m.json");
  return model ? "" : model.error().describe();
}

TEST_CASE("model_json: every key") {
  const auto model = parse_model(kLlama, "m.json");
  REQUIRE(model);
  const TransformerModel expected{.name = "mine",
                                  .num_layers = 4,
                                  .hidden_size = 64,
                                  .num_heads = 8,
                                  .sequence_length = 32,
                                  .vocab_size = 100,
                                  .num_kv_heads = 2,
                                  .ffn_size = 96,
                                  .activation = Activation::SwiGlu,
                                  .normalization = Normalization::RmsNorm,
                                  .positions = Positions::Rotary,
                                  .tied_embeddings = false,
                                  .has_bias = false};
  CHECK(*model == expected);
}

TEST_CASE("model_json: experts and latent attention") {
  const auto model =
      parse_model(R"({"num_layers": 4, "hidden_size": 64, "num_heads": 8, "sequence_length": 32,
    "vocab_size": 100, "size_per_head": 12, "has_bias": false, "has_qk_norm": false,
    "experts": {"num_experts": 6, "top_k": 2, "expert_ffn_size": 24, "shared_ffn_size": 48,
                "num_dense_layers": 1, "capacity_factor": 1.25, "num_groups": 3, "groups_per_token": 2},
    "latent": {"query_rank": 24, "kv_rank": 16, "plain_head_size": 12, "rotary_head_size": 4,
               "value_head_size": 10}})",
                  "m.json");
  REQUIRE(model);
  CHECK(model->experts == MixtureOfExperts{6, 2, 24, 48, 1, 1.25, 0, 3, 2});
  CHECK(model->latent == LatentAttention{24, 16, 12, 4, 10});
}

TEST_CASE("model_json: what is dropped, of a base what it says") {
  const auto dropout = [](const std::string& fields) {
    const auto model = parse_model("{" + fields + "}", "m.json");
    REQUIRE(model);
    return model->dropout;
  };
  CHECK_FALSE(dropout(R"("base": "gpt3-1.3b")").has_value());
  CHECK(dropout(R"("base": "gpt3-1.3b", "dropout": {"hidden": true})") == Dropout{.hidden = true});
  CHECK(dropout(R"("base": "gpt2-124m")") == Dropout{.attention = true, .hidden = true});
  CHECK(dropout(R"("base": "gpt2-124m", "dropout": {"hidden": false})") == Dropout{.attention = true});
  CHECK(error_of(R"({"base": "gpt2-124m", "dropout": {"hidden": 0.1}})") ==
        "m.json:1: dropout.hidden: expected true or false, found '0.1'");
}

TEST_CASE("model_json: windows, state spaces and a pattern of layers") {
  const auto windowed = parse_model(
      R"({"base": "llama3-8b", "window": {"size": 512, "full_every": 2, "first_layer": 1},
          "has_attention_sinks": true, "clamps_activation": true, "scales_rotation": true,
          "prediction": {"depth": 1}})",
      "m.json");
  REQUIRE(windowed);
  CHECK(windowed->window == AttentionWindow{512, 1, 2});
  CHECK(windowed->has_attention_sinks);
  CHECK(windowed->clamps_activation);
  CHECK(windowed->scales_rotation);
  CHECK(windowed->prediction.depth == 1);
  const auto hybrid =
      parse_model(R"({"num_layers": 4, "hidden_size": 64, "num_heads": 8, "sequence_length": 32,
    "vocab_size": 100, "positions": "none", "layer_pattern": "ME*-", "experts": {"num_experts": 6, "top_k": 2,
    "expert_ffn_size": 24, "latent_size": 16}, "state_space": {"num_heads": 8, "head_size": 16,
    "state_size": 32, "num_groups": 2, "conv_width": 3, "chunk_size": 16}})",
                  "m.json");
  REQUIRE(hybrid);
  CHECK(hybrid->positions == Positions::None);
  CHECK(hybrid->layer_pattern == "ME*-");
  CHECK(hybrid->experts.latent_size == 16);
  CHECK(hybrid->state_space == StateSpace{8, 16, 32, 2, 3, 16});
  const auto wrong = parse_model(R"({"base": "llama3-8b", "window": {"width": 512}})", "m.json");
  REQUIRE(!wrong);
  CHECK(wrong.error().describe().find("width") != std::string::npos);
}

TEST_CASE("model_json: GPT-3's defaults") {
  const auto model = parse_model(
      R"({"num_layers": 12, "hidden_size": 768, "num_heads": 12, "sequence_length": 2048, "vocab_size": 50257})",
      "m.json");
  REQUIRE(model);
  TransformerModel known = find_model("gpt3-125m")->model();
  known.name.clear();
  CHECK(*model == known);
}

TEST_CASE("model_json: what is written of a model is read as the same") {
  for (const ZooModel& known : model_zoo()) {
    CAPTURE(known.name());
    const auto read = parse_model(model_to_json(known.model()).dump(), "m.json");
    REQUIRE(read);
    CHECK(*read == known.model());
  }
  TransformerModel model = *parse_model(kLlama, "m.json");
  model.dropout = Dropout{.attention = true, .hidden = false};
  model.window = {.size = 16, .first_layer = 1, .full_every = 3};
  model.has_qkv_bias = model.has_attention_sinks = model.is_bidirectional = true;
  CHECK(*parse_model(model_to_json(model).dump(), "m.json") == model);
}

TEST_CASE("model_json: random models come back, or are refused as the model itself is") {
  RandomStream random(1, "models");
  int num_fitting = 0;
  for (int round = 0; round < 2000; ++round) {
    TransformerModel model;
    randomize(model_fields(), model, random, 8);
    if (random.below(8) > 0) model.layer_pattern.clear();
    model.hidden_size = model.num_heads * 64;
    model.num_kv_heads = random.below(2) == 0 ? 0 : model.num_heads;
    for_each_part([&](const auto& part) {
      auto& values = model.*part.member;
      if (random.below(6) > 0) return;
      randomize(part.fields(), values, random, 8);
      values.*part.main_size = std::max<std::int64_t>(1, values.*part.main_size);
    });
    if (random.below(2) == 0) randomize(dropout_fields(), model.dropout.emplace(), random);
    const std::string text = model_to_json(model).dump();
    CAPTURE(text);
    const auto read = parse_model(text, "m.json");
    const auto checked = check_model(model);
    REQUIRE(read.has_value() == checked.has_value());
    if (read) {
      ++num_fitting;
      REQUIRE(*read == model);
    } else {
      REQUIRE(read.error().message == checked.error().message);
    }
  }
  CHECK(num_fitting > 200);
}

TEST_CASE("model_json: every row of the tables is a key that is read, written and told apart") {
  TransformerModel model = *parse_model(kLlama, "m.json");
  for_each_part([&](const auto& part) { (model.*part.member).*part.main_size = 2; });
  model.dropout.emplace();
  const auto check = [&](const auto& field, auto& of, const nlohmann::json& object) {
    CAPTURE(field.key);
    CHECK(object.contains(field.key));
    CHECK_FALSE(field.meaning.empty());
    const std::string before = model_fingerprint(model);
    const auto kept = of;
    const std::string old = field_text(field, of);
    for (const char* text : {"3", "false", "true", "MM", "relu", "layer_norm", "none"})
      if (field_text(field, of) == old) (void)set_field(field, of, text);
    CHECK(field_text(field, of) != old);
    CHECK((model_fingerprint(model) != before) == (field.key != "name"));
    of = kept;
  };
  const nlohmann::json json = model_to_json(model);
  for (const Field<TransformerModel>& field : model_fields())
    check(field, model, json);
  for_each_part([&](const auto& part) {
    for (const auto& field : part.fields())
      check(field, model.*part.member, json.at(std::string(part.key)));
  });
  for (const Field<Dropout>& field : dropout_fields())
    check(field, *model.dropout, json.at("dropout"));
}

TEST_CASE("model_json: a known model as the base") {
  const auto model = parse_model(R"({"base": "llama3-8b", "num_layers": 8, "name": "small"})", "m.json");
  REQUIRE(model);
  TransformerModel expected = find_model("llama3-8b")->model();
  expected.name = "small";
  expected.num_layers = 8;
  CHECK(*model == expected);
}

TEST_CASE("model_json: errors name file, line and key") {
  CHECK(error_of("{\n \"num_layer\": 4\n}") ==
        "m.json:2: num_layer: unknown key; did you mean 'num_layers'?");
  CHECK(error_of("{\"hidden_size\": 4}") == "m.json: num_layers: missing");
  CHECK(error_of("{\"base\": \"llama3-8\"}") ==
        "m.json:1: base: unknown model 'llama3-8'; did you mean 'llama3-8b'?");
  CHECK(error_of("{\"base\": 3}") == "m.json:1: base: expected a string, found '3'");
  CHECK(error_of("{\"base\": \"llama3-8b\", \"activation\": \"tanh\"}") ==
        "m.json:1: activation: expected one of 'gelu', 'swiglu', 'squared_relu' and 'relu', found 'tanh'");
  CHECK(error_of("{\"base\": \"llama3-8b\",\n \"num_kv_heads\": 5}") ==
        "m.json:2: num_kv_heads: expected a divisor of the 32 heads, found '5'");
  CHECK(error_of("{\"base\": \"mixtral-8x7b\",\n \"experts\": {\n\"top_k\": 9}}") ==
        "m.json:3: experts.top_k: expected a whole number from 1 to 8, found '9'");
  CHECK(error_of("{\"base\": \"mixtral-8x7b\", \"experts\": {\"topk\": 1}}") ==
        "m.json:1: experts.topk: unknown key; did you mean 'top_k'?");
  CHECK(error_of("{\"base\": \"mixtral-8x7b\", \"experts\": 8}") ==
        "m.json:1: experts: expected a JSON object, found '8'");
  CHECK(error_of("{\"base\": \"llama3-8b\", \"name\": \"\\u001b[31m\"}") ==
        "m.json:1: name: expected text without control characters, found '\\x1b[31m'");
  // Experts are sized by whoever describes them.
  const std::string sizes = R"("num_layers": 4, "hidden_size": 64, "num_heads": 8, "sequence_length": 32,
    "vocab_size": 100,)";
  CHECK(error_of("{" + sizes + "\n\"experts\": {\"num_experts\": 8, \"top_k\": 2}}") ==
        "m.json:3: experts.expert_ffn_size: missing");
  // What says nothing by itself is not passed over.
  for (const auto& [part, missing] :
       {std::pair{R"("experts": {"top_k": 2, "expert_ffn_size": 64})", "experts.num_experts"},
        std::pair{R"("window": {"full_every": 2})", "window.size"},
        std::pair{R"("latent": {"query_rank": 512})", "latent.kv_rank"},
        std::pair{R"("state_space": {"head_size": 64})", "state_space.num_heads"},
        std::pair{R"("prediction": {"shares_weights": true})", "prediction.depth"}}) {
    CHECK(error_of(std::string(R"({"base": "llama3-8b", )") + part + "}") ==
          std::string("m.json:1: ") + missing + ": missing");
  }
  CHECK(
      parse_model(R"({"base": "mixtral-8x7b", "experts": {"num_experts": 0}})", "m.json")->num_parameters() <
      8'000'000'000);
  CHECK(error_of("[]") == "m.json: expected a JSON object, found '[]'");
}

}  // namespace
}  // namespace vtrain
