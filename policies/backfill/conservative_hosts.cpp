// `conservative:planning=hosts`: conservative backfilling with sets of GPUs, the behaviour of
// `conservative_bf` of batsched 1.4. Every waiting job holds a reservation of particular GPUs, the earliest
// that the reservations before it leave. When a job ends, every waiting job, in order of arrival, exchanges
// its reservation for the earliest one now, while all others keep theirs. A job starts at its reservation, so
// under `count` placement none starts later than first promised.
//
// GPUs are virtual: 0 .. GPUs - 1 under every placement. Gangs may not fit although enough GPUs are free
// (`yarn` placement). A job whose start found no room waits on and keeps the rest of its slot. It takes a new
// reservation when the next job ends.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "policies/backfill/by_hosts.hpp"
#include "policies/backfill/gpu_set_timeline.hpp"

namespace vtrain {

namespace {

class ConservativeByHosts final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    if (!free_) free_.emplace(pass.total_gpus());
    if (timeline_) timeline_->advance(pass.now());
    for (const JobId id : pass.ended())
      give_back(id);
    for (const JobId id : pass.interrupted()) {
      give_back(id);
      waiting_.emplace(id, std::nullopt);
    }
    if (!pass.interrupted().empty() || pass.total_gpus() - pass.usable_gpus() != out_) {
      remake_reservations(pass);
    } else if (timeline_ && !pass.ended().empty()) {
      if (grown_until_ > pass.now()) {
        renew_reservations(pass);
      } else {
        start_due(pass);
      }
    }
    for (const JobId id : pass.arrived())
      admit(pass, id);
    if (timeline_ && waiting_.empty() && timeline_->only_gains()) {
      free_ = timeline_->free_gpus();
      timeline_.reset();
    }
  }

  /// The first reservation of another job.
  WaitCause holds_back(const SchedulingPass&, JobId id) const override {
    const auto booked = std::ranges::find_if(by_begin_, [id](const auto& each) { return each.second != id; });
    if (booked == by_begin_.end()) return {};
    return {WaitReason::Reservation, booked->second, booked->first};
  }
  void append_heads(std::vector<JobId>& heads) const override {
    if (!waiting_.empty()) heads.push_back(waiting_.begin()->first);
  }

 private:
  /// Waiting jobs in order of arrival, which is that of their ids. Between passes a job lacks a slot only if
  /// none was left before the end of time.
  using Waiting = std::map<JobId, std::optional<Slot>>;

  void give_back(JobId id) {
    const auto running = running_.find(id);
    if (timeline_) {
      grown_until_ = std::max(grown_until_, running->second.end);
      timeline_->release(running->second);
    } else {
      free_->insert(running->second.gpus);
    }
    running_.erase(running);
  }

  /// Starts a job that arrives, or reserves a slot for it.
  void admit(SchedulingPass& pass, JobId id) {
    if (!timeline_) {
      if (start_on_free(pass, id)) return;
      look_ahead(pass);
    }
    place(pass, waiting_.emplace(id, std::nullopt).first);
  }

  /// Starts a job that arrives while no job waits. The result equals a reservation of a slot that begins now:
  /// without other reservations, GPUs that are free now stay free.
  bool start_on_free(SchedulingPass& pass, JobId id) {
    const GpuCount num_gpus = pass.job(id).num_gpus;
    if (num_gpus > free_->size()) return false;
    Slot slot{pass.now(), saturating_sum(pass.now(), pass.planned_time(id)), free_->lowest(num_gpus)};
    if (!pass.try_start(id)) return false;
    free_->erase(slot.gpus);
    running_.emplace(id, std::move(slot));
    return true;
  }

  /// Builds the timeline of free GPUs, after running jobs and GPUs out of service.
  void look_ahead(const SchedulingPass& pass) {
    std::vector<const Slot*> taken;
    for (const auto& [id, slot] : running_)
      taken.push_back(&slot);
    if (withheld_) taken.push_back(&*withheld_);
    timeline_.emplace(pass.total_gpus(), pass.now(), taken);
    grown_until_ = pass.now();
  }

  /// Makes all reservations again, in order of arrival, without the GPUs that are out of service. Their
  /// return is not known.
  void remake_reservations(SchedulingPass& pass) {
    out_ = pass.total_gpus() - pass.usable_gpus();
    withheld_.reset();
    look_ahead(pass);
    if (out_.value > 0) {
      withheld_ = timeline_->earliest_slot(out_, SimDuration::max());
      timeline_->reserve(*withheld_);
    }
    by_begin_.clear();
    for (auto job = waiting_.begin(); job != waiting_.end();)
      place(pass, job++);
  }

  /// Moves each reservation to the earliest slot and starts the jobs whose slots begin now.
  void renew_reservations(SchedulingPass& pass) {
    const SimTime grown_before = std::exchange(grown_until_, pass.now());
    // A job cannot move back to a slot that has begun without it, so that slot must not block others. If they
    // queued after it and its job after them, nothing might start on an empty cluster.
    while (!by_begin_.empty() && by_begin_.begin()->first < pass.now()) {
      std::optional<Slot>& slot = waiting_.at(by_begin_.begin()->second);
      timeline_->release(*slot);
      slot.reset();
      by_begin_.erase(by_begin_.begin());
    }
    for (auto job = waiting_.begin(); job != waiting_.end();) {
      const auto here = job++;
      const std::optional<Slot> old = here->second;
      if (old) {
        // A better slot includes some returned GPUs, so it begins before their end.
        const SimTime bound = std::max(grown_before, grown_until_);
        if (old->begin >= bound) {
          if (!timeline_->may_begin_before(bound, old->begin, pass.job(here->first).num_gpus,
                                           pass.planned_time(here->first)))
            continue;
        }
        timeline_->release(*old);
        by_begin_.erase({old->begin, here->first});
      }
      // Earlier jobs have not seen the GPUs that a job leaves.
      if (place(pass, here) != old && old) grown_until_ = std::max(grown_until_, old->end);
    }
  }

  /// Starts the jobs whose reservations begin now. Renewing would do that, but could move none of them.
  void start_due(SchedulingPass& pass) {
    for (auto due = by_begin_.begin(); due != by_begin_.end() && due->first == pass.now();) {
      const auto job = waiting_.find(due->second);
      ++due;
      start(pass, job);
    }
  }

  /// Reserves the earliest slot for a job without one, and starts the job if the slot begins now. Returns the
  /// slot.
  std::optional<Slot> place(SchedulingPass& pass, Waiting::iterator waiting) {
    const std::optional<Slot> slot =
        timeline_->earliest_slot(pass.job(waiting->first).num_gpus, pass.planned_time(waiting->first));
    waiting->second = slot;
    if (!slot) {
      grown_until_ = SimTime::max();
      return slot;
    }
    timeline_->reserve(*slot);
    by_begin_.insert({slot->begin, waiting->first});
    if (slot->begin == pass.now()) start(pass, waiting);
    return slot;
  }

  /// Starts a job in its slot, which begins now. If placement has no room it waits on, and its GPUs stay
  /// reserved until a job ends.
  void start(SchedulingPass& pass, Waiting::iterator job) {
    if (!pass.try_start(job->first)) {
      grown_until_ = SimTime::max();
      return;
    }
    by_begin_.erase({pass.now(), job->first});
    running_.emplace(job->first, std::move(*job->second));
    waiting_.erase(job);
  }

  /// Free GPUs minus the slots of running and waiting jobs; absent while no job waits and `free_` suffices.
  std::optional<GpuSetTimeline> timeline_;
  std::optional<GpuSet> free_;  ///< free GPUs now, while there is no timeline
  Waiting waiting_;
  std::set<std::pair<SimTime, JobId>> by_begin_;  ///< reservations of waiting jobs
  std::map<JobId, Slot> running_;
  GpuCount out_{0};               ///< GPUs out of service that no job holds
  std::optional<Slot> withheld_;  ///< virtual GPUs in place of `out_`
  /// Last instant after which no GPU has become free since some waiting job last looked for a slot. If it is
  /// past, renewing changes nothing.
  SimTime grown_until_{};
};

}  // namespace

std::unique_ptr<Policy> make_conservative_by_hosts() {
  return std::make_unique<ConservativeByHosts>();
}

}  // namespace vtrain
