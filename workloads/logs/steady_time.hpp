/// Time of a steady iteration of a log.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/logs/training_log.hpp"

namespace vtrain {

/// Iterations after a start that do not count: kernels are compiled, caches and pools are empty.
inline constexpr std::int64_t kWarmUpIterations = 3;
/// Fewest steady lines of a log.
inline constexpr std::size_t kLeastSteadyLines = 3;

/// The time of a steady iteration, with the lines that were left out.
struct SteadyTime {
  Seconds median{0};
  Seconds first_quartile{0};  ///< quartile of the steady lines
  Seconds third_quartile{0};
  Seconds mean{0};  ///< mean of all lines after warm-up
  std::size_t num_steady = 0;
  std::size_t num_warm_up = 0;
  std::size_t num_slow = 0;  ///< slower lines: evaluations, checkpoints, pauses
  std::size_t num_fast = 0;  ///< faster lines
};

/// Figures of an iteration that turn rates into times.
struct IterationSize {
  double samples = 0;  ///< sequences
  double tokens = 0;   ///< tokens of all sequences
  double gpus = 1;     ///< GPUs
};

/// The steps of a log in seconds. A log of seconds needs no size.
std::vector<LoggedStep> steps_in_seconds(const TrainingLog& log, const IterationSize& size);

/// The median of steady lines:
///  1. After each start the first line is left out, and every line up to `kWarmUpIterations` - 1 iterations
///     after it. A log that begins in the middle of a run has no start at its beginning.
///  2. Of the rest, lines are left out that differ from its median by more than 5 % and by more than five
///     standard deviations. The deviation is estimated as 1.4826 times the median distance from the median.
///  3. The median of what is left is the result.
///
/// `steps` are those of the log in seconds. Errors name the last line: fewer than `kLeastSteadyLines` lines
/// are left. Without arguments, starts whose medians differ by more than a quarter are an error too: they are
/// those of several runs.
Result<SteadyTime> steady_time(const TrainingLog& log, const std::vector<LoggedStep>& steps);

}  // namespace vtrain
