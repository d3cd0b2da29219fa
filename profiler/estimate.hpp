/// Number of repetitions of an operator, and the time they take.
#pragma once

#include <cstddef>
#include <vector>

#include "profiler/kernel_table.hpp"
#include "profiler/operator.hpp"

namespace vtrain::profiler {

/// Parameters of measurement. Long operators are repeated less often, because their times vary less.
struct Protocol {
  std::size_t warm_up = 3;
  std::size_t most_repetitions = 20;
  std::size_t least_repetitions = 5;
  double budget_ns = 4e7;  ///< time for the repetitions of one operator; `least_repetitions` may take longer
};

/// Peak rates of a GPU, per second.
struct DeviceRates {
  double flops = 0;  ///< dense, 16 bit
  double memory = 0;

  /// Rates for an estimate without a GPU: about an H100.
  static DeviceRates assumed() { return {1e15, 3.35e12}; }
};

/// Rates from the number of multiprocessors, their clock, and the operations per clock of their tensor cores.
DeviceRates rates_of(const DeviceFacts& facts);

/// Estimated time: 60 % of the peak rate (double in fp8) or 70 % of the memory's bandwidth, and 4
/// microseconds per launch.
double estimated_time_ns(const Operator& op, const DeviceRates& rates);

/// Repetitions of one kind, warm or cold.
std::size_t repetitions_of(const Operator& op, const DeviceRates& rates, const Protocol& protocol);

/// Wall time of measuring one operator, in seconds: warm-up, both kinds of repetitions, allocation and plans.
double estimated_cost_s(const Operator& op, const DeviceRates& rates, const Protocol& protocol);

/// Puts the cheapest operators first, so that an interrupted recording has most of the table; equal ones by
/// key.
void sort_by_cost(std::vector<Operator>& operators, const DeviceRates& rates, const Protocol& protocol);

}  // namespace vtrain::profiler
