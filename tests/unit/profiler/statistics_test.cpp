#include "profiler/statistics.hpp"

#include <stdexcept>

#include <doctest/doctest.h>

namespace vtrain::profiler {

TEST_CASE("statistics: quantiles are linear between ranks") {
  // numpy.percentile([1, 2, 3, 4, 10], [10, 50, 90]): ranks 0.4, 2, 3.6.
  const Spread spread = spread_of({10, 4, 1, 3, 2});
  CHECK(spread.low == doctest::Approx(1.4));
  CHECK(spread.median == 3);
  CHECK(spread.high == doctest::Approx(7.6));
  CHECK(quantile({5, 7}, 0.5) == 6);
  CHECK(quantile({5}, 0.9) == 5);
  CHECK_THROWS_AS(quantile({}, 0.5), std::logic_error);
}

}  // namespace vtrain::profiler
