#include "tools/report/metric.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "sched/metrics/metrics.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

std::string as_count(double value) {
  return with_thousands(std::llround(value));
}
std::string as_index(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.3f}", value);
}
std::string as_ratio(double value) {
  return value < 100 ? fmt::format("{:.2f}", value) : short_number(value);
}

}  // namespace

std::string metric_text(const Metric& metric, double value) {
  switch (metric.unit) {
    case MetricUnit::Count:
      return as_count(value);
    case MetricUnit::Flag:
      return value == 0 ? "no" : "yes";
    case MetricUnit::Duration:
      return as_duration(value);
    case MetricUnit::Period:
      return as_days(value);
    case MetricUnit::Share:
      return as_percent(value);
    case MetricUnit::Ratio:
      return as_ratio(value);
    case MetricUnit::Index:
      return as_index(value);
    case MetricUnit::GpuHours:
      return short_number(value);
  }
  throw std::logic_error("a unit that is not shown");
}

bool is_shown(const Metric& metric, std::span<const Summary* const> replays) {
  return std::ranges::any_of(replays, [&metric](const Summary* replay) {
    const double value = metric.value(*replay);
    return metric.hides_zero ? value > 0 : !std::isnan(value);
  });
}

std::vector<bool> best_replays(const Metric& metric, std::span<const Summary* const> replays) {
  std::int64_t most_completed = 0;
  for (const Summary* replay : replays)
    most_completed = std::max(most_completed, replay->completed);
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  std::vector<std::string> shown;  // empty: not compared
  for (const Summary* replay : replays) {
    const double value = metric.value(*replay);
    const bool compared =
        !std::isnan(value) && (metric.better == Better::Higher || replay->completed == most_completed);
    shown.push_back(compared ? metric_text(metric, value) : "");
    if (!compared) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::vector<bool> best(replays.size(), false);
  if (metric.better == Better::Neither || low > high || metric_text(metric, low) == metric_text(metric, high))
    return best;
  const std::string best_shown = metric_text(metric, metric.better == Better::Lower ? low : high);
  std::transform(shown.begin(), shown.end(), best.begin(),
                 [&](const std::string& text) { return text == best_shown; });
  return best;
}

std::string_view meaning_of_stars(std::span<const Summary* const> replays) {
  const bool all_alike = std::ranges::all_of(
      replays, [&](const Summary* replay) { return replay->completed == replays.front()->completed; });
  return all_alike ? "* best"
                   : "* best; where less is better, among the policies that completed the most jobs";
}

}  // namespace vtrain
