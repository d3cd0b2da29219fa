/// Agreement of predictions with measurements.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {

/// One configuration, measured and predicted.
struct Outcome {
  std::string id{};
  std::string group{};          ///< source, GPU and kind; rows of one group are summed up together
  std::string configuration{};  ///< equal for rows that measure one configuration
  /// Text that is equal for rows among which a user would choose a plan: model, sequence length, GPUs and
  /// global batch.
  std::string choice{};
  Seconds measured{0};   ///< above 0
  Seconds predicted{0};  ///< above 0
};

/// Predicted over measured time minus 1; negative if the prediction is too fast.
double relative_error(const Outcome& outcome);

/// Figures over a set of outcomes; errors in per cent of the measured time.
struct Accuracy {
  std::int64_t num_rows = 0;
  std::int64_t num_distinct = 0;  ///< number of different configurations
  double mape_percent = 0;        ///< mean absolute relative error
  double median_ape_percent = 0;
  double p95_ape_percent = 0;
  double bias_percent = 0;  ///< mean relative error
  /// 1 - residual / total sum of squares of the times; nothing for fewer than two different measured times.
  std::optional<double> r2{};
  /// Rank correlation of predicted with measured times, ties at their mean rank; nothing for fewer than three
  /// distinct configurations or where all are equal.
  std::optional<double> spearman{};
  /// Mean excess of the measured time of the plan predicted to be fastest over that of the fastest measured
  /// plan. The mean is over all choices of at least two different configurations; repeated measurements count
  /// with their mean.
  std::optional<double> top1_regret_percent{};
  std::int64_t num_choices = 0;  ///< choices that this mean covers
};

/// Sums up a set of outcomes; zeros for an empty set.
Accuracy measure_accuracy(std::span<const Outcome> outcomes);

/// The value below which a share `quantile` (0 to 1) of the values lies, linear between two of them. The
/// values need not be in order; there must be at least one.
double quantile_of(std::vector<double> values, double quantile);

}  // namespace vtrain
