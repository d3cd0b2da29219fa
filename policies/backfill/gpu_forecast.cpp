#include "policies/backfill/gpu_forecast.hpp"

#include <algorithm>
#include <utility>

namespace vtrain {
namespace {

constexpr std::uint32_t kOnlyType[] = {0};

void get_usable(const SchedulingPass& pass, std::vector<std::int64_t>& gpus) {
  if (pass.gpus_by_type() != nullptr) {
    pass.gpus_by_type()->get_usable(gpus);
  } else {
    gpus.assign(1, pass.usable_gpus().value);
  }
}

}  // namespace

GpuForecast::GpuForecast(const SchedulingPass& pass) : by_type_(pass.gpus_by_type()), now_(pass.now()) {
  get_usable(pass, usable_);
  for (const std::int64_t count : usable_)
    free_.emplace_back(now_, count);
}

bool GpuForecast::advance(const SchedulingPass& pass) {
  now_ = pass.now();
  for (CountTimeline& free : free_)
    free.advance(now_);
  if (is_uniform() && pass.usable_gpus().value == usable_.front()) return false;
  get_usable(pass, scratch_);
  bool changed = false;
  for (std::size_t type = 0; type < free_.size(); ++type) {
    const std::int64_t more = scratch_[type] - usable_[type];
    if (more == 0) continue;
    free_[type].add(now_, SimTime::max(), more);
    changed = true;
  }
  usable_.swap(scratch_);
  return changed;
}

void GpuForecast::start(const SchedulingPass& pass, JobId job) {
  const SimTime end = std::max(pass.planned_end(job), now_);
  if (is_uniform()) {
    free_.front().add(now_, end, -std::int64_t{pass.job(job).num_gpus.value});
    return;
  }
  std::vector<TypeCount>& gpus = held_[job.value];
  gpus.clear();
  for (const NodeShare& share : by_type_->held(job))
    gpus.push_back({by_type_->type_of(share), share.gpus.value});
  add(gpus, now_, end, -1);
}

Booking GpuForecast::end(const SchedulingPass& pass, JobId job) {
  Booking freed{now_, std::max(pass.planned_end(job), now_), {}};
  if (is_uniform()) {
    freed.gpus.push_back({0, pass.job(job).num_gpus.value});
  } else {
    const auto held = held_.find(job.value);
    freed.gpus = std::move(held->second);
    held_.erase(held);
  }
  cancel(freed);
  return freed;
}

std::span<const std::uint32_t> GpuForecast::allowed(GpuTypeId asked) const {
  return is_uniform() ? std::span<const std::uint32_t>(kOnlyType) : by_type_->allowed(asked);
}

std::int64_t GpuForecast::most_until(GpuTypeId asked, SimTime end) const {
  std::int64_t most = 0;
  for (const std::uint32_t type : allowed(asked)) {
    const std::int64_t here = std::max(free_[type].least(now_, end), std::int64_t{0});
    most = !is_uniform() && by_type_->splits_gangs() ? most + here : std::max(most, here);
  }
  return most;
}

std::optional<std::vector<TypeCount>> GpuForecast::choose(std::span<const std::uint32_t> types,
                                                          std::span<const std::int64_t> counts,
                                                          std::int64_t needed) const {
  std::vector<TypeCount> chosen;
  for (std::size_t i = 0; i < types.size() && needed > 0; ++i) {
    if (counts[i] < needed && !by_type_->splits_gangs()) continue;
    const std::int64_t taken = std::min(counts[i], needed);
    if (taken <= 0) continue;
    chosen.push_back({types[i], taken});
    needed -= taken;
  }
  if (needed > 0) return std::nullopt;
  return chosen;
}

std::optional<Booking> GpuForecast::earliest(GpuTypeId asked, GpuCount num_gpus, SimDuration length,
                                             const CountTimeline::Window& window) const {
  const std::span<const std::uint32_t> types = allowed(asked);
  if (is_uniform() || types.size() == 1) {
    const auto begin = free_[types.front()].earliest(num_gpus.value, length, window);
    if (!begin) return std::nullopt;
    return Booking{*begin, saturating_sum(*begin, length), {{types.front(), num_gpus.value}}};
  }
  if (!by_type_->splits_gangs()) {
    std::optional<Booking> first;
    CountTimeline::Window earlier = window;
    for (const std::uint32_t type : types) {
      const auto begin = free_[type].earliest(num_gpus.value, length, earlier);
      if (!begin) continue;
      first = Booking{*begin, saturating_sum(*begin, length), {{type, num_gpus.value}}};
      earlier.before = *begin;
    }
    return first;
  }
  // Parts of several types: the begin is now or a change of the count of one of them.
  std::vector<std::int64_t> counts(types.size());
  for (SimTime begin = window.from; begin < window.before;) {
    const SimTime end = saturating_sum(begin, length);
    SimTime next = SimTime::max();
    for (std::size_t i = 0; i < types.size(); ++i) {
      const CountTimeline& free = free_[types[i]];
      counts[i] = free.least(begin, std::min(end, std::max(window.enough, begin + SimDuration(1))));
      next = std::min(next, free.next_change(begin).value_or(SimTime::max()));
    }
    if (auto gpus = choose(types, counts, num_gpus.value)) return Booking{begin, end, *std::move(gpus)};
    if (next == SimTime::max()) return std::nullopt;
    begin = next;
  }
  return std::nullopt;
}

void GpuForecast::add(const Booking& booking, std::int64_t times) {
  add(booking.gpus, booking.begin, booking.end, times);
}

void GpuForecast::add(std::span<const TypeCount> gpus, SimTime begin, SimTime end, std::int64_t times) {
  for (const TypeCount& each : gpus)
    free_[each.type].add(begin, end, times * each.gpus);
}

}  // namespace vtrain
