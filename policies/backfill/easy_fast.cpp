// `easy-fast`: EASY backfilling by counts, with a reservation that is made once: the behaviour of
// `easy_bf_fast` of batsched 1.4. Jobs wait in order of arrival after one priority job, or one for each type
// if jobs request types of GPUs. Its shadow is the instant at which it fits if every running job takes its
// time limit. The shadow is computed when it becomes the priority job and kept even if jobs end early. A
// later job overtakes it if it fits now and ends by the shadow, or cannot use its GPUs. Priority jobs and the
// queue start at ends; arrivals are tried once.
//
// Gangs may not fit although enough GPUs are free (`yarn` placement). A priority job that found no room keeps
// its place and is tried again whenever a job ends; jobs overtake it until its shadow at most. The cluster
// then drains until it fits.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "policies/backfill/backfill_queue.hpp"
#include "policies/base/policies.hpp"
#include "policies/list/gpu_pool.hpp"
#include "sched/simulation/gpus_by_type.hpp"

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
      start_heads(pass, disrupted);
      start_queue(pass);
      if (!heads_.empty()) backfill(pass);
    }
    for (const JobId id : pass.arrived())
      admit(pass, id);
  }

  WaitCause holds_back(const SchedulingPass& pass, JobId id) const override {
    const GpusByType* const by_type = pass.gpus_by_type();
    const auto head = std::ranges::find_if(heads_, [&](const Head& each) {
      return each.job == id || by_type == nullptr || by_type->overlap(pass.job(id).gpu_type, each.gpu_type);
    });
    if (head == heads_.end() || head->job == id) return {};
    return {WaitReason::Reservation, head->job, head->shadow};
  }
  void append_heads(std::vector<JobId>& heads) const override {
    for (const Head& head : heads_)
      heads.push_back(head.job);
  }

 private:
  /// A priority job.
  struct Head {
    JobId job;
    GpuTypeId gpu_type;  ///< type that it requests
    SimTime shadow{};
  };

  /// Starts a job if the cluster has room.
  bool start(SchedulingPass& pass, JobId id) {
    if (pass.job(id).num_gpus > pass.free_gpus() || !pass.try_start(id)) return false;
    running_.insert({pass.planned_end(id), id});
    return true;
  }

  /// Starts the priority jobs that fit and delay none before them. Computes the shadows of the others again
  /// if nodes have gone or come back.
  void start_heads(SchedulingPass& pass, bool foresee_anew) {
    std::vector<Head> before = std::exchange(heads_, {});
    for (Head& head : before) {
      if (is_harmless(pass, head.job) && start(pass, head.job)) continue;
      if (foresee_anew) head.shadow = shadow_of(pass, head.job);
      heads_.push_back(head);
    }
  }

  /// Starts waiting jobs in order; the first of each kind that cannot start becomes its priority job.
  void start_queue(SchedulingPass& pass) {
    while (const auto first = waiting_.first_of([&](GpuTypeId asked) { return !has_head(pass, asked); })) {
      waiting_.remove(*first);
      if (!is_harmless(pass, first->id) || !start(pass, first->id)) add_head(pass, first->id);
    }
  }

  /// Counts the GPUs that are free now.
  void count_free(const SchedulingPass& pass) {
    free_.begin(pass);
    if (free_.has_types()) {
      for (const auto& [end, id] : running_)
        free_.mark_held(id);
    }
    free_.limit_to_free(pass);
  }

  /// True if jobs that request a type have a priority job.
  bool has_head(const SchedulingPass& pass, GpuTypeId asked) const {
    return std::ranges::any_of(heads_, [&](const Head& head) {
      return GpuPool::kind_of(pass, head.gpu_type) == GpuPool::kind_of(pass, asked);
    });
  }

  /// Longest run time of jobs that request a type without a delay of a priority job.
  SimDuration longest(const SchedulingPass& pass, GpuTypeId asked) const {
    const GpusByType* const by_type = pass.gpus_by_type();
    SimDuration longest = SimDuration::max();
    for (const Head& head : heads_) {
      if (by_type == nullptr || by_type->overlap(asked, head.gpu_type))
        longest = std::min(longest, head.shadow - pass.now());
    }
    return longest;
  }

  bool is_harmless(const SchedulingPass& pass, JobId id) const {
    return pass.planned_time(id) <= longest(pass, pass.job(id).gpu_type);
  }

  /// Starts every waiting job that fits now and delays no priority job.
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
    if (is_harmless(pass, id) && start(pass, id)) return;
    if (has_head(pass, pass.job(id).gpu_type))
      waiting_.push(queued_job(pass, id));
    else
      add_head(pass, id);
  }

  void add_head(const SchedulingPass& pass, JobId id) {
    heads_.push_back({id, pass.job(id).gpu_type, shadow_of(pass, id)});
  }

  /// Instant at which a job fits if every running job takes its time limit; `SimTime::max()` if never.
  SimTime shadow_of(const SchedulingPass& pass, JobId id) {
    const Job& job = pass.job(id);
    count_free(pass);
    for (const auto& [end, running] : running_) {
      free_.release(running, pass.job(running).num_gpus);
      if (free_.max_gang(GpuPool::kind_of(pass, job.gpu_type)) >= job.num_gpus) return end;
    }
    return SimTime::max();
  }

  QueuesByKind<ArrivalOrderQueue> waiting_;      ///< waiting jobs except the priority jobs
  std::vector<Head> heads_;                      ///< one of each kind at most, in the order of their turns
  std::set<std::pair<SimTime, JobId>> running_;  ///< jobs by the end of their time limit
  GpuPool free_;                                 ///< free GPUs while they are handed out
};

}  // namespace

MadePolicy make_easy_fast(const PolicyArguments&) {
  return std::make_unique<EasyFast>();
}

}  // namespace vtrain
