#include "policies/list_policy.hpp"

#include <algorithm>

namespace vtrain {

void ListPolicy::schedule(SchedulingPass& pass) {
  take_out_ended(pass);
  if (update_running(pass, running_)) restore_order();
  take_back_interrupted(pass);
  for (const JobId job : pass.arrived()) {
    if (!admits(pass, job)) {
      pass.reject(job);
      continue;
    }
    waiting_.insert({key_of_arrival(pass, job), last_stamp(), job, least_gpus(pass, job)});
  }
  choose(pass);
  make_room(pass);
  start_chosen(pass);
  after_walk(pass, running_, started_);
}

void ListPolicy::take_out_ended(const SchedulingPass& pass) {
  if (pass.ended().empty()) return;
  std::erase_if(running_, [&](const ListedJob& job) {
    const JobState state = pass.state(job.job);
    return state != JobState::Running && state != JobState::Waiting;
  });
}

void ListPolicy::take_back_interrupted(const SchedulingPass& pass) {
  if (pass.interrupted().empty()) return;
  std::erase_if(running_, [&](const ListedJob& job) {
    if (pass.state(job.job) == JobState::Running) return false;
    waiting_.insert(job);
    return true;
  });
}

void ListPolicy::restore_order() {
  if (running_.empty()) return;
  displaced_.clear();
  auto kept = running_.end() - 1;
  for (auto job = kept; job != running_.begin();) {
    --job;
    if (*kept < *job) {
      displaced_.push_back(*job);
    } else {
      if (--kept != job) *kept = *job;
    }
  }
  if (displaced_.empty()) return;
  std::sort(displaced_.begin(), displaced_.end());
  std::copy(displaced_.begin(), displaced_.end(), running_.begin());
  std::inplace_merge(running_.begin(), kept, running_.end());
}

void ListPolicy::choose(const SchedulingPass& pass) {
  changes_.clear();
  preempted_.clear();
  GpuCount left = pass.usable_gpus();
  auto next = running_.begin();
  // Until a waiting job is reached that fits, nothing changes for those that run.
  for (auto waiting = waiting_.first_fitting({}, left); waiting;
       waiting = waiting_.first_fitting(*waiting, left)) {
    const ListedJob& job = waiting_.at(*waiting);
    const auto behind = std::lower_bound(next, running_.end(), job);
    left -= keep(pass, {next, behind}, left);
    next = behind;
    if (job.num_gpus > left) continue;
    changes_.push_back({job, false, gpus_within(pass, job, left)});
    left -= changes_.back().num_gpus;
    ++waiting->index;
  }
  keep(pass, {next, running_.end()}, left);
}

GpuCount ListPolicy::keep(const SchedulingPass& pass, std::span<const ListedJob> jobs, GpuCount left) {
  GpuCount kept(0);
  if (!resizes()) {
    for (const ListedJob& job : jobs)
      kept += job.num_gpus;
    if (kept <= left) return kept;
    kept = GpuCount(0);
  }
  for (const ListedJob& job : jobs) {
    if (job.num_gpus > left - kept) {
      preempted_.push_back(job);
      continue;
    }
    const GpuCount num_gpus = gpus_within(pass, job, left - kept);
    if (num_gpus != pass.held_gpus(job.job)) changes_.push_back({job, true, num_gpus});
    kept += num_gpus;
  }
  return kept;
}

void ListPolicy::make_room(SchedulingPass& pass) {
  if (!preempted_.empty()) {
    for (const ListedJob& job : preempted_) {
      pass.preempt(job.job);
      waiting_.insert(job);
    }
    std::erase_if(running_, [&](const ListedJob& job) { return pass.state(job.job) != JobState::Running; });
  }
  for (const Change& change : changes_) {
    if (change.runs && change.num_gpus < pass.held_gpus(change.job.job))
      pass.try_resize(change.job.job, change.num_gpus);
  }
}

bool ListPolicy::start(SchedulingPass& pass, const Change& change) {
  const JobId job = change.job.job;
  return change.num_gpus == pass.job(job).num_gpus ? pass.try_start(job)
                                                   : pass.try_start(job, change.num_gpus);
}

void ListPolicy::start_chosen(SchedulingPass& pass) {
  started_.clear();
  for (const Change& change : changes_) {
    if (change.runs) {
      if (change.num_gpus > pass.held_gpus(change.job.job)) pass.try_resize(change.job.job, change.num_gpus);
    } else if (start(pass, change)) {
      waiting_.erase(change.job);
      started_.push_back(change.job);
    }
  }
  const auto middle = running_.insert(running_.end(), started_.begin(), started_.end());
  std::inplace_merge(running_.begin(), middle, running_.end());
}

}  // namespace vtrain
