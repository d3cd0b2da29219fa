#include "workloads/config/predict_config.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "core/io/file.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/config/model_file.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHuggingFace = R"({"model_type": "llama", "hidden_act": "silu", "hidden_size": 64,
  "intermediate_size": 96, "max_position_embeddings": 4096, "num_attention_heads": 8,
  "num_hidden_layers": 4, "vocab_size": 100})";

std::string error_of(const std::string& text) {
  const auto config = parse_predict_config(text, "c.json");
  return config ? "" : config.error().describe();
}

/// A configuration of llama3-8b with this plan.
std::string with_plan(const std::string& plan) {
  return "{\"model\": \"llama3-8b\",\n\"plan\": {" + plan + "}}";
}

TEST_CASE("predict_config: every kind of sharding by its name") {
  for (const Sharding sharding : {Sharding::None, Sharding::Optimizer, Sharding::Gradients, Sharding::Full}) {
    CAPTURE(name_of(sharding));
    const std::string start =
        R"("num_gpus": 8, "global_batch": 8, "micro_batch": 1, "recompute": "none", "sharding": ")";
    const auto config =
        parse_predict_config(with_plan(start + std::string(name_of(sharding)) + '"'), "c.json");
    REQUIRE(config);
    CHECK(config->plan.sharding == sharding);
    CHECK(parse_sharding(name_of(sharding)).value() == sharding);
  }
}

TEST_CASE("predict_config: a known model, every key of the plan") {
  const auto config = parse_predict_config(
      R"({"model": "llama3-8b", "stack": "megatron-core", "profile": "h100",
      "plan": {"tensor": 2, "context": 2, "pipeline": 4, "data": 3, "virtual_stages": 2, "expert": 1,
               "num_gpus": 48, "global_batch": 96, "micro_batch": 2, "sequence_length": 4096,
               "recompute": "selective", "sequence_parallel": true, "sharding": "optimizer",
               "schedule": "1f1b", "precision": "fp8", "ends_count_as_layers": false}})",
      "c.json");
  REQUIRE(config);
  TransformerModel model = find_model("llama3-8b")->model();
  model.sequence_length = 4096;
  CHECK(config->model == model);
  const ParallelPlan plan{.tensor = 2,
                          .data = 3,
                          .pipeline = 4,
                          .global_batch = 96,
                          .micro_batch = 2,
                          .recompute = Recompute::Selective,
                          .sequence_parallel = true,
                          .context = 2,
                          .virtual_stages = 2,
                          .expert = 1,
                          .sharding = Sharding::Optimizer,
                          .precision = Precision::Fp8};
  CHECK(config->plan == plan);
  CHECK(config->stack == "megatron-core");
  CHECK(config->profile == "h100");
  CHECK(config->warnings.empty());
  CHECK(!config->release);
}

TEST_CASE("predict_config: schedules by name") {
  const std::string plan = R"("pipeline": 4, "global_batch": 8, "micro_batch": 1, "recompute": "full")";
  for (const Schedule schedule : {Schedule::OneForwardOneBackward, Schedule::ZeroBubble, Schedule::GPipe}) {
    const auto config = parse_predict_config(
        with_plan(plan + R"(, "schedule": ")" + std::string(name_of(schedule)) + "\""), "c.json");
    REQUIRE(config);
    CHECK(config->plan.schedule == schedule);
    CHECK(config->plan.recompute == Recompute::Full);
  }
}

TEST_CASE("predict_config: defaults, and data parallelism from the number of GPUs") {
  const auto config = parse_predict_config(
      with_plan(R"("tensor": 4, "num_gpus": 32, "global_batch": 64, "micro_batch": 1, "recompute": "none")"),
      "c.json");
  REQUIRE(config);
  CHECK(config->plan.data == 8);
  CHECK(config->plan.precision == Precision::Bf16);
  CHECK(config->plan.sharding == Sharding::None);
  CHECK(config->model.sequence_length == 8192);
  CHECK(config->stack.empty());
}

TEST_CASE("predict_config: the model may stand in the file") {
  const std::string plan = R"("plan": {"global_batch": 8, "micro_batch": 1, "recompute": "none"})";
  const auto own =
      parse_predict_config(R"({"model": {"base": "llama3-8b", "num_layers": 2}, )" + plan + "}", "c.json");
  REQUIRE(own);
  CHECK(own->model.num_layers == 2);
  const auto theirs =
      parse_predict_config(std::string(R"({"model": )") + kHuggingFace + ", " + plan + "}", "c.json");
  REQUIRE(theirs);
  CHECK(theirs->model.hidden_size == 64);
  CHECK(theirs->model.name == "c");
  CHECK(theirs->warnings.size() == 1);  // the sequence length
}

TEST_CASE("predict_config: models from files beside the configuration") {
  const testing::TemporaryFolder folder;
  fs::create_directory(folder / "My-Llama");
  REQUIRE(write_file(folder / "My-Llama" / "config.json", kHuggingFace));
  REQUIRE(write_file(folder / "own.json", R"({"base": "gpt3-125m", "num_layers": 2, "name": ""})"));
  const std::string plan =
      R"("plan": {"global_batch": 8, "micro_batch": 1, "sequence_length": 512, "recompute": "none"})";
  for (const std::string model : {"./My-Llama", "My-Llama/config.json"}) {
    REQUIRE(write_file(folder / "c.json", R"({"model": ")" + model + "\", " + plan + "}"));
    const auto config = read_predict_config(folder / "c.json");
    REQUIRE(config);
    CHECK(config->model.name == "My-Llama");
    CHECK(config->model.sequence_length == 512);
    CHECK(config->warnings.empty());
  }
  REQUIRE(write_file(folder / "c.json", R"({"model": "own.json", )" + plan + "}"));
  const auto own = read_predict_config(folder / "c.json");
  REQUIRE(own);
  CHECK(own->model.name == "own");
  CHECK(own->model.num_layers == 2);
  CHECK(own->model.sequence_length == 512);

  REQUIRE(write_file(folder / "c.json", R"({"model": "none.json", )" + plan + "}"));
  const auto absent = read_predict_config(folder / "c.json");
  REQUIRE(!absent);
  CHECK(absent.error().file == (folder / "none.json").string());
}

TEST_CASE("predict_config: numbers as Python's json writes them") {
  const testing::TemporaryFolder folder;
  const std::string sizes = kHuggingFace;
  const std::string plan =
      R"("plan": {"global_batch": 8, "micro_batch": 1, "sequence_length": 512, "recompute": "none"})";
  const std::string limits = R"({"time_step_limit": [0.0, Infinity], )" + sizes.substr(1);
  REQUIRE(write_file(folder / "model.json", limits));
  CHECK(load_model((folder / "model.json").string(), 512)->model.hidden_size == 64);
  for (const std::string& model : {limits, std::string("\"model.json\"")}) {
    REQUIRE(write_file(folder / "c.json", "{\"model\": " + model + ", " + plan + "}"));
    const auto config = read_predict_config(folder / "c.json");
    REQUIRE(config);
    CHECK(config->warnings.empty());
  }
  // A size is none of them.
  REQUIRE(write_file(folder / "model.json", R"({"model_type": "llama", "num_hidden_layers": Infinity})"));
  CHECK(load_model((folder / "model.json").string()).error().message == "missing");
}

TEST_CASE("predict_config: a configuration of the public release") {
  const auto config = parse_predict_config(
      R"({"num_layers": 4, "hidden_size": 64, "num_attention_heads": 8, "max_length": 32,
          "tensor_parallel_size": 1, "data_parallel_size": 2, "pipeline_parallel_size": 1,
          "global_batch_size": 16, "micro_batch_size": 2})",
      "c.json");
  REQUIRE(config);
  REQUIRE(config->release);
  CHECK(config->plan.micro_batch == 2);           // as given
  CHECK(config->release->plan.micro_batch == 8);  // as the release has it: one stage, one micro-batch
  CHECK(config->model.num_layers == 4);
}

TEST_CASE("predict_config: a model alone is told what is missing") {
  const std::string message = error_of(kHuggingFace);
  CHECK(message.starts_with(
      "c.json: plan: missing: the file describes a model; a prediction needs its training "
      "plan too, for instance {\"model\": \"c.json\", \"plan\": {"));
  CHECK(error_of(R"({"base": "llama3-8b"})").starts_with("c.json: plan: missing"));
  // The example in the message works.
  const std::string plan = message.substr(message.find("\"plan\": {"));
  CHECK(parse_predict_config("{\"model\": \"llama3-8b\", " + plan, "c.json"));
  // What is wrong with the model is told first.
  CHECK(error_of(R"({"model_type": "t5"})").starts_with("c.json:1: model_type: expected one of"));
}

TEST_CASE("predict_config: errors name file, line and key") {
  const std::string batch = "\"global_batch\": 8, \"micro_batch\": 1, \"recompute\": \"none\"";
  CHECK(error_of("{\"model\": \"llama3-8b\"}") == "c.json: plan: missing");
  CHECK(error_of("{\"plan\": {}}") == "c.json: model: missing");
  CHECK(error_of("{\"modle\": \"x\", \"plan\": {}}") ==
        "c.json:1: modle: unknown key; did you mean 'model'?");
  CHECK(error_of("{\"model\": \"llama3-8\", \"plan\": {" + batch + "}}") ==
        "c.json:1: model: unknown model 'llama3-8'; did you mean 'llama3-8b'?");
  CHECK(error_of(with_plan("\"micro_batch\": 1")) == "c.json:2: plan.global_batch: missing");
  CHECK(error_of(with_plan("\"global_batch\": 8, \"micro_batch\": 1")) ==
        "c.json:2: plan.recompute: missing: expected 'none', 'selective' or 'full'");
  CHECK(error_of(with_plan(batch + ", \"tensr\": 2")) ==
        "c.json:2: plan.tensr: unknown key; did you mean 'tensor'?");
  CHECK(error_of(with_plan(batch + ", \"tensor\": 3")) ==
        "c.json:2: plan.tensor: expected a divisor of the 32 heads, found '3'");
  CHECK(error_of(with_plan(batch + ", \"pipeline\": 17")) ==
        "c.json:2: plan.pipeline: expected a divisor of the 32 layers, found '17'; with "
        "\"ends_count_as_layers\": "
        "true embedding and output layer count too, 34 in all");
  CHECK(error_of(with_plan(batch + ", \"tensor\": 2, \"num_gpus\": 3")) ==
        "c.json:2: plan.num_gpus: expected a multiple of tensor x context x pipeline = 2, found '3'");
  CHECK(error_of(with_plan(batch + ", \"data\": 2, \"num_gpus\": 4")) ==
        "c.json:2: plan.num_gpus: expected tensor x context x pipeline x data = 2, found '4'");
  const std::string most = std::to_string(1 << 20);
  CHECK(error_of(with_plan(batch + ", \"tensor\": " + most + ", \"context\": " + most +
                           ", \"pipeline\": " + most + ", \"data\": " + most + ", \"num_gpus\": 4")) ==
        "c.json:2: plan.num_gpus: expected tensor x context x pipeline x data = beyond all clusters, found "
        "'4'");
  CHECK(error_of(with_plan(batch + ", \"precision\": \"int8\"")) ==
        "c.json:2: plan.precision: expected one of 'fp32', 'fp16', 'bf16', 'fp8' and 'fp4', found 'int8'");
  CHECK(error_of(with_plan(batch + ", \"expert\": 2")) ==
        "c.json:2: plan.expert: expected 1, as the model has no experts, found '2'");
  CHECK(error_of("{\"model\": 3, \"plan\": {" + batch + "}}") ==
        "c.json:1: model: expected a JSON object, found '3'");
  CHECK(error_of("{\"model\": \"llama3-8b\", \"plan\": 3}") ==
        "c.json:1: plan: expected a JSON object, found '3'");
}

TEST_CASE("model_file: a model by name has its publication and batch") {
  const auto model = load_model("gpt3-175b", 1024);
  REQUIRE(model);
  CHECK(model->model.sequence_length == 1024);
  CHECK(model->global_batch == 1536);
  CHECK(model->source.starts_with("Brown"));
  CHECK(load_model("llama2").error().message ==
        "unknown model 'llama2'; did you mean one of 'llama2-7b', 'llama2-13b' and 'llama2-70b'?");
  CHECK(load_model("palm").error().message ==
        "unknown model 'palm'; `vtrain models` lists all " + std::to_string(model_zoo().size()));
  CHECK(load_model("gpt3-175").error().message == "unknown model 'gpt3-175'; did you mean 'gpt3-175b'?");
  const testing::TemporaryFolder folder;
  fs::create_directory(folder / "gpt3-175");
  CHECK(load_model("gpt3-175", 0, folder.path()).error().message ==
        "unknown model 'gpt3-175'; did you mean 'gpt3-175b'? (the file or folder here is './gpt3-175')");
}

}  // namespace
}  // namespace vtrain
