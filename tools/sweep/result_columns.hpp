/// The columns of a sweep's results: the options that vary, and the metrics of a replay.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sched/metrics/metric_table.hpp"

namespace vtrain {

/// A metric as a column.
struct MetricColumn {
  std::string name{};              ///< name of the column: the metric's key, or made from its title
  const Metric* metric = nullptr;  ///< never null
};

/// All metrics, in the order of `run_metrics` and then `loss_metrics`. No two have one name.
std::span<const MetricColumn> metric_columns();

/// Values of all metrics of a replay, in the order of the columns; NaN where one does not exist.
std::vector<double> metric_values(const Summary& summary);

/// True if the values of a metric are whole numbers.
bool is_whole(const Metric& metric);

/// Name of the column of an option that varies: `prediction_error` of `prediction-error`.
std::string option_column(std::string_view option);

}  // namespace vtrain
