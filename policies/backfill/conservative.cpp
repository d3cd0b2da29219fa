// `conservative`: conservative backfilling. On arrival every job gets the earliest reservation that running
// jobs, by their time limits, and all other reservations leave. When a job ends before its limit, each
// waiting job, in order of arrival, takes the earliest slot while all others keep theirs. A job starts at its
// reservation, so under `count` placement none starts later than first promised. `planning=counts` plans with
// numbers of GPUs, of each type if jobs request types; `planning=hosts` is in conservative_hosts.cpp.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "policies/backfill/backfill_queue.hpp"
#include "policies/backfill/by_hosts.hpp"
#include "policies/backfill/gpu_forecast.hpp"
#include "policies/backfill/slot_bounds.hpp"
#include "policies/base/policies.hpp"
#include "sched/simulation/gpus_by_type.hpp"

namespace vtrain {
namespace {

/// Conservative backfilling by counts. A job whose reservation is due may find no room under a placement that
/// refuses gangs although the count suffices. It is *overdue* then. Its GPUs stay booked, and it is tried
/// again, in order of arrival, whenever GPUs become free. Reservations of other jobs may be delayed by that.
class Conservative final : public Policy {
 public:
  void begin(const SchedulingPass& view) override {
    free_.emplace(view);
    left_until_.assign(free_->num_types(), view.now());
    for (const JobId id : view.running())
      free_->start(view, id);
    bounds_.reset();
    due_.clear();
    overdue_ = {};
    held_.clear();
    waiting_.clear();
    for (const JobId id : view.waiting())
      book(view, waiting_.try_emplace(id).first);
  }
  bool can_begin_with_jobs() const override { return true; }

  void schedule(SchedulingPass& pass) override {
    const bool capacity_changed = free_->advance(pass);
    freed_until_.assign(free_->num_types(), pass.now());
    for (const JobId id : pass.ended())
      extend(freed_until_, free_->end(pass, id));
    for (const JobId id : pass.interrupted()) {
      free_->end(pass, id);
      waiting_.try_emplace(id);
    }
    hold_overdue(pass);
    if (capacity_changed || !pass.interrupted().empty()) {
      start_overdue(pass);
      plan_anew(pass);
    } else if (!pass.ended().empty()) {
      start_overdue(pass);
      if (latest(freed_until_) > pass.now()) renew(pass);
    }
    for (const JobId id : pass.arrived())
      book(pass, waiting_.try_emplace(id).first);
    start_due(pass);
    // Expired bookings of overdue jobs need no pass of their own: the next one renews them.
    if (!due_.empty()) pass.wake_at(due_.begin()->first);
  }

  /// The job's own reservation, if it would fit now. Otherwise the first reservation of another job, or else
  /// the first overdue job.
  WaitCause holds_back(const SchedulingPass& pass, JobId id) const override {
    const Waiting& waiting = waiting_.at(id);
    if (waiting.booking && !waiting.is_overdue) {
      const QueuedJob job = queued_job(pass, id);
      const SimTime booked = waiting.booking->begin;
      const SimTime soon = std::min(booked, pass.now() + SimDuration(1));
      if (free_->earliest(job.gpu_type, job.num_gpus, job.booked_time(),
                          {.from = pass.now(), .before = soon, .enough = booked}))
        return {.reason = WaitReason::NextDecision, .at = booked};
    }
    const GpusByType* const by_type = pass.gpus_by_type();
    const auto is_other = [&](const std::pair<SimTime, JobId>& booked) {
      return booked.second != id &&
             (by_type == nullptr ||
              by_type->overlap(pass.job(id).gpu_type, pass.job(booked.second).gpu_type));
    };
    const auto due = std::ranges::find_if(due_, is_other);
    if (due != due_.end()) return {WaitReason::Reservation, due->second, due->first};
    const auto held = std::ranges::find_if(held_, is_other);
    return held == held_.end() ? WaitCause{} : WaitCause{WaitReason::Reservation, held->second};
  }
  void append_heads(std::vector<JobId>& heads) const override {
    if (!waiting_.empty()) heads.push_back(waiting_.begin()->first);
  }

 private:
  struct Waiting {
    std::optional<Booking> booking{};  ///< absent if too many GPUs are out of service for the job
    bool is_overdue = false;
  };
  /// Waiting jobs in order of arrival, which is that of the ids.
  using WaitingJobs = std::map<JobId, Waiting>;

  /// Extends the ends of free time by type to that of a booking.
  static void extend(std::vector<SimTime>& until, const Booking& booking) {
    for (const TypeCount& gpus : booking.gpus)
      until[gpus.type] = std::max(until[gpus.type], booking.end);
  }
  static SimTime latest(const std::vector<SimTime>& until) { return *std::ranges::max_element(until); }

  /// Books the earliest slot for a job without one.
  void book(const SchedulingPass& pass, WaitingJobs::iterator waiting) {
    const QueuedJob job = queued_job(pass, waiting->first);
    const SimTime from = std::max(
        pass.now(), bounds_.lower_bound(free_->kind_of(job.gpu_type), job.num_gpus, job.booked_time()));
    std::optional<Booking>& booking = waiting->second.booking;
    booking = free_->earliest(job.gpu_type, job.num_gpus, job.booked_time(), {.from = from});
    if (!booking) return;
    bounds_.add(free_->kind_of(job.gpu_type), job.num_gpus, job.booked_time(), booking->begin);
    free_->book(*booking);
    due_.insert({booking->begin, waiting->first});
  }

  /// Cancels all bookings except those of overdue jobs, and makes new ones in order of arrival.
  void plan_anew(const SchedulingPass& pass) {
    for (const auto& [begin, id] : due_)
      free_->cancel(*waiting_.at(id).booking);
    due_.clear();
    bounds_.reset();
    left_until_.assign(free_->num_types(), pass.now());
    for (auto job = waiting_.begin(); job != waiting_.end(); ++job) {
      if (!job->second.is_overdue) book(pass, job);
    }
  }

  /// Lets each waiting job, in order of arrival, take the earliest slot while all others keep theirs. A
  /// better slot includes GPUs that became free, so it begins before their end, `freed_until_`.
  void renew(const SchedulingPass& pass) {
    bounds_.reset();
    // Earlier jobs have not seen the GPUs that a job leaves: they look there the next time.
    for (std::size_t type = 0; type < freed_until_.size(); ++type) {
      if (freed_until_[type] > pass.now())
        freed_until_[type] = std::max(freed_until_[type], std::exchange(left_until_[type], pass.now()));
    }
    for (auto& [id, waiting] : waiting_) {
      if (waiting.is_overdue) continue;
      const SimTime booked = waiting.booking ? waiting.booking->begin : SimTime::max();
      if (booked <= pass.now()) continue;
      const QueuedJob job = queued_job(pass, id);
      SimTime freed_until = pass.now();
      for (const std::uint32_t type : free_->allowed(job.gpu_type))
        freed_until = std::max(freed_until, freed_until_[type]);
      if (freed_until == pass.now()) continue;
      // From the booked begin on, its own GPUs count: a stretch that reaches it is long enough.
      auto earlier =
          free_->earliest(job.gpu_type, job.num_gpus, job.booked_time(),
                          {.from = pass.now(), .before = std::min(booked, freed_until), .enough = booked});
      if (!earlier) continue;
      if (waiting.booking) {
        free_->cancel(*waiting.booking);
        due_.erase({booked, id});
        extend(left_until_, *waiting.booking);
        extend(freed_until_, *waiting.booking);
      }
      waiting.booking = std::move(earlier);
      free_->book(*waiting.booking);
      due_.insert({waiting.booking->begin, id});
    }
  }

  /// Starts a waiting job that is booked, if placement has room.
  bool start(SchedulingPass& pass, JobId id) {
    if (!pass.try_start(id)) return false;
    const auto waiting = waiting_.find(id);
    free_->cancel(*waiting->second.booking);
    free_->start(pass, id);
    if (free_->may_choose(pass.job(id).gpu_type)) {
      // Placement may have chosen a type other than the booked one.
      bounds_.reset();
      extend(left_until_, *waiting->second.booking);
    }
    waiting_.erase(waiting);
    return true;
  }

  /// Starts the jobs whose reservations begin now, in order of arrival.
  void start_due(SchedulingPass& pass) {
    while (!due_.empty() && due_.begin()->first <= pass.now()) {
      const JobId id = due_.begin()->second;
      due_.erase(due_.begin());
      if (start(pass, id)) continue;
      Waiting& waiting = waiting_.at(id);
      waiting.is_overdue = true;
      held_.insert({waiting.booking->end, id});
      overdue_.push(queued_job(pass, id));
    }
  }

  /// Extends the expired bookings of overdue jobs.
  void hold_overdue(const SchedulingPass& pass) {
    while (!held_.empty() && held_.begin()->first <= pass.now()) {
      const JobId id = held_.begin()->second;
      held_.erase(held_.begin());
      Booking& booking = *waiting_.at(id).booking;
      booking.begin = pass.now();
      booking.end = saturating_sum(pass.now(), queued_job(pass, id).booked_time());
      free_->book(booking);
      held_.insert({booking.end, id});
    }
  }

  /// Starts the overdue jobs that find room, in order of arrival. After a refusal no larger gang of that kind
  /// fits.
  void start_overdue(SchedulingPass& pass) {
    const BackfillLimits any{pass.free_gpus()};
    while (const auto job = overdue_.first_fitting([&](GpuTypeId) { return any; })) {
      const SimTime held_until = waiting_.at(job->id).booking->end;
      if (start(pass, job->id)) {
        overdue_.remove(*job);
        held_.erase({held_until, job->id});
      } else {
        overdue_.refuse(*job);
      }
    }
    overdue_.forget_refusals();
  }

  std::optional<GpuForecast> free_;  ///< GPUs left by running jobs and all bookings
  WaitingJobs waiting_;
  std::set<std::pair<SimTime, JobId>> due_;  ///< begins of the bookings of jobs that are not overdue
  QueuesByKind<ArrivalOrderQueue> overdue_;
  std::set<std::pair<SimTime, JobId>> held_;  ///< ends of the bookings of overdue jobs
  SlotBounds bounds_;                         ///< bounds since GPUs last became free early
  std::vector<SimTime> freed_until_;  ///< [types], end of the time that became free early in this pass
  std::vector<SimTime> left_until_;   ///< [types], end of the slots that jobs left since all last looked
};

}  // namespace

MadePolicy make_conservative(const PolicyArguments& arguments) {
  if (arguments["planning"] == "hosts") return make_conservative_by_hosts();
  return std::make_unique<Conservative>();
}

}  // namespace vtrain
