#include "policies/backfill/gpu_set_timeline.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace vtrain {

GpuSetTimeline::GpuSetTimeline(GpuCount num_gpus, SimTime begin, std::span<const Slot* const> taken) {
  std::vector<const Slot*> by_end(taken.begin(), taken.end());
  std::erase_if(by_end, [begin](const Slot* slot) { return slot->end <= begin; });
  std::ranges::sort(by_end, {}, &Slot::end);
  slices_.push_back({begin, GpuSet(num_gpus), false});
  for (const Slot* const slot : by_end)
    slices_.front().free.erase(slot->gpus);
  for (const Slot* const slot : by_end) {
    if (slot->end == SimTime::max()) break;
    if (slot->end > slices_.back().begin) {
      GpuSet free = slices_.back().free;
      slices_.push_back({slot->end, std::move(free), true});
    }
    slices_.back().free.insert(slot->gpus);
  }
}

void GpuSetTimeline::advance(SimTime now) {
  if (now < slices_.front().begin) throw std::logic_error("GpuSetTimeline::advance: time runs backwards");
  const auto next = std::upper_bound(slices_.begin(), slices_.end(), now,
                                     [](SimTime time, const Slice& slice) { return time < slice.begin; });
  slices_.erase(slices_.begin(), next - 1);
  slices_.front().begin = now;
}

bool GpuSetTimeline::only_gains() const {
  return std::all_of(slices_.begin() + 1, slices_.end(), [](const Slice& slice) { return slice.only_gains; });
}

std::optional<Slot> GpuSetTimeline::earliest_slot(GpuCount num_gpus, SimDuration length) const {
  GpuSet common;            // GPUs that are free in each slice of [first, covered)
  std::size_t covered = 0;  // nothing when not behind `first`
  std::size_t checked = 0;  // each slice of [first, checked) has enough free GPUs by itself
  for (std::size_t first = 0; first < slices_.size();) {
    const SimTime begin = slices_[first].begin;
    const SimTime end = saturating_sum(begin, length);
    checked = std::max(checked, first);
    while (checked < slices_.size() && slices_[checked].begin < end &&
           slices_[checked].free.size() >= num_gpus)
      ++checked;
    if (checked < slices_.size() && slices_[checked].begin < end) {
      first = checked + 1;  // this slice is in the way of every slot that begins before its end
      continue;
    }
    if (covered <= first) {
      common = slices_[first].free;
      covered = first + 1;
    }
    for (; covered < checked && common.size() >= num_gpus; ++covered) {
      if (!slices_[covered].only_gains) common.intersect(slices_[covered].free);
    }
    if (common.size() >= num_gpus) return Slot{begin, end, common.lowest(num_gpus)};
    first = latest_first(covered - 1, num_gpus, common);
  }
  return std::nullopt;
}

std::size_t GpuSetTimeline::latest_first(std::size_t last, GpuCount num_gpus, GpuSet& common) const {
  common = slices_[last].free;
  GpuSet wider;
  for (std::size_t first = last;; --first) {
    wider = slices_[first - 1].free;
    wider.intersect(common);
    if (wider.size() < num_gpus) return first;
    std::swap(wider, common);
  }
}

bool GpuSetTimeline::may_begin_before(SimTime bound, SimTime reserved, GpuCount num_gpus,
                                      SimDuration length) const {
  SimTime begin =
      slices_.front().begin;  // of the stretch of slices with enough free GPUs that is being looked at
  for (std::size_t i = 0; i < slices_.size() && slices_[i].begin < reserved; ++i) {
    if (slices_[i].begin >= saturating_sum(begin, length)) return true;
    if (slices_[i].free.size() >= num_gpus) continue;
    if (i + 1 == slices_.size() || slices_[i + 1].begin >= bound) return false;
    begin = slices_[i + 1].begin;
  }
  return begin < std::min(bound, reserved);
}

void GpuSetTimeline::reserve(const Slot& slot) {
  change(slot.begin, slot.end, [&slot](GpuSet& free) { free.erase(slot.gpus); });
}

void GpuSetTimeline::release(const Slot& slot) {
  change(std::max(slot.begin, slices_.front().begin), slot.end,
         [&slot](GpuSet& free) { free.insert(slot.gpus); });
}

template <class Change>
void GpuSetTimeline::change(SimTime begin, SimTime end, Change change) {
  if (begin >= end) return;
  const std::size_t first = split(begin);
  const std::size_t last = end == SimTime::max() ? slices_.size() : split(end);
  for (std::size_t position = first; position < last; ++position)
    change(slices_[position].free);
  // Inside the span, differences between neighbours are unchanged.
  if (last < slices_.size()) compare_with_last(last);
  if (first > 0) compare_with_last(first);
}

std::size_t GpuSetTimeline::split(SimTime time) {
  const auto next = std::upper_bound(slices_.begin(), slices_.end(), time,
                                     [](SimTime t, const Slice& slice) { return t < slice.begin; });
  const auto position = static_cast<std::size_t>(next - slices_.begin());
  if (position == 0) throw std::logic_error("GpuSetTimeline: a slot begins in the past");
  if (slices_[position - 1].begin == time) return position - 1;
  Slice later{time, slices_[position - 1].free, true};
  slices_.insert(next, std::move(later));
  return position;
}

void GpuSetTimeline::compare_with_last(std::size_t position) {
  const GpuSet& before = slices_[position - 1].free;
  Slice& slice = slices_[position];
  slice.only_gains = slice.free.includes(before);
  if (slice.only_gains && slice.free.size() == before.size())
    slices_.erase(slices_.begin() + static_cast<std::ptrdiff_t>(position));
}

}  // namespace vtrain
