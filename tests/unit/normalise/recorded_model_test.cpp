#include "docs/measured/normalise/recorded_model.hpp"

#include <doctest/doctest.h>

#include <string>

namespace vtrain {
namespace {

TEST_CASE("recorded_model: models as records name them") {
  const auto model = [](const char* recorded) {
    const ZooModel* const found = find_recorded_model(recorded);
    return found == nullptr ? std::string() : std::string(found->name());
  };
  CHECK(model("LLAMA3.1_405B") == "llama3.1-405b");
  CHECK(model("Llama 3 405B") == "llama3.1-405b");
  CHECK(model("LLAMA31_405B") == "llama3.1-405b");
  CHECK(model("Grok-1 314B (MoE)") == "grok-1");
  CHECK(model("DeepSeek V3 671B") == "deepseek-v3");
  CHECK(model("DeepSeekV3 (w/o MTP)") == "deepseek-v3");
  CHECK(model("Qwen3_235B_a22B (tokendrop)") == "qwen3-235b-a22b");
  CHECK(model("Qwen3 MoE 30B") == "qwen3-30b-a3b");
  // A size of 13 is none of 1.3, whatever is left of the name without points.
  CHECK(model("GPT3-13B") == "gpt3-13b");
  CHECK(model("GPT-3 1.3B") == "gpt3-1.3b");
  CHECK(model("OPT-13B") == "opt-13b");
  // A name ends where a word does, a point is no end, and another size is another model.
  CHECK(model("Qwen2 57B-A14B").empty());
  CHECK(model("Llama 3 18B").empty());
  CHECK(model("DeepSeek V3.2").empty());
  CHECK(model("Kimi_K2.5").empty());
  CHECK(model("Nemotron 3 Nano 4B").empty());
  // Another run, or another model.
  CHECK(model("LLAMA3_70B (LoRA)").empty());
  CHECK(model("DeepSeek-V3-Lite").empty());
  CHECK(model("").empty());
  // Whose it is, how many parameters are active, how many tokens it saw.
  CHECK(model("NVIDIA Nemotron 3 Super") == "nemotron-3-super");
  CHECK(model("meta-llama/Llama-3.1-8B") == "llama3.1-8b");
  CHECK(model("Mixtral 8x7B (12.9B active)") == "mixtral-8x7b");
  CHECK(model("DeepSeekV3 w/o MTP (671B/37B)") == "deepseek-v3");
  CHECK(model("LLAMA3_8B 1T tokens") == "llama3-8b");
  // A name with a point is not one without.
  CHECK(model("Qwen3-1.4B").empty());
  CHECK(model("MPT 1.3B").empty());
}

}  // namespace
}  // namespace vtrain
