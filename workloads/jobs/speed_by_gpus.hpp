/// Training speed of a job on each number of GPUs that it can use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {

/// T(gpus) of one job: iterations a second at some numbers of GPUs, its levels.
class SpeedByGpus {
 public:
  /// The speed on a number of GPUs.
  struct Level {
    GpuCount num_gpus{0};         ///< size of the gang
    double iterations_per_s = 0;  ///< speed on it
    /// Compares both members.
    bool operator==(const Level&) const = default;
  };

  /// Sources of speeds.
  enum class Source : std::uint8_t {
    Trace,     ///< the trace gives throughputs
    Predictor  ///< the predictor computes them from model and plan
  };

  /// Levels ascend by GPUs, which are at least 1, and have speeds above 0; `std::logic_error` otherwise.
  explicit SpeedByGpus(std::vector<Level> levels, Source source = Source::Trace);

  /// Source of all levels.
  Source source() const { return source_; }
  /// Levels, ascending by GPUs.
  std::span<const Level> levels() const { return levels_; }
  /// Iterations a second on exactly this many GPUs; 0 if there is no such level. O(log levels).
  double iterations_per_s(GpuCount num_gpus) const;
  /// The largest level of at most this many GPUs; 0 GPUs when there is none.
  Level at_most(GpuCount num_gpus) const;
  /// The smallest level of more than this many GPUs; 0 GPUs when there is none.
  Level above(GpuCount num_gpus) const;
  /// True if all levels are equal.
  bool operator==(const SpeedByGpus&) const = default;

 private:
  std::vector<Level> levels_;
  Source source_;
};

/// Duration of `iterations` iterations, rounded up to the nanosecond; negative numbers count as 0.
/// `SimDuration::max()` if the clock cannot hold it.
SimDuration time_for_iterations(double iterations, double iterations_per_s);

}  // namespace vtrain
