#include "workloads/throughput_levels.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace vtrain {
namespace {

constexpr auto kFewerGpus = [](GpuCount num_gpus, const ThroughputLevels::Level& level) {
  return num_gpus < level.num_gpus;
};

}  // namespace

ThroughputLevels::ThroughputLevels(std::vector<Level> levels) : levels_(std::move(levels)) {
  GpuCount before{0};
  for (const Level& level : levels_) {
    if (level.num_gpus <= before || !(level.iterations_per_s > 0)) {
      throw std::logic_error("throughput levels must ascend by GPUs and have speeds above 0");
    }
    before = level.num_gpus;
  }
}

void ThroughputLevels::set_speeds_at(const GangSite& site, std::vector<double> iterations_per_s) {
  const auto is_speed = [](double speed) { return speed > 0; };
  if (iterations_per_s.size() != levels_.size() || !std::ranges::all_of(iterations_per_s, is_speed)) {
    throw std::logic_error("a site must have a speed above 0 for each level");
  }
  sites_.push_back({site, std::move(iterations_per_s)});
}

double ThroughputLevels::iterations_per_s(GpuCount num_gpus, const GangSite& site) const {
  const auto known = std::ranges::find(sites_, site, &SpeedsAtSite::site);
  const auto level = std::ranges::lower_bound(levels_, num_gpus, {}, &Level::num_gpus);
  if (level == levels_.end() || level->num_gpus != num_gpus) return 0;
  if (known == sites_.end()) return level->iterations_per_s;
  return known->iterations_per_s[static_cast<std::size_t>(level - levels_.begin())];
}

double ThroughputLevels::iterations_per_s(GpuCount num_gpus) const {
  const Level level = at_most(num_gpus);
  return level.num_gpus == num_gpus ? level.iterations_per_s : 0;
}

ThroughputLevels::Level ThroughputLevels::at_most(GpuCount num_gpus) const {
  const auto next = std::upper_bound(levels_.begin(), levels_.end(), num_gpus, kFewerGpus);
  return next == levels_.begin() ? Level{} : *std::prev(next);
}

ThroughputLevels::Level ThroughputLevels::above(GpuCount num_gpus) const {
  const auto next = std::upper_bound(levels_.begin(), levels_.end(), num_gpus, kFewerGpus);
  return next == levels_.end() ? Level{} : *next;
}

}  // namespace vtrain
