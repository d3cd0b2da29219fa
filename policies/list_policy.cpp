#include "policies/list_policy.hpp"

#include <algorithm>

namespace vtrain {

void ListPolicy::schedule(SchedulingPass& pass) {
  take_out_ended(pass);
  update_running(pass, running_);
  take_back_interrupted(pass);
  if (!std::is_sorted(running_.begin(), running_.end())) std::sort(running_.begin(), running_.end());
  for (const JobId job : pass.arrived()) {
    if (!admits(pass, job)) {
      pass.reject(job);
      continue;
    }
    waiting_.insert({key_of_arrival(pass, job), last_stamp(), job, least_gpus(pass, job)});
  }
  choose(pass);
  for (const ListedJob& job : preempted_) {
    pass.preempt(job.job);
    waiting_.insert(job);
  }
  start_chosen(pass);
  after_walk(pass, running_);
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

void ListPolicy::choose(const SchedulingPass& pass) {
  chosen_.clear();
  preempted_.clear();
  GpuCount left = pass.usable_gpus();
  auto waiting = waiting_.first_fitting({}, left);
  auto running = running_.begin();
  const auto take = [&](const ListedJob& job, bool runs) {
    chosen_.push_back({job, runs, gpus_within(pass, job, left)});
    left -= chosen_.back().num_gpus;
  };
  while (waiting || running != running_.end()) {
    const bool take_waiting = waiting && (running == running_.end() || waiting_.at(*waiting) < *running);
    if (take_waiting) {
      take(waiting_.at(*waiting), false);
      ++waiting->index;
    } else if (running->num_gpus <= left) {
      take(*running, true);
      ++running;
    } else {
      preempted_.push_back(*running);
      ++running;
    }
    if (waiting) waiting = waiting_.first_fitting(*waiting, left);
  }
}

bool ListPolicy::start(SchedulingPass& pass, const Choice& choice) {
  const JobId job = choice.job.job;
  return choice.num_gpus == pass.job(job).num_gpus ? pass.try_start(job)
                                                   : pass.try_start(job, choice.num_gpus);
}

void ListPolicy::start_chosen(SchedulingPass& pass) {
  running_.clear();
  // What shrinks makes room for what starts or grows.
  for (const Choice& choice : chosen_) {
    if (choice.runs && choice.num_gpus < pass.held_gpus(choice.job.job))
      pass.try_resize(choice.job.job, choice.num_gpus);
  }
  for (const Choice& choice : chosen_) {
    if (choice.runs) {
      if (choice.num_gpus > pass.held_gpus(choice.job.job)) pass.try_resize(choice.job.job, choice.num_gpus);
    } else {
      if (!start(pass, choice)) continue;
      waiting_.erase(choice.job);
    }
    running_.push_back(choice.job);
  }
}

}  // namespace vtrain
