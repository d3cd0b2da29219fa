#include "tools/report/metric.hpp"

#include <algorithm>
#include <array>
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
    case MetricUnit::Dollars:
      return as_dollars(value);
  }
  throw std::logic_error("a unit that is not shown");
}

bool is_shown(const Metric& metric, std::span<const Summary* const> replays) {
  return std::ranges::any_of(replays, [&metric](const Summary* replay) {
    const double value = metric.value(*replay);
    return metric.hides_zero ? value > 0 : !std::isnan(value);
  });
}

std::vector<Mark> marks_of(const Metric& metric, std::span<const Summary* const> replays) {
  constexpr std::int64_t kHundredth = 100;
  std::vector<Mark> marks(replays.size(), Mark::None);
  if (metric.better == Better::Neither) return marks;
  std::int64_t most_completed = 0;
  for (const Summary* replay : replays)
    most_completed = std::max(most_completed, replay->completed);
  const std::int64_t most_missing = std::max(kHandful - 1, most_completed / kHundredth);
  const bool lower = metric.better == Better::Lower;
  double best = std::numeric_limits<double>::quiet_NaN();
  double best_of_others = best;  // that are not compared
  std::int64_t num_compared = 0;
  for (std::size_t i = 0; i < replays.size(); ++i) {
    const double value = metric.value(*replays[i]);
    if (std::isnan(value)) continue;
    const bool compared =
        !metric.depends_on_completed || most_completed - replays[i]->completed <= most_missing;
    if (!compared) marks[i] = Mark::NotCompared;
    if (compared) ++num_compared;
    double& so_far = compared ? best : best_of_others;
    if (std::isnan(so_far) || (lower ? value < so_far : value > so_far)) so_far = value;
  }
  if (std::isnan(best) || (lower ? best_of_others < best : best_of_others > best)) return marks;
  const std::string shown = metric_text(metric, best);
  std::vector<std::size_t> winners;
  for (std::size_t i = 0; i < replays.size(); ++i) {
    if (marks[i] == Mark::None && metric_text(metric, metric.value(*replays[i])) == shown)
      winners.push_back(i);
  }
  if (2 * std::ssize(winners) > num_compared) return marks;
  for (const std::size_t winner : winners)
    marks[winner] = Mark::Best;
  return marks;
}

std::string_view sign_of(Mark mark) {
  constexpr std::array<std::string_view, 3> kSigns = {"  ", " *", " †"};
  return kSigns[static_cast<std::size_t>(mark)];
}

std::string meaning_of_marks(std::span<const std::vector<Mark>> columns) {
  const auto any = [columns](Mark mark) {
    return std::ranges::any_of(columns, [mark](const std::vector<Mark>& column) {
      return std::ranges::find(column, mark) != column.end();
    });
  };
  std::string text = any(Mark::Best) ? "* best" : "";
  if (!any(Mark::NotCompared)) return text;
  return text + (text.empty() ? "" : "   ") + "† over fewer completed jobs, so not compared";
}

}  // namespace vtrain
