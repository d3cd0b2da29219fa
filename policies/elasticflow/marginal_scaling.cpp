#include "policies/elasticflow/marginal_scaling.hpp"

#include <algorithm>
#include <limits>
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
  free_ = &free;
  begin(jobs);
  while (spare_ > 0) {
    const auto grown = adopt_first();
    if (!grown) break;
    update(*grown);
  }
  return order_.all();
}

void MarginalScaling::begin(std::span<PlannedJob> jobs) {
  jobs_ = jobs;
  candidates_.resize(jobs.size());
  ranks_.assign(jobs.size(), -kHighest);
  spare_ = context_.cluster_gpus;
  most_more_ = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    spare_ -= jobs[i].job->gpus;
    take_plan(jobs[i], candidates_[i]);
  }
  if (spare_ == 0) return order_.reset(ranks_);
  least_free_ = free_->least_after_first();
  take_first_change();
  watches_from_.assign(free_->steps().size(), kNoWatch);
  watches_.clear();
  unused_watch_ = kNoWatch;
  highest_level_ = 0;
  unknown_.clear();
  begin_checks();
  const auto fits = [this](const Candidate& candidate) {
    return candidate.more() > 0 && candidate.more() <= spare_;
  };
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    if (!fits(candidates_[i])) continue;
    most_more_ = std::max(most_more_, candidates_[i].more());
    ranks_[i] = compute_rank(i);
  }
  find_alone();
  order_.reset(ranks_);
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    if (!fits(candidates_[i])) order_.leave_out(i);
  }
}

/// Records a plan that a job has been given.
void MarginalScaling::take_plan(const PlannedJob& planned, Candidate& candidate) {
  const auto held = planned.plan.gpus.steps();
  const bool changes = held.size() > 1 && held[1].time < planned.plan.end;
  candidate.gpus = planned.job->gpus;
  candidate.larger_gpus = planned.job->level_above(planned.job->gpus);
  candidate.gpu_seconds = planned.plan.gpu_seconds();
  candidate.first_change = changes ? held[1].time : planned.plan.end;
  candidate.first_change_gpus = (changes ? held[1].gpus : 0) - held[0].gpus;
  candidate.known = false;
  ++candidate.version;
  candidate.basis = {};
}

void MarginalScaling::take_first_change() {
  const auto free = free_->steps();
  first_change_ = free.size() > 1 ? free[1].time : FreeView::kNever;
  first_change_gpus_ = free.size() > 1 ? free[1].gpus - free[0].gpus : 0;
}

/// Gives the first job that can grow its next level; none if there is no such job.
std::optional<std::uint32_t> MarginalScaling::adopt_first() {
  for (auto first = order_.first(); first; first = order_.first()) {
    if (adopt_larger(*first)) return first;
    order_.leave_out(*first);
  }
  return std::nullopt;
}

/// Gives a job its next level, unless that would make it late where plans are kept.
bool MarginalScaling::adopt_larger(std::uint32_t index) {
  PlannedJob& planned = jobs_[index];
  Candidate& candidate = candidates_[index];
  const FreeView view(*free_, least_free_, &planned.plan);
  fill_.plan(*planned.job, view, candidate.larger_gpus, larger_);
  candidate.known = false;
  ++candidate.version;
  if (context_.keeps_plans && larger_.finished > planned.job->deadline && !planned.is_late()) {
    candidate.larger_gpus = candidate.gpus;
    return false;
  }
  spare_ -= candidate.more();
  changes_.clear();
  if (fill_.leaves_remaining_gpus()) {
    add_changes(planned.plan, planned.plan.end, 1);
    add_changes(larger_, fill_.booked_until(), -1);
    merge_changes();
  } else {
    fill_.leave(left_);
    add_changes(*free_, left_);
  }
  std::swap(planned.plan, larger_);
  planned.adopt_plan(context_.now);
  change_free();
  return true;
}

/// Updates the order of the candidates after one of them has grown.
void MarginalScaling::update(std::uint32_t grown) {
  Candidate& candidate = candidates_[grown];
  const WholeSeconds change_before = first_change_;
  take_first_change();
  if (change_before == first_change_) count_first_change(candidate, -1);
  take_plan(jobs_[grown], candidate);
  if (change_before == first_change_) count_first_change(candidate, 1);

  if (candidate.more() == 0) order_.leave_out(grown);
  most_more_ = std::max(most_more_, candidate.more());
  if (most_more_ > spare_) leave_out_too_large();
  find_changed(change_before);
  unknown_.push_back(grown);
  for (const std::uint32_t index : unknown_) {
    if (order_.takes_part(index)) order_.set_rank(index, compute_rank(index));
  }
  unknown_.clear();
  order_.end_round();
}

/// Moves the candidates that want more GPUs than are free to the end.
void MarginalScaling::leave_out_too_large() {
  most_more_ = 0;
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    if (!order_.takes_part(i)) continue;
    Candidate& candidate = candidates_[i];
    if (candidate.more() <= spare_) {
      most_more_ = std::max(most_more_, candidate.more());
      continue;
    }
    order_.set_rank(i, -kHighest);
    order_.leave_out(i);
    candidate.known = false;
    ++candidate.version;
  }
}

/// Rank of a candidate: a job without GPUs goes before all others.
double MarginalScaling::compute_rank(std::uint32_t index) {
  if (candidates_[index].gpus == 0) return kHighest;
  const double gain = compute_gain(index);
  return greedy_ == SpareGpus::Smallest ? -gain : gain;
}

double MarginalScaling::compute_gain(std::uint32_t index) {
  const PlannedJob& planned = jobs_[index];
  Candidate& candidate = candidates_[index];
  const FreeView view(*free_, least_free_, &planned.plan);
  const bool may_resume =
      candidate.basis.is_ample && candidate.basis.first_end == first_end(candidate, planned.plan);
  if (!may_resume || !fill_.plan_again(*planned.job, view, candidate.larger_gpus, candidate.basis, larger_))
    fill_.plan(*planned.job, view, candidate.larger_gpus, larger_);
  candidate.basis = fill_.basis();
  candidate.known = true;
  ++candidate.version;
  if (candidate.basis.kind == PlanBasis::Kind::Level) watch(index);
  check_later(index);
  return (larger_.gpu_seconds() - candidate.gpu_seconds) / static_cast<double>(candidate.more());
}

/// Adds `times` x the GPUs that a plan holds until a time to the changes.
void MarginalScaling::add_changes(const SharePlan& plan, WholeSeconds until, std::int64_t times) {
  std::int64_t before = 0;
  for (const GpuTimeline::Step& step : plan.gpus.steps()) {
    if (step.time >= until) break;
    changes_.push_back({step.time, times * (step.gpus - before)});
    before = step.gpus;
  }
  changes_.push_back({until, -times * before});
}

void MarginalScaling::add_changes(const GpuTimeline& before, const GpuTimeline& after) {
  const auto old_steps = before.steps();
  const auto new_steps = after.steps();
  std::size_t i = 0;
  std::size_t k = 0;
  std::int64_t more = 0;
  while (i < old_steps.size() || k < new_steps.size()) {
    const WholeSeconds old_time = i < old_steps.size() ? old_steps[i].time : kNone;
    const WholeSeconds new_time = k < new_steps.size() ? new_steps[k].time : kNone;
    if (old_time <= new_time) ++i;
    if (new_time <= old_time) ++k;
    const std::int64_t old_gpus = i > 0 ? old_steps[i - 1].gpus : 0;
    const std::int64_t new_gpus = k > 0 ? new_steps[k - 1].gpus : 0;
    const std::int64_t more_before = std::exchange(more, new_gpus - old_gpus);
    if (more != more_before) changes_.push_back({std::min(old_time, new_time), more - more_before});
  }
}

/// Sorts the changes by time and merges those of one time.
void MarginalScaling::merge_changes() {
  std::ranges::sort(changes_, {}, &Change::time);
  std::size_t size = 0;
  for (const Change& change : changes_) {
    if (size > 0 && changes_[size - 1].time == change.time) {
      changes_[size - 1].gpus += change.gpus;
    } else {
      if (size > 0 && changes_[size - 1].gpus == 0) --size;
      changes_[size++] = change;
    }
  }
  if (size > 0 && changes_[size - 1].gpus == 0) --size;
  changes_.resize(size);
}

/// Changes the free GPUs and records it; forgets the gains of candidates that watched a changed step.
void MarginalScaling::change_free() {
  step_changes_.clear();
  value_changes_.clear();
  least_changed_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t more = 0;
  std::size_t last = changes_.empty() ? 0 : free_->index_from(changes_.front().time);
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const WholeSeconds time = changes_[i].time;
    const std::size_t index = last;
    change_step(index, changes_[i], more);
    more += changes_[i].gpus;
    const WholeSeconds end = i + 1 < changes_.size() ? changes_[i + 1].time : kNone;
    last = end == kNone ? free_->steps().size() : free_->index_from(end);
    if (more == 0) continue;
    free_->add_to_steps(index, last, more);
    const auto steps = free_->steps();
    // If the step is gone, its time belongs to the one before.
    const bool is_there = index < steps.size() && steps[index].time == time;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t least_now = least;
    for (std::size_t k = is_there ? index : index - 1; k < last; ++k) {
      least = std::min(least, steps[k].gpus);
      if (k > 0) least_now = std::min(least_now, steps[k].gpus);
    }
    const std::int64_t more_now = std::max<std::int64_t>(more, 0);
    value_changes_.push_back({time, end, least - more_now});
    if (least_now < std::numeric_limits<std::int64_t>::max()) {
      least_changed_ = std::min(least_changed_, least_now - more_now);
      least_free_ = std::min(least_free_, least_now);
    }
  }
}

/// Changes the step at a time, or begins one with the present number of free GPUs there. The steps from
/// `index` on are not earlier. They change next; those before have already been given `more_before`.
void MarginalScaling::change_step(std::size_t index, const Change& change, std::int64_t more_before) {
  if (index == 0) return;
  const auto steps = free_->steps();
  const bool is_there = index < steps.size() && steps[index].time == change.time;
  const std::int64_t free_before = steps[index - 1].gpus - more_before;
  const std::int64_t before = is_there ? steps[index].gpus - free_before : 0;
  const StepChange step_change{change.time, before, before + change.gpus};
  step_changes_.push_back(step_change);
  const auto place = static_cast<std::ptrdiff_t>(index);
  if (!is_there) {
    free_->insert_step(index, {change.time, free_before});
    watches_from_.insert(watches_from_.begin() + place, kNoWatch);
    split_watches(index, step_change);
    return;
  }
  check_watches(index, step_change);
  if (step_change.after == 0) {
    free_->erase_step(index);
    watches_from_.erase(watches_from_.begin() + place);
  }
}

/// Marks the gain of a candidate to be computed again.
void MarginalScaling::forget(std::uint32_t index) {
  Candidate& candidate = candidates_[index];
  if (!candidate.known) return;
  candidate.known = false;
  ++candidate.version;
  unknown_.push_back(index);
}

void MarginalScaling::check(std::uint32_t index) {
  const Candidate& candidate = candidates_[index];
  if (candidate.known && !still_holds(candidate, jobs_[index].plan)) forget(index);
}

/// Forgets gains that are no longer valid although no watched step changes.
void MarginalScaling::find_changed(WholeSeconds change_before) {
  if (first_change_ != change_before) {
    least_free_ = free_->least_after_first();
    return check_all();
  }
  if (least_free_ < highest_level_) least_free_ = free_->least_after_first();
  if (least_changed_ < highest_level_) {
    for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].basis.level > least_changed_) check(i);
    }
  }
  if (free_->steps().back().time > earliest_latest_) {
    earliest_latest_ = kNone;
    for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
      if (!candidates_[i].known || candidates_[i].basis.kind != PlanBasis::Kind::Tail) continue;
      check(i);
      if (candidates_[i].known) check_later(i);
    }
  }
  std::erase_if(always_checked_, [this](const Watch& watch) {
    if (is_current(watch)) check(watch.candidate);
    return !is_current(watch);
  });
  for (const std::uint32_t index : std::exchange(alone_, {}))
    check(index);
  find_alone();
  for (const std::uint32_t index : alone_)
    check(index);
}

void MarginalScaling::check_all() {
  begin_checks();
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    check(i);
    if (candidates_[i].known) check_later(i);
  }
  find_alone();
}

void MarginalScaling::begin_checks() {
  earliest_latest_ = kNone;
  always_checked_.clear();
  alone_.clear();
  num_first_changes_.clear();
  for (const Candidate& candidate : candidates_)
    count_first_change(candidate, 1);
}

/// Records a gain that may change although no step changes that the candidate watches.
void MarginalScaling::check_later(std::uint32_t index) {
  const Candidate& candidate = candidates_[index];
  const PlanBasis& basis = candidate.basis;
  using Kind = PlanBasis::Kind;
  const bool ends_last = basis.kind == Kind::Tail && jobs_[index].plan.end > basis.full_latest;
  if (basis.kind == Kind::Tail && !ends_last)
    earliest_latest_ = std::min(earliest_latest_, basis.full_latest);
  const bool early = basis.kind == Kind::Level && basis.first_end < first_change_;
  if (basis.kind == Kind::Everything || ends_last || early)
    always_checked_.push_back({index, candidate.version, kNoWatch});
}

/// Counts a candidate whose plan changes at the first change of the free GPUs, by the size of its change.
void MarginalScaling::count_first_change(const Candidate& candidate, int times) {
  if (candidate.first_change == first_change_) num_first_changes_[candidate.first_change_gpus] += times;
}

/// Finds candidates that are the only ones to change the free GPUs at `first_change_`. For them the first
/// step ends later.
void MarginalScaling::find_alone() {
  const auto found = num_first_changes_.find(-first_change_gpus_);
  if (found == num_first_changes_.end() || found->second == 0) return;
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& candidate = candidates_[i];
    if (candidate.first_change != first_change_ || candidate.first_change_gpus != -first_change_gpus_)
      continue;
    alone_.push_back(i);
  }
}

/// End of the first step of the free GPUs while the candidate's own plan is in force.
WholeSeconds MarginalScaling::first_end(const Candidate& candidate, const SharePlan& plan) const {
  if (candidate.first_change == first_change_ && candidate.first_change_gpus + first_change_gpus_ == 0)
    return FreeView(*free_, least_free_, &plan).step_from(context_.now);
  return std::min(candidate.first_change, first_change_);
}

bool MarginalScaling::still_holds(const Candidate& candidate, const SharePlan& plan) const {
  const PlanBasis& basis = candidate.basis;
  using Kind = PlanBasis::Kind;
  if (basis.kind == Kind::Everything) return false;
  const WholeSeconds end = first_end(candidate, plan);
  if (basis.kind == Kind::FirstStep) return std::min(end, basis.due) >= basis.end;
  if (end != basis.first_end) return false;
  if (basis.kind == Kind::Tail) return std::max(free_->steps().back().time, plan.end) <= basis.full_latest;
  if (least_changed_ < basis.level || end < first_change_) {
    for (const ValueChange& change : value_changes_) {
      if (change.begin < basis.due && change.end > end && change.least < basis.level) return false;
    }
  }
  return std::ranges::none_of(
      step_changes_, [&](const StepChange& change) { return step_matters(change, candidate, plan); });
}

bool MarginalScaling::step_matters(const StepChange& change, const Candidate& candidate,
                                   const SharePlan& plan) const {
  const PlanBasis& basis = candidate.basis;
  const WholeSeconds time = change.time;
  const bool matters = (time >= basis.full_from && time <= basis.full_latest) ||
                       (time >= basis.end && time <= basis.counted_until);
  if (!matters || time == basis.first_end) return false;
  const std::int64_t own = plan.change_at(time);
  return (change.before + own == 0) != (change.after + own == 0);
}

/// Lists a candidate at all steps of the times at which a step would matter to it.
void MarginalScaling::watch(std::uint32_t index) {
  const PlanBasis& basis = candidates_[index].basis;
  highest_level_ = std::max(highest_level_, basis.level);
  const auto steps = free_->steps();
  std::size_t step = basis.is_ample ? basis.full_step : free_->index_from(basis.full_latest + 1) - 1;
  while (steps[step].time > basis.full_from)
    add_watch(step--, index);
  add_watch(step, index);
  step = basis.is_ample ? basis.end_step : free_->index_from(basis.end);
  if (step == steps.size() || steps[step].time > basis.end) --step;
  do {
    add_watch(step, index);
  } while (++step < steps.size() && steps[step].time <= basis.counted_until);
}

void MarginalScaling::add_watch(std::size_t step, std::uint32_t index) {
  const Watch watch{index, candidates_[index].version, watches_from_[step]};
  if (unused_watch_ == kNoWatch) {
    watches_from_[step] = static_cast<std::uint32_t>(watches_.size());
    watches_.push_back(watch);
  } else {
    watches_from_[step] = unused_watch_;
    unused_watch_ = std::exchange(watches_[unused_watch_], watch).next;
  }
}

/// Removes the first entry of a list.
MarginalScaling::Watch MarginalScaling::take_watch(std::uint32_t& list) {
  Watch& entry = watches_[list];
  const Watch watch = entry;
  entry.next = std::exchange(unused_watch_, list);
  list = watch.next;
  return watch;
}

/// Shares the list of the step before with a step that has just begun.
void MarginalScaling::split_watches(std::size_t step, const StepChange& change) {
  const auto steps = free_->steps();
  const WholeSeconds begin = steps[step - 1].time;
  const WholeSeconds middle = change.time;
  const WholeSeconds end = step + 1 < steps.size() ? steps[step + 1].time : kNone;
  for (std::uint32_t list = std::exchange(watches_from_[step - 1], kNoWatch); list != kNoWatch;) {
    const Watch watch = take_watch(list);
    if (!is_current(watch)) continue;
    const Candidate& candidate = candidates_[watch.candidate];
    if (step_matters(change, candidate, jobs_[watch.candidate].plan)) {
      forget(watch.candidate);
      continue;
    }
    const PlanBasis& basis = candidate.basis;
    const auto looks_at = [&](WholeSeconds from, WholeSeconds until) {
      return (basis.full_from < until && basis.full_latest >= from) ||
             (basis.end < until && basis.counted_until >= from);
    };
    if (looks_at(begin, middle)) add_watch(step - 1, watch.candidate);
    if (looks_at(middle, end)) add_watch(step, watch.candidate);
  }
}

/// Checks the list of a step that changes, and gives it to the step before if this one disappears.
void MarginalScaling::check_watches(std::size_t step, const StepChange& change) {
  const std::size_t to = change.after == 0 ? step - 1 : step;
  for (std::uint32_t list = std::exchange(watches_from_[step], kNoWatch); list != kNoWatch;) {
    const Watch watch = take_watch(list);
    if (!is_current(watch)) continue;
    if (step_matters(change, candidates_[watch.candidate], jobs_[watch.candidate].plan)) {
      forget(watch.candidate);
    } else {
      add_watch(to, watch.candidate);
    }
  }
}

}  // namespace vtrain
