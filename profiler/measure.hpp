/// Measuring one operator, warm and cold.
#pragma once

#include <cstdint>

#include "profiler/device.hpp"
#include "profiler/estimate.hpp"

namespace vtrain::profiler {

struct OperatorMeasurement {
  Measurement warm;
  Measurement cold;
  std::uint64_t dropped_records = 0;
};

/// Prepares the operator, warms it up and repeats it under the device's activity records, first back to back,
/// then with L2 overwritten before each repetition. Repetitions of which too many lost records are run again,
/// twice at most; then, or if the operator does not fit into the device's free memory, it is `NotMeasurable`.
OperatorMeasurement measure(Device& device, const Operator& op, const Protocol& protocol);

}  // namespace vtrain::profiler
