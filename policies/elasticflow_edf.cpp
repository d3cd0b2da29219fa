#include "policies/elasticflow_edf.hpp"

#include <algorithm>
#include <cmath>

namespace vtrain {

void ElasticFlowEdf::decide(SchedulingPass&, WholeSeconds now, std::vector<std::uint32_t> arrived) {
  const auto by_deadline = [this](std::uint32_t id) { return live_job(id).deadline; };
  free_ = GpuTimeline(now, cluster_gpus());
  std::vector<std::uint32_t> order = live_;
  order.insert(order.end(), arrived.begin(), arrived.end());
  std::ranges::stable_sort(order, {}, by_deadline);
  // Ties of later decisions follow the order of this one only when nobody arrived.
  if (arrived.empty()) live_ = order;
  live_.insert(live_.end(), arrived.begin(), arrived.end());
  for (const std::uint32_t id : order) {
    SlottedJob& job = live_job(id);
    plan(job, now);
    job.planned = job.planned || job.gpus > 0;
  }
}

void ElasticFlowEdf::plan(SlottedJob& job, WholeSeconds now) {
  double left = job.iterations_left;
  const auto ends_at = [&](WholeSeconds start, std::int64_t gpus) {
    return static_cast<WholeSeconds>(std::ceil(static_cast<double>(start) + left / job.speed(gpus)));
  };
  job.gpus = 0;
  GpuTimeline booked = free_;
  const auto steps = free_.steps();
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const auto [start, free] = steps[i];
    const WholeSeconds next = steps[i + 1].time;
    const std::int64_t gpus = job.level_within(free);
    if (gpus == 0) continue;
    if (start == now) job.gpus = gpus;
    const WholeSeconds end = ends_at(start, gpus);
    booked.add(start, start + 1, -gpus);
    if (end <= next) {
      if (!free_.has(end)) booked.set(align_to_slot(now, end, slot()), free);
      job.end = end;
      booked.merge();
      free_ = std::move(booked);
      return;
    }
    left -= static_cast<double>(next - start) * job.speed(gpus);
  }
  // Nothing is booked after the last step.
  const WholeSeconds start = steps.back().time;
  if (start == now) job.gpus = job.max_gpus;
  job.end = ends_at(start, job.max_gpus);
  booked.set(start, cluster_gpus() - job.max_gpus);
  booked.set(align_to_slot(now, job.end, slot()), cluster_gpus());
  booked.merge();
  free_ = std::move(booked);
}

}  // namespace vtrain
