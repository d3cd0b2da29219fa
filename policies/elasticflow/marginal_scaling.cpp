#include "policies/elasticflow/marginal_scaling.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace vtrain {
namespace {

constexpr double kHighest = std::numeric_limits<double>::infinity();
constexpr WholeSeconds kNone = std::numeric_limits<WholeSeconds>::max();

}  // namespace

void PlannedJob::adopt_plan(WholeSeconds now) {
  job->gpus = plan.gpus.at(now);
  job->end = plan.end;
  job->finished = plan.finished;
  job->planned = true;
}

std::span<const std::uint32_t> MarginalScaling::run(const FillContext& context, SpareGpus greedy,
                                                    std::span<PlannedJob> jobs, GpuTimeline& free) {
  context_ = context;
  fill_.set_context(context);
  greedy_ = greedy;
  jobs_ = jobs;
  free_ = &free;
  least_free_ = free.least_after_first();
  order_.resize(jobs.size());
  std::iota(order_.begin(), order_.end(), 0u);
  candidates_.resize(jobs.size());
  ranks_.assign(jobs.size(), -kHighest);
  spare_ = context.cluster_gpus;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    spare_ -= jobs[i].job->gpus;
    take_plan(jobs[i], candidates_[i]);
  }
  if (spare_ == 0) return order_;
  update_all();
  std::ranges::stable_sort(order_, std::ranges::greater{}, [this](std::uint32_t i) { return ranks_[i]; });
  while (spare_ > 0 && adopt_first()) {
    update_all();
    sort();
  }
  return order_;
}

/// Takes note of a plan that a job has been given.
void MarginalScaling::take_plan(const PlannedJob& planned, Candidate& candidate) {
  const auto held = planned.plan.gpus.steps();
  const bool changes = held.size() > 1 && held[1].time < planned.plan.end;
  candidate.gpus = planned.job->gpus;
  candidate.larger_gpus = planned.job->level_above(planned.job->gpus);
  candidate.gpu_seconds = planned.plan.gpu_seconds();
  candidate.first_change = changes ? held[1].time : planned.plan.end;
  candidate.first_change_gpus = (changes ? held[1].gpus : 0) - held[0].gpus;
  candidate.known = false;
}

/// Gives the first job that can grow its next level; false if there is none.
bool MarginalScaling::adopt_first() {
  for (const std::uint32_t index : order_) {
    const std::int64_t more = candidates_[index].larger_gpus - candidates_[index].gpus;
    if (more > 0 && more <= spare_ && adopt_larger(index)) return true;
  }
  return false;
}

/// Gives a job its next level, unless that would make it late where plans are kept.
bool MarginalScaling::adopt_larger(std::uint32_t index) {
  PlannedJob& planned = jobs_[index];
  Candidate& candidate = candidates_[index];
  const FreeView view(*free_, least_free_, &planned.plan);
  fill_.plan(*planned.job, view, candidate.larger_gpus, larger_);
  if (context_.keeps_plans && larger_.finished > planned.job->deadline && !planned.is_late()) {
    candidate.larger_gpus = candidate.gpus;
    return false;
  }
  spare_ -= candidate.larger_gpus - candidate.gpus;
  fill_.leave(left_);
  std::swap(planned.plan, larger_);
  planned.adopt_plan(context_.now);
  note_changes(*free_, left_);
  std::swap(*free_, left_);
  least_free_ = free_->least_after_first();
  take_plan(planned, candidate);
  return true;
}

/// Brings the gains of all jobs with a next level up to date: the lowest there is where that does not fit.
void MarginalScaling::update_all() {
  const auto free = free_->steps();
  first_change_ = free.size() > 1 ? free[1].time : FreeView::kNever;
  first_change_gpus_ = free.size() > 1 ? free[1].gpus - free[0].gpus : 0;
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    Candidate& candidate = candidates_[i];
    if (candidate.larger_gpus == candidate.gpus) continue;
    if (candidate.larger_gpus - candidate.gpus > spare_) {
      set_gain(i, -kHighest);
    } else if (candidate.gpus == 0) {
      set_gain(i, kHighest);
    } else if (!candidate.known || !still_holds(candidate, jobs_[i].plan)) {
      compute_gain(i);
    }
  }
}

void MarginalScaling::compute_gain(std::uint32_t index) {
  const PlannedJob& planned = jobs_[index];
  Candidate& candidate = candidates_[index];
  const FreeView view(*free_, least_free_, &planned.plan);
  fill_.plan(*planned.job, view, candidate.larger_gpus, larger_);
  candidate.basis = fill_.basis();
  candidate.known = true;
  const auto more = static_cast<double>(candidate.larger_gpus - candidate.gpus);
  set_gain(index, (larger_.gpu_seconds() - candidate.gpu_seconds) / more);
}

void MarginalScaling::set_gain(std::uint32_t index, double gain) {
  // A job without GPUs goes first and one that cannot grow goes last, whatever the order of the others.
  const bool turned = greedy_ == SpareGpus::Smallest && gain != kHighest && gain != -kHighest;
  ranks_[index] = turned ? -gain : gain;
}

/// A stable sort by rank. Only a few are out of place each time.
void MarginalScaling::sort() {
  for (std::size_t i = 1; i < order_.size(); ++i) {
    const double rank = ranks_[order_[i]];
    const double before = ranks_[order_[i - 1]];
    if (rank <= before) continue;
    const auto here = order_.begin() + static_cast<std::ptrdiff_t>(i);
    if (i + 1 < order_.size() && ranks_[order_[i + 1]] > before) {
      // The one before has fallen: it goes behind all that are higher.
      const auto lower =
          std::find_if(here, order_.end(), [&](std::uint32_t k) { return ranks_[k] <= before; });
      std::rotate(std::prev(here), here, lower);
      i = std::max<std::size_t>(i, 2) - 2;
    } else {
      // This one has risen.
      const auto place = std::upper_bound(
          order_.begin(), here, rank, [this](double value, std::uint32_t k) { return value > ranks_[k]; });
      std::rotate(place, here, std::next(here));
    }
  }
}

void MarginalScaling::note_changes(const GpuTimeline& before, const GpuTimeline& after) {
  step_changes_.clear();
  value_changes_.clear();
  least_changed_ = std::numeric_limits<std::int64_t>::max();
  const WholeSeconds first_end = after.steps().size() > 1 ? after.steps()[1].time : kNone;
  const auto old_steps = before.steps();
  const auto new_steps = after.steps();
  std::size_t i = 0;
  std::size_t k = 0;
  std::int64_t old_gpus = 0;
  std::int64_t new_gpus = 0;
  while (i < old_steps.size() || k < new_steps.size()) {
    const WholeSeconds old_time = i < old_steps.size() ? old_steps[i].time : kNone;
    const WholeSeconds new_time = k < new_steps.size() ? new_steps[k].time : kNone;
    const WholeSeconds time = std::min(old_time, new_time);
    const std::int64_t old_before = old_gpus;
    const std::int64_t new_before = new_gpus;
    if (old_time == time) old_gpus = old_steps[i++].gpus;
    if (new_time == time) new_gpus = new_steps[k++].gpus;
    if (old_gpus - old_before != new_gpus - new_before)
      step_changes_.push_back({time, old_gpus - old_before, new_gpus - new_before});
    if (!value_changes_.empty() && value_changes_.back().end == kNone) value_changes_.back().end = time;
    if (old_gpus == new_gpus) continue;
    const std::int64_t least = std::min(old_gpus, new_gpus);
    value_changes_.push_back({time, kNone, least});
    if (time >= first_end) least_changed_ = std::min(least_changed_, least);
  }
}

bool MarginalScaling::still_holds(const Candidate& candidate, const SharePlan& plan) const {
  const PlanBasis& basis = candidate.basis;
  using Kind = PlanBasis::Kind;
  if (basis.kind == Kind::Everything) return false;
  WholeSeconds first_end = std::min(candidate.first_change, first_change_);
  if (candidate.first_change == first_change_ && candidate.first_change_gpus + first_change_gpus_ == 0)
    first_end = FreeView(*free_, least_free_, &plan).step_from(context_.now);
  if (basis.kind == Kind::FirstStep) return std::min(first_end, basis.due) >= basis.end;
  if (first_end != basis.first_end) return false;
  if (basis.kind == Kind::Tail) return std::max(free_->steps().back().time, plan.end) <= basis.full_latest;
  if (least_changed_ < basis.level || first_end < first_change_) {
    for (const ValueChange& change : value_changes_) {
      if (change.begin < basis.due && change.end > first_end && change.least < basis.level) return false;
    }
  }
  for (const StepChange& change : step_changes_) {
    const WholeSeconds time = change.time;
    const bool matters = (time >= basis.full_from && time <= basis.full_latest) ||
                         (time >= basis.end && time <= basis.counted_until);
    if (!matters || time == first_end) continue;
    const std::int64_t own = plan.change_at(time);
    if ((change.before + own == 0) != (change.after + own == 0)) return false;
  }
  return true;
}

}  // namespace vtrain
