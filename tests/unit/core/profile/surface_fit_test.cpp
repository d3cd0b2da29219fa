#include "core/profile/surface_fit.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

namespace vtrain {
namespace {

/// A device on which only arithmetic limits a product: 1 TFLOP/s, and unlimited memory bandwidth.
GpuProfile device() {
  GpuProfile profile;
  profile.peak_rate = FlopsPerSecond(1e12);
  profile.peak_rate_fp8 = FlopsPerSecond(2e12);
  profile.memory_bandwidth = BytesPerSecond(1e18);
  return profile;
}

using Shape = std::array<std::int64_t, 3>;

/// A product that takes `e^value` times its roofline time.
GemmSample sample_of(const Shape& shape, double value, Precision precision = Precision::Bf16) {
  const auto [m, n, k] = shape;
  const double rate = precision == Precision::Fp8 ? 2e12 : 1e12;
  const double seconds =
      2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / rate * std::exp(value);
  return {.precision = precision, .m = m, .n = n, .k = k, .time = Seconds(seconds)};
}

std::vector<GemmSample> grid(const KernelSurface::Axes& axes,
                             const std::function<double(const Shape&)>& value) {
  std::vector<GemmSample> stack;
  for (const std::int64_t m : axes[0]) {
    for (const std::int64_t n : axes[1]) {
      for (const std::int64_t k : axes[2])
        stack.push_back(sample_of({m, n, k}, value({m, n, k})));
    }
  }
  return stack;
}

TEST_CASE("surface_fit: GEMMs over their roofline, and what does not count") {
  auto stack = grid({{{64, 128}, {256, 512}, {256, 512}}},
                    [](const Shape& shape) { return static_cast<double>(shape[0]) / 100; });
  stack.push_back(sample_of({100, 256, 256}, 9));  // not a multiple of 64
  stack.push_back(sample_of({64, 128, 256}, 9));   // too thin
  stack.push_back(sample_of({64, 256, 256}, 9));   // slower than the other one of this shape
  stack.push_back(sample_of({64, 256, 256}, 9, Precision::Fp8));
  const auto fit = fit_gemm(device(), Precision::Bf16, std::array{stack});
  REQUIRE(fit);
  CHECK(fit->num_points == 8);
  CHECK(fit->surface.axes()[0] == KernelSurface::Axis{64, 128});
  CHECK(fit->surface.at({64, 256, 256}).value == doctest::Approx(0.64));
  CHECK(fit->surface.at({128, 512, 256}).value == doctest::Approx(1.28));
  CHECK(fit->spread_percent == doctest::Approx(0));
  const auto fp8 = fit_gemm(device(), Precision::Fp8, std::array{stack});
  REQUIRE(fp8);
  CHECK(fp8->surface.at({1, 1, 1}).value == doctest::Approx(9));
  CHECK(!fit_gemm(device(), Precision::Fp4, std::array{stack}));
}

TEST_CASE("surface_fit: a hole takes the value before it on k, then n, then m") {
  const auto value = [](const Shape& shape) {
    return static_cast<double>(shape[0] + shape[1] + shape[2]) / 1000;
  };
  auto stack = grid({{{64, 128}, {256, 512}, {256, 512}}}, value);
  std::erase_if(stack, [](const GemmSample& sample) {
    return sample.m == 128 && ((sample.n == 512 && sample.k == 512) || (sample.n == 256 && sample.k == 256));
  });
  const auto fit = fit_gemm(device(), Precision::Bf16, std::array{stack});
  REQUIRE(fit);
  CHECK(fit->surface.at({128, 512, 512}).value == doctest::Approx(0.128 + 0.512 + 0.256));
  CHECK(fit->surface.at({128, 256, 256}).value == doctest::Approx(0.064 + 0.256 + 0.256));
}

TEST_CASE("surface_fit: the mean of two stacks on the union of their grids") {
  // The second stack knows only the rim on m; half way in ln m it has the mean of it, 0.2.
  const auto one = grid({{{64, 128, 256}, {256}, {256}}}, [](const Shape&) { return 0.0; });
  const auto two =
      grid({{{64, 256}, {256}, {256}}}, [](const Shape& shape) { return shape[0] == 64 ? 0.0 : 0.4; });
  const auto fit = fit_gemm(device(), Precision::Bf16, std::array{one, two});
  REQUIRE(fit);
  CHECK(fit->surface.at({64, 256, 256}).value == doctest::Approx(0));
  CHECK(fit->surface.at({128, 256, 256}).value == doctest::Approx(0.1));
  CHECK(fit->surface.at({256, 256, 256}).value == doctest::Approx(0.2));
  // Five points off by 0, 0.1, 0.2, 0 and -0.2: (0 + (e^0.1 - 1) + (e^0.2 - 1) + 0 + (1 - e^-0.2)) / 5 =
  // 0.1016.
  CHECK(fit->num_points == 5);
  CHECK(fit->spread_percent == doctest::Approx(10.16).epsilon(1e-3));
}

TEST_CASE("surface_fit: of 16-bit products a time far above the shortest one does not count") {
  // The second stack is 1.45, the third one 1.55 times as slow from 128 rows on.
  const auto slower_by = [](double ratio, Precision precision) {
    return std::vector{sample_of({64, 256, 256}, 0, precision),
                       sample_of({128, 256, 256}, std::log(ratio), precision)};
  };
  const auto value_of = [&](Precision precision) {
    const auto fit =
        fit_gemm(device(), precision,
                 std::array{slower_by(1.55, precision), slower_by(1, precision), slower_by(1.45, precision)});
    REQUIRE(fit);
    CHECK(fit->num_points == 6);
    CHECK(fit->surface.at({64, 256, 256}).value == doctest::Approx(0));
    return fit->surface.at({128, 256, 256}).value;
  };
  CHECK(value_of(Precision::Bf16) == doctest::Approx(std::log(1.45) / 2));
  CHECK(value_of(Precision::Fp8) == doctest::Approx(std::log(1.45 * 1.55) / 3));
}

TEST_CASE("surface_fit: the left-out error is that of an inner line from its neighbours") {
  // Lines at m = 4096 are off by 0.1 from the others: 1 - e^-0.1 = 9.516 %.
  const auto stack = grid({{{2048, 4096, 8192}, {1024, 2048}, {1024, 2048}}},
                          [](const Shape& shape) { return shape[0] == 4096 ? 0.1 : 0.0; });
  const auto fit = fit_gemm(device(), Precision::Bf16, std::array{stack});
  REQUIRE(fit);
  CHECK(fit->left_out_error_percent == doctest::Approx(9.516).epsilon(1e-4));
}

TEST_CASE("surface_fit: scattered shapes are no grid") {
  std::vector<GemmSample> stack;
  for (std::int64_t i = 1; i < 10; ++i)
    stack.push_back(sample_of({64 * i, 256 + i, 256 + i}, 0));
  const auto fit = fit_gemm(device(), Precision::Bf16, std::array{stack});
  REQUIRE(!fit);
  CHECK(fit.error().message == "expected shapes on a grid, found 9 shapes scattered over 729 nodes");
}

TEST_CASE("surface_fit: attention rates are means over heads and batch") {
  // 2 heads x sequence^2 x head size = 2 x 8 x 256^2 x 64 = 67.1e6 FLOPs, in 67.1 us and 33.6 us: 1e12 and
  // 2e12 FLOP/s.
  const auto sample = [](std::int64_t batch, std::int64_t heads, std::int64_t kv, double ns) {
    return AttentionSample{.batch = batch,
                           .sequence = 256,
                           .heads = heads,
                           .key_value_heads = kv,
                           .head_size = 64,
                           .time = Nanoseconds(ns)};
  };
  const std::vector<AttentionSample> stack = {sample(1, 8, 2, 67'108.864), sample(2, 4, 1, 33'554.432),
                                              sample(1, 8, 8, 1), sample(3, 4, 1, 1)};
  const auto fit = fit_attention(std::array{stack});
  REQUIRE(fit);
  CHECK(fit->num_points == 1);
  CHECK(std::exp(fit->surface.at({64, 256, 8}).value) == doctest::Approx(1.5e12));
}

TEST_CASE("surface_fit: backward rates by the work there is") {
  const std::string two_heads = "batch=1, seq_len=4096, head_num=2, qk_head_dim=128, v_head_dim=128";
  const std::string batch_of_two = "batch=2, seq_len=4096, head_num=1, qk_head_dim=128, v_head_dim=128";
  const std::string latent = "batch=1, seq_len=4096, head_num=8, qk_head_dim=192, v_head_dim=128";
  const std::vector<OperatorSample> samples = {{"sdp_fwd", two_heads, 0.8},    {"sdp_bwd", two_heads, 0.4},
                                               {"sdp_fwd", batch_of_two, 0.8}, {"sdp_bwd", batch_of_two, 1.6},
                                               {"sdp_fwd", latent, 0.8},       {"sdp_bwd", latent, 0.1}};
  const auto fit = fit_attention_backward(samples);
  REQUIRE(fit);
  CHECK(fit->work() == std::vector<double>{8192});
  CHECK(fit->ratio().front() == doctest::Approx(1));  // the geometric mean of 0.5 and 2
  CHECK(!fit_attention_backward({}));
}

TEST_CASE("surface_fit: the first table of a group counts, and interpolation errs between its sizes") {
  const auto sample = [](std::int64_t gpus, std::int64_t bytes, double ns) {
    return CollectiveSample{.num_gpus = gpus, .bytes = bytes, .time = Nanoseconds(ns)};
  };
  // 68 bytes lie half way between 64 and 72, the next eighth, at 15; 12 were measured: 25 % off, among four
  // sizes.
  const std::vector<CollectiveSample> first = {sample(2, 64, 9), sample(2, 64, 11), sample(2, 72, 20),
                                               sample(2, 68, 12)};
  const std::vector<CollectiveSample> second = {sample(2, 64, 1000), sample(3, 64, 30)};
  const CollectiveFit fit = fit_collectives(std::array{first, second});
  CHECK(fit.tables.at(Collective::AllReduce, 2, Bytes(64))->time.count() == 10);
  CHECK(fit.tables.at(Collective::AllReduce, 3, Bytes(64))->time.count() == 30);
  CHECK(fit.tables.of(Collective::AllReduce).at(2).entries().size() == 2);
  CHECK(fit.num_points[0] == 4);  // sizes of both groups
  CHECK(fit.compaction_error_percent[0] == doctest::Approx(25.0 / 4));
}

TEST_CASE("surface_fit: compaction error is the mean over the nodes of the full surface") {
  const KernelSurface full({{{1, 2}, {1}, {1}}}, {0, 0.1});
  const KernelSurface compact({{{1}, {1}, {1}}}, {0});
  // e^0 - 1 = 0 and e^-0.1 - 1 = -9.516 %.
  CHECK(compaction_error_percent(full, compact) == doctest::Approx(9.516 / 2).epsilon(1e-4));
}

}  // namespace
}  // namespace vtrain
