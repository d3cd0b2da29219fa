#include "policies/easy_fast.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "policies/availability_profile.hpp"
#include "policies/backfill_queue.hpp"

namespace vtrain {

namespace {

class EasyFast final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    for (const JobId id : pass.ended())
      running_.erase({pass.planned_end(id), id});
    for (const JobId id : pass.interrupted()) {
      running_.erase({pass.planned_end(id), id});
      waiting_.push(queued(pass, id));
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
  static QueuedJob queued(const SchedulingPass& pass, JobId id) {
    return {id, pass.job(id).num_gpus, pass.planned_time(id)};
  }

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
      waiting_.remove(queued(pass, *head));
      if (start(pass, *head)) continue;
      make_priority(pass, *head);
      return;
    }
  }

  /// Starts every waiting job that fits now and ends by the shadow.
  void backfill(SchedulingPass& pass) {
    BackfillLimits limits{pass.free_gpus(), shadow_ - pass.now()};
    while (const auto id = waiting_.first_fitting(limits)) {
      const QueuedJob job = queued(pass, *id);
      if (start(pass, *id)) {
        waiting_.remove(job);
        limits.num_gpus = std::min(limits.num_gpus, pass.free_gpus());
      } else if (asks_for_any_gpus(pass.job(*id))) {
        // Placement found no room for so large a gang; a smaller one may still fit.
        limits.num_gpus = job.num_gpus - GpuCount(1);
      } else {
        refused_.push_back(job);
        waiting_.remove(job);
      }
    }
    for (const QueuedJob& job : refused_)
      waiting_.push(job);
    refused_.clear();
  }

  void admit(SchedulingPass& pass, JobId id) {
    if ((!priority_ || pass.planned_time(id) <= shadow_ - pass.now()) && start(pass, id)) return;
    if (priority_)
      waiting_.push(queued(pass, id));
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

  std::vector<QueuedJob> refused_;               ///< in this pass; others of their size may still fit
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
