#include "core/profile/gpu_profile.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <tuple>

#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "core/profile/tables.hpp"

namespace vtrain {
namespace {

std::string a100_text() {
  return read_file(VTRAIN_SOURCE_DIR "/core/profiles/a100.json", InputKind::Profile).value();
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

TEST_CASE("gpu_profile: a name can change constants, with the units that people write") {
  const auto changed =
      load_gpu_profile("h100:node_network_bandwidth=800Gbit/s,nvlink_domain=72,send_latency=4us");
  REQUIRE(changed);
  CHECK(changed->name == "h100:node_network_bandwidth=800Gbit/s,nvlink_domain=72,send_latency=4us");
  CHECK(changed->base_name == "h100");
  CHECK(changed->node_network_bandwidth.value == 1e11);
  CHECK(changed->nvlink_domain == 72);
  CHECK(changed->send_latency == Nanoseconds(4000));
  const GpuProfile plain = load_gpu_profile("h100").value();
  CHECK(changed->peak_rate.value == plain.peak_rate.value);
  REQUIRE(changed->constants.size() == plain.constants.size());
  for (std::size_t i = 0; i < plain.constants.size(); ++i)
    CHECK(changed->constants[i].name == plain.constants[i].name);
  CHECK(load_gpu_profile("h100:memory_capacity=96GB")->memory_capacity.value == 96e9);
  CHECK(load_gpu_profile("h100:memory_capacity=96e9")->memory_capacity.value == 96e9);
  CHECK(load_gpu_profile("h100:nvlink_bandwidth=4Tbit/s")->nvlink_bandwidth.value == 5e11);
  CHECK(load_gpu_profile("h100:peak_rate=1PFLOP/s")->peak_rate.value == 1e15);

  const std::string path = VTRAIN_SOURCE_DIR "/core/profiles/a100.json";
  CHECK(load_gpu_profile(path + ":nvlink_domain=16")->name == "a100:nvlink_domain=16");
  CHECK(split_profile_name("a:b/c.json:x=1").base == "a:b/c.json");
  CHECK(split_profile_name("a:b/c.json").base == "a:b/c.json");
  CHECK(split_profile_name("h100:x=1,y=2").constants == "x=1,y=2");
}

TEST_CASE("gpu_profile: GPUs in other nodes keep their part of the network, and NVLink joins a node") {
  const auto shape = [](const Result<GpuProfile>& profile) {
    REQUIRE(profile);
    return std::tuple(profile->gpus_per_node, profile->nvlink_domain,
                      profile->node_network_bandwidth.value / 1e9);
  };
  const GpuProfile h100 = *load_gpu_profile("h100");
  CHECK(shape(h100) == std::tuple(8, 8, 400.0));
  CHECK(load_gpu_profile("h100", {.gpus = 8})->name == "h100");
  const auto halves = load_gpu_profile("h100", {.gpus = 4});
  CHECK(shape(halves) == std::tuple(4, 4, 200.0));
  // The name says it all.
  CHECK(halves->name == "h100:gpus_per_node=4,nvlink_domain=4,node_network_bandwidth=200GB/s");
  CHECK(shape(load_gpu_profile(halves->name)) == shape(halves));
  CHECK(shape(load_gpu_profile("h100", {.gpus = 16})) == std::tuple(16, 16, 800.0));
  CHECK(shape(load_gpu_profile("h100", {.gpus = 8, .gpus_per_island = 2})) == std::tuple(8, 2, 400.0));
  CHECK(shape(load_gpu_profile("h100:node_network_bandwidth=100GB/s", {.gpus = 4})) ==
        std::tuple(4, 4, 50.0));
  // Racks with NVLink throughout stay so; GPUs without NVLink do not get it.
  CHECK(shape(load_gpu_profile("gb200", {.gpus = 8})) == std::tuple(8, 72, 400.0));
  CHECK(shape(load_gpu_profile("h100:nvlink_domain=1", {.gpus = 4})) == std::tuple(4, 1, 200.0));
  // So does the size of nodes alone; their network is what was said of it.
  CHECK(shape(load_gpu_profile("h100:gpus_per_node=4")) == std::tuple(4, 4, 400.0));
  CHECK(shape(load_gpu_profile("h100:gpus_per_node=4,nvlink_domain=2")) == std::tuple(4, 2, 400.0));
}

TEST_CASE("gpu_profile: what was measured follows the constants that are given") {
  const GpuProfile h100 = load_gpu_profile("h100").value();
  REQUIRE(h100.sustained_rate.value > 0);
  const GpuProfile faster = load_gpu_profile("h100:peak_rate=1.978PFLOP/s").value();
  CHECK(faster.sustained_rate.value ==
        doctest::Approx(h100.sustained_rate.value * 1.978e15 / h100.peak_rate.value));
  CHECK(faster.sustained_rate_fp8 == h100.sustained_rate_fp8);
  CHECK(faster.constants.size() == h100.constants.size());
  CHECK(load_gpu_profile("h100:peak_rate=2PFLOP/s,sustained_rate=720TFLOP/s")->sustained_rate ==
        h100.sustained_rate);
  CHECK(load_gpu_profile("h100:memory_bandwidth=5TB/s")->sustained_rate == h100.sustained_rate);

  REQUIRE(!h100.collectives.of(Collective::AllReduce).empty());
  const auto all_reduce = [](const std::string& name, double bytes) {
    return load_gpu_profile(name)->collectives.at(Collective::AllReduce, 8, Bytes(bytes))->time.count();
  };
  const auto times_over_links = [&](double bytes) {
    std::vector<double> times;
    for (const char* bandwidth : {"900GB/s", "451GB/s", "450GB/s", "449GB/s", "225GB/s"})
      times.push_back(all_reduce(std::string("h100:nvlink_bandwidth=") + bandwidth, bytes));
    return times;
  };
  for (const double bytes : {1e3, 1e6, 1e7, 1e9}) {
    CAPTURE(bytes);
    const std::vector<double> times = times_over_links(bytes);
    CHECK(std::is_sorted(times.begin(), times.end()));
    CHECK(times[2] == all_reduce("h100", bytes));
    CHECK(times[1] == doctest::Approx(times[3]).epsilon(0.01));
  }
  // Latency rules of small messages, bandwidth of large ones.
  CHECK(times_over_links(1e3).front() > 0.9 * all_reduce("h100", 1e3));
  CHECK(times_over_links(1e9).front() == doctest::Approx(0.5 * all_reduce("h100", 1e9)).epsilon(0.02));
  const GpuProfile wider = load_gpu_profile("h100:nvlink_bandwidth=900GB/s").value();
  CHECK(wider.source_of("collectives all_reduce").ends_with("; scaled to 2 times the bandwidth of h100"));
  CHECK(wider.source_of("gemm bf16") == h100.source_of("gemm bf16"));
}

TEST_CASE("gpu_profile: what was measured on other hardware does not hold for a profile that extends it") {
  const auto extended = [](const std::string& constant) {
    return parse_gpu_profile(
        R"({"schema": "vtrain-gpu-profile", "version": 2, "name": "next", "description": "",
      "extends": "h100", "constants": {)" +
            constant + "}}",
        "p.json");
  };
  const auto links = extended(R"("nvlink_bandwidth": {"value": 9e11, "unit": "B/s", "source": "a guess"})");
  REQUIRE(links);
  CHECK(links->collectives.of(Collective::AllReduce).empty());
  CHECK(links->source_of("collectives all_reduce").empty());
  const auto peak = extended(R"("peak_rate": {"value": 2e15, "unit": "FLOP/s", "source": "a guess"})");
  REQUIRE(peak);
  CHECK(peak->sustained_rate.value == 0);
  CHECK(peak->sustained_rate_fp8.value > 0);
}

TEST_CASE("gpu_profile: what is wrong in the constants of a name is said") {
  const auto complaint = [](const std::string& name) { return load_gpu_profile(name).error().describe(); };
  CHECK(complaint("h100:network=1").starts_with("network: unknown constant; did you mean one of "));
  CHECK(complaint("h100:nvlink_domin=72") == "nvlink_domin: unknown constant; did you mean 'nvlink_domain'?");
  CHECK(complaint("h100:node_network_bandwidth=400") ==
        "node_network_bandwidth: expected a number from 1000000 to 1000000000000000 B/s, such as 50GB/s or "
        "400Gbit/s, "
        "found '400'");
  for (const char* value : {"", "50Gb/s", "50GB", "GB/s", "-50GB/s", "nan", "1e9XB/s"}) {
    CAPTURE(value);
    const auto profile = load_gpu_profile(std::string("h100:node_network_bandwidth=") + value);
    REQUIRE(!profile);
    CHECK(profile.error().field == "node_network_bandwidth");
  }
  CHECK(complaint("h100:nvlink_domain=7.5") ==
        "nvlink_domain: expected a whole number from 1 to 1048576, found '7.5'");
  CHECK(complaint("b200:gemm_rate=200TFLOP/s") == "gemm_rate: profile b200 has no tile model");
  CHECK(complaint("h101:nvlink_domain=72").starts_with("profile: unknown profile 'h101'"));
  CHECK(complaint("h100:nvlink_domain=72,") == "unknown constant");
  for (const std::string behind : {"", "foo", "nvlink_domain", "nvlink_domain,"}) {
    CHECK(complaint("h100:" + behind) ==
          "profile: expected constants that differ behind the colon, such as nvlink_domain=72, found '" +
              behind + "'");
  }
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

TEST_CASE("gpu_profile: GPUs without NVLink reach those of their node over PCI Express") {
  for (const std::string name : {"a100-pcie", "v100-pcie"}) {
    const GpuProfile profile = load_gpu_profile(name).value();
    CHECK(profile.nvlink_domain == 8);
    CHECK(profile.gpus_per_node == 8);
    CHECK(profile.nvlink_bandwidth == profile.host_bandwidth);
    CHECK(profile.collectives.of(Collective::AllReduce).empty());
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

TEST_CASE("gpu_profile: tables of products that are read take the place of the ones before") {
  const auto document = JsonDocument::parse(
      R"({"products": {"bf16": {"source": "measured", "plain": [[64, 64, 64, 5]], "weight_gradient": []}}})",
      "p.json");
  REQUIRE(document);
  GpuProfile profile;
  profile.tables.push_back({.name = "products fp8", .source = "before"});
  profile.tables.push_back({.name = "gemm bf16", .source = "before"});
  for (int reading = 0; reading < 2; ++reading)
    REQUIRE(read_tables(*document, document->root(), profile));
  REQUIRE(profile.tables.size() == 2);
  CHECK(profile.tables[0].name == "gemm bf16");
  CHECK(profile.tables[1].name == "products bf16");
  CHECK(profile.tables[1].source == "measured");
}

TEST_CASE("gpu_profile: a name longer than any file's is unknown, too") {
  const std::string name(300, 'x');
  CHECK_FALSE(is_profile_path(name));
  const auto profile = load_gpu_profile(name);
  REQUIRE_FALSE(profile);
  CHECK(profile.error().message.find("unknown") != std::string::npos);
}

TEST_CASE("gpu_profile: an unknown name lists the known ones") {
  const auto profile = load_gpu_profile("b400");
  REQUIRE(!profile);
  CHECK(profile.error().describe().find("'a100'") != std::string::npos);
  CHECK(!load_gpu_profile("/nonexistent/a.json"));
}

}  // namespace
}  // namespace vtrain
