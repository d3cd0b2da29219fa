#include "core/kernels/kernel_recording.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/unit/core/recording_support.hpp"

namespace vtrain {
namespace {

/// The recording's text with one part replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = testing::recording_text();
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  const auto recording = parse_kernel_recording(text, "table.json");
  REQUIRE_FALSE(recording);
  return recording.error().describe();
}

}  // namespace

TEST_CASE("kernel_recording: everything that was measured is read") {
  const auto recording = parse_kernel_recording(testing::recording_text(), "table.json");
  REQUIRE_MESSAGE(recording, recording.error().describe());
  CHECK(recording->device.name == "NVIDIA H200, made up");
  CHECK(recording->device.num_multiprocessors == 132);
  CHECK(recording->device.l2.value == 6e7);
  // Absent libraries are left out.
  CHECK(recording->software.size() == 5);
  REQUIRE(recording->sessions.size() == 1);
  CHECK(recording->sessions[0].sm_clock_hz == 1.95e9);
  CHECK_FALSE(recording->sessions[0].temperature_c);
  REQUIRE(recording->operators.size() == 7);
  const RecordedOperator& gradient = recording->operators[2];
  CHECK(gradient.pass == "weight_gradient");
  CHECK(gradient.variant == "out=fp32");
  CHECK(gradient.size("m") == 12288);
  CHECK(gradient.size("heads") == 0);
  CHECK(gradient.warm.time == Nanoseconds(760000));
  REQUIRE(gradient.warm.kernels.size() == 1);
  CHECK_FALSE(gradient.warm.kernels[0].gap_ns);
  REQUIRE(recording->collectives.size() == 2);
  CHECK(recording->collectives[0].collective == Collective::AllReduce);
  CHECK_FALSE(recording->collectives[1].collective);
  REQUIRE(recording->skipped.size() == 1);
  CHECK(recording->skipped[0].second == "no kernel");
}

TEST_CASE("kernel_recording: keys of later versions are ignored, later schemas refused") {
  CHECK(parse_kernel_recording(with("\"made_by\"", "\"weather\": \"fine\", \"made_by\""), "table.json"));
  CHECK(error_of(with("\"version\": 1", "\"version\": 2")).find("version") != std::string::npos);
  CHECK(error_of(with("vtrain-kernel-table", "vtrain-gpu-profile")).find("vtrain-kernel-table") !=
        std::string::npos);
}

TEST_CASE("kernel_recording: what is wrong is named with its place") {
  const std::string zero = error_of(with("\"time_ns\": 700000", "\"time_ns\": 0"));
  const std::string text = testing::recording_text();
  const auto line =
      1 + std::count(text.begin(),
                     text.begin() + static_cast<std::ptrdiff_t>(text.find("\"time_ns\": 700000")), '\n');
  CHECK(zero.find("table.json:" + std::to_string(line) + ": operators[0].warm.time_ns: ") == 0);
  CHECK(error_of(with("\"m\": 4096", "\"m\": 0.5")).find("operators[0].shape.m: ") != std::string::npos);
  CHECK(error_of(with("\"m\": 4096", "\"rows\": 4096")).find("operators[0].shape.m: ") != std::string::npos);
  CHECK(error_of(with("\"heads\": ", "\"rows\": ")).find(".shape.heads: ") != std::string::npos);
  CHECK(error_of(with("\"low_ns\": 700000", "\"low_ns\": 700001")).find("between low_ns and high_ns") !=
        std::string::npos);
  CHECK(error_of(with("{\"name\": 0,", "{\"name\": 1,")).find("name") != std::string::npos);
  CHECK(error_of(with("\"session\": 0", "\"session\": 1")).find("session") != std::string::npos);
  CHECK(error_of(with("\"precision\": \"bf16\"", "\"precision\": \"bf17\"")).find("bf17") !=
        std::string::npos);
  CHECK(error_of(with("\"collective\": \"all_reduce\"", "\"collective\": \"broadcast\"")).find("broadcast") !=
        std::string::npos);
  CHECK(error_of(with("send_recv gpus=2 nodes=1", "all_reduce gpus=8 nodes=1")).find("found 'two of") !=
        std::string::npos);
  CHECK(error_of(with("\"skipped\": [", "\"omitted\": [")).find("skipped: expected a list") !=
        std::string::npos);
  CHECK(error_of("[]").find("a JSON object") != std::string::npos);
}

}  // namespace vtrain
