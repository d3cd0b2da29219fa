#include "core/base/rng.hpp"

#include <array>
#include <cmath>

#include <doctest/doctest.h>

namespace vtrain {
namespace {

constexpr int kDraws = 100'000;

TEST_CASE("rng: a seed and a name give one sequence") {
  RandomStream first(7, "arrivals");
  RandomStream again(7, "arrivals");
  RandomStream other_name(7, "sizes");
  RandomStream other_seed(8, "arrivals");
  int num_equal = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = first.next();
    CHECK(value == again.next());
    num_equal += value == other_name.next() ? 1 : 0;
    num_equal += value == other_seed.next() ? 1 : 0;
  }
  CHECK(num_equal == 0);
}

TEST_CASE("rng: uniform numbers fill their range evenly") {
  RandomStream random(1);
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.uniform(2, 4);
    CHECK((value >= 2 && value < 4));
    sum += value;
  }
  // Standard error of the mean: 2 / sqrt(12 * 100,000) = 0.0018.
  CHECK(std::abs(sum / kDraws - 3) < 0.01);
  std::array<int, 6> counts{};
  for (int i = 0; i < kDraws; ++i)
    ++counts[random.below(6)];
  // 16,667 expected, standard deviation 118.
  for (const int count : counts)
    CHECK(std::abs(count - kDraws / 6) < 600);
  CHECK(random.below(1) == 0);
}

TEST_CASE("rng: moments of the exponential and the normal distribution") {
  RandomStream random(2);
  double exponential = 0;
  double normal = 0;
  double square = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double draw = random.exponential(5);
    CHECK(draw >= 0);
    exponential += draw;
    const double value = random.normal();
    normal += value;
    square += value * value;
  }
  // Standard errors: 5 / 316 = 0.016, 1 / 316 = 0.003, sqrt(2) / 316 = 0.0045.
  CHECK(std::abs(exponential / kDraws - 5) < 0.08);
  CHECK(std::abs(normal / kDraws) < 0.016);
  CHECK(std::abs(square / kDraws - 1) < 0.023);
}

}  // namespace
}  // namespace vtrain
