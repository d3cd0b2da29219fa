/// Which kernels belong to which range of launches, and what repeated ranges say of an operator.
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

/// `part` of the sorted values lies below; 0 to 1. `std::logic_error` without values.
double quantile(std::vector<double> values, double part);
/// `std::logic_error` without values.
Spread spread_of(const std::vector<double>& values);

/// Kernels by range, each range in the order of the kernels' starts (then of their ends, streams and names).
/// Those launched outside every range, or whose range record was lost, are left out.
struct Attribution {
  std::map<std::uint64_t, std::vector<KernelRecord>> ranges;
};

/// A kernel belongs to the range in which its launch was made, whenever and on whatever stream it ran.
/// Records may come in any order. If two records name ranges for one call, the larger number counts, which is
/// the inner one where ranges are numbered as they are opened.
Attribution attribute(const Activity& activity);

/// One kernel of an operator: medians over the repetitions.
struct MeasuredKernel {
  std::string name;
  std::int64_t duration_ns = 0;
  /// From its end to the start of the kernel after it, negative if they overlap; nothing after the last
  /// kernel of repetitions that do not follow each other closely.
  std::optional<std::int64_t> gap_ns;
};

/// What SCHEMA.md calls `warm` or `cold`.
struct Measurement {
  std::size_t repetitions = 0;
  std::int64_t time_ns = 0;
  std::int64_t low_ns = 0;
  std::int64_t high_ns = 0;
  std::vector<MeasuredKernel> kernels;
};

/// Repetitions numbered `first`, `first` + 1, ..., `first` + `count` - 1. Those without kernels, and those
/// whose kernels' names are not the most frequent sequence (the earliest of equally frequent ones), do not
/// count: they lost records, or a library chose another kernel once. Nothing if less than half of the
/// repetitions count, or none. `back_to_back`: the repetitions follow each other on one stream, so that the
/// time to the next one is a gap as well.
std::optional<Measurement> summarize(const Attribution& attribution, std::uint64_t first, std::size_t count,
                                     bool back_to_back);

}  // namespace vtrain::profiler
