/// Step functions of time, reduced to the number of points that a picture can show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sched/simulation/simulation.hpp"

namespace vtrain::report {

/// Quantity drawn over time.
enum class SampleField : std::uint8_t { WaitingJobs, GpusInUse };

/// The value of one field of one sample.
std::int64_t field_value(const ClusterSample& sample, SampleField field);

/// Common instants of several step functions.
struct SampleTimes {
  SimTime begin{};
  SimTime end{};
  /// True: `times` are all instants at which anything changes, and values hold from one to the next. False:
  /// they are the begins of equal spans of time; the last span contains `end`.
  bool exact = true;
  std::vector<SimTime> times;
};

/// Every instant at which one of `runs` has a sample, if there are at most `max_exact`; else `num_spans`
/// equal spans over all of them. Empty without samples.
SampleTimes make_sample_times(std::span<const SimulationResult* const> runs, std::size_t max_exact,
                              std::size_t num_spans);

/// One step function on a grid: for each of the grid's times the smallest, largest and time-weighted mean
/// value until the next. On an exact grid the three are equal.
struct StepSeries {
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  std::vector<double> mean;
};

/// Reduces `samples` (in order of time) to the grid. The value is 0 before the first sample, and stays at the
/// last sample's value after it. Every value that held, for however short a time, lies between its span's low
/// and high. O(samples + grid).
StepSeries reduce_samples(std::span<const ClusterSample> samples, SampleField field, const SampleTimes& grid);

}  // namespace vtrain::report
