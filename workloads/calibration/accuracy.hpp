/// How well predictions agree with measurements.
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
  std::string group{};          ///< rows of one source, GPU and kind, which are summed up together
  std::string configuration{};  ///< equal for rows that measure the same thing
  /// Equal for rows among which a user would choose a plan: the same model, sequence length, GPUs and global
  /// batch.
  std::string choice{};
  Seconds measured{0};   ///< above 0
  Seconds predicted{0};  ///< above 0
};

/// Predicted over measured time less 1: negative when the prediction is too fast.
double relative_error(const Outcome& outcome);

/// Figures over a set of outcomes; errors in per cent of the measured time.
struct Accuracy {
  std::int64_t num_rows = 0;
  std::int64_t num_distinct = 0;  ///< without repetitions of a configuration
  double mape_percent = 0;        ///< mean absolute relative error
  double median_ape_percent = 0;
  double p95_ape_percent = 0;
  double bias_percent = 0;  ///< mean relative error
  /// 1 - residual / total sum of squares of the times; nothing for fewer than two different measured times.
  std::optional<double> r2{};
  /// Rank correlation of predicted with measured times, ties at their mean rank; nothing for fewer than three
  /// distinct configurations or where all are equal.
  std::optional<double> spearman{};
  /// How much slower the plan predicted to be the fastest was than the fastest measured one: the mean over
  /// all choices of at least two different configurations. Repeated measurements count with their mean.
  std::optional<double> top1_regret_percent{};
  std::int64_t num_choices = 0;  ///< choices that this mean is over
};

/// Sums up a set of outcomes. Nothing but zeros for an empty set.
Accuracy measure_accuracy(std::span<const Outcome> outcomes);

/// The value below which a share `quantile` (0 to 1) of the values lies, linear between two of them. The
/// values need not be in order; there must be at least one.
double quantile_of(std::vector<double> values, double quantile);

}  // namespace vtrain
