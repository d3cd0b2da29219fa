#include "policies/easy.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/availability_profile.hpp"
#include "policies/backfill_queue.hpp"
#include "policies/host_set.hpp"

namespace vtrain {

namespace {

/// batsched searches a profile of future slices. With one reservation that profile has a simple form, which
/// needs no search: running jobs only ever give hosts back as time goes on, and the reservation takes its
/// hosts out from the shadow on.
///  - The head's slot begins at the first instant (now, or the end of a running job) with enough free hosts.
///  - Another job's slot is now if it fits on the hosts that are free now and ends by the shadow, or if it
///    fits on those of them that are not reserved.
template <class Queue>
class Easy final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    if (!ready_) {
      free_ = spare_ = out_ = HostSet(pass.total_gpus());
      out_.erase(out_.lowest(pass.total_gpus()));
      ready_ = true;
    }
    for (const JobId id : pass.ended())
      give_back(pass, id);
    for (const JobId id : pass.interrupted()) {
      give_back(pass, id);
      waiting_.push(queued(pass, id));
    }
    follow_capacity(pass);
    for (const JobId id : pass.arrived())
      waiting_.push(queued(pass, id));
    const bool some_freed = !pass.ended().empty() || !pass.interrupted().empty() || pass.capacity_changed();
    if (some_freed || waiting_.front() != head_) start_heads(pass);
    if (some_freed)
      backfill_queue(pass);
    else
      backfill_arrivals(pass);
  }

 private:
  /// Running jobs by the end of their wall time, with their hosts.
  using Running = std::map<std::pair<SimTime, JobId>, HostRanges>;

  static QueuedJob queued(const SchedulingPass& pass, JobId id) {
    return {id, pass.job(id).num_gpus, pass.planned_time(id)};
  }

  void give_back(const SchedulingPass& pass, JobId id) {
    const auto running = running_.find({pass.planned_end(id), id});
    free_.insert(running->second);
    running_.erase(running);
  }

  /// Keeps as many hosts out as the cluster has GPUs out of service that no job holds. Hosts stand for GPUs
  /// by number only, so it does not matter which.
  void follow_capacity(const SchedulingPass& pass) {
    const GpuCount out = pass.total_gpus() - pass.usable_gpus();
    if (out > out_.size()) {
      // Jobs on parts of GPUs count as if they held all of them, so that fewer may seem free.
      const HostRanges hosts = free_.lowest(std::min(out - out_.size(), free_.size()));
      free_.erase(hosts);
      out_.insert(hosts);
    } else if (out < out_.size()) {
      const HostRanges hosts = out_.lowest(out_.size() - out);
      out_.erase(hosts);
      free_.insert(hosts);
    }
  }

  /// Starts a waiting job on given hosts if placement has room.
  bool start(SchedulingPass& pass, JobId id, HostRanges hosts) {
    const QueuedJob job = queued(pass, id);
    if (!pass.try_start(id)) return false;
    waiting_.remove(job);
    free_.erase(hosts);
    spare_.subtract(hosts);
    running_.emplace(std::pair(pass.planned_end(id), id), std::move(hosts));
    return true;
  }

  /// Starts jobs from the front of the queue; the first one that cannot start holds the reservation.
  void start_heads(SchedulingPass& pass) {
    while ((head_ = waiting_.front())) {
      const GpuCount num_gpus = pass.job(*head_).num_gpus;
      if (num_gpus <= free_.size() && start(pass, *head_, free_.lowest(num_gpus))) continue;
      reserve(pass, num_gpus);
      return;
    }
    spare_ = free_;
  }

  /// Reserves hosts for the head at the earliest instant with enough of them; none if too many are out for
  /// that.
  void reserve(const SchedulingPass& pass, GpuCount num_gpus) {
    shadow_ = pass.now();
    HostSet free_at_shadow = free_;
    for (const auto& [end_and_job, hosts] : running_) {
      if (free_at_shadow.size() >= num_gpus && end_and_job.first > shadow_) break;
      shadow_ = end_and_job.first;
      free_at_shadow.insert(hosts);
    }
    spare_ = free_;
    if (free_at_shadow.size() >= num_gpus)
      spare_.subtract(free_at_shadow.lowest(num_gpus));
    else
      shadow_ = SimTime::max();
  }

  bool ends_by_shadow(const SchedulingPass& pass, JobId id) const {
    return pass.planned_time(id) <= shadow_ - pass.now();
  }

  /// Starts, in order, every waiting job that does not delay the head.
  void backfill_queue(SchedulingPass& pass) {
    GpuCount limit = free_.size();
    while (const auto id = first_harmless(pass, limit)) {
      const Job& job = pass.job(*id);
      const HostSet& hosts = ends_by_shadow(pass, *id) ? free_ : spare_;
      if (start(pass, *id, hosts.lowest(job.num_gpus))) continue;
      if (asks_for_any_gpus(job)) {
        // Placement has no room for so large a gang; a smaller one may still fit.
        limit = job.num_gpus - GpuCount(1);
      } else {
        refused_.push_back(queued(pass, *id));
        waiting_.remove(refused_.back());
      }
    }
    for (const QueuedJob& job : refused_)
      waiting_.push(job);
    refused_.clear();
  }

  /// The first waiting job of at most `limit` GPUs that could start now without delaying the head.
  std::optional<JobId> first_harmless(const SchedulingPass& pass, GpuCount limit) const {
    if (!head_) return std::nullopt;
    const auto brief = waiting_.first_fitting({std::min(limit, free_.size()), shadow_ - pass.now()});
    const auto narrow = waiting_.first_fitting({std::min(limit, spare_.size())});
    if (!brief || !narrow) return brief ? brief : narrow;
    return Queue::before(queued(pass, *brief), queued(pass, *narrow)) ? brief : narrow;
  }

  /// Starts those of the jobs that arrived now that do not delay the head.
  void backfill_arrivals(SchedulingPass& pass) {
    for (const JobId id : pass.arrived()) {
      if (id == head_ || pass.state(id) != JobState::Waiting) continue;
      const Job& job = pass.job(id);
      const HostSet& hosts = ends_by_shadow(pass, id) ? free_ : spare_;
      if (job.num_gpus <= hosts.size()) start(pass, id, hosts.lowest(job.num_gpus));
    }
  }

  std::vector<QueuedJob> refused_;  ///< in this pass; others of their size may still fit
  bool ready_ = false;
  Queue waiting_;              ///< with the head
  std::optional<JobId> head_;  ///< the job that holds the reservation
  SimTime shadow_{};           ///< when the reservation begins
  Running running_;
  HostSet free_;   ///< hosts on which nothing runs
  HostSet spare_;  ///< those of them that are not reserved
  HostSet out_;    ///< hosts that are out of service
};

}  // namespace

Result<std::unique_ptr<Policy>> make_easy(const PolicyArguments& arguments) {
  const std::string_view order = arguments["order"];
  if (order == "fcfs") return std::make_unique<Easy<ArrivalOrderQueue>>();
  if (order == "asc-walltime") return std::make_unique<Easy<WalltimeOrderQueue>>();
  return fail(arguments.bad_value("order", "fcfs or asc-walltime"));
}

}  // namespace vtrain
