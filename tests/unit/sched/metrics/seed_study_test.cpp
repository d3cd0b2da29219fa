#include "sched/metrics/seed_study.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/base/rng.hpp"

namespace vtrain {

TEST_CASE("seed_study: the interval of a mean is that of Student's t") {
  // t(0.975) is 12.7062 with one degree of freedom and 2.26216 with nine (tables of Student's t).
  const double two[] = {1, 3};
  CHECK(estimate_of(two).mean == 2);
  CHECK(estimate_of(two).half_width == doctest::Approx(12.7062).epsilon(1e-5));
  const double ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  CHECK(estimate_of(ten).mean == 5.5);
  CHECK(estimate_of(ten).half_width == doctest::Approx(2.262157 * 3.0276504 / std::sqrt(10.0)).epsilon(1e-6));
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const double some[] = {1, missing, 3};
  CHECK(estimate_of(some).samples == 2);
  CHECK(estimate_of(some).mean == 2);
  CHECK(std::isinf(estimate_of(std::span(two).first(1)).half_width));
  CHECK(std::isnan(estimate_of(std::span<const double>()).mean));
}

TEST_CASE("seed_study: 95 of 100 intervals hold the true mean") {
  RandomStream random(1, "coverage");
  int held = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    double values[8];
    for (double& value : values)
      value = random.normal();
    if (!estimate_of(values).is_clear()) ++held;
  }
  CHECK(held > kTrials * 0.94);
  CHECK(held < kTrials * 0.96);
}

TEST_CASE("seed_study: differences are paired by seed") {
  SeedStudy study{.policies = {"a", "b"}};
  for (int seed = 1; seed <= 5; ++seed) {
    // The seeds differ by far more than the policies.
    std::vector<Summary> summaries(2);
    summaries[0].preemptions = 1000 * seed + seed % 2;
    summaries[1].preemptions = 1000 * seed + 10;
    study.seeds.push_back({.seed = static_cast<std::uint64_t>(seed),
                           .values = {RunValues(summaries[0]), RunValues(summaries[1])}});
  }
  const auto metrics = run_metrics();
  const auto preemptions = std::find_if(metrics.begin(), metrics.end(),
                                        [](const Metric& metric) { return metric.key == "preemptions"; });
  REQUIRE(preemptions != metrics.end());
  const Estimate difference = study.difference(*preemptions, 1, 0);
  CHECK(difference.mean == doctest::Approx(9.4));
  CHECK(difference.is_clear());
  CHECK(difference.half_width < 1);
  CHECK(study.mean(*preemptions, 0).half_width > 1000);
}

}  // namespace vtrain
