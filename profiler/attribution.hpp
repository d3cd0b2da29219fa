/// Assigns kernels to ranges of launches, and summarises repeated ranges of an operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler/activity.hpp"

namespace vtrain::profiler {

/// Middle and spread of repeated values: median, 10th and 90th percentile, each linear between its two
/// neighbours in rank (the definition of numpy's `percentile`).
struct Spread {
  double low = 0;
  double median = 0;
  double high = 0;
};

/// Value that a fraction `part` (0 to 1) of the values is below. `std::logic_error` without values.
double quantile(std::vector<double> values, double part);
/// Spread of the values; `std::logic_error` without values.
Spread spread_of(const std::vector<double>& values);

/// Kernels by range, each range in the order of the kernels' starts (then of their ends, streams and names).
/// Kernels launched outside every range, or without their range record, are left out.
struct Attribution {
  std::map<std::uint64_t, std::vector<KernelRecord>> ranges;
};

/// Assigns each kernel to the range of its launch, regardless of the time and stream of its run. Records may
/// come in any order. If a call has two ranges, the larger number counts: the inner one, if ranges are
/// numbered in order of opening.
Attribution attribute(const Activity& activity);

/// One kernel of an operator: medians over the repetitions.
struct MeasuredKernel {
  std::string name;
  std::int64_t duration_ns = 0;
  /// Gap from its end to the start of the next kernel, negative if they overlap. None after the last kernel,
  /// unless repetitions are back to back.
  std::optional<std::int64_t> gap_ns;
};

/// `warm` or `cold` of SCHEMA.md.
struct Measurement {
  std::size_t repetitions = 0;
  std::int64_t time_ns = 0;
  std::int64_t low_ns = 0;
  std::int64_t high_ns = 0;
  std::vector<MeasuredKernel> kernels;
};

/// Measurement from the repetitions `first`, `first` + 1, ..., `first` + `count` - 1. Repetitions without
/// kernels do not count, nor those whose kernels' names are not the most frequent sequence (of equally
/// frequent ones, the earliest). They lost records, or a library once chose another kernel. None if no
/// repetition counts, or less than half. `back_to_back`: the repetitions follow each other on one stream, so
/// that the time to the next one is also a gap.
std::optional<Measurement> summarize(const Attribution& attribution, std::uint64_t first, std::size_t count,
                                     bool back_to_back);

}  // namespace vtrain::profiler
