#include "profiler/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace vtrain::profiler {

double quantile(std::vector<double> values, double part) {
  if (values.empty()) throw std::logic_error("no values to take a quantile of");
  std::sort(values.begin(), values.end());
  const double rank = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(rank));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double weight = rank - static_cast<double>(below);
  return values[below] + weight * (values[above] - values[below]);
}

Spread spread_of(const std::vector<double>& values) {
  return {quantile(values, 0.1), quantile(values, 0.5), quantile(values, 0.9)};
}

}  // namespace vtrain::profiler
