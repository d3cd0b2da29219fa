#include "policies/elasticflow/satisfactory_share.hpp"

#include <algorithm>
#include <cmath>

namespace vtrain {
namespace {

/// Distance to a limit, relative and in seconds, within which a sum is uncertain. Added in another order,
/// equal numbers may fall on the other side of the limit.
constexpr double kRounding = 1e-9;
constexpr double kNearSeconds = 4 * kRoundingTime;

bool near_whole(double seconds) {
  const double past = std::abs(seconds - static_cast<double>(static_cast<std::int64_t>(seconds)));
  return past <= kNearSeconds || past >= 1 - kNearSeconds;
}

}  // namespace

WholeSeconds FillContext::whole_seconds(double seconds) const {
  return keeps_plans ? kept_seconds(seconds) : seconds_up(seconds);
}

void ShareFill::plan(const SlottedJob& job, const FreeView& free, std::optional<std::int64_t> forced,
                     SharePlan& plan) {
  begin(job, free, plan);
  if (plan_if_gpus_suffice(free, forced)) return;
  free.write(free_);
  written_ = true;
  plan_by_steps(forced);
}

bool ShareFill::plan_again(const SlottedJob& job, const FreeView& free, std::int64_t forced,
                           const PlanBasis& basis, SharePlan& plan) {
  begin(job, free, plan);
  begin_plan();
  left_ = basis.left;
  from_ = basis.first_end;
  basis_.first_end = from_;
  plan.gpus.assign(context_.now, forced);
  plan.gpus.append(from_, 0);
  return free.least_from(from_) >= basis.full.num_gpus.value &&
         hold_if_gpus_suffice(free, basis.below, basis.full);
}

void ShareFill::begin(const SlottedJob& job, const FreeView& free, SharePlan& plan) {
  job_ = &job;
  view_ = &free;
  plan_ = &plan;
  due_ = context_.slot_from(job.deadline);
  written_ = false;
  late_ = false;
}

void ShareFill::leave(GpuTimeline& left) {
  if (late_) {
    left = left_when_late_;
    return;
  }
  if (!written_) view_->write(free_);
  if (plan_->end == context_.now) {
    // Less than a second's rounding is left: the artifact never returns the GPUs held for it.
    left = free_;
    left.add(context_.now, context_.now + 1, -plan_->gpus.at(context_.now));
    left.merge();
    return;
  }
  left.assign_sum(free_, plan_->gpus, booked_until(), -1);
}

void ShareFill::begin_plan() {
  from_ = context_.now;
  // A job that a failure stopped in its last slot may have done more than all of its work.
  left_ = std::max(job_->iterations_left, 0.0);
  tight_ = false;
  booked_until_ = FreeView::kNever;
  basis_ = {};
  plan_->gpus.assign(from_, 0);
}

/// The plan of `plan_by_steps` if its chosen level is free throughout: then only the places of few steps
/// matter. False if that is not so, or if rounding might make a difference.
bool ShareFill::plan_if_gpus_suffice(const FreeView& free, std::optional<std::int64_t> forced) {
  begin_plan();
  if (forced) {
    const WholeSeconds step = free.step_from(context_.now);
    if (hold_first(*forced, step == FreeView::kNever ? due_ : step)) return true;
  }
  SpeedByGpus::Level below{};
  SpeedByGpus::Level level{};
  for (const SpeedByGpus::Level& next : job_->levels->levels()) {
    if (next.num_gpus.value > job_->max_gpus) return false;
    const double most = next.iterations_per_s * static_cast<double>(job_->deadline - from_);
    note_near(most, left_);
    if (most >= left_) {
      level = next;
      break;
    }
    below = next;
  }
  if (tight_ || level.num_gpus.value == 0 || from_ >= due_ || free.least_from(from_) < level.num_gpus.value)
    return false;
  return hold_if_gpus_suffice(free, below, level);
}

/// Holds a level from the step where it suffices, and the level below before. Both are free throughout.
bool ShareFill::hold_if_gpus_suffice(const FreeView& free, const SpeedByGpus::Level& below,
                                     const SpeedByGpus::Level& level) {
  const double latest = static_cast<double>(job_->deadline) - left_ / level.iterations_per_s;
  const WholeSeconds full_from = free.last_step_until(static_cast<WholeSeconds>(latest), basis_.full_step);
  const double exact =
      (left_ - below.iterations_per_s * static_cast<double>(full_from - from_)) / level.iterations_per_s;
  if (near_whole(latest) || near_whole(exact)) return false;
  plan_->finished = full_from + context_.whole_seconds(exact);
  plan_->end = context_.slot_from(plan_->finished);
  const WholeSeconds next = free.step_from(plan_->end, basis_.end_step);
  plan_->gpus.append(from_, below.num_gpus.value);
  plan_->gpus.append(full_from, level.num_gpus.value);
  if (next < due_) plan_->gpus.append(next, 0);
  const bool is_tail = below.num_gpus.value == 0 && next == FreeView::kNever &&
                       free.step_from(full_from + 1) == FreeView::kNever;
  basis_.kind = is_tail ? PlanBasis::Kind::Tail : PlanBasis::Kind::Level;
  basis_.first_end = from_;
  basis_.level = level.num_gpus.value;
  basis_.due = due_;
  basis_.full_from = full_from;
  basis_.full_latest = static_cast<WholeSeconds>(latest);
  basis_.end = plan_->end;
  basis_.counted_until = std::min(next, due_);
  basis_.is_ample = true;
  basis_.below = below;
  basis_.full = level;
  basis_.left = left_;
  return true;
}

void ShareFill::plan_by_steps(std::optional<std::int64_t> forced) {
  begin_plan();
  const auto steps = free_.steps();
  if (forced && hold_first(*forced, steps.size() > 1 ? steps[1].time : due_)) return;
  std::int64_t below = 0;
  double fastest = 0;
  for (const SpeedByGpus::Level& level : job_->levels->levels()) {
    if (level.num_gpus.value > job_->max_gpus) break;
    fastest = std::max(fastest, level.iterations_per_s);
    // Work at the level in all of the time, if all of its GPUs were free.
    const double most = fastest * static_cast<double>(job_->deadline - from_);
    if (most * (1 + kRounding) >= left_ && enough(level.num_gpus.value))
      return book_until_done(level.num_gpus.value, below);
    below = level.num_gpus.value;
  }
  book_past_deadline(below, forced);
}

/// GPUs of at most `level` that the job can hold if `free` are free.
std::int64_t ShareFill::fitting(std::int64_t level, std::int64_t free) const {
  return free >= level ? level : job_->level_within(free);
}

/// End of a step of the free GPUs, limited to the deadline.
WholeSeconds ShareFill::step_end(std::size_t step) const {
  const auto steps = free_.steps();
  return step + 1 < steps.size() ? std::min(steps[step + 1].time, due_) : due_;
}

/// Work done in [begin, end): the last slot counts only until the deadline.
double ShareFill::work(WholeSeconds begin, WholeSeconds end, double speed) const {
  return static_cast<double>((end == due_ ? job_->deadline : end) - begin) * speed;
}

WholeSeconds ShareFill::second_after(WholeSeconds begin, std::int64_t gpus) const {
  const double seconds = left_ / job_->speed(gpus);
  if (context_.keeps_plans) return begin + kept_seconds(seconds);
  return seconds_up(static_cast<double>(begin) + seconds);
}

void ShareFill::note_near(double value, double limit) {
  tight_ = tight_ || std::abs(value - limit) <= kRounding * job_->iterations_left;
}

/// Holds the forced GPUs in the first step; true if the work is done in it.
bool ShareFill::hold_first(std::int64_t gpus, WholeSeconds first_end) {
  plan_->gpus.assign(from_, gpus);
  plan_->finished = second_after(from_, gpus);
  plan_->end = context_.slot_from(plan_->finished);
  if (first_end >= plan_->end && job_->deadline >= plan_->finished) {
    basis_.kind = PlanBasis::Kind::FirstStep;
    basis_.due = due_;
    basis_.end = plan_->end;
    return true;
  }
  left_ -= work(from_, first_end, job_->speed(gpus));
  from_ = first_end;
  basis_.first_end = first_end;
  plan_->gpus.append(first_end, 0);
  return false;
}

/// True if `level`, on the steps up to the deadline, gets the work done. Sets the step from which it is held.
bool ShareFill::enough(std::int64_t level) {
  const double level_speed = job_->speed(level);
  const auto steps = free_.steps();
  double done = 0;
  WholeSeconds next = due_;
  last_step_ = steps.size();
  for (std::size_t i = free_.index_from(due_); i-- > 0 && steps[i].time >= from_;) {
    if (const std::int64_t gpus = fitting(level, steps[i].gpus); gpus > 0) {
      if (last_step_ == steps.size()) last_step_ = i;
      const double speed = gpus == level ? level_speed : job_->speed(gpus);
      const double more = work(steps[i].time, next, speed);
      if (done + more >= left_) {
        note_near(done, left_);
        note_near(done + more, left_);
        full_step_ = i;
        basis_.full_latest = (next == due_ ? job_->deadline : next) -
                             static_cast<WholeSeconds>((left_ - done) / speed * (1 - kRounding));
        return true;
      }
      done += more;
    }
    next = steps[i].time;
  }
  note_near(done, left_);
  return false;
}

/// Books `level` from the step where it suffices, and the level below it before.
void ShareFill::book_until_done(std::int64_t level, std::int64_t below) {
  const auto steps = free_.steps();
  const double level_speed = job_->speed(level);
  basis_.level = level;
  basis_.due = due_;
  basis_.full_from = steps[full_step_].time;
  // Without a level below, nothing is held before.
  for (std::size_t i = below == 0 ? full_step_ : free_.index_from(from_); i <= last_step_; ++i) {
    const std::int64_t gpus = fitting(i >= full_step_ ? level : below, steps[i].gpus);
    plan_->gpus.append(steps[i].time, gpus);
    if (gpus == 0) continue;
    const double speed = gpus == level ? level_speed : job_->speed(gpus);
    const double done = work(steps[i].time, step_end(i), speed);
    if (i >= full_step_) {
      note_near(done, left_);
      if (done + context_.rounding_time() * speed >= left_) return finish_in_step(i, gpus, speed);
    }
    left_ -= done;
  }
  finish_after_rounding(level);
}

/// Handles a rounding error: summed from the other end the work was done, but this sum leaves a tiny rest at
/// the deadline. It is done after it, as in the artifact, or dropped if the job would have no GPUs.
void ShareFill::finish_after_rounding(std::int64_t level) {
  basis_.kind = PlanBasis::Kind::Everything;
  plan_->finished = job_->deadline;
  plan_->end = due_;
  const std::int64_t gpus = fitting(level, free_.at(due_));
  if (gpus == 0 || context_.keeps_plans) return;
  plan_->gpus.append(due_, gpus);
  plan_->finished = due_ + context_.whole_seconds(left_ / job_->speed(gpus));
  plan_->end = context_.slot_from(plan_->finished);
}

void ShareFill::finish_in_step(std::size_t step, std::int64_t gpus, double speed) {
  const WholeSeconds begin = free_.steps()[step].time;
  const double exact = left_ / speed;
  plan_->finished = begin + context_.whole_seconds(exact);
  plan_->end = context_.slot_from(plan_->finished);
  basis_.end = plan_->end;
  // Rounding may put the end after that of the step; the artifact does not book the time after.
  booked_until_ = step_end(step);
  basis_.counted_until = step_end(step);
  if (basis_.counted_until < due_) plan_->gpus.append(basis_.counted_until, 0);
  if (tight_ || near_whole(exact)) return;
  const bool is_tail = step == full_step_ && step + 1 == free_.steps().size() && gpus == job_->level_above(0);
  basis_.kind = is_tail ? PlanBasis::Kind::Tail : PlanBasis::Kind::Level;
}

/// Books a job that will be late: `level` until the deadline, then as many GPUs as it can hold. The GPUs left
/// are those of the artifact. They exceed the free ones minus the plan if forced GPUs outlast the job.
void ShareFill::book_past_deadline(std::int64_t level, std::optional<std::int64_t> forced) {
  late_ = true;
  GpuTimeline& left = left_when_late_;
  left = free_;
  if (due_ >= context_.now) left.split(due_);
  if (forced) left.add(context_.now, context_.now + 1, -*forced);
  const std::vector<GpuTimeline::Step> steps(left.steps().begin(), left.steps().end());
  for (std::size_t i = 0; i + 1 < steps.size() && steps[i + 1].time <= due_; ++i) {
    const WholeSeconds begin = steps[i].time;
    if (begin < from_) continue;
    const std::int64_t gpus = fitting(level, steps[i].gpus);
    plan_->gpus.append(begin, gpus);
    left.add(begin, begin + 1, -gpus);
    if (gpus > 0) left_ -= work(begin, steps[i + 1].time, job_->speed(gpus));
  }
  WholeSeconds begin = std::max(due_, from_);
  for (const GpuTimeline::Step& step : steps) {
    if (step.time <= begin) continue;
    const std::int64_t given = left.at(begin);
    const std::int64_t gpus = job_->level_within(given);
    plan_->gpus.append(begin, gpus);
    if (gpus > 0) {
      const double done = static_cast<double>(step.time - begin) * job_->speed(gpus);
      if (done >= left_) {
        finish_late(begin, gpus);
        left.set(begin, given - gpus);
        if (!free_.has(plan_->end)) left.set(plan_->end, given);
        return left.merge();
      }
      left_ -= done;
      left.add(begin, step.time, -gpus);
    }
    begin = step.time;
  }
  const std::int64_t gpus = forced.value_or(job_->max_gpus);
  plan_->gpus.append(begin, gpus);
  finish_late(begin, gpus);
  left.set(begin, context_.cluster_gpus - gpus);
  left.set(plan_->end, context_.cluster_gpus);
  left.merge();
}

void ShareFill::finish_late(WholeSeconds begin, std::int64_t gpus) {
  plan_->finished = second_after(begin, gpus);
  plan_->end = context_.slot_from(plan_->finished);
}

}  // namespace vtrain
