/// The rate of fragmentation over time.
#pragma once

#include <span>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {

/// The rate of fragmentation (`sched/placement/fragmentation.hpp`) from one instant on.
struct FragmentationSample {
  SimTime time{};
  double rate = 0;  ///< in [0, 1]; 0 when nothing is free
};

/// The rate from the first submission to the last end, a step function of time.
struct FragmentationSummary {
  double mean_rate = 0;  ///< over time
  double max_rate = 0;
  double interval_s = 0;  ///< length of each of the intervals below
  std::vector<double> mean_rate_by_interval{};
};

/// Intervals into which the time is divided: equal ones of whole nanoseconds, but for the last, which has the
/// rest.
inline constexpr int kFragmentationIntervals = 100;

/// `samples` in order of time, the first not after `begin`; `end` after `begin`.
FragmentationSummary summarize_fragmentation(std::span<const FragmentationSample> samples, SimTime begin,
                                             SimTime end);

}  // namespace vtrain
