#include "workloads/model/zoo.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace vtrain {
namespace {

TEST_CASE("model_zoo: every model is valid, named once, and has a source") {
  std::set<std::string_view> names;
  for (const ZooModel& entry : model_zoo()) {
    CAPTURE(entry.name());
    CHECK(names.insert(entry.name()).second);
    CHECK(check_model(entry.model()));
    CHECK(entry.global_batch > 0);
    CHECK(!entry.family.empty());
    CHECK(!entry.source.empty());
  }
}

TEST_CASE("model_zoo: models are as large as their names say") {
  for (const ZooModel& entry : model_zoo()) {
    CAPTURE(entry.name());
    // The size is what follows the last dash that is followed by a digit: `megatron-1.7b`, `qwen3-30b-a3b`.
    const std::string name(entry.name());
    const std::size_t dash = name.find_first_of("0123456789", name.find('-'));
    if (dash == std::string::npos || name.starts_with("mixtral")) continue;
    std::size_t length = 0;
    const double number = std::stod(name.substr(dash), &length);
    const char unit = dash + length < name.size() ? name[dash + length] : ' ';
    if (unit != 'm' && unit != 'b') continue;
    const double named = number * (unit == 'm' ? 1e6 : 1e9);
    // Published sizes are rounded, to one digit for small models; MPT-1B has 1.3 billion parameters, MPT-70B
    // 64.9, Llama 3.2 1B 1.24, Qwen2.5 0.5B 0.49 without and 0.63 with a second embedding.
    const bool is_coarse = named < 4e9 && entry.family != "GPT-3" && entry.family != "Megatron";
    const double tolerance = is_coarse                                               ? 0.32
                             : entry.family == "GPT-3" || entry.family == "Megatron" ? 0.035
                                                                                     : 0.1;
    CHECK(static_cast<double>(entry.model().num_parameters()) == doctest::Approx(named).epsilon(tolerance));
  }
}

TEST_CASE("model_zoo: published parameter counts") {
  // From the index of the published weights (safetensors), unless stated otherwise.
  const std::pair<std::string_view, std::int64_t> exact[] = {
      {"gpt2-124m", 124'439'808},
      {"gpt2-355m", 354'823'168},
      {"gpt2-774m", 774'030'080},
      {"gpt2-1.5b", 1'557'611'200},
      {"gpt-neox-20b", 20'554'567'680},
      // Published with two positions more, which no token has: 1,315,758,080.
      {"opt-1.3b", 1'315'753'984},
      {"llama2-7b", 6'738'415'616},
      {"llama2-13b", 13'015'864'320},
      {"llama2-70b", 68'976'648'192},
      {"llama3-8b", 8'030'261'248},
      {"llama3.1-70b", 70'553'706'496},
      {"llama3.1-405b", 405'853'388'800},
      {"llama3.2-1b", 1'235'814'400},
      {"llama3.2-3b", 3'212'749'824},
      {"mistral-7b", 7'241'732'096},
      {"mixtral-8x7b", 46'702'792'704},
      {"mixtral-8x22b", 140'620'634'112},
      {"qwen2.5-0.5b", 494'032'768},
      {"qwen2.5-1.5b", 1'543'714'304},
      {"qwen2.5-3b", 3'085'938'688},
      {"qwen2.5-7b", 7'615'616'512},
      {"qwen2.5-14b", 14'770'033'664},
      {"qwen2.5-32b", 32'763'876'352},
      {"qwen2.5-72b", 72'706'203'648},
      {"qwen3-0.6b", 596'049'920},
      {"qwen3-8b", 8'190'735'360},
      {"qwen3-32b", 32'762'123'264},
      {"qwen3-30b-a3b", 30'532'122'624},
      {"qwen3-235b-a22b", 235'093'634'560},
      {"deepseek-v2-lite", 15'706'484'224},
      {"deepseek-v2", 235'741'434'880},
      // Two norms' biases of 8192 in each of 80 layers and one at the end included: LLM Foundry's table.
      {"mpt-70b", 64'862'437'376},
      {"mpt-30b", 29'975'214'080},
      {"mpt-125m", 125'311'488},
      {"gpt-oss-20b", 20'914'757'184},
      {"gpt-oss-120b", 116'829'156'672},
      // Published with one number more for each of 128 experts in 23 layers, which is not trained:
      // 31,577,940,288.
      {"nemotron-3-nano", 31'577'937'344},
  };
  for (const auto& published : exact) {
    CAPTURE(published.first);
    CHECK(find_model(published.first)->model().num_parameters() == published.second);
  }
  // Rounded in print: total and active.
  const auto check_rounded = [](std::string_view name, double total, double active) {
    CAPTURE(name);
    const TransformerModel model = find_model(name)->model();
    CHECK(static_cast<double>(model.num_parameters()) == doctest::Approx(total).epsilon(0.015));
    CHECK(static_cast<double>(model.active_parameters()) == doctest::Approx(active).epsilon(0.05));
  };
  check_rounded("deepseek-v3", 671e9, 37e9);
  check_rounded("bert-large", 335e6, 335e6);
  check_rounded("bert-base", 110e6, 110e6);
  check_rounded("kimi-k2", 1.04e12, 32e9);
  check_rounded("qwen3-235b-a22b", 235e9, 22e9);
  check_rounded("mixtral-8x7b", 46.7e9, 12.9e9);
  check_rounded("nemotron4-340b", 341e9, 341e9);
  check_rounded("grok-1", 314e9, 86e9);
  check_rounded("gpt-oss-120b", 116.8e9, 5.7e9);  // 5.1e9 without the word embedding
  check_rounded("nemotron-h-56b", 56.3e9, 56.3e9);
  check_rounded("nemotron-3-nano", 31.6e9, 3.6e9);
  check_rounded("nemotron-3-super", 120.6e9, 12.7e9);
  check_rounded("nemotron-3-ultra", 550e9, 55e9);
}

TEST_CASE("model_zoo: a model by name") {
  const auto model = find_model("mtnlg-530b");
  REQUIRE(model);
  CHECK(model->model() == TransformerModel{"mtnlg-530b", 105, 20480, 128, 2048, 50257});
  CHECK(model->global_batch == 1920);
  CHECK(model->batch_is_published);
}

TEST_CASE("model_zoo: a misspelt name finds the nearest") {
  const auto model = find_model("gpt3-175");
  REQUIRE(!model);
  CHECK(model.error().kind == ErrorKind::NotFound);
  CHECK(model.error().message == "unknown model 'gpt3-175'; did you mean 'gpt3-175b'?");
  CHECK(find_model("qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq").error().message.find("`vtrain models` lists all") !=
        std::string::npos);
}

}  // namespace
}  // namespace vtrain
