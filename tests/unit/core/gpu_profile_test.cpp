#include "core/gpu_profile.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "core/file.hpp"

namespace vtrain {
namespace {

std::string a100_text() {
  return read_file(VTRAIN_SOURCE_DIR "/core/profiles/a100.json").value();
}

/// The error of the embedded profile's text with its first `from` replaced by `to`.
Error error_of(const std::string& from, const std::string& to) {
  std::string text = a100_text();
  const std::size_t position = text.find(from);
  REQUIRE(position != std::string::npos);
  text.replace(position, from.size(), to);
  const auto profile = parse_gpu_profile(text, "p.json");
  REQUIRE(!profile);
  return profile.error();
}

TEST_CASE("gpu_profile: the embedded A100 profile is the file in the source tree") {
  const auto embedded = load_gpu_profile("a100");
  REQUIRE(embedded);
  const auto from_file = load_gpu_profile(VTRAIN_SOURCE_DIR "/core/profiles/a100.json");
  REQUIRE(from_file);
  CHECK(embedded->name == "a100");
  CHECK(embedded->memory_bandwidth.value == 2039e9);
  CHECK(embedded->peak_rate.value == 312e12);
  CHECK(embedded->num_multiprocessors == 108);
  CHECK(embedded->tiles.efficiency == std::array<double, 4>{1.0, 0.911, 0.889, 0.936});
  CHECK(embedded->network_rate().value == doctest::Approx(170e9));
  CHECK(embedded->collectives.of(Collective::AllReduce).size() == 7);
  CHECK(embedded->constants.size() == from_file->constants.size());
  for (const ProfileConstant& constant : embedded->constants)
    CHECK(!constant.source.empty());
}

TEST_CASE("gpu_profile: what is wrong is named with its line") {
  const Error range = error_of("\"value\": 2.039e12", "\"value\": -1");
  CHECK(range.describe().starts_with("p.json:10: constants.memory_bandwidth.value: expected a number from"));
  const Error fraction = error_of("\"value\": 108", "\"value\": 108.5");
  CHECK(fraction.field == "constants.num_multiprocessors.value");
  CHECK(fraction.message == "expected a whole number, found '108.5'");
  const Error unit = error_of("\"unit\": \"B/s\"", "\"unit\": \"GB/s\"");
  CHECK(unit.field == "constants.memory_bandwidth.unit");
  CHECK(unit.message == "expected B/s, found 'GB/s'");
  CHECK(error_of("\"gelu_efficiency\"", "\"gelu_eficiency\"").message ==
        "unknown key; did you mean 'gelu_efficiency'?");
  CHECK(error_of("\"version\": 2", "\"version\": 3").field == "version");
  CHECK(error_of("vtrain-gpu-profile", "other").message == "expected vtrain-gpu-profile, found 'other'");
  const Error axis = error_of("\"m\": [64,128,", "\"m\": [128,64,");
  CHECK(axis.field == "gemm.bf16.m");
  CHECK(axis.message == "expected rising whole numbers");
  CHECK(error_of("\"m\": [64,128,", "\"m\": [64,-128,").field == "gemm.bf16.m[1]");
  const Error grid = error_of("\"thousandths\": [3854,", "\"thousandths\": [");
  CHECK(grid.field == "gemm.bf16.thousandths");
  CHECK(grid.message == "expected 8664 values for its grid, found 8663");
}

TEST_CASE("gpu_profile: constants of a model of products are all there or none") {
  const auto without = [](std::initializer_list<std::string> names) {
    std::string text = a100_text();
    for (const std::string& name : names) {
      const std::size_t position = text.find("\"" + name + "\"");
      REQUIRE(position != std::string::npos);
      text.erase(position, text.find('\n', position) - position);
    }
    return parse_gpu_profile(text, "p.json");
  };
  const auto one_missing = without({"gemm_fp32_batched_side"});
  REQUIRE(!one_missing);
  CHECK(one_missing.error().describe() == "p.json:7: constants.gemm_fp32_batched_side: missing");
  const auto none = without({"gemm_fp32_rate", "gemm_fp32_depth_overhead", "gemm_fp32_tile_efficiency_8192",
                             "gemm_fp32_tile_efficiency_4096", "gemm_fp32_batched_side"});
  REQUIRE_MESSAGE(none, none.error().describe());
  CHECK(none->tiles_fp32.rate.value == 0);
  CHECK(none->tiles.rate.value == 257e12);
}

TEST_CASE("gpu_profile: GPUs without NVLink reach each other over the node's network alone") {
  for (const std::string name : {"a100-pcie", "v100-pcie"}) {
    const GpuProfile profile = load_gpu_profile(name).value();
    CHECK(profile.nvlink_domain == 1);
    CHECK(profile.gpus_per_node == 8);
    CHECK(profile.tiles_fp32.rate < profile.peak_rate_fp32);
  }
  CHECK(load_gpu_profile("a100-pcie")->memory_bandwidth.value == 1935e9);
  CHECK(load_gpu_profile("v100-sxm3")->nvlink_domain == 16);
}

TEST_CASE("gpu_profile: Grace CPUs take longer to issue work, and x86 hosts of the same GPUs do not") {
  for (const char* name : {"gb200", "gb300"})
    CHECK(load_gpu_profile(name)->host_issue_factor > 1);
  for (const char* name : {"a100", "h100", "b200", "b300"})
    CHECK(load_gpu_profile(name)->host_issue_factor == 1);
}

TEST_CASE("gpu_profile: a profile is found by what drivers and schedulers call its GPU") {
  for (const std::string_view name : embedded_profile_names())
    CHECK(embedded_profile_of(name) == name);
  CHECK(embedded_profile_of("NVIDIA H200") == "h200");
  CHECK(embedded_profile_of("NVIDIA H100 80GB HBM3") == "h100");
  CHECK(embedded_profile_of("nvidia_h100_80gb_hbm3") == "h100");
  CHECK(embedded_profile_of("NVIDIA A100-SXM4-80GB") == "a100");
  CHECK(embedded_profile_of("NVIDIA A100-SXM4-40GB") == "a100-40gb");
  CHECK(embedded_profile_of("NVIDIA A100-PCIE-40GB") == "a100-pcie-40gb");
  CHECK(embedded_profile_of("a100_pcie_80gb") == "a100-pcie");
  CHECK(embedded_profile_of("Tesla V100-PCIE-32GB") == "v100-pcie");
  CHECK(embedded_profile_of("NVIDIA GB200") == "gb200");
  CHECK(embedded_profile_of("NVIDIA B200") == "b200");
  CHECK(load_gpu_profile("H100")->name == "h100");
  // Neither another card with the same chip, nor a part of one, nor one whose name contains another's.
  for (const char* other : {"NVIDIA H100 PCIe", "NVIDIA H100 NVL", "nvidia_a100_1g.10gb", "a100_2g10gb",
                            "GRID A100-10C", "NVIDIA A100-SXM4-80GB MIG 2g.20gb", "NVIDIA GH200 480GB",
                            "a1000", "NVIDIA GeForce RTX 4090", "V100M32", "-", ""}) {
    CAPTURE(other);
    CHECK(embedded_profile_of(other).empty());
  }
}

TEST_CASE("gpu_profile: an unknown name lists the known ones") {
  const auto profile = load_gpu_profile("b400");
  REQUIRE(!profile);
  CHECK(profile.error().describe().find("'a100'") != std::string::npos);
  CHECK(!load_gpu_profile("/nonexistent/a.json"));
}

}  // namespace
}  // namespace vtrain
