#include "core/profile/import.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/io/file.hpp"
#include "core/io/input.hpp"
#include "core/profile/gpu_profile.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;

/// A folder of small tables that is removed after the test.
class TableFolder {
 public:
  TableFolder() {
    std::string gemm = "gemm_dtype,m,n,k,latency\n";
    for (const int m : {64, 128}) {
      for (const int n : {256, 512})
        gemm += "bfloat16," + std::to_string(m) + "," + std::to_string(n) + ",256,1\n";
    }
    write("gemm.csv", gemm);
    write("attention.csv",
          "batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,kv_cache_dtype,latency\n"
          "1,1024,8,2,128,bfloat16,bfloat16,1\n");
    write("nccl.csv", "op_name,nccl_dtype,num_gpus,message_size,latency\nall_gather,half,2,512,0.02\n");
  }

  void write(const std::string& name, const std::string& text) { REQUIRE(write_file(folder_ / name, text)); }
  const fs::path& path() const { return folder_.path(); }

 private:
  testing::TemporaryFolder folder_;
};

/// The A100's constants under another name, with tables from three files.
DeviceFile devices(const std::string& tables) {
  std::string text = embedded_device_file().text;
  const std::size_t from = text.find("\"tables\"");
  const std::size_t to = text.find("\"a100-40gb\"");
  text = text.substr(0, from) + "\"tables\": " + tables + "}, " + text.substr(to);
  return {.text = text, .name = "devices.json"};
}

const std::string kTables = R"({
  "gemm": {"source": "tests", "files": ["gemm.csv"]},
  "attention": {"flash2": {"source": "tests", "files": ["attention.csv"], "head_size_rates": {"64": 0.5}},
                "flash1": {"source": "tests", "kernel": "flash2", "relative_rate": 0.25}},
  "collectives": {"source": "tests", "files": ["nccl.csv"]}})";

Error import_error(const std::string& tables, const fs::path& folder) {
  const auto profile = import_gpu_profile(devices(tables), "a100", folder, "");
  REQUIRE(!profile);
  return profile.error();
}

TEST_CASE("profile_import: tables become a profile that reads back") {
  const TableFolder folder;
  const auto text = import_gpu_profile(devices(kTables), "a100", folder.path(), "vtrain profile import x");
  REQUIRE(text);
  CHECK(*text ==
        import_gpu_profile(devices(kTables), "a100", folder.path(), "vtrain profile import x").value());
  const auto profile = parse_gpu_profile(*text, "p.json");
  REQUIRE(profile);
  CHECK(profile->name == "a100");
  CHECK(profile->made_by == "vtrain profile import x");
  CHECK(profile->memory_bandwidth.value == 2039e9);
  CHECK(profile->kernel_overhead.count() == 3000);  // shared by all devices of the file
  CHECK(profile->source_of("gemm bf16") == "tests: gemm.csv");

  const auto& gemm = profile->gemm[static_cast<std::size_t>(Precision::Bf16)];
  REQUIRE(gemm);
  CHECK(gemm == profile->gemm[static_cast<std::size_t>(Precision::Fp16)]);
  // 1 ms over the traffic of 2 (64 x 256 + 256 x 256 + 64 x 256) bytes at 2039e9 B/s, 96.4 ns: e^9.247.
  CHECK(gemm->at({64, 256, 256}).value == doctest::Approx(9.247).epsilon(1e-6));

  // 2 x 8 x 1024^2 x 128 FLOPs in 1 ms are 2.147 TFLOP/s, half of that at the head size that was not
  // measured.
  const AttentionRates& flash2 = profile->attention[static_cast<std::size_t>(AttentionKernel::Flash2)];
  REQUIRE(flash2.log_rate);
  CHECK(!flash2.assumed);
  CHECK(std::exp(flash2.log_rate->at({128, 1024, 8}).value) == doctest::Approx(2.147e12).epsilon(1e-9));
  CHECK(std::exp(flash2.log_rate->at({64, 1024, 8}).value) == doctest::Approx(1.074e12).epsilon(1e-9));
  const AttentionRates& flash1 = profile->attention[static_cast<std::size_t>(AttentionKernel::Flash1)];
  REQUIRE(flash1.log_rate);
  CHECK(flash1.assumed);
  CHECK(std::exp(flash1.log_rate->at({128, 1024, 8}).value) == doctest::Approx(2.147e12 / 4).epsilon(1e-9));
  CHECK(profile->collectives.at(Collective::AllGather, 2, Bytes(1024))->time.count() == 20'000);
}

TEST_CASE("profile_import: what is wrong is named") {
  const TableFolder folder;
  CHECK(import_error(R"({"gem": {}})", folder.path()).message == "unknown key; did you mean 'gemm'?");
  const Error no_files = import_error(R"({"gemm": {"source": "s", "files": []}})", folder.path());
  CHECK(no_files.field == "devices.a100.tables.gemm.files");
  CHECK(no_files.message == "expected an array of file names");
  CHECK(import_error(R"({"gemm": {"files": ["gemm.csv"]}})", folder.path()).field ==
        "devices.a100.tables.gemm.source");
  CHECK(import_error(R"({"gemm": {"source": "s", "files": ["none.csv"]}})", folder.path()).file ==
        (folder.path() / "none.csv").string());
  CHECK(import_error(R"({"gemm": {"source": "s", "files": ["nccl.csv"]}})", folder.path())
            .describe()
            .find("nccl.csv:1: gemm_dtype") != std::string::npos);
  CHECK(import_error(R"({"attention": {"flash9": {}}})", folder.path()).message.starts_with("unknown key"));
  const Error measured = import_error(R"({"attention": {"flash2": {"source": "s", "files": ["attention.csv"],
                                          "head_size_rates": {"128": 0.5}}}})",
                                      folder.path());
  CHECK(measured.field == "devices.a100.tables.attention.flash2.head_size_rates.128");
  CHECK(measured.message == "this head size was measured");
  const auto unknown = import_gpu_profile(embedded_device_file(), "a1000", folder.path(), "");
  REQUIRE(!unknown);
  CHECK(unknown.error().message.starts_with("unknown device 'a1000'; did you mean 'a100'?"));
}

TEST_CASE("profile_import: a device without tables of its own extends a profile") {
  const auto text = import_gpu_profile(embedded_device_file(), "a100-40gb", "nowhere", "");
  REQUIRE(text);
  const auto profile = parse_gpu_profile(*text, "p.json");
  REQUIRE(profile);
  CHECK(profile->memory_capacity.value == 40960.0 * 1048576);
  const GpuProfile base = load_gpu_profile("a100").value();
  CHECK(profile->num_multiprocessors == base.num_multiprocessors);
  CHECK(profile->constants.size() == base.constants.size());
  CHECK(profile->gemm[static_cast<std::size_t>(Precision::Bf16)]->values() ==
        base.gemm[static_cast<std::size_t>(Precision::Bf16)]->values());
}

TEST_CASE("profile_import: a GPU of less power is slower by the same factor in products and attention") {
  const GpuProfile full = load_gpu_profile("h100").value();
  const GpuProfile limited = load_gpu_profile("h100-500w").value();
  // The cube root of (700 - 100) / (500 - 100).
  const double factor = std::cbrt(1.5);
  CHECK(full.peak_rate.value / limited.peak_rate.value == doctest::Approx(factor).epsilon(1e-3));
  CHECK(full.peak_rate_fp8.value / limited.peak_rate_fp8.value == doctest::Approx(factor).epsilon(1e-3));
  for (std::size_t kernel = 1; kernel < kNumAttentionKernels; ++kernel) {
    const auto rate = [kernel](const GpuProfile& profile) {
      return std::exp(profile.attention[kernel].log_rate->at({128, 8192, 64}).value);
    };
    CHECK(rate(full) / rate(limited) == doctest::Approx(factor).epsilon(1e-3));
  }
}

TEST_CASE("profile_import: products of a machine relative to those of the profile that it extends") {
  TableFolder folder;
  const GpuProfile base = load_gpu_profile("b200").value();
  // Three products that take 1.5, 1.25 and 1 times what the base gives them, one of a weight gradient.
  std::string table = "op,shape,efficiency\n";
  const auto add = [&](double m, double slowdown, const char* accumulate) {
    const double n = 4096;
    const double k = 8192;
    const double factor = base.gemm[static_cast<std::size_t>(Precision::Bf16)]->at({m, n, k}).value;
    const Nanoseconds time = gemm_roofline(base, Precision::Bf16, m, n, k) * (std::exp(factor) * slowdown);
    const double efficiency = 2 * m * n * k / Seconds(time).count() / base.peak_rate.value;
    const auto whole = [](double size) { return std::to_string(static_cast<int>(size)); };
    table += "matmul,\"b=1, m=" + whole(m) + ", k=" + whole(k) + ", n=" + whole(n) +
             ", layout=TN, accumulate=" + accumulate + "\"," + std::to_string(efficiency) + "\n";
  };
  add(2048, 1.5, "False");
  add(4096, 1.25, "False");
  add(8192, 1, "False");
  add(1024, 9, "True");
  folder.write("operators.csv", table);
  const std::string devices = R"({"schema": "vtrain-gpu-devices", "version": 1, "devices": {"mine": {
      "description": "d", "extends": "b200",
      "tables": {"gemm": {"source": "s", "files": ["operators.csv"]}}}}})";
  const auto text = import_gpu_profile({.text = devices, .name = "d.json"}, "mine", folder.path(), "");
  REQUIRE(text);
  const auto profile = parse_gpu_profile(*text, "p.json");
  REQUIRE(profile);
  const auto value = [](const GpuProfile& of) {
    return of.gemm[static_cast<std::size_t>(Precision::Bf16)]->at({4096, 4096, 4096}).value;
  };
  CHECK(value(*profile) == doctest::Approx(value(base) + std::log(1.25)).epsilon(1e-3));
  // Nothing else can be beside a profile that is extended.
  std::string other = devices;
  other.replace(other.find("\"gemm\""), 6, "\"collectives\"");
  CHECK(!import_gpu_profile({.text = other, .name = "d.json"}, "mine", folder.path(), ""));
  std::string unknown = devices;
  unknown.replace(unknown.find("b200"), 4, "b201");
  const auto refused = import_gpu_profile({.text = unknown, .name = "d.json"}, "mine", folder.path(), "");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().describe().find("extends: expected") != std::string::npos);
}

TEST_CASE("profile_import: the embedded profiles are what their command writes, and small") {
  const auto devices = nlohmann::json::parse(embedded_device_file().text).at("devices");
  CHECK(devices.size() == embedded_profile_names().size());
  for (const auto& device : devices.items()) {
    const std::string name = device.key();
    const std::string path = VTRAIN_SOURCE_DIR "/core/profiles/" + name + ".json";
    const std::string text = read_file(path, InputKind::KernelTable).value();
    CHECK(text.size() <= 200'000);
    const GpuProfile profile = load_gpu_profile(name).value();
    CHECK(profile.made_by == "vtrain profile import data --device " + name);
    for (const ProfileTable& table : profile.tables) {
      CAPTURE(table.name);
      CHECK(!table.source.empty());
      CHECK(table.compaction_error_percent < 1);  // percentage points from the full tables
    }
    const fs::path folder = VTRAIN_SHARED_DIR "/data";
    if (!fs::exists(folder / "kernel_tables")) {
      MESSAGE("skipped: ", folder.string(), "/kernel_tables absent");
      continue;
    }
    const auto written = import_gpu_profile(embedded_device_file(), name, folder, profile.made_by);
    REQUIRE(written);
    CHECK(*written == text);
  }
}

}  // namespace
}  // namespace vtrain
