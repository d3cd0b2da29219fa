#include "sched/accounting/segment_accounting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vtrain {
namespace {

/// Speed of a gang whose traffic crosses `levels` levels of the network; each multiplies it by `factor`.
SegmentSpeed spread_speed(double factor, int levels) {
  if (factor >= 1 || levels == 0) return {};
  const double speed = std::pow(factor, levels) * static_cast<double>(SegmentSpeed::kFull);
  return {.here = std::max<std::int64_t>(1, std::llround(speed))};
}

/// Speed of a job that takes `factor` times as long as predicted.
SegmentSpeed true_speed(const SegmentSpeed& predicted, double factor) {
  if (factor == 1) return predicted;
  const auto scaled = [factor](std::int64_t speed) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(speed) / factor));
  };
  return {scaled(predicted.here), scaled(predicted.packed)};
}

}  // namespace

SegmentAccounting::SegmentAccounting(const std::vector<Job>& jobs, const Disruptions& disruptions,
                                     const Placement& placement, const PlacementSpeed* placement_speed,
                                     const RunTimeTruth& truth)
    : jobs_(jobs),
      disruptions_(disruptions),
      placement_(placement),
      placement_speed_(placement_speed),
      truth_(truth),
      overheads_(jobs.size()),
      starts_(jobs.size(), Start::First),
      losses_(jobs.size()) {}

void SegmentAccounting::grow() {
  overheads_.resize(jobs_.size());
  starts_.resize(jobs_.size(), Start::First);
  losses_.resize(jobs_.size());
}

SegmentTiming SegmentAccounting::plan(JobId id, GpuCount num_gpus) const {
  return plan(id, num_gpus, starts_[id.value]);
}

SegmentTiming SegmentAccounting::plan(JobId id, GpuCount num_gpus, Start start) const {
  const Job& job = jobs_[id.value];
  SegmentTiming plan;
  switch (start) {
    case Start::First:
      break;
    case Start::AfterPreemption:
    case Start::AfterResize:
      plan.setup = disruptions_.interruption_cost.restart_time(job, num_gpus, disruptions_.checkpoint_times);
      break;
    case Start::AfterFailure:
      plan.setup = disruptions_.interruption_cost.recovery_time(job, num_gpus, disruptions_.checkpoint_times);
      if (disruptions_.failures) plan.setup += disruptions_.failures->detection();
      break;
  }
  plan.checkpoint = disruptions_.checkpoint_times.periodic_checkpoint_time(job);
  const double mtbf_s = disruptions_.failures ? disruptions_.failures->job_mtbf_s(num_gpus)
                                              : std::numeric_limits<double>::infinity();
  plan.interval = disruptions_.checkpoints.interval_of(to_seconds(plan.checkpoint), mtbf_s)
                      .value_or(SegmentTiming::kNoCheckpoints);
  return plan;
}

SegmentSpeed SegmentAccounting::speed(JobId id, std::span<const NodeShare> shares) const {
  if (shares.empty()) return {};
  if (placement_speed_ != nullptr && placement_speed_->knows(id)) return placement_speed_->speed(id, shares);
  return spread_speed(disruptions_.spread_factor, placement_.levels_crossed(shares));
}

SegmentSpeed SegmentAccounting::slowest(JobId id, GpuCount num_gpus) const {
  if (!placement_.info().knows_nodes) return {};
  if (placement_speed_ != nullptr && placement_speed_->knows(id))
    return placement_speed_->slowest(id, num_gpus);
  return spread_speed(disruptions_.spread_factor,
                      placement_.most_levels(request_of(jobs_[id.value], num_gpus)));
}

SegmentTiming SegmentAccounting::slowest_segment(JobId id, GpuCount num_gpus,
                                                 std::optional<std::uint32_t> type) const {
  SegmentTiming segment = plan(id, num_gpus, Start::AfterPreemption);
  const bool is_known = placement_speed_ != nullptr && placement_speed_->knows(id);
  segment.speed = type && is_known ? placement_speed_->slowest(id, num_gpus, *type) : slowest(id, num_gpus);
  return segment;
}

SegmentTiming SegmentAccounting::next_segment(JobId id, GpuCount num_gpus,
                                              std::span<const NodeShare> shares) const {
  SegmentTiming segment = plan(id, num_gpus);
  segment.speed = speed(id, shares);
  return segment;
}

bool SegmentAccounting::has_costs() const {
  if (disruptions_.checkpoints.kind != CheckpointRule::Kind::None) return true;
  const bool may_spread = placement_.info().knows_nodes && !placement_.packs_gangs();
  if (may_spread && disruptions_.spread_factor < 1) return true;
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    const Job& job = jobs_[i];
    const SimDuration restart =
        disruptions_.interruption_cost.restart_time(job, job.num_gpus, disruptions_.checkpoint_times);
    if (restart.count() > 0) return true;
    if (may_spread && placement_speed_ != nullptr && placement_speed_->knows(JobId(i))) return true;
  }
  return false;
}

bool SegmentAccounting::may_have_costs() const {
  const bool may_spread = placement_.info().knows_nodes && !placement_.packs_gangs();
  return has_costs() || disruptions_.interruption_cost.may_cost(disruptions_.checkpoint_times) ||
         (may_spread && placement_speed_ != nullptr);
}

const SegmentTiming& SegmentAccounting::begin(JobId id, GpuCount num_gpus, std::span<const NodeShare> shares,
                                              SimTime now, SimDuration attained) {
  const Job& job = jobs_[id.value];
  JobOverhead& overhead = overheads_[id.value];
  overhead.plan = overhead.predicted = next_segment(id, num_gpus, shares);
  overhead.plan.speed = true_speed(overhead.predicted.speed, time_factor(id, num_gpus, shares));
  const SimDuration done = attained - overhead.lost;
  // A requested time is a limit on true time; what is predicted is no limit.
  const SimDuration time = is_limited(job, id)
                               ? overhead.plan.time_for(work_limit(id, num_gpus, shares) - done)
                               : overhead.predicted.time_for(job.time_limit() - done);
  overhead.planned_end = saturating_sum(now, time);
  return overhead.plan;
}

SimDuration SegmentAccounting::end(JobId id, SimDuration held, SimDuration attained, SegmentEnd how) {
  JobOverhead& overhead = overheads_[id.value];
  const SimDuration lasting =
      how == SegmentEnd::Failed ? overhead.plan.saved_work(held) : overhead.plan.work(held);
  overhead.lost += held - lasting;
  // A segment of zero length has done and lost nothing, so the next begins in the same way.
  if (held.count() > 0 && how != SegmentEnd::Done) {
    starts_[id.value] = how == SegmentEnd::Preempted ? Start::AfterPreemption
                        : how == SegmentEnd::Resized ? Start::AfterResize
                                                     : Start::AfterFailure;
  }
  if (how == SegmentEnd::Preempted || how == SegmentEnd::Failed) foresee(id, attained + held);
  return lasting;
}

void SegmentAccounting::charge(JobId id, const State& state, GpuCount num_gpus, std::int16_t gpu_share,
                               SimDuration held, SegmentEnd how) {
  const SegmentTiming& plan = state.overhead.plan;
  LostGpuTime& losses = losses_[id.value];
  losses[setup_cause(state.start)].add(plan.setting_up(held), num_gpus, gpu_share);
  losses[LossCause::Checkpoint].add(plan.writing(held), num_gpus, gpu_share);
  losses[LossCause::Spread].add(plan.slowed(held), num_gpus, gpu_share);
  if (how == SegmentEnd::Failed)
    losses[LossCause::LostWork].add(plan.useful(held) - plan.saved_useful(held), num_gpus, gpu_share);
}

double SegmentAccounting::time_factor(JobId id, GpuCount num_gpus, std::span<const NodeShare> shares) const {
  if (truth_.errors == nullptr || !truth_.errors->knows(id)) return 1;
  std::uint32_t type = 0;
  // Shares name types where placement knows no nodes.
  if (!shares.empty()) {
    const std::uint32_t node = shares.front().node.value;
    type = placement_.info().knows_nodes ? (*truth_.nodes)[node].type : node;
  }
  return truth_.errors->time_factor(id, num_gpus, type);
}

bool SegmentAccounting::is_limited(const Job& job, JobId id) const {
  return job.requested_time.count() > 0 && truth_.errors != nullptr && truth_.errors->knows(id);
}

SimDuration SegmentAccounting::work_limit(JobId id, GpuCount num_gpus,
                                          std::span<const NodeShare> shares) const {
  const Job& job = jobs_[id.value];
  if (truth_.errors == nullptr || !truth_.errors->knows(id)) return job.time_limit();
  if (job.requested_time.count() == 0) return SimDuration::max();
  return to_sim_duration(Nanoseconds(job.requested_time) / time_factor(id, num_gpus, shares));
}

void SegmentAccounting::foresee(JobId id, SimDuration attained) {
  const Job& job = jobs_[id.value];
  JobOverhead& overhead = overheads_[id.value];
  SegmentTiming next = plan(id, job.num_gpus);
  next.speed = slowest(id, job.num_gpus);
  SimDuration limit = job.time_limit();
  if (is_limited(job, id)) {
    limit = work_limit(id, job.num_gpus, {});
    next.speed = true_speed(next.speed, time_factor(id, job.num_gpus, {}));
  }
  overhead.planned_time = next.time_for(std::max(limit - (attained - overhead.lost), SimDuration(0)));
}

LossCause SegmentAccounting::setup_cause(Start start) {
  switch (start) {
    case Start::First:  // which has no setup
    case Start::AfterPreemption:
      return LossCause::Preemption;
    case Start::AfterResize:
      return LossCause::Resize;
    case Start::AfterFailure:
      return LossCause::FailureRestart;
  }
  return LossCause::Preemption;
}

}  // namespace vtrain
