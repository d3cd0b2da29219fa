#include "policies/conservative.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "policies/availability_profile.hpp"

namespace vtrain {

namespace {

class Conservative final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    if (!profile_) profile_.emplace(pass.total_gpus(), pass.now());
    profile_->advance(pass.now());
    for (const JobId id : pass.ended())
      give_back(pass, id);
    if (!pass.ended().empty()) {
      if (improvable_) {
        renew_reservations(pass);
      } else {
        start_due(pass);
      }
    }
    for (const JobId id : pass.arrived()) {
      const auto job = waiting_.emplace(id, std::nullopt).first;
      place(pass, job);
    }
  }

 private:
  /// Waiting jobs in order of arrival, which is that of their ids. No slot: none was left before the end of
  /// time.
  using Waiting = std::map<JobId, std::optional<Slot>>;

  void give_back(const SchedulingPass& pass, JobId id) {
    const auto running = running_.find(id);
    if (running->second.end > pass.now()) improvable_ = true;
    profile_->release(running->second);
    running_.erase(running);
  }

  /// Moves each reservation to the earliest slot there is and starts the jobs whose slots begin now.
  void renew_reservations(SchedulingPass& pass) {
    improvable_ = false;
    for (auto job = waiting_.begin(); job != waiting_.end();) {
      const auto here = job++;
      const std::optional<Slot> old = here->second;
      if (old) {
        profile_->release(*old);
        by_begin_.erase({old->begin, here->first});
      }
      // What a job leaves, the jobs before it have not seen.
      if (place(pass, here) != old) improvable_ = true;
    }
  }

  /// Starts the jobs whose reservations begin now, as renewing would, which could move none of them.
  void start_due(SchedulingPass& pass) {
    while (!by_begin_.empty() && by_begin_.begin()->first == pass.now()) {
      const auto job = waiting_.find(by_begin_.begin()->second);
      by_begin_.erase(by_begin_.begin());
      start(pass, job);
    }
  }

  /// Reserves the earliest slot for a job that has none, and starts the job if the slot begins now. Returns
  /// the slot.
  std::optional<Slot> place(SchedulingPass& pass, Waiting::iterator waiting) {
    const Job& job = pass.job(waiting->first);
    const std::optional<Slot> slot = profile_->earliest_slot(job.num_gpus, job.walltime());
    waiting->second = slot;
    if (!slot) {
      improvable_ = true;
      return slot;
    }
    profile_->reserve(*slot);
    if (slot->begin == pass.now())
      start(pass, waiting);
    else
      by_begin_.insert({slot->begin, waiting->first});
    return slot;
  }

  /// Starts a job in its slot, which begins now. If placement has no room it waits on, its slot no longer a
  /// promise.
  void start(SchedulingPass& pass, Waiting::iterator job) {
    if (!pass.try_start(job->first)) {
      improvable_ = true;
      return;
    }
    running_.emplace(job->first, std::move(*job->second));
    waiting_.erase(job);
  }

  std::optional<AvailabilityProfile> profile_;  ///< less the slots of running and waiting jobs
  Waiting waiting_;
  std::set<std::pair<SimTime, JobId>> by_begin_;  ///< reservations still to begin
  std::map<JobId, Slot> running_;
  /// Whether hosts may have become free since some waiting job last looked for a slot. If not, renewing
  /// changes nothing.
  bool improvable_ = false;
};

}  // namespace

Result<std::unique_ptr<Policy>> make_conservative(const PolicyArguments&) {
  return std::make_unique<Conservative>();
}

}  // namespace vtrain
