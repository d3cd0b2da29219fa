#include "workloads/jobs/speed_by_gpus.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace vtrain {
namespace {

constexpr auto kFewerGpus = [](GpuCount num_gpus, const SpeedByGpus::Level& level) {
  return num_gpus < level.num_gpus;
};

}  // namespace

SpeedByGpus::SpeedByGpus(std::vector<Level> levels, Source source)
    : levels_(std::move(levels)), source_(source) {
  GpuCount before{0};
  for (const Level& level : levels_) {
    if (level.num_gpus <= before || !(level.iterations_per_s > 0)) {
      throw std::logic_error("throughput levels must ascend by GPUs and have speeds above 0");
    }
    before = level.num_gpus;
  }
}

double SpeedByGpus::iterations_per_s(GpuCount num_gpus) const {
  const Level level = at_most(num_gpus);
  return level.num_gpus == num_gpus ? level.iterations_per_s : 0;
}

SpeedByGpus::Level SpeedByGpus::at_most(GpuCount num_gpus) const {
  const auto next = std::upper_bound(levels_.begin(), levels_.end(), num_gpus, kFewerGpus);
  return next == levels_.begin() ? Level{} : *std::prev(next);
}

SpeedByGpus::Level SpeedByGpus::above(GpuCount num_gpus) const {
  const auto next = std::upper_bound(levels_.begin(), levels_.end(), num_gpus, kFewerGpus);
  return next == levels_.end() ? Level{} : *next;
}

SimDuration time_for_iterations(double iterations, double iterations_per_s) {
  // Just below 2^63: a larger number would not fit into the nanoseconds that it becomes.
  constexpr double kLongest = 9.2e18;
  // Factor that removes rounding errors of a rate that is one over a time, so that they do not add a
  // nanosecond.
  constexpr double kRounding = 1 - 1e-15;
  const double nanoseconds = std::ceil(std::max(iterations, 0.0) / iterations_per_s * 1e9 * kRounding);
  return nanoseconds < kLongest ? SimDuration(static_cast<std::int64_t>(nanoseconds)) : SimDuration::max();
}

}  // namespace vtrain
