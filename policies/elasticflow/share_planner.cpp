#include "policies/elasticflow/share_planner.hpp"

#include <algorithm>
#include <utility>

namespace vtrain {
namespace {

/// Makes room for `size` elements. Present ones keep their memory.
template <class Element>
void grow_to(std::vector<Element>& elements, std::size_t size) {
  if (elements.size() < size) elements.resize(size);
}

WholeSeconds deadline_of(const PlannerJob& live) {
  return live.job->deadline;
}

void begin_plan_of(PlannedJob& planned, const PlannerJob& live, bool is_lost) {
  planned.id = live.id;
  planned.job = live.job;
  planned.is_lost = is_lost;
}

}  // namespace

SharePlanner::Plans SharePlanner::plans() const {
  Plans plans{.slots_from = slots_from_};
  for (const PlannedJob& planned : planned())
    plans.jobs.emplace_back(planned.id, planned.plan);
  return plans;
}

void SharePlanner::take_over(const Plans& plans, const std::function<PlannerJob(std::uint32_t)>& job_of) {
  slots_from_ = plans.slots_from;
  num_live_ = plans.jobs.size();
  jobs_.clear();
  jobs_.resize(num_live_);
  for (std::size_t i = 0; i < num_live_; ++i) {
    begin_plan_of(jobs_[i], job_of(plans.jobs[i].first), false);
    jobs_[i].plan = plans.jobs[i].second;
  }
}

void SharePlanner::plan_live(const FillContext& context, std::vector<PlannerJob> live) {
  context_ = context;
  fill_.set_context(context_);
  std::swap(jobs_, last_jobs_);
  num_last_ = std::exchange(num_live_, live.size());
  const auto last = std::span(last_jobs_).first(num_last_);
  std::ranges::sort(last, {}, &PlannedJob::id);
  std::ranges::stable_sort(live, {}, deadline_of);
  grow_to(jobs_, live.size());
  // Jobs that cannot be in time come last, as each would hold all GPUs that it can.
  const auto hopeless = std::stable_partition(live.begin(), live.end(),
                                              [&](const PlannerJob& one) { return !is_hopeless(*one.job); });
  num_hopeless_ = static_cast<std::size_t>(live.end() - hopeless);
  for (std::size_t i = 0; i < live.size(); ++i)
    begin_plan_of(jobs_[i], live[i], i + num_hopeless_ >= live.size());
  free_.assign(context_.now, context_.cluster_gpus);
  num_kept_ = 0;
  const bool may_keep = context_.keeps_plans &&
                        std::ranges::none_of(live, [](const PlannerJob& one) { return one.job->disrupted; });
  std::size_t late = plan(planned(), free_, may_keep);
  if (may_keep) {
    while (late < num_live_)
      late = keep_plan(late);
  }
  if (num_kept_ == 0) slots_from_ = context_.now;
  for (PlannedJob& planned : planned())
    planned.is_lost = planned.is_lost || (planned.job->disrupted && planned.is_late());
}

bool SharePlanner::is_hopeless(const SlottedJob& job) const {
  if (!context_.drops_hopeless || job.best_effort) return false;
  const double fastest =
      job.levels->at_most(GpuCount(static_cast<std::int32_t>(job.max_gpus))).iterations_per_s;
  return static_cast<double>(job.deadline - context_.now) * fastest < job.iterations_left;
}

std::size_t SharePlanner::keep_plan(std::size_t late) {
  const auto last = std::span(last_jobs_).first(num_last_);
  const auto former = std::ranges::lower_bound(last, planned()[late].id, {}, &PlannedJob::id);
  if (former == last.end() || former->id != planned()[late].id) {
    planned()[late].is_lost = true;
    return late + 1 + plan(planned().subspan(late + 1), free_, true);
  }
  context_.past_slot = (context_.now - slots_from_) % context_.slot;
  fill_.set_context(context_);
  const std::span<PlannedJob> all = planned();
  give_back(all.subspan(num_kept_, late + 1 - num_kept_), free_);
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(late);
  std::rotate(all.begin() + static_cast<std::ptrdiff_t>(num_kept_), from, from + 1);
  PlannedJob& kept = all[num_kept_];
  kept.plan = former->plan;
  kept.plan.gpus.begin_at(context_.now);
  kept.booked_until = kept.plan.end;
  kept.free_before.clear();
  free_.add_part(kept.plan.gpus, kept.plan.end, -1);
  ++num_kept_;
  return num_kept_ + plan(all.subspan(num_kept_), free_, true);
}

bool SharePlanner::test(std::vector<PlannerJob> newcomers, bool always) {
  const auto deadline = [](const PlannedJob& planned) { return planned.job->deadline; };
  std::ranges::stable_sort(newcomers, {}, deadline_of);
  const std::span<PlannedJob> old = planned();
  // Jobs that keep their plans stay before all others, hopeless ones behind.
  const std::size_t num_in_order = old.size() - num_hopeless_;
  const auto ordered = old.subspan(num_kept_, num_in_order - num_kept_);
  const auto first_behind = std::ranges::upper_bound(ordered, deadline_of(newcomers.front()), {}, deadline);
  trial_begin_ = num_kept_ + static_cast<std::size_t>(first_behind - ordered.begin());
  const auto forbids = [](const PlannedJob& job) { return job.is_late() && !job.is_lost; };
  if (!always && std::ranges::any_of(old.first(trial_begin_), forbids)) return false;

  num_trial_ = old.size() - trial_begin_ + newcomers.size();
  grow_to(trial_jobs_, num_trial_);
  std::size_t next_old = trial_begin_;
  auto newcomer = newcomers.begin();
  for (std::size_t i = 0; i < num_trial_; ++i) {
    const bool take_old = newcomer == newcomers.end() ||
                          (next_old < num_in_order && deadline(old[next_old]) <= deadline_of(*newcomer));
    if (take_old) {
      begin_plan_of(trial_jobs_[i], {old[next_old].id, old[next_old].job}, old[next_old].is_lost);
      ++next_old;
    } else {
      begin_plan_of(trial_jobs_[i], *newcomer++, false);
    }
  }
  trial_free_ = free_;
  give_back(old.subspan(trial_begin_), trial_free_);
  return plan(std::span(trial_jobs_).first(num_trial_), trial_free_, !always) == num_trial_;
}

double SharePlanner::tested_load() const {
  double gpu_seconds = 0;
  for (const PlannedJob& planned : std::span(jobs_).first(trial_begin_))
    gpu_seconds += planned.plan.gpu_seconds();
  for (const PlannedJob& planned : std::span(trial_jobs_).first(num_trial_))
    gpu_seconds += planned.plan.gpu_seconds();
  return gpu_seconds / static_cast<double>(context_.cluster_gpus);
}

void SharePlanner::admit() {
  num_live_ = trial_begin_ + num_trial_;
  grow_to(jobs_, num_live_);
  for (std::size_t i = 0; i < num_trial_; ++i)
    std::swap(jobs_[trial_begin_ + i], trial_jobs_[i]);
  std::swap(free_, trial_free_);
}

std::span<const std::uint32_t> SharePlanner::scale(SpareGpus greedy) {
  for (PlannedJob& planned : planned())
    planned.adopt_plan(context_.now);
  return scaling_.run(context_, greedy, planned(), free_);
}

std::size_t SharePlanner::plan(std::span<PlannedJob> jobs, GpuTimeline& free, bool stop_when_late) {
  const auto least_of = [&] { return std::min(free.steps().front().gpus, free.least_after_first()); };
  std::int64_t least = least_of();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    PlannedJob& planned = jobs[i];
    const FreeView view(free, least, nullptr);
    fill_.plan(*planned.job, view, std::nullopt, planned.plan);
    planned.booked_until = fill_.booked_until();
    if (fill_.leaves_remaining_gpus()) {
      planned.free_before.clear();
      least = std::min(least, free.add_part(planned.plan.gpus, planned.booked_until, -1));
    } else {
      fill_.leave(planned.free_before);
      std::swap(planned.free_before, free);
      least = least_of();
    }
    if (stop_when_late && planned.is_late() && !planned.is_lost) return i;
  }
  return jobs.size();
}

void SharePlanner::give_back(std::span<const PlannedJob> jobs, GpuTimeline& free) {
  for (std::size_t i = jobs.size(); i-- > 0;) {
    if (jobs[i].free_before.empty()) {
      free.add_part(jobs[i].plan.gpus, jobs[i].booked_until, 1);
    } else {
      free = jobs[i].free_before;
    }
  }
}

}  // namespace vtrain
