#include "policies/availability_profile.hpp"

#include <algorithm>
#include <stdexcept>

namespace vtrain {

AvailabilityProfile::AvailabilityProfile(GpuCount num_hosts, SimTime begin) {
  slices_.push_back({begin, HostSet(num_hosts)});
}

void AvailabilityProfile::advance(SimTime now) {
  if (now < slices_.front().begin)
    throw std::logic_error("AvailabilityProfile::advance: time runs backwards");
  const auto next = std::upper_bound(slices_.begin(), slices_.end(), now,
                                     [](SimTime time, const Slice& slice) { return time < slice.begin; });
  slices_.erase(slices_.begin(), next - 1);
  slices_.front().begin = now;
}

std::optional<Slot> AvailabilityProfile::earliest_slot(GpuCount num_hosts, SimDuration length) const {
  HostSet common;
  for (std::size_t first = 0; first < slices_.size(); ++first) {
    if (slices_[first].free.size() < num_hosts) continue;
    const SimTime begin = slices_[first].begin;
    const SimTime end = end_of_span(begin, length);
    common = slices_[first].free;
    std::size_t next = first + 1;
    for (; next < slices_.size() && slices_[next].begin < end; ++next) {
      if (slices_[next].free.size() < num_hosts) break;
      common.intersect(slices_[next].free);
      if (common.size() < num_hosts) break;
    }
    if (next == slices_.size() || slices_[next].begin >= end)
      return Slot{begin, end, common.lowest(num_hosts)};
    // A slice that is too full by itself is in the way of every slot that begins before its end.
    if (slices_[next].free.size() < num_hosts) first = next;
  }
  return std::nullopt;
}

void AvailabilityProfile::reserve(const Slot& slot) {
  change(slot.begin, slot.end, [&slot](HostSet& free) { free.erase(slot.hosts); });
}

void AvailabilityProfile::release(const Slot& slot) {
  change(std::max(slot.begin, slices_.front().begin), slot.end,
         [&slot](HostSet& free) { free.insert(slot.hosts); });
}

template <class Change>
void AvailabilityProfile::change(SimTime begin, SimTime end, Change change) {
  if (begin >= end) return;
  const std::size_t first = split(begin);
  const std::size_t last = end == SimTime::max() ? slices_.size() : split(end);
  for (std::size_t position = first; position < last; ++position)
    change(slices_[position].free);
  // Inside the span neighbours differed before and still do.
  if (last < slices_.size()) merge(last);
  if (first > 0) merge(first);
}

std::size_t AvailabilityProfile::split(SimTime time) {
  const auto next = std::upper_bound(slices_.begin(), slices_.end(), time,
                                     [](SimTime t, const Slice& slice) { return t < slice.begin; });
  const auto position = static_cast<std::size_t>(next - slices_.begin());
  if (position == 0) throw std::logic_error("AvailabilityProfile: a slot begins in the past");
  if (slices_[position - 1].begin == time) return position - 1;
  Slice later{time, slices_[position - 1].free};
  slices_.insert(next, std::move(later));
  return position;
}

void AvailabilityProfile::merge(std::size_t position) {
  if (slices_[position - 1].free == slices_[position].free)
    slices_.erase(slices_.begin() + static_cast<std::ptrdiff_t>(position));
}

}  // namespace vtrain
