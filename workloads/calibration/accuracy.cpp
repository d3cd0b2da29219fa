#include "workloads/calibration/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/base/rank_correlation.hpp"

namespace vtrain {
namespace {

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> coefficient_of_determination(std::span<const double> measured,
                                                   std::span<const double> predicted) {
  const double mean = mean_of(measured);
  double residual = 0;
  double total = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    residual += (measured[i] - predicted[i]) * (measured[i] - predicted[i]);
    total += (measured[i] - mean) * (measured[i] - mean);
  }
  if (total == 0) return std::nullopt;
  return 1 - residual / total;
}

/// One configuration with the mean of its measurements.
struct Candidate {
  double predicted = 0;
  double measured = 0;
  double repetitions = 0;
};

/// Configurations by choice. Ordered maps, so that sums do not depend on the order of the rows.
std::map<std::string, std::map<std::string, Candidate>> group_choices(std::span<const Outcome> outcomes) {
  std::map<std::string, std::map<std::string, Candidate>> choices;
  for (const Outcome& outcome : outcomes) {
    Candidate& candidate = choices[outcome.choice][outcome.configuration];
    candidate.predicted = outcome.predicted.count();
    candidate.measured =
        (candidate.measured * candidate.repetitions + outcome.measured.count()) / (candidate.repetitions + 1);
    candidate.repetitions += 1;
  }
  return choices;
}

void add_regret(Accuracy& accuracy, std::span<const Outcome> outcomes) {
  double sum = 0;
  for (const auto& [choice, candidates] : group_choices(outcomes)) {
    if (candidates.size() < 2) continue;
    const Candidate* chosen = nullptr;
    double best = 0;
    for (const auto& [configuration, candidate] : candidates) {
      if (chosen == nullptr || candidate.predicted < chosen->predicted) chosen = &candidate;
      if (best == 0 || candidate.measured < best) best = candidate.measured;
    }
    sum += chosen->measured / best - 1;
    ++accuracy.num_choices;
  }
  if (accuracy.num_choices > 0)
    accuracy.top1_regret_percent = 100 * sum / static_cast<double>(accuracy.num_choices);
}

}  // namespace

double relative_error(const Outcome& outcome) {
  return outcome.predicted / outcome.measured - 1;
}

double quantile_of(std::vector<double> values, double quantile) {
  std::sort(values.begin(), values.end());
  const double position = quantile * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= values.size()) return values.back();
  const double fraction = position - static_cast<double>(below);
  return values[below] + fraction * (values[below + 1] - values[below]);
}

Accuracy measure_accuracy(std::span<const Outcome> outcomes) {
  Accuracy accuracy{.num_rows = static_cast<std::int64_t>(outcomes.size())};
  if (outcomes.empty()) return accuracy;
  std::vector<double> errors;
  std::vector<double> measured;
  std::vector<double> predicted;
  std::set<std::string> configurations;
  for (const Outcome& outcome : outcomes) {
    const double error = relative_error(outcome);
    accuracy.bias_percent += 100 * error / static_cast<double>(outcomes.size());
    errors.push_back(100 * std::abs(error));
    measured.push_back(outcome.measured.count());
    predicted.push_back(outcome.predicted.count());
    configurations.insert(outcome.configuration);
  }
  accuracy.num_distinct = static_cast<std::int64_t>(configurations.size());
  accuracy.mape_percent = mean_of(errors);
  accuracy.median_ape_percent = quantile_of(errors, 0.5);
  accuracy.p95_ape_percent = quantile_of(errors, 0.95);
  if (configurations.size() >= 3) {
    accuracy.r2 = coefficient_of_determination(measured, predicted);
    accuracy.spearman = rank_correlation(measured, predicted);
  }
  add_regret(accuracy, outcomes);
  return accuracy;
}

}  // namespace vtrain
