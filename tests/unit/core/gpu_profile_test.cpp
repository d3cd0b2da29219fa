#include "core/gpu_profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
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
  CHECK(embedded->gemm_tile_efficiency == std::array<double, 4>{1.0, 0.911, 0.889, 0.936});
  CHECK(embedded->network_rate().value == doctest::Approx(170e9));
  CHECK(embedded->collectives.of(Collective::AllReduce).size() == 7);
  CHECK(embedded->constants.size() == from_file->constants.size());
  for (const ProfileConstant& constant : embedded->constants)
    CHECK(!constant.source.empty());
}

TEST_CASE("gpu_profile: what is wrong is named with its line") {
  const Error range = error_of("\"value\": 2.039e12", "\"value\": -1");
  CHECK(range.describe().starts_with("p.json:10: memory_bandwidth: value: expected a number from"));
  CHECK(error_of("\"value\": 108", "\"value\": 108.5").message ==
        "value: expected a whole number, found '108.5'");
  CHECK(error_of("\"unit\": \"B/s\"", "\"unit\": \"GB/s\"").message == "unit: expected B/s, found 'GB/s'");
  CHECK(error_of("\"gelu_efficiency\"", "\"gelu_eficiency\"").message ==
        "unknown key; did you mean 'gelu_efficiency'?");
  CHECK(error_of("\"version\": 2", "\"version\": 3").field == "version");
  CHECK(error_of("vtrain-gpu-profile", "other").message == "expected vtrain-gpu-profile, found 'other'");
  CHECK(error_of("\"m\": [64,128,", "\"m\": [128,64,").message == "m: expected rising whole numbers");
  CHECK(error_of("\"thousandths\": [3854,", "\"thousandths\": [").message ==
        "thousandths: expected 8664 values for its grid, found 8663");
}

TEST_CASE("gpu_profile: an unknown name lists the known ones") {
  const auto profile = load_gpu_profile("b400");
  REQUIRE(!profile);
  CHECK(profile.error().describe().find("'a100'") != std::string::npos);
  CHECK(!load_gpu_profile("/nonexistent/a.json"));
}

}  // namespace
}  // namespace vtrain
