/// Times of whole blocks, and a grid on which they add up exactly.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/units.hpp"
#include "workloads/pipeline/schedule.hpp"

namespace vtrain {

/// Durations of the blocks of one chunk on one stage, for one micro-batch. None is negative.
struct BlockTimes {
  Nanoseconds forward{0};    ///< forward pass with the stall of its send
  Nanoseconds recompute{0};  ///< before the backward pass; may overlap the wait for the gradient
  Nanoseconds backward{0};   ///< backward pass with the stall of its send
  Nanoseconds weight{0};     ///< 0 unless the schedule splits the backward pass
  Nanoseconds forward_latency{0};
  Nanoseconds backward_latency{0};

  friend bool operator==(const BlockTimes&, const BlockTimes&) = default;
};

/// Multiples of a power of two of a nanosecond, coarse enough that doubles hold every sum below a bound
/// exactly. Whole nanoseconds are on the grid, up to bounds of 104 days.
class TimeGrid {
 public:
  /// Throws `std::logic_error` if the bound is not finite.
  explicit TimeGrid(Nanoseconds bound);

  /// The nearest time on the grid. `time` is not negative and below the bound.
  Nanoseconds round(Nanoseconds time) const {
    return Nanoseconds(static_cast<double>(static_cast<std::int64_t>(time.count() * steps_per_ns_ + 0.5)) /
                       steps_per_ns_);
  }
  /// Rounds each of the times to the grid.
  BlockTimes round(const BlockTimes& times) const;

 private:
  double steps_per_ns_ = 1;
};

/// Bound above the end of every block of a pipeline. `blocks` are [stages][chunks].
Nanoseconds time_bound(const PipelineShape& shape, std::span<const BlockTimes> blocks);

}  // namespace vtrain
