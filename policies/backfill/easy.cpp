// `easy`: EASY backfilling (Lifka 1995). The first waiting job holds a reservation. It begins at the earliest
// time at which, by the time limits of running jobs, enough GPUs stay free. Later jobs start now if they end
// by then or use GPUs that the reservation leaves. The first job is by arrival (`order=fcfs`) or by time
// limit (`order=asc-walltime`). If jobs request types of GPUs, each type has a first job of its own.
// `planning=counts` plans with numbers of GPUs, `planning=hosts` is in easy_hosts.cpp.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "policies/backfill/backfill_queue.hpp"
#include "policies/backfill/by_hosts.hpp"
#include "policies/backfill/gpu_forecast.hpp"
#include "policies/base/policies.hpp"
#include "sched/simulation/gpus_by_type.hpp"

namespace vtrain {
namespace {

/// EASY by counts. A *head* is the first waiting job of those that request one type of GPUs, or of all if
/// types do not matter. It holds a reservation: the earliest time at which, by the time limits of running
/// jobs, enough GPUs stay free in addition to the reservations of heads before it. Any other job starts, in
/// order, if it fits now without moving a reservation.
template <class Queue>
class Easy final : public Policy {
 public:
  void begin(const SchedulingPass& view) override {
    free_.emplace(view);
    for (const JobId id : view.running())
      free_->start(view, id);
    waiting_ = {};
    for (const JobId id : view.waiting())
      waiting_.push(queued_job(view, id));
    heads_.clear();
    has_begun_ = !view.waiting().empty();
  }
  bool can_begin_with_jobs() const override { return true; }

  void schedule(SchedulingPass& pass) override {
    bool some_freed = free_->advance(pass);
    some_freed |= std::exchange(has_begun_, false);
    for (const JobId id : pass.ended())
      free_->end(pass, id);
    for (const JobId id : pass.interrupted()) {
      free_->end(pass, id);
      waiting_.push(queued_job(pass, id));
    }
    for (const JobId id : pass.arrived())
      waiting_.push(queued_job(pass, id));
    some_freed = some_freed || !pass.ended().empty() || !pass.interrupted().empty();
    if (some_freed || !keeps_heads(pass)) {
      start_heads(pass);
      backfill_queue(pass);
    } else {
      backfill_arrivals(pass);
    }
    waiting_.forget_refusals();
  }

  WaitCause holds_back(const SchedulingPass& pass, JobId id) const override {
    const GpuTypeId asked = pass.job(id).gpu_type;
    const Head* head = head_of(asked);
    if (head == nullptr || head->job.id == id) {
      // Heads before it have the first choice of types.
      const auto first = std::ranges::find_if(heads_, [&](const Head& each) {
        return each.job.id == id || pass.gpus_by_type()->overlap(asked, each.job.gpu_type);
      });
      head = first == heads_.end() || first->job.id == id ? nullptr : &*first;
    }
    if (head == nullptr) return {};
    const auto begin = head->booking ? std::optional(head->booking->begin) : std::nullopt;
    return {WaitReason::Reservation, head->job.id, begin};
  }
  void append_heads(std::vector<JobId>& heads) const override {
    for (const Head& head : heads_)
      heads.push_back(head.job.id);
  }

 private:
  struct Head {
    QueuedJob job;
    std::optional<Booking> booking;  ///< absent if too many GPUs are out of service for it
  };

  /// Head of the jobs that request a type; null if there is none.
  const Head* head_of(GpuTypeId asked) const {
    const auto head = std::ranges::find_if(
        heads_, [&](const Head& each) { return free_->kind_of(each.job.gpu_type) == free_->kind_of(asked); });
    return head == heads_.end() ? nullptr : &*head;
  }

  /// True if every job that arrived has a head of its kind before it.
  bool keeps_heads(const SchedulingPass& pass) const {
    return std::ranges::all_of(pass.arrived(), [&](JobId id) {
      const QueuedJob job = queued_job(pass, id);
      const Head* const head = head_of(job.gpu_type);
      return head != nullptr && Queue::before(head->job, job);
    });
  }

  /// Starts a job that fits, if placement has room.
  bool start(SchedulingPass& pass, const QueuedJob& job) {
    if (!pass.try_start(job.id)) return false;
    waiting_.remove(job);
    free_->start(pass, job.id);
    return true;
  }

  bool fits(const SchedulingPass& pass, const QueuedJob& job) const {
    return job.num_gpus.value <=
           free_->most_until(job.gpu_type, saturating_sum(pass.now(), job.booked_time()));
  }

  /// Starts jobs from the front of the queue; the first job of each kind that cannot start becomes a head.
  void start_heads(SchedulingPass& pass) {
    for (const Head& head : heads_) {
      if (head.booking) free_->cancel(*head.booking);
    }
    heads_.clear();
    while (const auto job = waiting_.first_of([&](GpuTypeId asked) { return head_of(asked) == nullptr; })) {
      const bool room = fits(pass, *job);
      if (room && start(pass, *job)) continue;
      if (room) waiting_.refuse(*job);  // placement may have none although the count suffices
      Head& head = heads_.emplace_back(
          Head{*job, free_->earliest(job->gpu_type, job->num_gpus, job->time_limit, {.from = pass.now()})});
      if (head.booking) free_->book(*head.booking);
      if (free_->is_uniform()) return;
    }
  }

  /// Starts, in order, every waiting job that moves no reservation.
  void backfill_queue(SchedulingPass& pass) {
    while (const auto job = first_harmless(pass)) {
      if (!start(pass, *job)) waiting_.refuse(*job);
    }
  }

  /// The first waiting job that could start now and moves no reservation. Counts only grow as running jobs
  /// end. So they bind before a reservation begins, at its begin, or without end.
  std::optional<QueuedJob> first_harmless(const SchedulingPass& pass) const {
    if (heads_.empty()) return std::nullopt;
    std::optional<QueuedJob> first;
    const auto search = [&](SimTime until) {
      const SimDuration longest = until == SimTime::max() ? SimDuration::max() : until - pass.now();
      const auto job = waiting_.first_fitting([&](GpuTypeId asked) {
        return BackfillLimits{GpuCount(static_cast<std::int32_t>(free_->most_until(asked, until))), longest};
      });
      if (job && (!first || Queue::before(*job, *first))) first = job;
    };
    for (const Head& head : heads_) {
      if (head.booking && head.booking->begin > pass.now()) search(head.booking->begin);
    }
    search(SimTime::max());
    return first;
  }

  /// Starts, in the order of the queue, the new jobs that move no reservation.
  void backfill_arrivals(SchedulingPass& pass) {
    arrived_.clear();
    for (const JobId id : pass.arrived())
      arrived_.push_back(queued_job(pass, id));
    std::ranges::sort(arrived_, Queue::before);
    for (const QueuedJob& job : arrived_) {
      if (fits(pass, job)) start(pass, job);
    }
  }

  std::optional<GpuForecast> free_;  ///< GPUs left by running jobs and the reservations of heads
  QueuesByKind<Queue> waiting_;      ///< waiting jobs, including the heads
  std::vector<Head> heads_;
  bool has_begun_ = false;  ///< true if it began with waiting jobs, for which nothing has been planned yet
  std::vector<QueuedJob> arrived_;  ///< jobs that arrived in this pass
};

}  // namespace

MadePolicy make_easy(const PolicyArguments& arguments) {
  const bool by_arrival = arguments["order"] == "fcfs";
  if (arguments["planning"] == "hosts") return make_easy_by_hosts(by_arrival);
  if (by_arrival) return std::make_unique<Easy<ArrivalOrderQueue>>();
  return std::make_unique<Easy<TimeLimitOrderQueue>>();
}

}  // namespace vtrain
