#include "policies/easy_fast.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "policies/availability_profile.hpp"
#include "policies/backfill_queue.hpp"

namespace vtrain {

namespace {

class EasyFast final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    for (const JobId id : pass.ended())
      running_.erase({end_of_span(pass.resumed_at(id), pass.job(id).walltime()), id});
    if (!pass.ended().empty() && priority_) {
      if (start(pass, priority_)) start_queue_heads(pass);
      if (priority_) backfill(pass);
    }
    for (const JobId id : pass.arrived())
      admit(pass, id);
  }

 private:
  /// Starts a job if the cluster has room.
  bool start(SchedulingPass& pass, JobId id) {
    const Job& job = pass.job(id);
    if (job.num_gpus > pass.free_gpus() || !pass.try_start(id)) return false;
    running_.insert({end_of_span(pass.now(), job.walltime()), id});
    return true;
  }

  /// Starts jobs in order until one does not fit; that one becomes the priority job.
  void start_queue_heads(SchedulingPass& pass) {
    priority_ = JobId();
    while (const auto head = waiting_.front()) {
      waiting_.remove(*head, pass.job(*head));
      if (start(pass, *head)) continue;
      make_priority(pass, *head);
      return;
    }
  }

  /// Starts every waiting job that fits now and ends by the shadow.
  void backfill(SchedulingPass& pass) {
    BackfillLimits limits{pass.free_gpus(), shadow_ - pass.now()};
    while (const auto id = waiting_.first_fitting(limits)) {
      const Job& job = pass.job(*id);
      if (start(pass, *id)) {
        waiting_.remove(*id, job);
        limits.num_gpus = std::min(limits.num_gpus, pass.free_gpus());
      } else {
        // Placement found no room for so large a gang; a smaller one may still fit.
        limits.num_gpus = job.num_gpus - GpuCount(1);
      }
    }
  }

  void admit(SchedulingPass& pass, JobId id) {
    const Job& job = pass.job(id);
    if ((!priority_ || job.walltime() <= shadow_ - pass.now()) && start(pass, id)) return;
    if (priority_)
      waiting_.push(id, job);
    else
      make_priority(pass, id);
  }

  void make_priority(SchedulingPass& pass, JobId id) {
    priority_ = id;
    shadow_ = SimTime::max();
    GpuCount free = pass.free_gpus();
    for (const auto& [end, running] : running_) {
      free += pass.job(running).num_gpus;
      if (free < pass.job(id).num_gpus) continue;
      shadow_ = end;
      return;
    }
  }

  ArrivalOrderQueue waiting_;                    ///< without the priority job
  JobId priority_;                               ///< none: nothing waits
  SimTime shadow_{};                             ///< of the priority job
  std::set<std::pair<SimTime, JobId>> running_;  ///< jobs by the end of their wall time
};

}  // namespace

Result<std::unique_ptr<Policy>> make_easy_fast(const PolicyArguments&) {
  return std::make_unique<EasyFast>();
}

}  // namespace vtrain
