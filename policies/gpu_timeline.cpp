#include "policies/gpu_timeline.hpp"

#include <algorithm>

namespace vtrain {

WholeSeconds align_to_slot(WholeSeconds start, WholeSeconds time, WholeSeconds slot) {
  const WholeSeconds past = time - start;
  const WholeSeconds slots = past / slot + (past % slot > 0 ? 1 : 0);
  return start + slots * slot;
}

std::vector<GpuTimeline::Step>::iterator GpuTimeline::lower_bound(WholeSeconds time) {
  return std::ranges::lower_bound(steps_, time, {}, &Step::time);
}

bool GpuTimeline::has(WholeSeconds time) const {
  return std::ranges::binary_search(steps_, time, {}, &Step::time);
}

std::int64_t GpuTimeline::at(WholeSeconds time) const {
  const auto next = std::ranges::upper_bound(steps_, time, {}, &Step::time);
  return next == steps_.begin() ? steps_.front().gpus : std::prev(next)->gpus;
}

void GpuTimeline::set(WholeSeconds time, std::int64_t gpus) {
  const auto step = lower_bound(time);
  if (step != steps_.end() && step->time == time) {
    step->gpus = gpus;
  } else {
    steps_.insert(step, {time, gpus});
  }
}

void GpuTimeline::split(WholeSeconds time) {
  if (!has(time)) set(time, at(time));
}

void GpuTimeline::add(WholeSeconds from, WholeSeconds to, std::int64_t gpus) {
  for (auto step = lower_bound(from); step != steps_.end() && step->time < to; ++step)
    step->gpus += gpus;
}

void GpuTimeline::merge() {
  const auto same = std::unique(steps_.begin(), steps_.end(),
                                [](const Step& a, const Step& b) { return a.gpus == b.gpus; });
  steps_.erase(same, steps_.end());
}

}  // namespace vtrain
