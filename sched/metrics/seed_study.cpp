#include "sched/metrics/seed_study.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace vtrain {

Estimate estimate_of(std::span<const double> values) {
  Estimate estimate;
  double sum = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++estimate.samples;
  }
  const auto number = static_cast<double>(estimate.samples);
  estimate.mean = estimate.samples > 0 ? sum / number : std::numeric_limits<double>::quiet_NaN();
  estimate.half_width = std::numeric_limits<double>::infinity();
  if (estimate.samples < 2) return estimate;
  double squares = 0;
  for (const double value : values) {
    if (!std::isnan(value)) squares += (value - estimate.mean) * (value - estimate.mean);
  }
  const boost::math::students_t distribution(number - 1);
  const double t = boost::math::quantile(distribution, (1 + kSeedCoverage) / 2);
  estimate.half_width = t * std::sqrt(squares / (number - 1) / number);
  return estimate;
}

std::vector<double> SeedStudy::values(const Metric& metric, std::size_t policy) const {
  std::vector<double> values;
  for (const SeededRuns& runs : seeds)
    values.push_back(metric.value(runs.summaries[policy]));
  return values;
}

Estimate SeedStudy::mean(const Metric& metric, std::size_t policy) const {
  return estimate_of(values(metric, policy));
}

Estimate SeedStudy::difference(const Metric& metric, std::size_t policy, std::size_t from) const {
  std::vector<double> differences = values(metric, policy);
  const std::vector<double> others = values(metric, from);
  for (std::size_t i = 0; i < differences.size(); ++i)
    differences[i] -= others[i];
  return estimate_of(differences);
}

}  // namespace vtrain
