#include "policies/list/gpu_pool.hpp"

#include <algorithm>

namespace vtrain {

std::size_t GpuPool::num_kinds(const SchedulingPass& pass) {
  return pass.gpus_by_type() == nullptr ? 1 : pass.gpus_by_type()->num_asked() + 1;
}

std::span<const std::uint32_t> GpuPool::allowed(std::uint32_t kind) const {
  return by_type_->allowed(kind == 0 ? GpuTypeId() : GpuTypeId(kind - 1));
}

void GpuPool::begin(const SchedulingPass& pass, bool chooses_types) {
  by_type_ = types(pass);
  chooses_types_ = chooses_types;
  most_.assign(num_kinds(pass), pass.usable_gpus());
  if (!has_types()) return;
  by_type_->get_usable(left_);
  free_ = left_;
}

void GpuPool::exclude(std::span<const NodeShare> gpus) {
  for (const NodeShare& share : gpus) {
    if (has_types()) {
      left_[by_type_->type_of(share)] -= share.gpus.value;
    } else {
      most_.front() -= share.gpus;
    }
  }
  free_ = left_;
}

void GpuPool::add_held(JobId job, std::int64_t times, std::vector<std::int64_t>& gpus) const {
  for (const NodeShare& share : by_type_->held(job))
    gpus[by_type_->type_of(share)] += times * share.gpus.value;
}

void GpuPool::mark_held(JobId job) {
  if (has_types()) add_held(job, -1, free_);
}

void GpuPool::limit_to_free(const SchedulingPass& pass) {
  if (has_types()) {
    left_ = free_;
  } else {
    most_.front() = pass.free_gpus();
  }
}

GpuCount GpuPool::max_gang_by_type(std::uint32_t kind) const {
  std::int64_t most = 0;
  for (const std::uint32_t type : allowed(kind))
    most = splits_gangs() ? most + left_[type] : std::max(most, left_[type]);
  return GpuCount(static_cast<std::int32_t>(most));
}

std::span<const GpuCount> GpuPool::max_gangs() {
  if (has_types()) {
    for (std::uint32_t kind = 0; kind < most_.size(); ++kind)
      most_[kind] = max_gang(kind);
  }
  return most_;
}

void GpuPool::take_gpus_of_type(std::uint32_t type, std::int64_t num_gpus) {
  left_[type] -= num_gpus;
  free_[type] = std::min(std::max(free_[type] - num_gpus, std::int64_t{0}), left_[type]);
}

void GpuPool::take(std::uint32_t kind, GpuCount num_gpus) {
  if (!has_types()) {
    most_.front() -= num_gpus;
    return;
  }
  const auto types = allowed(kind);
  std::int64_t needed = num_gpus.value;
  for (const std::vector<std::int64_t>* gpus : {&free_, &left_}) {
    for (const std::uint32_t type : types) {
      const std::int64_t taken = std::clamp((*gpus)[type], std::int64_t{0}, needed);
      if (taken < needed && !splits_gangs()) continue;
      take_gpus_of_type(type, taken);
      needed -= taken;
    }
  }
}

void GpuPool::take(std::uint32_t kind, const Allocation& gpus) {
  if (gpus.type) {
    take_gpus_of_type(*gpus.type, gpus.gpus.value);
  } else {
    take(kind, gpus.gpus);
  }
}

bool GpuPool::try_keep_by_type(JobId job) {
  add_held(job, -1, left_);
  for (const NodeShare& share : by_type_->held(job)) {
    if (left_[by_type_->type_of(share)] >= 0) continue;
    add_held(job, 1, left_);
    return false;
  }
  return true;
}

void GpuPool::mark_free_by_type(JobId job) {
  add_held(job, 1, free_);
  for (std::size_t type = 0; type < free_.size(); ++type)
    free_[type] = std::min(free_[type], left_[type]);
}

void GpuPool::release(JobId job, GpuCount held) {
  if (has_types()) {
    add_held(job, 1, left_);
  } else {
    most_.front() += held;
  }
}

}  // namespace vtrain
