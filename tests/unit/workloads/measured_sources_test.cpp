#include "workloads/validation/measured_sources.hpp"

#include <doctest/doctest.h>

#include <string>

namespace vtrain {
namespace {

TEST_CASE("measured_sources: models as records name them") {
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
}

TEST_CASE("measured_sources: GPUs as records name them") {
  const auto profile = [](const char* gpu) { return find_profile(gpu, nullptr); };
  CHECK(profile("A100-SXM4-80GB") == "a100");
  CHECK(profile("NVIDIA A100-SXM-40GB") == "a100-40gb");
  CHECK(profile("A100 40 GB") == "a100-40gb");
  CHECK(profile("NVIDIA_A100_80GB_PCIe") == "a100-pcie");
  CHECK(profile("A100 40GB PCIe") == "a100-pcie-40gb");
  CHECK(profile("DGX-H100") == "h100");
  CHECK(profile("H100 96 GB") == "h100-500w");
  CHECK(profile("H100 (500 W)") == "h100-500w");
  CHECK(profile("H100 PCIe").empty());
  CHECK(profile("H100 NVL 94GB").empty());
  CHECK(profile("V100-SXM3-32GB (DGX-2)") == "v100-sxm3");
  CHECK(profile("V100-SXM2").empty());
  CHECK(profile("TPU v5").empty());
  const MeasuredSource* const torchtitan = find_source("TorchTitan, torch.compile", {});
  REQUIRE(torchtitan != nullptr);
  CHECK(find_profile("H100-SXM5", torchtitan) == "h100-500w");
  CHECK(find_profile("H100-SXM5, 700 W", torchtitan) == "h100");
}

TEST_CASE("measured_sources: frameworks by their letters, and versions by what tells them apart") {
  const auto family = [](const char* framework, const RunFacts& run = {}) {
    const MeasuredSource* const source = find_source(framework, run);
    return source == nullptr ? std::string() : std::string(source->family);
  };
  CHECK(family("NeMo Automodel (PyTorch FSDP2)") == "automodel");
  CHECK(family("NeMo-AutoModel") == "automodel");
  CHECK(family("megatron bridge") == "mbridge");
  CHECK(family("NeMo Framework 24.07") == "nemo");
  CHECK(family("NeMo 25.x / Megatron-Core") == "dgxc");
  CHECK(family("Megatron-DeepSpeed") == "mtnlg");
  CHECK(family("LLM Foundry") == "mpt");
  CHECK(family("Megatron-LM core_r0.9") == "megatron24");
  CHECK(family("Megatron-LM 12345abcd + TE 2.11") == "megatron24");
  CHECK(family("Megatron-LM", {.is_in_8_bits = true}) == "megatron24");
  CHECK(family("Megatron-LM (Korthikanti et al.)") == "korthikanti22");
  CHECK(family("Megatron-LM", {.has_sequence_parallelism = true}) == "korthikanti22");
  CHECK(family("Megatron-LM 2020", {.is_in_8_bits = true}) == "megatron20");
  CHECK(family("Megatron-LM") == "megatron");
  CHECK(family("JAX").empty());
}

TEST_CASE("measured_sources: what a text denies it does not affirm") {
  CHECK(affirms("fp8 with compile", "compile"));
  CHECK_FALSE(affirms("bf16", "fp8"));
  CHECK_FALSE(affirms("amp bf16 no fp8", "fp8"));
  CHECK_FALSE(affirms("without torch compile", "compile"));
  CHECK_FALSE(affirms("async tp off", "async tp"));
  // One of several places is enough.
  CHECK(affirms("no fp8 then fp8", "fp8"));
}

}  // namespace
}  // namespace vtrain
