// `easy-fast`: EASY backfilling by counts, with a reservation that is made once: the behaviour of
// `easy_bf_fast` of batsched 1.4. Jobs wait in order of arrival behind one priority job. Its shadow, the
// instant at which it fits if every running job takes its time limit, is computed when it becomes the
// priority job and kept even if jobs end early. A later job overtakes it if it fits now and ends by the
// shadow. The priority job and the queue start at ends; arrivals are tried once.
//
// Where gangs may not fit although enough GPUs are free (`yarn` placement), a priority job that found no room
// keeps its place and is tried again whenever a job ends; jobs overtake it until its shadow at most. The
// cluster then drains until it fits.
#include <set>
#include <utility>

#include "policies/backfill/backfill_queue.hpp"
#include "policies/base/policies.hpp"
#include "policies/list/gpu_pool.hpp"

namespace vtrain {

namespace {

class EasyFast final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    for (const JobId id : pass.ended())
      running_.erase({pass.planned_end(id), id});
    for (const JobId id : pass.interrupted()) {
      running_.erase({pass.planned_end(id), id});
      waiting_.push(queued_job(pass, id));
    }
    const bool disrupted = !pass.interrupted().empty() || pass.capacity_changed();
    if (!pass.ended().empty() || disrupted) {
      if (!priority_ || start(pass, priority_)) {
        start_queue_heads(pass);
      } else if (disrupted) {
        make_priority(pass, priority_);
      }
      if (priority_) backfill(pass);
    }
    for (const JobId id : pass.arrived())
      admit(pass, id);
  }

 private:
  /// Starts a job if the cluster has room.
  bool start(SchedulingPass& pass, JobId id) {
    if (pass.job(id).num_gpus > pass.free_gpus() || !pass.try_start(id)) return false;
    running_.insert({pass.planned_end(id), id});
    return true;
  }

  /// Starts jobs in order until one does not fit; that one becomes the priority job.
  void start_queue_heads(SchedulingPass& pass) {
    priority_ = JobId();
    while (const auto head = waiting_.front()) {
      waiting_.remove(*head);
      if (start(pass, head->id)) continue;
      make_priority(pass, head->id);
      return;
    }
  }

  /// Counts what is free now.
  void count_free(const SchedulingPass& pass) {
    free_.begin(pass);
    if (free_.has_types()) {
      for (const auto& [end, id] : running_)
        free_.mark_held(id);
    }
    free_.limit_to_free(pass);
  }

  /// How long jobs that ask for a type may run without delaying the priority job.
  SimDuration longest(const SchedulingPass& pass, GpuTypeId asked) const {
    const GpusByType* const by_type = pass.gpus_by_type();
    const bool in_the_way = by_type == nullptr || by_type->overlap(asked, pass.job(priority_).gpu_type);
    return in_the_way ? shadow_ - pass.now() : SimDuration::max();
  }

  /// Starts every waiting job that fits now and does not delay the priority job.
  void backfill(SchedulingPass& pass) {
    count_free(pass);
    const auto limits_of = [&](GpuTypeId asked) {
      return BackfillLimits{free_.max_gang(GpuPool::kind_of(pass, asked)), longest(pass, asked)};
    };
    while (const auto job = waiting_.first_fitting(limits_of)) {
      if (start(pass, job->id)) {
        waiting_.remove(*job);
        free_.mark_held(job->id);
        free_.limit_to_free(pass);
      } else {
        waiting_.refuse(*job);
      }
    }
    waiting_.forget_refusals();
  }

  void admit(SchedulingPass& pass, JobId id) {
    const bool harmless = !priority_ || pass.planned_time(id) <= longest(pass, pass.job(id).gpu_type);
    if (harmless && start(pass, id)) return;
    if (priority_)
      waiting_.push(queued_job(pass, id));
    else
      make_priority(pass, id);
  }

  void make_priority(SchedulingPass& pass, JobId id) {
    priority_ = id;
    shadow_ = SimTime::max();
    const Job& job = pass.job(id);
    count_free(pass);
    for (const auto& [end, running] : running_) {
      free_.release(running, pass.job(running).num_gpus);
      if (free_.max_gang(GpuPool::kind_of(pass, job.gpu_type)) < job.num_gpus) continue;
      shadow_ = end;
      return;
    }
  }

  QueuesByKind<ArrivalOrderQueue> waiting_;      ///< without the priority job
  JobId priority_;                               ///< none: nothing waits
  SimTime shadow_{};                             ///< shadow of the priority job
  std::set<std::pair<SimTime, JobId>> running_;  ///< jobs by the end of their time limit
  GpuPool free_;                                 ///< GPUs that are free, while they are handed out
};

}  // namespace

MadePolicy make_easy_fast(const PolicyArguments&) {
  return std::make_unique<EasyFast>();
}

}  // namespace vtrain
