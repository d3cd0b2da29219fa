#include "core/base/rank_correlation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/rng.hpp"
#include "tests/support/rounds.hpp"

namespace vtrain {
namespace {

/// The rank of a value: how many are smaller, and half of the others that are equal.
double counted_rank(const std::vector<double>& values, double value) {
  double smaller = 0;
  double equal = 0;
  for (const double other : values) {
    smaller += other < value ? 1 : 0;
    equal += other == value ? 1 : 0;
  }
  return smaller + (equal - 1) / 2;
}

/// Pearson's correlation of the counted ranks, from its definition by means of products.
double counted_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  double sum_a = 0;
  double sum_b = 0;
  double sum_ab = 0;
  double sum_aa = 0;
  double sum_bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double rank_a = counted_rank(a, a[i]);
    const double rank_b = counted_rank(b, b[i]);
    sum_a += rank_a;
    sum_b += rank_b;
    sum_ab += rank_a * rank_b;
    sum_aa += rank_a * rank_a;
    sum_bb += rank_b * rank_b;
  }
  return (sum_ab / n - sum_a * sum_b / n / n) /
         std::sqrt((sum_aa / n - sum_a * sum_a / n / n) * (sum_bb / n - sum_b * sum_b / n / n));
}

}  // namespace

TEST_CASE("rank_correlation: known values") {
  const std::vector<double> rising = {1, 2, 30, 4000};
  const std::vector<double> falling = {8, 4, 2, 1};
  CHECK(rank_correlation(rising, rising).value() == 1);
  CHECK(rank_correlation(rising, falling).value() == -1);
  // Ranks 0 1 2 3 and 0.5 0.5 3 2: products of the deviations sum to 3.5, squares to 5 and 4.5.
  const std::vector<double> tied = {5, 5, 9, 7};
  CHECK(rank_correlation(rising, tied).value() == doctest::Approx(3.5 / std::sqrt(5 * 4.5)));
  const std::vector<double> equal = {3, 3, 3, 3};
  CHECK(!rank_correlation(rising, equal));
  CHECK(!rank_correlation(equal, rising));
  CHECK(!rank_correlation({}, {}));
}

TEST_CASE("rank_correlation: agrees with counted ranks, with and without ties") {
  for (std::uint64_t round = 0; round < testing::rounds(200); ++round) {
    RandomStream random(round, "ranks");
    const std::size_t count = 3 + random.below(40);
    const std::uint64_t values = 2 + random.below(50);
    std::vector<double> a;
    std::vector<double> b;
    for (std::size_t i = 0; i < count; ++i) {
      a.push_back(static_cast<double>(random.below(values)));
      b.push_back(random.below(2) == 0 ? a.back() : static_cast<double>(random.below(values)));
    }
    const auto found = rank_correlation(a, b);
    const bool is_known =
        std::ranges::min(a) != std::ranges::max(a) && std::ranges::min(b) != std::ranges::max(b);
    CHECK(found.has_value() == is_known);
    if (found) CHECK(*found == doctest::Approx(counted_correlation(a, b)).epsilon(1e-9));
  }
}

}  // namespace vtrain
