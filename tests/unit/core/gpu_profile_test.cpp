#include "core/gpu_profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/file.hpp"

namespace vtrain {
namespace {

constexpr double kMebibyte = 1048576.0;

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
  CHECK(embedded->gemm_tile_efficiency == std::array<double, 4>{1.0, 0.911, 0.889, 0.936});
  CHECK(embedded->network_rate().value == doctest::Approx(80e9));
  CHECK(embedded->all_reduce.size() == 7);
  CHECK(embedded->constants.size() == from_file->constants.size());
  for (const ProfileConstant& constant : embedded->constants)
    CHECK(!constant.source.empty());
}

TEST_CASE("gpu_profile: all-reduce times are linear between the knots") {
  const GpuProfile profile = load_gpu_profile("a100").value();
  const AllReduceTable& eight = profile.all_reduce.at(8);
  CHECK(eight.interpolate(Bytes(1 * kMebibyte)).count() == 92150);
  CHECK(eight.interpolate(Bytes(1024 * kMebibyte)).count() == 8196400);
  // Half way between 64 MiB (579600 ns) and 128 MiB (1166000 ns).
  CHECK(eight.interpolate(Bytes(96 * kMebibyte)).count() == doctest::Approx(872800));
}

TEST_CASE("gpu_profile: the knots stay as close to the full tables as the file says") {
  const std::string folder = VTRAIN_SHARED_DIR "/data/vtrain/a100";
  const auto tables = read_all_reduce_tables(folder);
  if (!tables) {
    MESSAGE("skipped: ", folder, " absent");
    return;
  }
  const GpuProfile profile = load_gpu_profile("a100").value();
  double sum = 0;
  double maximum = 0;
  double count = 0;
  for (const auto& [num_gpus, table] : *tables) {
    for (const AllReduceEntry& entry : table.entries()) {
      const Bytes size(static_cast<double>(entry.mebibytes) * kMebibyte);
      const double error =
          std::abs(profile.all_reduce.at(num_gpus).interpolate(size).count() / entry.time.count() - 1);
      sum += error;
      maximum = std::max(maximum, error);
      count += 1;
    }
  }
  // `interpolation_error_percent` of the profile.
  CHECK(count == 7168);
  CHECK(100 * sum / count == doctest::Approx(0.72).epsilon(0.01));
  CHECK(100 * maximum == doctest::Approx(13.31).epsilon(0.001));
}

TEST_CASE("gpu_profile: what is wrong is named with its line") {
  const Error range = error_of("\"value\": 2.039e12", "\"value\": -1");
  CHECK(range.describe().starts_with("p.json:9: memory_bandwidth: value: expected a number from"));
  CHECK(error_of("\"value\": 108", "\"value\": 108.5").message ==
        "value: expected a whole number, found '108.5'");
  CHECK(error_of("\"unit\": \"B/s\"", "\"unit\": \"GB/s\"").message == "unit: expected B/s, found 'GB/s'");
  CHECK(error_of("\"gelu_efficiency\"", "\"gelu_eficiency\"").message ==
        "unknown key; did you mean 'gelu_efficiency'?");
  CHECK(error_of("\"version\": 1", "\"version\": 2").field == "version");
  CHECK(error_of("vtrain-gpu-profile", "other").message == "expected vtrain-gpu-profile, found 'other'");
  CHECK(error_of("[1, 2, 4,", "[1, 4, 2,").field == "sizes_mib");
  CHECK(error_of("\"8\": [92150,", "\"8\": [").message == "expected 11 positive whole numbers of ns");
  CHECK(error_of("\"7\": [", "\"9\": [").message == "expected times for 2 to 8 GPUs, found none for 7");
}

TEST_CASE("gpu_profile: an unknown name lists the known ones") {
  const auto profile = load_gpu_profile("b200");
  REQUIRE(!profile);
  CHECK(profile.error().describe().find("'a100'") != std::string::npos);
  CHECK(!load_gpu_profile("/nonexistent/a.json"));
}

}  // namespace
}  // namespace vtrain
