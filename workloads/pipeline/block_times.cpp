#include "workloads/pipeline/block_times.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace vtrain {

TimeGrid::TimeGrid(Nanoseconds bound) {
  if (!std::isfinite(bound.count())) throw std::logic_error("iteration work: a time is not a finite number");
  constexpr int kFinest = 30;
  constexpr int kMantissaBits = 53;
  const int magnitude = bound.count() >= 1 ? std::ilogb(bound.count()) + 1 : 1;
  steps_per_ns_ = std::ldexp(1.0, std::min(kFinest, kMantissaBits - magnitude));
}

BlockTimes TimeGrid::round(const BlockTimes& times) const {
  return {.forward = round(times.forward),
          .recompute = round(times.recompute),
          .backward = round(times.backward),
          .weight = round(times.weight),
          .forward_latency = round(times.forward_latency),
          .backward_latency = round(times.backward_latency)};
}

Nanoseconds time_bound(const PipelineShape& shape, std::span<const BlockTimes> blocks) {
  // A pipeline of uniform stages, each as slow as the slowest, takes about (micro-batches + stages) times all
  // the blocks of one; twice that, for good measure.
  const auto num_chunks = static_cast<std::size_t>(shape.num_chunks);
  Nanoseconds round{0};
  for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
    Nanoseconds slowest{0};
    for (std::size_t i = chunk; i < blocks.size(); i += num_chunks) {
      const BlockTimes& times = blocks[i];
      slowest = std::max(slowest, times.forward + times.recompute + times.backward + times.weight +
                                      times.forward_latency + times.backward_latency);
    }
    round += slowest;
  }
  return 2 * static_cast<double>(shape.num_micro_batches + shape.num_stages) * round;
}

}  // namespace vtrain
