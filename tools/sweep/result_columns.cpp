#include "tools/sweep/result_columns.hpp"

#include <algorithm>

#include "core/base/strings.hpp"

namespace vtrain {
namespace {

/// A title as a name: `p95_deficit_of_shares` of `p95 deficit of shares`.
std::string name_of_title(std::string_view title) {
  std::string name;
  for (const char c : lower_case(title)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_plain)
      name += c;
    else if (!name.ends_with('_'))
      name += '_';
  }
  return name;
}

std::vector<MetricColumn> make_columns() {
  std::vector<MetricColumn> columns;
  for (const std::span<const Metric> table : {run_metrics(), loss_metrics()}) {
    for (const Metric& metric : table) {
      std::string name = metric.key.empty() ? name_of_title(metric.title) : std::string(metric.key);
      if (std::ranges::find(columns, name, &MetricColumn::name) == columns.end())
        columns.push_back({std::move(name), &metric});
    }
  }
  return columns;
}

}  // namespace

std::span<const MetricColumn> metric_columns() {
  static const std::vector<MetricColumn> columns = make_columns();
  return columns;
}

std::vector<double> metric_values(const Summary& summary) {
  std::vector<double> values;
  values.reserve(metric_columns().size());
  for (const MetricColumn& column : metric_columns())
    values.push_back(column.metric->value(summary));
  return values;
}

bool is_whole(const Metric& metric) {
  return metric.unit == MetricUnit::Count || metric.unit == MetricUnit::Flag;
}

std::string option_column(std::string_view option) {
  std::string name(option);
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace vtrain
