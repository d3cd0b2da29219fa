#include "docs/measured/normalise/measured_sources.hpp"

#include <doctest/doctest.h>

#include <string>

namespace vtrain {
namespace {

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
  CHECK(profile("NVIDIA GB200 NVL72") == "gb200");
  CHECK(profile("NVIDIA H100 80GB HBM3") == "h100");
  CHECK(profile("B200 180GB SXM") == "b200");
  CHECK(profile("H100-SXM5-80GB, NVLink4") == "h100");
  CHECK(profile("8xH100 80GB") == "h100");
  CHECK(profile("DGX A100 640GB") == "a100");
  CHECK(profile("A100 80GB (no PCIe)") == "a100");
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
  CHECK(family("NeMo 2.0 (24.12)") == "nemo");
  CHECK(family("NVIDIA NeMo 24.07") == "nemo");
  CHECK(family("pytorch/torchtitan") == "torchtitan");
  CHECK(family("PyTorch eager") == "pytorch-eager");
  CHECK(family("JAX").empty());
}

}  // namespace
}  // namespace vtrain
