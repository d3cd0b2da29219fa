/// Published `config.json` files through the command line: each plans, says how many GPUs it needs, or says
/// what is not modelled.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"
#include "tests/support/model_examples.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using vtrain::testing::CommandResult;
using vtrain::testing::kLlamaConfig;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::shared_folder;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

/// Lines of the error stream that are no warnings.
std::vector<std::string> errors_of(const CommandResult& result) {
  std::vector<std::string> errors;
  std::istringstream stream(result.err);
  for (std::string line; std::getline(stream, line);)
    if (!line.starts_with("warning: ")) errors.push_back(line);
  return errors;
}

/// The number in `; it fits on 1,024 GPUs`; 0 without one.
int needed_gpus(const std::string& error) {
  constexpr std::string_view kBefore = "; it fits on ";
  const std::size_t place = error.find(kBefore);
  if (place == std::string::npos) return 0;
  std::string number = error.substr(place + kBefore.size(), error.rfind(" GPUs") - place - kBefore.size());
  std::erase(number, ',');
  return std::stoi(number);
}

/// Files of a family by what becomes of them.
struct Outcomes {
  int plan = 0;
  int need_more = 0;
  int refused = 0;
  friend bool operator==(const Outcomes&, const Outcomes&) = default;
};

const std::map<std::string, Outcomes> kExpected = {{"deepseek_ref", {.refused = 2}},
                                                   {"deepseek_v3", {.need_more = 3}},
                                                   {"deepseek_v32", {.refused = 2}},
                                                   {"deepseek_v4", {.refused = 4}},
                                                   {"gemma4", {.refused = 3}},
                                                   {"glm_moe_dsa", {.refused = 9}},
                                                   {"gpt_oss", {.plan = 2}},
                                                   {"kimi_k2", {.need_more = 1}},
                                                   {"kimi_k25", {.need_more = 4}},
                                                   {"kimi_k3", {.refused = 1}},
                                                   {"llama", {.plan = 3, .need_more = 1}},
                                                   {"llama4", {.refused = 2}},
                                                   {"mimo", {.refused = 1}},
                                                   {"mimo_v2_flash", {.refused = 1}},
                                                   {"minimax_m2", {.refused = 4}},
                                                   {"minimax_m3", {.refused = 1}},
                                                   {"minimax_m3_vl", {.refused = 1}},
                                                   {"mixtral", {.plan = 2}},
                                                   {"nemotron-nas", {.refused = 1}},
                                                   {"nemotron_h", {.plan = 6, .need_more = 3}},
                                                   {"qwen3", {.plan = 6}},
                                                   {"qwen3_5", {.refused = 2}},
                                                   {"qwen3_5_moe", {.refused = 6}},
                                                   {"qwen3_moe", {.plan = 5, .need_more = 1}},
                                                   {"qwen3_vl", {.plan = 5}},
                                                   {"qwen3_vl_moe", {.plan = 2}},
                                                   {"step3p7", {.refused = 2}}};

}  // namespace

TEST_CASE("model configs: every published file plans, or one line says why not") {
  const std::string folder = shared_folder("data/model_configs");
  if (folder.empty()) return;
  const TemporaryFolder work;
  std::map<std::string, Outcomes> outcomes;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const std::string file = entry.path().string();
    CAPTURE(file);
    std::string text = slurp(file);
    constexpr std::string_view kInfinity = "Infinity";  // as Python writes it
    while (text.find(kInfinity) != std::string::npos)
      text.replace(text.find(kInfinity), kInfinity.size(), "0");
    const json config = json::parse(text);
    const std::string type = config["model_type"];
    const CommandResult result = run_vtrain("plan " + file + " --gpus 64 --profile h100", work.path());
    const std::vector<std::string> errors = errors_of(result);
    CAPTURE(result.err);
    if (result.exit_code == 0) {
      ++outcomes[type].plan;
      CHECK(errors.empty());
      CHECK(result.out.find(" (assumed) x 8,192 tokens") != std::string::npos);
      CHECK(result.out.find("\n1 ") != std::string::npos);
    } else {
      REQUIRE(errors.size() == 1);
      CHECK(result.out.empty());
    }
    if (result.exit_code == 1) {
      ++outcomes[type].need_more;
      const int needed = needed_gpus(errors[0]);
      CHECK(needed >= 128);
      const std::string more = fmt::format("plan {} --profile h100 --gpus ", file);
      CHECK(run_vtrain(more + std::to_string(needed), work.path()).exit_code == 0);
      CHECK(run_vtrain(more + std::to_string(needed / 2), work.path()).exit_code == 1);
    }
    if (result.exit_code == 2) {
      ++outcomes[type].refused;
      CHECK(result.err.starts_with("error: " + file + ":"));
      CHECK(errors[0].find(": model_type " + type + " is not modelled: ") != std::string::npos);
    } else {
      CHECK((result.err.find("the vision tower is not modelled") != std::string::npos) ==
            config.contains("text_config"));
      const bool is_quantised =
          config.contains("quantization_config") ||
          (config.contains("text_config") && config["text_config"].contains("quantization_config"));
      CHECK((result.err.find("the published weights are quantised") != std::string::npos) == is_quantised);
      CHECK(result.err.find("unknown key") == std::string::npos);
    }
  }
  CHECK(outcomes.size() == kExpected.size());
  for (const auto& family : kExpected) {
    CAPTURE(family.first);
    CHECK(outcomes[family.first] == family.second);
  }
}

TEST_CASE("model configs: the page of families lists what is refused, and why") {
  const TemporaryFolder work;
  const fs::path page = fs::path(VTRAIN_PROJECT_DIR) / "docs/families.md";
  std::istringstream lines(slurp(page));
  std::string line;
  while (std::getline(lines, line) && line != "## Known and refused") {
  }
  int num_types = 0;
  while (std::getline(lines, line)) {
    if (!line.starts_with("| `") || line.starts_with("| `model_type`")) continue;
    // | `type`, `type` | `key` | what |
    std::istringstream row(line);
    std::string types;
    std::string key;
    std::string what;
    std::getline(row, types, '|');
    std::getline(row, types, '|');
    std::getline(row, key, '|');
    std::getline(row, what, '|');
    key = key.substr(2, key.size() - 4);
    what = what.substr(1, what.size() - 2);
    std::istringstream names(types);
    for (std::string type; std::getline(names, type, '`');) {
      if (!std::getline(names, type, '`')) break;
      ++num_types;
      work.write("config.json", json{{"model_type", type}, {key, 1}}.dump());
      CHECK(run_vtrain("plan config.json --gpus 64", work.path()).err ==
            fmt::format("error: config.json:1: {}: model_type {} is not modelled: {}\n", key, type, what));
    }
  }
  CHECK(num_types == 16);
}

TEST_CASE("model configs: parameters are the published ones") {
  const std::string folder = shared_folder("data/model_configs");
  if (folder.empty()) return;
  const auto parameters_of = [&folder](const std::string& name) {
    const json answer =
        run_json(fmt::format("plan {}/{}.json --gpus 512 --profile h100 --top 1", folder, name));
    return answer["parameters"].get<std::int64_t>();
  };
  const std::map<std::string, std::int64_t> exact = {
      {"meta-llama--Meta-Llama-3.1-8B", 8'030'261'248},
      {"meta-llama--Meta-Llama-3.1-70B", 70'553'706'496},
      {"meta-llama--Meta-Llama-3.1-405B", 405'853'388'800},
      {"Qwen--Qwen3-Coder-480B-A35B-Instruct", 480'154'875'392},
      {"mistralai--Mixtral-8x7B-v0.1", 46'702'792'704},
      {"mistralai--Mixtral-8x22B-v0.1", 140'620'634'112}};
  for (const auto& published : exact) {
    CAPTURE(published.first);
    CHECK(parameters_of(published.first) == published.second);
  }
  struct Rounded {
    const char* name;
    double billions;
    double unit;  // of the last published digit
  };
  for (const Rounded& published :
       {Rounded{"deepseek-ai--DeepSeek-V3", 671.0, 0.1}, Rounded{"deepseek-ai--DeepSeek-R1", 671.0, 0.1},
        Rounded{"moonshotai--Kimi-K2-Instruct", 1026.4, 0.1}, Rounded{"moonshotai--Kimi-K2.5", 1026.4, 0.1},
        Rounded{"openai--gpt-oss-20b", 20.91, 0.01}, Rounded{"openai--gpt-oss-120b", 116.83, 0.01},
        Rounded{"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 31.58, 0.01},
        Rounded{"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8", 120.67, 0.01},
        Rounded{"nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", 549.3, 0.1}}) {
    CAPTURE(published.name);
    const double billions = static_cast<double>(parameters_of(published.name)) / 1e9;
    CHECK(std::abs(billions - published.billions) <= published.unit / 2);
  }
}

TEST_CASE("model configs: batch and length are assumed where nobody gives them") {
  const TemporaryFolder work;
  work.write("config.json", kLlamaConfig);
  struct Case {
    const char* arguments;
    int batch;
    int length;
    bool is_assumed;
  };
  for (const Case& example :
       {Case{"config.json --gpus 64", 1024, 4096, true},  // 4 Mi tokens / 4,096
        Case{"config.json --gpus 24", 1032, 4096, true},  // 43 x 24 is nearest
        Case{"config.json --gpus 64 --sequence-length 16384", 256, 16384, true},
        Case{"config.json --gpus 64 --global-batch 96", 96, 4096, false},
        Case{"llama3-8b --gpus 64", 512, 8192, true},
        Case{"llama3-8b --gpus 64 --sequence-length 4096", 1024, 4096, true},
        Case{"llama3-8b --gpus 48", 528, 8192, true},     // 512 lies between 10.67 x 48; 11 x 48 is nearest
        Case{"llama3-8b --gpus 1536", 480, 8192, true},   // 5 x 96; 96 is 1,536 / 16, below 512 / 4
        Case{"llama3-8b --gpus 64,72", 504, 8192, true},  // 7 x 72; 72 is 576 / 8
        Case{"gpt3-6.7b --gpus 64", 1024, 2048, false}}) {
    CAPTURE(example.arguments);
    const json answer = run_json(fmt::format("plan {} --profile h100 --top 1", example.arguments), work);
    CHECK(answer["global_batch"] == example.batch);
    CHECK(answer["sequence_length"] == example.length);
    CHECK(answer.value("global_batch_is_assumed", false) == example.is_assumed);
  }
}

TEST_CASE("model configs: a model that does not fit is told how many GPUs it needs") {
  const TemporaryFolder work;
  work.write("big.json", R"({"base": "llama3.1-70b", "num_layers": 160})");
  for (const char* rest : {"", " --global-batch 256", " --offload", " --partial-recompute"}) {
    CAPTURE(rest);
    const std::string command = fmt::format("plan big.json --profile h100{} --gpus ", rest);
    const CommandResult result = run_vtrain(command + "2,8", work.path());
    CHECK(result.exit_code == 1);
    CAPTURE(result.err);
    const int needed = needed_gpus(result.err);
    REQUIRE(needed > 8);
    CHECK(run_vtrain(command + std::to_string(needed), work.path()).exit_code == 0);
    CHECK(run_vtrain(command + std::to_string(needed / 2), work.path()).exit_code == 1);
  }
  // No power of two divides a prime number of layers, and this stack has no uneven stages.
  work.write("prime.json", R"({"base": "llama3.1-405b", "num_layers": 127})");
  const CommandResult hopeless =
      run_vtrain("plan prime.json --profile h100 --stack megatron-2021 --gpus 8", work.path());
  CHECK(hopeless.exit_code == 1);
  CHECK(hopeless.err.ends_with("; doubling the GPUs, up to 32,768, does not help\n"));
}
