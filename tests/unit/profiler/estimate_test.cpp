#include "profiler/estimate.hpp"

#include <doctest/doctest.h>

#include "tests/unit/profiler/fake_device.hpp"

namespace vtrain::profiler {
namespace {

TEST_CASE("estimate: peak rates from the device") {
  // H100 SXM: 132 multiprocessors at 1.83 GHz, data sheet 989 TFLOP/s; A100: 108 at 1.41 GHz, 312 TFLOP/s.
  DeviceFacts facts;
  facts.compute_capability = "9.0";
  facts.multiprocessors = 132;
  facts.clock_hz = 1'830'000'000;
  CHECK(rates_of(facts).flops == doctest::Approx(989e12).epsilon(0.001));
  facts.compute_capability = "8.0";
  facts.multiprocessors = 108;
  facts.clock_hz = 1'410'000'000;
  CHECK(rates_of(facts).flops == doctest::Approx(312e12).epsilon(0.001));
}

TEST_CASE("estimate: time is that of the tighter bound") {
  const DeviceRates rates{1e15, 1e12};
  // 2 * 8192^3 operations at 600 TFLOP/s and 4 us.
  CHECK(estimated_time_ns(make_gemm(Pass::Forward, Format::Bf16, 8192, 8192, 8192), rates) ==
        doctest::Approx(2.0 * 8192 * 8192 * 8192 / 6e14 * 1e9 + 4000));
  // 4 bytes an element at 0.7 TB/s.
  CHECK(estimated_time_ns(make_rows(OperatorKind::Gelu, Pass::Forward, Format::Bf16, 1000, 1000), rates) ==
        doctest::Approx(4e6 / 0.7e12 * 1e9 + 4000));
}

TEST_CASE("estimate: long operators are repeated less often, but never too rarely") {
  const Protocol protocol;
  const DeviceRates rates{1e15, 1e12};
  const Operator small = make_gemm(Pass::Forward, Format::Bf16, 64, 64, 64);
  const Operator large = make_gemm(Pass::Forward, Format::Bf16, 65536, 32768, 8192);   // 59 ms
  const Operator middle = make_gemm(Pass::Forward, Format::Bf16, 16384, 16384, 4096);  // 3.7 ms: 10 in 40 ms
  CHECK(repetitions_of(small, rates, protocol) == 20);
  CHECK(repetitions_of(large, rates, protocol) == 5);
  CHECK(repetitions_of(middle, rates, protocol) == 10);
  CHECK(estimated_cost_s(large, rates, protocol) > estimated_cost_s(small, rates, protocol));
}

TEST_CASE("estimate: the cheapest first, in the same order whatever the input's") {
  const DeviceRates rates = DeviceRates::assumed();
  std::vector<Operator> operators = {make_gemm(Pass::Forward, Format::Bf16, 8192, 8192, 8192),
                                     make_gemm(Pass::Forward, Format::Bf16, 64, 64, 64),
                                     make_gemm(Pass::DataGradient, Format::Bf16, 64, 64, 64)};
  std::vector<Operator> reversed(operators.rbegin(), operators.rend());
  sort_by_cost(operators, rates, {});
  sort_by_cost(reversed, rates, {});
  CHECK(operators == reversed);
  CHECK(operators[0].pass == Pass::DataGradient);
  CHECK(operators[2].size("m") == 8192);
}

}  // namespace
}  // namespace vtrain::profiler
