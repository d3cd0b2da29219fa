#include "policies/list/list_policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace vtrain {
namespace {

bool is_on_drained_node(const SchedulingPass& pass, JobId job) {
  return std::ranges::binary_search(pass.staying(), job);
}

void remove_ended(const SchedulingPass& pass, std::vector<ListedJob>& jobs) {
  std::erase_if(jobs, [&](const ListedJob& job) { return !pass.is_live(job.job); });
}

}  // namespace

void ListPolicy::begin(const SchedulingPass& view) {
  waiting_.emplace(GpuPool::num_kinds(view));
  running_.clear();
  unordered_.clear();
  some_ended_ = false;
  // The list is in the order of arrival if keys are equal.
  std::size_t next_running = 0;
  for (const JobId job : view.waiting()) {
    for (; next_running < view.running().size() && view.running()[next_running] < job; ++next_running)
      unordered_.push_back(make_listed(view, view.running()[next_running]));
    waiting_->insert(make_listed(view, job));
  }
  for (; next_running < view.running().size(); ++next_running)
    unordered_.push_back(make_listed(view, view.running()[next_running]));
}

void ListPolicy::schedule(SchedulingPass& pass) {
  if (all_arrivals_fit(pass)) return start_arrivals(pass);
  refresh_running(pass);
  requeue_interrupted(pass);
  for (const JobId job : pass.arrived()) {
    if (!admits(pass, job)) {
      pass.reject(job, pass.explains(job) ? admitting_deadline(pass, job) : std::nullopt);
      continue;
    }
    if (gives_promises()) pass.promise(job);
    waiting_->insert(make_listed(pass, job));
  }
  select_jobs(pass);
  preempt_and_shrink(pass);
  start_and_grow(pass);
  if (!all_found_room_ || pass.shares_gpus()) fill_free_gpus(pass);
  after_walk(pass, running_, started_);
}

ListedJob ListPolicy::make_listed(const SchedulingPass& pass, JobId job) {
  const ListedJob listed{key_of_arrival(pass, job), last_stamp(), job, least_gpus(pass, job),
                         GpuPool::kind_of(pass, pass.job(job).gpu_type)};
  if (resizes()) {
    if (sizes_.size() <= job.value) sizes_.resize(job.value + std::size_t{1});
    const GpuCount enough = gpus_within(pass, listed, {pass.total_gpus()});
    const GpuCount next = next_size(pass, listed, enough);
    sizes_[job.value] = {enough, next.value > 0 ? next : GpuCount(INT32_MAX)};
  }
  return listed;
}

bool ListPolicy::all_arrivals_fit(const SchedulingPass& pass) {
  constexpr std::size_t kMostUnordered = 1024;
  if (unordered_.size() >= kMostUnordered || !waiting_->empty() || !pass.interrupted().empty() ||
      pass.shares_gpus() || pass.gpus_by_type() != nullptr || !may_skip_order(pass))
    return false;
  GpuCount left = pass.free_gpus();
  for (const JobId job : pass.arrived()) {
    left -= pass.job(job).num_gpus;
    if (left < GpuCount(0)) return false;
  }
  return true;
}

void ListPolicy::start_arrivals(SchedulingPass& pass) {
  some_ended_ |= !pass.ended().empty();
  started_.clear();
  for (const JobId job : pass.arrived())
    started_.push_back(make_listed(pass, job));
  std::sort(started_.begin(), started_.end());
  std::erase_if(started_, [&](const ListedJob& job) {
    if (pass.try_start(job.job)) return false;
    waiting_->insert(job);
    return true;
  });
  unordered_.insert(unordered_.end(), started_.begin(), started_.end());
  if (waiting_->empty()) return after_start(pass, started_);
  refresh_running(pass);
  after_walk(pass, running_, started_);
}

void ListPolicy::refresh_running(const SchedulingPass& pass) {
  some_ended_ |= !pass.ended().empty();
  if (some_ended_) {
    remove_ended(pass, running_);
    remove_ended(pass, unordered_);
    some_ended_ = false;
  }
  const auto num_ordered = std::ssize(running_);
  running_.insert(running_.end(), unordered_.begin(), unordered_.end());
  unordered_.clear();
  const bool keys_changed = update_running(pass, running_);
  const auto middle = running_.begin() + num_ordered;
  if (keys_changed) restore_order({running_.begin(), middle});
  std::sort(middle, running_.end());
  std::inplace_merge(running_.begin(), middle, running_.end());
}

void ListPolicy::requeue_interrupted(const SchedulingPass& pass) {
  if (pass.interrupted().empty()) return;
  std::erase_if(running_, [&](const ListedJob& job) {
    if (pass.state(job.job) == JobState::Running) return false;
    waiting_->insert(job);
    return true;
  });
}

void ListPolicy::restore_order(std::span<ListedJob> jobs) {
  if (jobs.empty()) return;
  displaced_.clear();
  auto kept = jobs.end() - 1;
  for (auto job = kept; job != jobs.begin();) {
    --job;
    if (*kept < *job) {
      displaced_.push_back(*job);
    } else {
      if (--kept != job) *kept = *job;
    }
  }
  if (displaced_.empty()) return;
  std::sort(displaced_.begin(), displaced_.end());
  std::copy(displaced_.begin(), displaced_.end(), jobs.begin());
  std::inplace_merge(jobs.begin(), kept, jobs.end());
}

Allocation ListPolicy::held(const SchedulingPass& pass, const ListedJob& job) const {
  return pool_.chooses_types() ? pass.held(job.job) : Allocation{pass.held_gpus(job.job)};
}

Allocation ListPolicy::choose_within_left(const SchedulingPass& pass, const ListedJob& job) const {
  if (pool_.chooses_types()) return choose_type(pass, job, pool_.left());
  return {gpus_within(pass, job, {pool_.max_gang(job.kind)})};
}

Allocation ListPolicy::choose_type(const SchedulingPass& pass, const ListedJob& job,
                                   std::span<const std::int64_t> left_by_type) const {
  const std::optional<std::uint32_t> held_type = pass.held(job.job).type;
  Allocation best;
  auto rank_of_best = std::tuple(0.0, false, false);
  for (const std::uint32_t type : pool_.allowed(job.kind)) {
    const Allocation left{GpuCount(static_cast<std::int32_t>(left_by_type[type])), type};
    const Allocation gpus{gpus_within(pass, job, left), type};
    if (gpus.gpus.value == 0) continue;
    const bool is_free = prefers_free_types() && pool_.free()[type] >= gpus.gpus.value;
    const auto rank = std::tuple(pass.speed(job.job, gpus), held_type == type, is_free);
    if (rank <= rank_of_best) continue;
    best = gpus;
    rank_of_best = rank;
  }
  return best;
}

void ListPolicy::select_jobs(const SchedulingPass& pass) {
  changes_.clear();
  preempted_.clear();
  pool_.begin(pass, chooses_types());
  pool_.exclude(pass.kept_gpus());
  if (pool_.has_types()) {
    for (const ListedJob& job : running_) {
      if (!is_on_drained_node(pass, job.job)) pool_.mark_held(job.job);
    }
  }
  auto next = running_.begin();
  for (auto waiting = waiting_->first_fitting({}, pool_.max_gangs()); waiting;
       waiting = waiting_->first_fitting(*waiting, pool_.max_gangs())) {
    const ListedJob& job = waiting_->at(*waiting);
    const auto behind = std::lower_bound(next, running_.end(), job);
    select_running(pass, {next, behind});
    next = behind;
    if (job.num_gpus > pool_.max_gang(job.kind)) continue;
    const Allocation gpus = choose_within_left(pass, job);
    ++waiting->index;
    if (gpus.gpus.value == 0) continue;
    changes_.push_back({job, false, gpus});
    pool_.take(job.kind, gpus);
  }
  select_running(pass, {next, running_.end()});
  if (resizes()) share_spare_gpus(pass);
}

void ListPolicy::share_spare_gpus(const SchedulingPass& pass) {
  // Selected are the jobs that change, and the running ones that neither change nor are preempted.
  grown_.clear();
  const bool some_stay = !pass.staying().empty();
  auto change = changes_.begin();
  auto preempted = preempted_.begin();
  const auto some_left = [&] { return pool_.has_types() || pool_.max_gang(0).value > 0; };
  for (auto job = running_.begin(); job != running_.end() && some_left(); ++job) {
    for (; change != changes_.end() && change->job < *job; ++change)
      change->gpus.gpus = grow(pass, change->job, change->gpus);
    const bool is_preempted = preempted != preempted_.end() && preempted->job == job->job;
    if (is_preempted) ++preempted;
    if (change != changes_.end() && change->job.job == job->job) {
      change->gpus.gpus = grow(pass, change->job, change->gpus);
      ++change;
    } else if (!is_preempted && !(some_stay && is_on_drained_node(pass, job->job))) {
      const Allocation had = held(pass, *job);
      const GpuCount num_gpus = grow(pass, *job, had);
      if (num_gpus > had.gpus) grown_.push_back({*job, true, {num_gpus, had.type}});
    }
  }
  for (; change != changes_.end() && some_left(); ++change)
    change->gpus.gpus = grow(pass, change->job, change->gpus);
  if (grown_.empty()) return;
  const auto middle = changes_.insert(changes_.end(), grown_.begin(), grown_.end());
  std::inplace_merge(changes_.begin(), middle, changes_.end(),
                     [](const Change& a, const Change& b) { return a.job < b.job; });
}

GpuCount ListPolicy::grow(const SchedulingPass& pass, const ListedJob& job, const Allocation& gpus) {
  const GpuCount left =
      gpus.type ? GpuCount(static_cast<std::int32_t>(pool_.left()[*gpus.type])) : pool_.max_gang(job.kind);
  const ElasticSizes& sizes = sizes_[job.job.value];
  const GpuCount most = gpus.gpus + left;
  if (left.value == 0 || (!gpus.type && gpus.gpus == sizes.enough && most < sizes.next)) return gpus.gpus;
  const GpuCount grown = gpus_with_spare(pass, job, {most, gpus.type});
  if (grown <= gpus.gpus) return gpus.gpus;
  pool_.take(job.kind, {grown - gpus.gpus, gpus.type});
  return grown;
}

void ListPolicy::select_running(const SchedulingPass& pass, std::span<const ListedJob> jobs) {
  const bool some_stay = !pass.staying().empty();
  if (!resizes() && !some_stay) {
    GpuCount held(0);
    for (const ListedJob& job : jobs)
      held += job.num_gpus;
    if (pool_.try_keep_count(held)) return;
  }
  const bool is_simple = resizes() && !some_stay && !pool_.has_types();
  for (const ListedJob& job : jobs) {
    const Allocation had = held(pass, job);
    if (is_simple && had.gpus == sizes_[job.job.value].enough && pool_.try_keep_count(had.gpus)) continue;
    if (some_stay && is_on_drained_node(pass, job.job)) continue;
    const bool fits = job.num_gpus <= pool_.max_gang(job.kind);
    const Allocation gpus = fits ? choose_within_left(pass, job) : Allocation{};
    if (gpus == had && pool_.try_keep(job.job, had.gpus)) continue;
    pool_.mark_free(job.job);
    if (gpus.gpus.value == 0) {
      preempted_.push_back(job);
      continue;
    }
    pool_.take(job.kind, gpus);
    const bool resized = gpus.gpus != had.gpus;
    // A job that moves to GPUs of another type starts there, if placement would put it there.
    const bool moves = gpus.type != had.type || (!resized && pool_.splits_gangs());
    if (moves) preempted_.push_back(job);
    if (resized || moves) changes_.push_back({job, !moves, gpus});
  }
}

void ListPolicy::preempt_and_shrink(SchedulingPass& pass) {
  if (!preempted_.empty()) {
    for (const ListedJob& job : preempted_) {
      pass.preempt(job.job);
      waiting_->insert(job);
    }
    std::erase_if(running_, [&](const ListedJob& job) { return pass.state(job.job) != JobState::Running; });
  }
  shrunk_.clear();
  for (const Change& change : changes_) {
    if (change.runs && change.gpus.gpus < pass.held_gpus(change.job.job) &&
        pass.try_resize(change.job.job, change.gpus))
      shrunk_.push_back(change.job);
  }
}

bool ListPolicy::start(SchedulingPass& pass, const ListedJob& listed, const Allocation& gpus) {
  const Job& job = pass.job(listed.job);
  const bool started =
      gpus == Allocation{job.num_gpus} ? pass.try_start(listed.job) : pass.try_start(listed.job, gpus);
  if (!started) {
    all_found_room_ = false;
    refusals_.push_back({listed.kind, gpus, job.gpu_share});
  }
  return started;
}

void ListPolicy::start_and_grow(SchedulingPass& pass) {
  started_.clear();
  refusals_.clear();
  all_found_room_ = true;
  for (const Change& change : changes_) {
    const ListedJob& job = change.job;
    if (change.runs) {
      if (change.gpus.gpus > pass.held_gpus(job.job) && !resize(pass, job, change.gpus))
        all_found_room_ = false;
    } else if (!was_refused(pass, job, change.gpus) && start(pass, job, change.gpus)) {
      waiting_->erase(job);
      started_.push_back(job);
    }
  }
  insert_running(started_);
}

void ListPolicy::fill_free_gpus(SchedulingPass& pass) {
  std::vector<ListedJob> resumed;
  std::vector<ListedJob> started;
  std::vector<GpuCount> free(GpuPool::num_kinds(pass), pass.free_gpus());
  auto running = running_.begin();
  auto preempted = preempted_.begin();
  for (auto waiting = waiting_->first_fitting({}, free, refused_sizes(pass)); waiting;
       waiting = waiting_->first_fitting(*waiting, free, refused_sizes(pass))) {
    const ListedJob& job = waiting_->at(*waiting);
    ++waiting->index;
    const auto behind = std::lower_bound(running, running_.end(), job);
    grow_running(pass, {running, behind});
    running = behind;
    preempted = std::lower_bound(preempted, preempted_.end(), job);
    if (preempted != preempted_.end() && preempted->job == job.job && pass.try_resume(job.job)) {
      resumed.push_back(job);
    } else if (start_within_free(pass, job)) {
      started.push_back(job);
    }
    std::fill(free.begin(), free.end(), pass.free_gpus());
  }
  grow_running(pass, {running, running_.end()});
  for (const std::vector<ListedJob>* const jobs : {&resumed, &started}) {
    for (const ListedJob& job : *jobs)
      waiting_->erase(job);
    insert_running(*jobs);
  }
  const auto middle = started_.insert(started_.end(), started.begin(), started.end());
  std::inplace_merge(started_.begin(), middle, started_.end());
}

void ListPolicy::grow_running(SchedulingPass& pass, std::span<const ListedJob> jobs) {
  if (!resizes()) return;
  for (const ListedJob& job : jobs) {
    if (std::binary_search(shrunk_.begin(), shrunk_.end(), job) && pass.try_resume(job.job))
      refusals_.clear();
    const auto [had, type] = held(pass, job);
    GpuCount num_gpus = gpus_with_spare(pass, job, {had + pass.free_gpus(), type});
    while (num_gpus > had && !resize(pass, job, {num_gpus, type}))
      num_gpus = gpus_with_spare(pass, job, {num_gpus - GpuCount(1), type});
  }
}

bool ListPolicy::resize(SchedulingPass& pass, const ListedJob& job, const Allocation& gpus) {
  const bool resized = pass.try_resize(job.job, gpus);
  if (resized) refusals_.clear();
  return resized;
}

bool ListPolicy::start_within_free(SchedulingPass& pass, const ListedJob& job) {
  if (pool_.chooses_types()) return start_within_free_type(pass, job);
  GpuCount most = pass.free_gpus();
  while (job.num_gpus <= most) {
    const Allocation gpus{gpus_within(pass, job, {most})};
    if (!was_refused(pass, job, gpus) && start(pass, job, gpus)) return true;
    most = gpus.gpus - GpuCount(1);
  }
  return false;
}

bool ListPolicy::start_within_free_type(SchedulingPass& pass, const ListedJob& job) {
  std::vector<std::int64_t> most(pool_.left().size(), pass.free_gpus().value);
  while (true) {
    const Allocation gpus = choose_type(pass, job, most);
    if (gpus.gpus.value == 0) return false;
    if (!was_refused(pass, job, gpus) && start(pass, job, gpus)) return true;
    most[*gpus.type] = gpus.gpus.value - 1;
  }
}

bool ListPolicy::was_refused(const SchedulingPass& pass, const ListedJob& job, const Allocation& gpus) const {
  const Refusal refusal{job.kind, gpus, pass.job(job.job).gpu_share};
  return std::find(refusals_.begin(), refusals_.end(), refusal) != refusals_.end();
}

OrderedJobs::Sizes ListPolicy::refused_sizes(const SchedulingPass& pass) const {
  OrderedJobs::Sizes sizes = 0;
  if (resizes() || pass.shares_gpus() || GpuPool::num_kinds(pass) > 1) return sizes;
  for (const Refusal& refusal : refusals_)
    sizes |= OrderedJobs::size(refusal.gpus.gpus);
  // A preempted job may have its gang back although no new one of its size finds room.
  for (const ListedJob& job : preempted_)
    sizes &= ~OrderedJobs::size(job.num_gpus);
  return sizes;
}

void ListPolicy::insert_running(std::span<const ListedJob> jobs) {
  const auto middle = running_.insert(running_.end(), jobs.begin(), jobs.end());
  std::inplace_merge(running_.begin(), middle, running_.end());
}

}  // namespace vtrain
