#include "core/profile/recording_profile.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "core/io/file.hpp"
#include "core/kernels/measured_products.hpp"
#include "core/profile/gpu_profile.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/core/recording_support.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;

GpuProfile recorded_profile() {
  const auto recording = parse_kernel_recording(testing::recording_text(), "table.json");
  REQUIRE(recording);
  const auto text = recording_to_profile(*recording, "h200", "vtrain profile import DIR");
  REQUIRE_MESSAGE(text, text.error().describe());
  const auto profile = parse_gpu_profile(*text, "recorded.json");
  REQUIRE_MESSAGE(profile, profile.error().describe());
  return *profile;
}

}  // namespace

TEST_CASE("recording_profile: measured products have their measured times") {
  const GpuProfile profile = recorded_profile();
  REQUIRE(profile.products != nullptr);
  CHECK(profile.products->time(Precision::Bf16, ProductKind::Plain, {4096, 12288, 4096}) ==
        Nanoseconds(700000));
  CHECK(profile.products->time(Precision::Bf16, ProductKind::WeightGradient, {12288, 4096, 4096}) ==
        Nanoseconds(760000));
  CHECK_FALSE(profile.products->time(Precision::Bf16, ProductKind::Plain, {4096, 12288, 4095}));
}

TEST_CASE("recording_profile: beside the measured shapes the table is moved by what they differ from it") {
  const GpuProfile base = load_gpu_profile("h200").value();
  const GpuProfile profile = recorded_profile();
  const auto slowdown_at = [](const GpuProfile& of, const KernelSurface::Point& sizes) {
    return of.gemm[static_cast<std::size_t>(Precision::Bf16)]->at(sizes).value;
  };
  // Two products were measured. Close to one of them its residual rules; both lie between the extremes.
  const auto residual = [&](double m, double n, double k, double time_ns) {
    const Nanoseconds roofline = gemm_roofline(base, Precision::Bf16, m, n, k);
    return std::log(Nanoseconds(time_ns) / roofline) - slowdown_at(base, {m, n, k});
  };
  const double first = residual(4096, 12288, 4096, 700000);
  const double second = residual(4096, 4096, 12288, 720000);
  const KernelSurface& table = *profile.gemm[static_cast<std::size_t>(Precision::Bf16)];
  for (const std::int64_t m : table.axes()[0]) {
    for (const std::int64_t n : table.axes()[1]) {
      const KernelSurface::Point sizes = {static_cast<double>(m), static_cast<double>(n), 4096};
      const double moved = slowdown_at(profile, sizes) - slowdown_at(base, sizes);
      // Rounding to 0.001 in the profile's text.
      CHECK(moved >= std::min(first, second) - 0.0015);
      CHECK(moved <= std::max(first, second) + 0.0015);
    }
  }
}

TEST_CASE("recording_profile: attention, efficiencies and collectives are those measured") {
  const GpuProfile base = load_gpu_profile("h200").value();
  const GpuProfile profile = recorded_profile();
  // 2 x 32 heads x 2048^2 x 128 FLOPs in 100 us are 343.6 TFLOP/s, which the profile rounds to 4 digits.
  const auto& rates = profile.attention[static_cast<std::size_t>(AttentionKernel::Flash3)];
  REQUIRE(rates.log_rate != nullptr);
  CHECK_FALSE(rates.assumed);
  CHECK(std::exp(rates.log_rate->at({128, 2048, 32}).value) == doctest::Approx(343.6e12).epsilon(1e-3));
  // 2.5 times the FLOPs in 3 times the time.
  CHECK(profile.attention_backward.relative_rate(32.0 * 2048) == doctest::Approx(2.5 / 3).epsilon(1e-3));
  // 2 GiB in 559,241 ns are 3.84e12 B/s, of the profile's bandwidth.
  CHECK(profile.layer_norm_efficiency ==
        doctest::Approx(3.84e12 / base.memory_bandwidth.value).epsilon(1e-3));
  // 3 GB in 900 us.
  CHECK(profile.optimizer_efficiency ==
        doctest::Approx(3e9 / 900e-6 / base.memory_bandwidth.value).epsilon(1e-3));
  // What was not measured is the base's.
  CHECK(profile.dropout_efficiency == base.dropout_efficiency);
  const auto all_reduce = profile.collectives.at(Collective::AllReduce, 8, Bytes(1048576));
  REQUIRE(all_reduce);
  CHECK(all_reduce->time == Nanoseconds(30000));
}

TEST_CASE("recording_profile: weight gradients that overwrite are plain products") {
  auto recording = parse_kernel_recording(testing::recording_text(), "table.json");
  REQUIRE(recording);
  for (RecordedOperator& op : recording->operators) {
    if (op.pass == "weight_gradient") op.variant = "out=bf16";
  }
  const auto text = recording_to_profile(*recording, "h200", "test");
  REQUIRE(text);
  const GpuProfile profile = parse_gpu_profile(*text, "recorded.json").value();
  REQUIRE(profile.products != nullptr);
  CHECK(profile.products->time(Precision::Bf16, ProductKind::Plain, {12288, 4096, 4096}) ==
        Nanoseconds(760000));
  CHECK_FALSE(profile.products->time(Precision::Bf16, ProductKind::WeightGradient, {12288, 4096, 4096}));
}

TEST_CASE("recording_profile: collectives over several nodes do not count") {
  auto recording = parse_kernel_recording(testing::recording_text(), "table.json");
  REQUIRE(recording);
  const auto within = recording_to_profile(*recording, "h200", "test");
  REQUIRE(within);
  recording->collectives.push_back(recording->collectives.front());
  recording->collectives.back().num_gpus = 16;
  recording->collectives.back().num_nodes = 2;
  CHECK(recording_to_profile(*recording, "h200", "test").value() == *within);
}

TEST_CASE("recording_profile: a folder with a recording is a profile") {
  const testing::TemporaryFolder folder;
  REQUIRE(write_file(folder / "kernel_table.json", testing::recording_text()));
  const auto profile = load_gpu_profile(folder.path().string());
  REQUIRE_MESSAGE(profile, profile.error().describe());
  CHECK(profile->name == "h200-recorded");
  fs::remove_all(folder.path());
  CHECK_FALSE(load_gpu_profile(folder.path().string()));
}

}  // namespace vtrain
