#include "sched/placement/fragmentation_summary.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "tests/support/sim_time.hpp"

namespace vtrain {

TEST_CASE("fragmentation summary: means over time, in all and by interval") {
  // 0.5 for 10 s, 1 for 5 s, 0.2 for 185 s: intervals of 2 s.
  const std::vector<FragmentationSample> samples = {
      {at(90), 0.5}, {at(110), 1.0}, {at(115), 0.2}, {at(400), 0.9}};
  const auto summary = summarize_fragmentation(samples, at(100), at(300));
  CHECK(summary.mean_rate == doctest::Approx((0.5 * 10 + 1.0 * 5 + 0.2 * 185) / 200).epsilon(1e-12));
  CHECK(summary.max_rate == 1.0);
  CHECK(summary.interval_s == 2);
  REQUIRE(summary.mean_rate_by_interval.size() == 100);
  CHECK(summary.mean_rate_by_interval[4] == doctest::Approx(0.5));
  CHECK(summary.mean_rate_by_interval[5] == doctest::Approx(1.0));
  // From 114 to 116: 1 s of 1 and 1 s of 0.2.
  CHECK(summary.mean_rate_by_interval[7] == doctest::Approx(0.6));
  CHECK(summary.mean_rate_by_interval[99] == doctest::Approx(0.2));
}

TEST_CASE("fragmentation summary: nothing before the first sample, and no samples at all") {
  const auto summary = summarize_fragmentation({}, at(0), at(10));
  CHECK(summary.mean_rate == 0);
  CHECK(summary.max_rate == 0);
  CHECK(summary.mean_rate_by_interval.size() == 100);
}

TEST_CASE("fragmentation summary: the last interval takes what does not divide by their number") {
  // 99 intervals of 2 ns and one of 52 ns.
  const std::vector<FragmentationSample> samples = {{SimTime(), 0.5}, {SimTime(SimDuration(224)), 1.0}};
  const auto summary = summarize_fragmentation(samples, SimTime(), SimTime(SimDuration(250)));
  CHECK(summary.mean_rate == doctest::Approx((0.5 * 224 + 26) / 250));
  REQUIRE(summary.mean_rate_by_interval.size() == 100);
  CHECK(summary.mean_rate_by_interval[98] == doctest::Approx(0.5));
  CHECK(summary.mean_rate_by_interval[99] == doctest::Approx(0.75));
}

}  // namespace vtrain
