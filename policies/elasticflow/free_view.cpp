#include "policies/elasticflow/free_view.hpp"

namespace vtrain {

double SharePlan::gpu_seconds() const {
  const auto steps = gpus.steps();
  double sum = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const GpuTimeline::Time next = i + 1 < steps.size() ? steps[i + 1].time : end;
    sum += static_cast<double>(steps[i].gpus) * static_cast<double>(next - steps[i].time);
  }
  return sum;
}

std::int64_t SharePlan::change_at(GpuTimeline::Time time) const {
  std::int64_t before = 0;
  for (const GpuTimeline::Step& step : gpus.steps()) {
    if (step.time > time || step.time >= end) break;
    if (step.time == time) return step.gpus - before;
    before = step.gpus;
  }
  return time == end ? -before : 0;
}

void FreeView::write(GpuTimeline& sum) const {
  if (own_ == nullptr) {
    sum = *timeline_;
  } else {
    sum.assign_sum(*timeline_, own_->gpus, own_->end, 1);
  }
}

GpuTimeline::Time FreeView::last_step_until(GpuTimeline::Time time, std::size_t& place) const {
  std::size_t index = timeline_->index_from(time + 1) - 1;
  place = index;
  for (;;) {
    // The last time not after `time` at which one of the two changes.
    GpuTimeline::Time last = free_[index].time;
    std::int64_t own_change = 0;
    if (own_ != nullptr) {
      std::int64_t before = 0;
      for (const GpuTimeline::Step& step : own_->gpus.steps()) {
        if (step.time > time || step.time >= own_->end) break;
        if (step.time >= last) {
          last = step.time;
          own_change = step.gpus - before;
        }
        before = step.gpus;
      }
      if (own_->end <= time && own_->end >= last && before != 0) {
        last = own_->end;
        own_change = -before;
      }
    }
    if (last == free_[0].time) return last;
    const std::int64_t free_change =
        free_[index].time == last ? free_[index].gpus - free_[index - 1].gpus : 0;
    if (free_change + own_change != 0) return last;
    time = last - 1;
    if (free_[index].time == last) --index;
  }
}

GpuTimeline::Time FreeView::step_from(GpuTimeline::Time time, std::size_t& place) const {
  time = std::max(time, free_[0].time + 1);
  const bool is_early = free_.size() > 1 && time <= free_[1].time;
  place = is_early ? 1 : timeline_->index_from(time);
  for (std::size_t index = place;;) {
    GpuTimeline::Time next = index < free_.size() ? free_[index].time : kNever;
    std::int64_t own_change = 0;
    if (own_ != nullptr) {
      std::int64_t before = 0;
      bool ends = true;
      for (const GpuTimeline::Step& step : own_->gpus.steps()) {
        if (step.time >= own_->end) break;
        if (step.time >= time) {
          ends = false;
          if (step.time <= next) {
            next = step.time;
            own_change = step.gpus - before;
          }
          break;
        }
        before = step.gpus;
      }
      if (ends && before != 0 && own_->end >= time && own_->end <= next) {
        next = own_->end;
        own_change = -before;
      }
    }
    if (next == kNever) return next;
    const bool in_free = index < free_.size() && free_[index].time == next;
    const std::int64_t free_change = in_free ? free_[index].gpus - free_[index - 1].gpus : 0;
    if (free_change + own_change != 0) return next;
    time = next + 1;
    if (in_free) ++index;
  }
}

}  // namespace vtrain
