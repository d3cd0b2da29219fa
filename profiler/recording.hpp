/// Measures operators and collectives: one operator, warm and cold, and a recording, which measures what is
/// missing in a table until it is complete, time is up or the user interrupts.
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

/// One operator, back to back and with L2 overwritten before each repetition.
struct OperatorMeasurement {
  Measurement warm;
  Measurement cold;
  std::uint64_t dropped_records = 0;
};

/// Prepares the operator, warms it up and repeats it under the device's activity records, first back to back,
/// then with L2 overwritten before each repetition. Runs again, twice at most, where too many repetitions
/// lost records. Throws `NotMeasurable` after that, or if the operator exceeds the device's free memory.
OperatorMeasurement measure(Device& device, const Operator& op, const Protocol& protocol);

/// What a recording needs from outside.
struct RecordingContext {
  std::filesystem::path file;            ///< the table, saved every few seconds and at the end
  std::function<double()> now_s;         ///< a clock that never goes back
  std::function<std::string()> utc_now;  ///< `2026-11-21T10:00:00Z`
  std::function<bool()> is_interrupted;  ///< asked before every operator
  /// What is done of how many, and the seconds that the rest is expected to take.
  std::function<void(std::size_t done, std::size_t total, double remaining_s)> on_progress;
  double time_limit_s = 0;  ///< no operator is begun after so long; 0: no limit
};

/// How a recording ended.
struct RecordingOutcome {
  std::size_t measured = 0;
  std::size_t skipped = 0;
  std::size_t remaining = 0;  ///< not begun: time was up, or the user interrupted
};

/// The operators that a table lacks.
std::vector<Operator> missing_operators(const std::vector<Operator>& operators, const KernelTable& table);

/// Measures operators in the order given. The table, which has a session, grows and is saved; an exception
/// other than `NotMeasurable` leaves the file whole, with all that was measured up to the last save.
RecordingOutcome record_operators(Device& device, const std::vector<Operator>& operators,
                                  const Protocol& protocol, KernelTable& table,
                                  const RecordingContext& context);

/// The collectives of a sweep.
struct SweepSpec {
  std::int64_t least_bytes = std::int64_t{1} << 10;
  std::int64_t most_bytes = std::int64_t{1} << 30;  ///< sizes double from the least to the most
  std::vector<std::int64_t> gpu_counts;             ///< empty: 2, 4, 8, ... and all there are
};

/// Measures the collectives that the table lacks. With one GPU it notes in the table what cannot be measured.
/// Under MPI all processes call it; the leader's table counts.
RecordingOutcome record_collectives(CollectiveRunner& runner, const SweepSpec& sweep, KernelTable& table,
                                    const RecordingContext& context);

}  // namespace vtrain::profiler
