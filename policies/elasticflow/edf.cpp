// `edf:preset=elasticflow`: elastic earliest deadline first as ElasticFlow's simulator runs it. In the order
// of deadlines every job is planned on as many GPUs as it may hold, or on the largest level that is free,
// until its work is done; the plan is made again at every decision. No job is rejected (the `edf` policy of
// pkusys/ElasticFlow, Apache-2.0). Only the next event decides when that is, so jobs that would begin after
// it are not planned.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/base/gpu_timeline.hpp"
#include "policies/base/policies.hpp"
#include "policies/elasticflow/slotted_policy.hpp"

namespace vtrain {
namespace {

class ElasticFlowEdf final : public SlottedPolicy {
 public:
  using SlottedPolicy::SlottedPolicy;

 private:
  void decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) override;
  /// Puts the live jobs and those that arrived in the order of deadlines; equals as they came.
  void sort_by_deadline(std::span<const std::uint32_t> arrived);
  /// Finds how many GPUs must be free for anybody at a place of the order or behind it to hold some now: 0
  /// everywhere if all jobs are to be planned, as one that has run is so nearly done that it could end the
  /// instant it begins, or before if a failure stopped it.
  void find_fewest_gpus();
  /// Plans one job on what is free, sets what it holds from now on and when it ends, and books it.
  void plan(SlottedJob& job, WholeSeconds now);

  GpuTimeline free_;
  std::vector<std::uint32_t> order_;       ///< live jobs in the order of deadlines
  std::vector<std::int64_t> fewest_gpus_;  ///< by place in `order_`
};

void ElasticFlowEdf::decide(SchedulingPass&, WholeSeconds now, std::vector<std::uint32_t> arrived) {
  sort_by_deadline(arrived);
  // Gangs are placed in the order of deadlines only when nobody arrived.
  if (arrived.empty()) live_ = order_;
  live_.insert(live_.end(), arrived.begin(), arrived.end());
  find_fewest_gpus();
  free_ = GpuTimeline(now, cluster_gpus());
  std::size_t next = 0;
  for (; next < order_.size() && free_.steps().front().gpus >= fewest_gpus_[next]; ++next) {
    SlottedJob& job = live_job(order_[next]);
    plan(job, now);
    job.planned = job.planned || job.gpus > 0;
  }
  // The others would begin when a running job has ended, or later: their ends are not what happens next.
  for (; next < order_.size(); ++next) {
    SlottedJob& job = live_job(order_[next]);
    job.gpus = 0;
    job.end = kNever;
  }
}

void ElasticFlowEdf::sort_by_deadline(std::span<const std::uint32_t> arrived) {
  const auto is_earlier = [this](std::uint32_t a, std::uint32_t b) {
    return live_job(a).deadline < live_job(b).deadline;
  };
  order_ = live_;
  order_.insert(order_.end(), arrived.begin(), arrived.end());
  // All but those who came last are in order already.
  const auto unsorted = std::is_sorted_until(order_.begin(), order_.end(), is_earlier);
  std::stable_sort(unsorted, order_.end(), is_earlier);
  std::inplace_merge(order_.begin(), unsorted, order_.end(), is_earlier);
}

void ElasticFlowEdf::find_fewest_gpus() {
  constexpr double kNoTime = 1e-3;  // s, far more than what rounding does to an end
  fewest_gpus_.resize(order_.size());
  std::int64_t fewest = cluster_gpus();
  for (std::size_t i = order_.size(); i-- > 0;) {
    const SlottedJob& job = live_job(order_[i]);
    if (job.planned && job.iterations_left <= kNoTime * job.speed(job.max_gpus)) {
      std::ranges::fill(fewest_gpus_, 0);
      return;
    }
    fewest = std::min(fewest, job.min_gpus);
    fewest_gpus_[i] = fewest;
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

}  // namespace

MadePolicy make_elasticflow_edf(const PolicyArguments& arguments) {
  const auto slot = parse_slot(arguments);
  if (!slot) return fail(slot.error());
  return std::make_unique<ElasticFlowEdf>(*slot);
}

}  // namespace vtrain
