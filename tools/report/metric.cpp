#include "tools/report/metric.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace vtrain {

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
    shown.push_back(compared ? metric.show(value) : "");
    if (!compared) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::vector<bool> best(replays.size(), false);
  if (metric.better == Better::Neither || low > high || metric.show(low) == metric.show(high)) return best;
  const std::string best_shown = metric.show(metric.better == Better::Lower ? low : high);
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
