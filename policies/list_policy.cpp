#include "policies/list_policy.hpp"

#include <algorithm>

namespace vtrain {

void ListPolicy::schedule(SchedulingPass& pass) {
  take_out_ended(pass);
  update_running(pass, running_);
  take_back_interrupted(pass);
  if (!std::is_sorted(running_.begin(), running_.end())) std::sort(running_.begin(), running_.end());
  for (const JobId job : pass.arrived()) {
    waiting_.insert({key_of_arrival(pass, job), last_stamp(), job, pass.job(job).num_gpus});
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
  while (waiting || running != running_.end()) {
    const bool take_waiting = waiting && (running == running_.end() || waiting_.at(*waiting) < *running);
    if (take_waiting) {
      chosen_.push_back({waiting_.at(*waiting), false});
      left -= chosen_.back().job.num_gpus;
      ++waiting->index;
    } else if (running->num_gpus <= left) {
      chosen_.push_back({*running, true});
      left -= running->num_gpus;
      ++running;
    } else {
      preempted_.push_back(*running);
      ++running;
    }
    if (waiting) waiting = waiting_.first_fitting(*waiting, left);
  }
}

void ListPolicy::start_chosen(SchedulingPass& pass) {
  running_.clear();
  for (const Choice& choice : chosen_) {
    if (!choice.runs) {
      if (!pass.try_start(choice.job.job)) continue;
      waiting_.erase(choice.job);
    }
    running_.push_back(choice.job);
  }
}

}  // namespace vtrain
