/// The picture of a metric over seeds: a row of points for each policy.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "sched/metrics/seed_study.hpp"

namespace vtrain::report {

/// The metrics that are drawn, where they differ.
inline constexpr std::array<std::string_view, 4> kMainMetrics = {"deadline_satisfactory_ratio",
                                                                 "deadline_satisfactory_ratio_by_gpu_hours",
                                                                 "avg_jct_s", "avg_waiting_time_s"};

/// The values of an axis, equal for pictures that are compared.
struct StripRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  /// Extends the range to all values of a metric.
  void include(const SeedStudy& study, const Metric& metric);
};

/// Distance between seeds that are drawn: 1, or more where all points of a number of studies like this one
/// would make the page too large.
std::size_t point_step(const SeedStudy& study, std::size_t num_studies);
/// `A point for each seed`, `A point for one in 5 seeds`.
std::string points_note(std::size_t step);

/// A row for each policy: a point for each seed, or every `step`-th one, and below them the mean with its
/// interval. Empty if the range has no width.
std::string strip_svg(const SeedStudy& study, const Metric& metric, const StripRange& range,
                      std::size_t step = 1);

}  // namespace vtrain::report
