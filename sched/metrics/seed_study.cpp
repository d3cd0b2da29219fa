#include "sched/metrics/seed_study.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace vtrain {

namespace {

/// Half of the width of a 95 % interval of Student's t, in standard errors.
double interval_factor(std::int64_t samples) {
  struct Known {
    std::int64_t samples = 0;
    double factor = 0;
  };
  thread_local Known last;  // most studies ask for the same number again and again
  if (last.samples != samples) {
    const boost::math::students_t distribution(static_cast<double>(samples - 1));
    last = {samples, boost::math::quantile(distribution, (1 + kSeedCoverage) / 2)};
  }
  return last.factor;
}

std::size_t position_of_metric(const Metric& metric) {
  return static_cast<std::size_t>(&metric - run_metrics().data());
}

}  // namespace

RunValues::RunValues() : values_(run_metrics().size(), std::numeric_limits<double>::quiet_NaN()) {}

RunValues::RunValues(const Summary& summary) {
  values_.reserve(run_metrics().size());
  for (const Metric& metric : run_metrics())
    values_.push_back(metric.value(summary));
}

double RunValues::of(const Metric& metric) const {
  return values_[position_of_metric(metric)];
}

void RunValues::set(const Metric& metric, double value) {
  values_[position_of_metric(metric)] = value;
}

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
  estimate.half_width = interval_factor(estimate.samples) * std::sqrt(squares / (number - 1) / number);
  return estimate;
}

std::vector<double> SeedStudy::values(const Metric& metric, std::size_t policy) const {
  std::vector<double> values;
  values.reserve(seeds.size());
  for (const SeededRuns& runs : seeds)
    values.push_back(runs.values[policy].of(metric));
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
