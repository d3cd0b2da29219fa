/// Measures operators and collectives. A recording measures the missing rows of a table until it is complete,
/// time is up or the user interrupts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "profiler/device.hpp"
#include "profiler/estimate.hpp"
#include "profiler/kernel_table.hpp"

namespace vtrain::profiler {

/// Times of one operator, back to back (warm) and with L2 overwritten before each repetition (cold).
struct OperatorMeasurement {
  Measurement warm;
  Measurement cold;
  std::uint64_t dropped_records = 0;
};

/// Prepares the operator, warms it up and repeats it under the device's activity records, first back to back,
/// then with L2 overwritten before each repetition. If too many repetitions lost records, it runs again,
/// twice at most, and then throws `NotMeasurable`. So does an operator that exceeds the device's free memory.
OperatorMeasurement measure(Device& device, const Operator& op, const Protocol& protocol);

/// Inputs and callbacks of a recording.
struct RecordingContext {
  std::filesystem::path file;            ///< the table, saved every few seconds and at the end
  std::function<double()> now_s;         ///< a monotonic clock, seconds
  std::function<std::string()> utc_now;  ///< `2026-11-21T10:00:00Z`
  std::function<bool()> is_interrupted;  ///< called before every operator
  /// Receives the numbers of finished and of all measurements, and the expected seconds for the rest.
  std::function<void(std::size_t done, std::size_t total, double remaining_s)> on_progress;
  double time_limit_s = 0;  ///< no operator begins after this time; 0: no limit
};

/// Result of a recording.
struct RecordingOutcome {
  std::size_t measured = 0;
  std::size_t skipped = 0;
  std::size_t remaining = 0;  ///< not begun: time was up, or the user interrupted
};

/// The operators that a table lacks.
std::vector<Operator> missing_operators(const std::vector<Operator>& operators, const KernelTable& table);

/// Measures operators in the given order. The table, which has a session, grows and is saved. An exception
/// other than `NotMeasurable` leaves the file intact, with all measurements up to the last save.
RecordingOutcome record_operators(Device& device, const std::vector<Operator>& operators,
                                  const Protocol& protocol, KernelTable& table,
                                  const RecordingContext& context);

/// The collectives of a sweep.
struct SweepSpec {
  std::int64_t least_bytes = std::int64_t{1} << 10;
  std::int64_t most_bytes = std::int64_t{1} << 30;  ///< sizes double from the least to the most
  std::vector<std::int64_t> gpu_counts;             ///< empty: 2, 4, 8, ... and all GPUs
};

/// Measures the collectives that the table lacks. With one GPU it adds them to the table as skipped. Under
/// MPI all processes call it; the leader's table is used.
RecordingOutcome record_collectives(CollectiveRunner& runner, const SweepSpec& sweep, KernelTable& table,
                                    const RecordingContext& context);

}  // namespace vtrain::profiler
