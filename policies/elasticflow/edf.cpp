// `elasticflow-edf`: elastic earliest deadline first as in ElasticFlow's simulator (the `edf` policy of
// pkusys/ElasticFlow, Apache-2.0). Jobs are planned in the order of deadlines, each until its work is done. A
// job gets as many GPUs as it may hold, or the largest level that is free. Every decision makes the plan
// again. No job is rejected. Only the next event decides the time of the next decision, so only jobs that
// begin now are planned. A decision costs O(jobs that run x (log jobs + jobs that run)).
#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "policies/base/gpu_timeline.hpp"
#include "policies/base/policies.hpp"
#include "policies/elasticflow/slotted_policy.hpp"

namespace vtrain {
namespace {

/// A job's place in the order of deadlines; equal ones are in the order of arrival, which is that of their
/// ids.
struct DeadlinePlace {
  WholeSeconds deadline = 0;
  std::uint32_t id = 0;
  friend auto operator<=>(const DeadlinePlace&, const DeadlinePlace&) = default;
};

class ElasticFlowEdf final : public SlottedPolicy {
 public:
  using SlottedPolicy::SlottedPolicy;

 private:
  void decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) override;
  /// `kNever` while stopped jobs wait: they are a future event, but not the next one.
  std::optional<WholeSeconds> next_change() const override {
    return stopped_.empty() ? std::nullopt : std::optional(kNever);
  }
  DeadlinePlace place_of(std::uint32_t id) const { return {live_job(id).deadline, id}; }
  /// Updates the jobs that the last decision considered.
  void update_order(const SchedulingPass& pass, const std::vector<std::uint32_t>& arrived);
  /// The first job after a place that can run on `num_gpus` GPUs.
  std::optional<DeadlinePlace> first_behind(const std::optional<DeadlinePlace>& place,
                                            std::int64_t num_gpus) const;
  /// Plans the jobs that begin now, or all.
  void plan_jobs(WholeSeconds now);
  /// Puts `live_` into the order in which gangs are placed.
  void sort_for_placement();
  /// Plans one job on the free GPUs: sets the GPUs that it holds from now on and its end, and books them.
  void plan(SlottedJob& job, WholeSeconds now);

  GpuTimeline free_;
  std::map<std::int64_t, std::set<DeadlinePlace>> order_;  ///< live jobs by their least number of GPUs
  std::vector<std::uint32_t> looked_at_;                   ///< jobs that the last decision considered
  std::set<std::uint32_t> stopped_;                        ///< live jobs that have run and wait
  /// Jobs that have run and are almost done. They could end the instant they begin, or before if a failure
  /// stopped them. While there are any, all jobs are planned.
  std::set<std::uint32_t> nearly_done_;
  std::uint32_t num_arrived_ = 0;  ///< all ids below have arrived
  std::uint32_t num_settled_ = 0;  ///< ids below had arrived before the last decision without arrivals
};

void ElasticFlowEdf::decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) {
  update_order(pass, arrived);
  plan_jobs(now);
  if (arrived.empty()) num_settled_ = num_arrived_;
  sort_for_placement();
  looked_at_ = live_;
}

void ElasticFlowEdf::update_order(const SchedulingPass& pass, const std::vector<std::uint32_t>& arrived) {
  constexpr double kNoTime = 1e-3;  // s, far more than what rounding does to an end
  for (const std::uint32_t id : looked_at_) {
    const SlottedJob& job = live_job(id);
    nearly_done_.erase(id);
    if (!pass.is_live(job.job)) {
      order_[job.min_gpus].erase(place_of(id));
    } else if (job.planned && job.iterations_left <= kNoTime * job.speed(job.max_gpus)) {
      nearly_done_.insert(id);
    }
  }
  for (const std::uint32_t id : arrived) {
    order_[live_job(id).min_gpus].insert(place_of(id));
    num_arrived_ = id + 1;
  }
}

std::optional<DeadlinePlace> ElasticFlowEdf::first_behind(const std::optional<DeadlinePlace>& place,
                                                          std::int64_t num_gpus) const {
  std::optional<DeadlinePlace> first;
  for (const auto& [gpus, places] : order_) {
    if (gpus > num_gpus) break;
    const auto next = place ? places.upper_bound(*place) : places.begin();
    if (next != places.end() && (!first || *next < *first)) first = *next;
  }
  return first;
}

void ElasticFlowEdf::plan_jobs(WholeSeconds now) {
  // Jobs that do not begin now begin at the end of a running job or later. So neither they nor the GPUs that
  // they then take from others are the next event.
  const bool all = !nearly_done_.empty();
  std::vector<std::uint32_t> planned;
  free_ = GpuTimeline(now, cluster_gpus());
  const auto next_gpus = [&] { return all ? cluster_gpus() : free_.steps().front().gpus; };
  for (auto place = first_behind({}, next_gpus()); place; place = first_behind(place, next_gpus())) {
    SlottedJob& job = live_job(place->id);
    plan(job, now);
    job.planned = job.planned || job.gpus > 0;
    planned.push_back(place->id);
  }
  std::vector<std::uint32_t> by_id = planned;
  std::ranges::sort(by_id);
  for (const std::uint32_t id : live_) {
    if (std::ranges::binary_search(by_id, id)) continue;
    SlottedJob& job = live_job(id);
    job.end = kNever;
    // A job that has lost its GPUs needs nothing more.
    if (std::exchange(job.gpus, 0) > 0) {
      planned.push_back(id);
    } else if (job.planned) {
      stopped_.insert(id);
    }
  }
  live_ = std::move(planned);
  for (const std::uint32_t id : live_) {
    const SlottedJob& job = live_job(id);
    if (job.gpus > 0) {
      stopped_.erase(id);
    } else if (job.planned) {
      stopped_.insert(id);
    }
  }
}

void ElasticFlowEdf::sort_for_placement() {
  // In the order of deadlines, except that jobs that came since all were sorted last are placed last.
  std::ranges::sort(live_, {}, [this](std::uint32_t id) {
    return id < num_settled_ ? place_of(id) : DeadlinePlace{std::numeric_limits<WholeSeconds>::max(), id};
  });
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
