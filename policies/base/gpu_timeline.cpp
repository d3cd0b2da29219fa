#include "policies/base/gpu_timeline.hpp"

#include <algorithm>
#include <limits>

namespace vtrain {

std::vector<GpuTimeline::Step>::iterator GpuTimeline::lower_bound(Time time) {
  return std::ranges::lower_bound(steps_, time, {}, &Step::time);
}

std::size_t GpuTimeline::index_from(Time time) const {
  // A binary search without branches, which would be unpredictable.
  const Step* first = steps_.data();
  std::size_t size = steps_.size();
  while (size > 0) {
    const std::size_t half = (size + 1) / 2;
    first += half * static_cast<std::size_t>(first[half - 1].time < time);
    size -= half;
  }
  return static_cast<std::size_t>(first - steps_.data());
}

bool GpuTimeline::has(Time time) const {
  return std::ranges::binary_search(steps_, time, {}, &Step::time);
}

std::int64_t GpuTimeline::at(Time time) const {
  const auto next = std::ranges::upper_bound(steps_, time, {}, &Step::time);
  return next == steps_.begin() ? steps_.front().gpus : std::prev(next)->gpus;
}

std::int64_t GpuTimeline::least_after_first() const {
  std::int64_t least = steps_.back().gpus;
  for (std::size_t i = 1; i < steps_.size(); ++i)
    least = std::min(least, steps_[i].gpus);
  return least;
}

void GpuTimeline::set(Time time, std::int64_t gpus) {
  const auto step = lower_bound(time);
  if (step != steps_.end() && step->time == time) {
    step->gpus = gpus;
  } else {
    steps_.insert(step, {time, gpus});
  }
}

void GpuTimeline::split(Time time) {
  if (!has(time)) set(time, at(time));
}

void GpuTimeline::add(Time from, Time to, std::int64_t gpus) {
  for (auto step = lower_bound(from); step != steps_.end() && step->time < to; ++step)
    step->gpus += gpus;
}

void GpuTimeline::add_to_steps(std::size_t first, std::size_t last, std::int64_t gpus) {
  for (std::size_t i = first; i < last; ++i)
    steps_[i].gpus += gpus;
}

void GpuTimeline::insert_step(std::size_t index, const Step& step) {
  steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(index), step);
}

void GpuTimeline::erase_step(std::size_t index) {
  steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(index));
}

void GpuTimeline::merge() {
  const auto same = std::unique(steps_.begin(), steps_.end(),
                                [](const Step& a, const Step& b) { return a.gpus == b.gpus; });
  steps_.erase(same, steps_.end());
}

void GpuTimeline::begin_at(Time start) {
  const auto next = std::ranges::upper_bound(steps_, start, {}, &Step::time);
  steps_.erase(steps_.begin(), std::prev(next));
  steps_.front().time = start;
}

void GpuTimeline::append(Time time, std::int64_t gpus) {
  if (!steps_.empty() && steps_.back().time == time) steps_.pop_back();
  if (steps_.empty() || steps_.back().gpus != gpus) steps_.push_back({time, gpus});
}

void GpuTimeline::assign_sum(const GpuTimeline& base, const GpuTimeline& part, Time part_until,
                             std::int64_t times) {
  steps_.clear();
  steps_.reserve(base.steps_.size() + part.steps_.size() + 1);
  auto step = base.steps_.begin();
  const auto last = base.steps_.end();
  std::int64_t gpus = 0;
  for (auto own = part.steps_.begin(); own != part.steps_.end() && own->time < part_until; ++own) {
    const Time next =
        std::next(own) != part.steps_.end() ? std::min(std::next(own)->time, part_until) : part_until;
    const std::int64_t more = times * own->gpus;
    if (step != last && step->time == own->time) gpus = (step++)->gpus;
    append(own->time, gpus + more);
    for (; step != last && step->time < next; ++step) {
      gpus = step->gpus;
      steps_.push_back({step->time, gpus + more});
    }
  }
  if (step != last && step->time == part_until) gpus = (step++)->gpus;
  append(part_until, gpus);
  steps_.insert(steps_.end(), step, last);
}

std::int64_t GpuTimeline::add_part(const GpuTimeline& part, Time part_until, std::int64_t times) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (auto own = part.steps_.begin(); own != part.steps_.end() && own->time < part_until; ++own) {
    const bool is_last = std::next(own) == part.steps_.end();
    const Time next = is_last ? part_until : std::min(std::next(own)->time, part_until);
    if (own->gpus == 0) continue;
    const std::size_t first = split_at(own->time);
    const std::size_t last = split_at(next);
    for (std::size_t i = first; i < last; ++i) {
      steps_[i].gpus += times * own->gpus;
      least = std::min(least, steps_[i].gpus);
    }
    merge_at(last);
    merge_at(first);
  }
  return least;
}

std::size_t GpuTimeline::split_at(Time time) {
  const std::size_t index = index_from(time);
  if (index == steps_.size() || steps_[index].time != time)
    insert_step(index, {time, steps_[index - 1].gpus});
  return index;
}

void GpuTimeline::merge_at(std::size_t index) {
  if (index > 0 && steps_[index].gpus == steps_[index - 1].gpus) erase_step(index);
}

}  // namespace vtrain
