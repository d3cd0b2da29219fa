// `easy:planning=hosts`: EASY backfilling with sets of GPUs, the behaviour of `easy_bf` of batsched 1.4. The
// queue is in the order of arrival (`order=fcfs`) or of time limits (`order=asc-walltime`). Its first job
// holds a reservation of particular GPUs at the earliest instant at which running jobs will have left enough.
// Every job takes the lowest GPUs it can have. Later jobs start now if the reserved GPUs stay free from the
// reservation on. The reservation is renewed when jobs end; between ends only arrivals are tried.
//
// GPUs are virtual: 0 .. GPUs - 1 under every placement. Gangs may not fit although enough GPUs are free
// (`yarn` placement). A first job that found no room keeps its place and its GPUs and is tried again whenever
// a job ends.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "policies/backfill/backfill_queue.hpp"
#include "policies/backfill/by_hosts.hpp"
#include "policies/backfill/gpu_set.hpp"
#include "policies/backfill/gpu_sets_by_type.hpp"

namespace vtrain {

namespace {

/// batsched searches a timeline of future slices (`GpuSetTimeline`). With one reservation that timeline has a
/// simple form and needs no search. Running jobs only return GPUs as time goes on, and the reservation takes
/// its GPUs from the shadow on.
///  - The head's slot begins at the first instant (now, or the end of a running job) with enough free GPUs.
///  - Another job's slot is now if it fits on the GPUs that are free now and ends by the shadow. It is also
///    now if the job fits on the free GPUs that are not reserved.
template <class Queue>
class EasyByHosts final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    if (!ready_) {
      free_ = spare_ = out_ = GpuSet(pass.total_gpus());
      out_.erase(out_.lowest(pass.total_gpus()));
      types_ = GpuSetsByType(pass);
      ready_ = true;
    }
    for (const JobId id : pass.ended())
      give_back(pass, id);
    for (const JobId id : pass.interrupted()) {
      give_back(pass, id);
      waiting_.push(queued_job(pass, id));
    }
    // Virtual GPUs have no place on nodes, so any of them may represent those that are out.
    if (pass.capacity_changed() || pass.total_gpus() - pass.usable_gpus() != out_.size())
      types_.follow_service(pass, free_, out_);
    for (const JobId id : pass.arrived())
      waiting_.push(queued_job(pass, id));
    const bool some_freed = !pass.ended().empty() || !pass.interrupted().empty() || pass.capacity_changed();
    const auto front = waiting_.front();
    if (some_freed || head_.has_value() != front.has_value() || (head_ && head_->id != front->id))
      start_heads(pass);
    if (some_freed)
      backfill_queue(pass);
    else
      backfill_arrivals(pass);
  }

  WaitCause holds_back(const SchedulingPass&, JobId id) const override {
    if (!head_ || head_->id == id) return {};
    return {WaitReason::Reservation, head_->id, shadow_};
  }
  void append_heads(std::vector<JobId>& heads) const override {
    if (head_) heads.push_back(head_->id);
  }

 private:
  /// Running jobs by the end of their time limit, with their GPUs.
  using Running = std::map<std::pair<SimTime, JobId>, GpuRanges>;

  void give_back(const SchedulingPass& pass, JobId id) {
    const auto running = running_.find({pass.planned_end(id), id});
    free_.insert(running->second);
    running_.erase(running);
  }

  /// Starts a waiting job on some GPUs on which it fits, if placement has room. If jobs may use several
  /// types, placement may choose other GPUs than these.
  bool start(SchedulingPass& pass, const QueuedJob& job, const GpuSet& on) {
    if (!pass.try_start(job.id)) return false;
    waiting_.remove(job);
    GpuRanges gpus = types_.held(on, free_, pass, job.id);
    free_.erase(gpus);
    spare_.subtract(gpus);
    running_.emplace(std::pair(pass.planned_end(job.id), job.id), std::move(gpus));
    return true;
  }

  bool fits(const QueuedJob& job, const GpuSet& gpus) const {
    return job.num_gpus <= types_.most(gpus, job.gpu_type);
  }

  /// Starts jobs from the front of the queue; the first one that cannot start holds the reservation.
  void start_heads(SchedulingPass& pass) {
    while ((head_ = waiting_.front())) {
      if (fits(*head_, free_) && start(pass, *head_, free_)) continue;
      reserve(pass);
      return;
    }
    spare_ = free_;
  }

  /// Reserves GPUs for the head at the earliest instant with enough of them; none if too many are out of
  /// service.
  void reserve(const SchedulingPass& pass) {
    shadow_ = pass.now();
    GpuSet free_at_shadow = free_;
    for (const auto& [end_and_job, gpus] : running_) {
      if (end_and_job.first > shadow_ && fits(*head_, free_at_shadow)) break;
      shadow_ = end_and_job.first;
      free_at_shadow.insert(gpus);
    }
    spare_ = free_;
    if (fits(*head_, free_at_shadow))
      spare_.subtract(types_.lowest(free_at_shadow, head_->gpu_type, head_->num_gpus));
    else
      shadow_ = SimTime::max();
  }

  /// GPUs on which a job delays no other if it starts now.
  const GpuSet& harmless_gpus(const SchedulingPass& pass, const QueuedJob& job) const {
    return job.time_limit <= shadow_ - pass.now() ? free_ : spare_;
  }

  /// Starts, in order, every waiting job that does not delay the head.
  void backfill_queue(SchedulingPass& pass) {
    while (const auto job = first_harmless(pass)) {
      if (!start(pass, *job, harmless_gpus(pass, *job))) waiting_.refuse(*job);
    }
    waiting_.forget_refusals();
  }

  /// The first waiting job that could start now without delaying the head.
  std::optional<QueuedJob> first_harmless(const SchedulingPass& pass) const {
    if (!head_) return std::nullopt;
    const auto brief = waiting_.first_fitting([&](GpuTypeId asked) {
      return BackfillLimits{types_.most(free_, asked), shadow_ - pass.now()};
    });
    const auto narrow =
        waiting_.first_fitting([&](GpuTypeId asked) { return BackfillLimits{types_.most(spare_, asked)}; });
    if (!brief || !narrow) return brief ? brief : narrow;
    return Queue::before(*brief, *narrow) ? brief : narrow;
  }

  /// Starts the new jobs that do not delay the head.
  void backfill_arrivals(SchedulingPass& pass) {
    for (const JobId id : pass.arrived()) {
      if ((head_ && id == head_->id) || pass.state(id) != JobState::Waiting) continue;
      const QueuedJob job = queued_job(pass, id);
      const GpuSet& gpus = harmless_gpus(pass, job);
      if (fits(job, gpus)) start(pass, job, gpus);
    }
  }

  bool ready_ = false;
  GpuSetsByType types_;
  QueuesByKind<Queue> waiting_;    ///< waiting jobs, including the head
  std::optional<QueuedJob> head_;  ///< the job that holds the reservation
  SimTime shadow_{};               ///< begin of the reservation
  Running running_;
  GpuSet free_;   ///< GPUs on which nothing runs
  GpuSet spare_;  ///< GPUs of `free_` that are not reserved
  GpuSet out_;    ///< GPUs that are out of service
};

}  // namespace

std::unique_ptr<Policy> make_easy_by_hosts(bool by_arrival) {
  if (by_arrival) return std::make_unique<EasyByHosts<ArrivalOrderQueue>>();
  return std::make_unique<EasyByHosts<TimeLimitOrderQueue>>();
}

}  // namespace vtrain
