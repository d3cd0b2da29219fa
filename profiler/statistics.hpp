/// Order statistics of repeated measurements.
#pragma once

#include <vector>

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

}  // namespace vtrain::profiler
