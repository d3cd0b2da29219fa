/// Places of the gangs that run now.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "sched/placement/placement.hpp"
#include "sched/simulation/node_service.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Places gangs and remembers their nodes. The next gang reuses the slot of a gang that has ended, so starts
/// stop allocating once the slots equal the largest number of concurrent jobs. Nothing is kept for a
/// placement that needs no list.
class Gangs {
 public:
  /// `takes_nodes_out`: nodes may go out of service, for which the placement must know nodes. `counts_types`:
  /// see `make_placement`.
  Gangs(PlacementKind kind, const ClusterSpec& cluster, const Workload& workload, bool takes_nodes_out,
        bool counts_types = false);

  /// Places a job's gang. False, with nothing changed, if it does not fit.
  bool place(JobId job, GpuCount num_gpus, std::optional<std::uint32_t> only_type = std::nullopt) {
    if (!needs_shares_) return placement_->place({.num_gpus = num_gpus}, no_shares_);
    return place_listed(job, request_of(jobs_[job.value], num_gpus, only_type));
  }
  /// Releases a job's gang.
  void release(JobId job, GpuCount num_gpus) {
    if (!needs_shares_) return placement_->release({.num_gpus = num_gpus}, no_shares_);
    release_listed(job, request_of(jobs_[job.value], num_gpus));
  }
  /// Replaces the job's gang by another one. False, with the gang unchanged, if the new one does not fit.
  /// Also false if nodes of the present one are out of service, because it could not be put back.
  bool resize(JobId job, GpuCount from, GpuCount to, std::optional<std::uint32_t> only_type = std::nullopt);
  /// Restores a job's former gang in place of its present one of `now` GPUs (0: none). False, with nothing
  /// changed, if some of its GPUs have been taken since or its nodes are out of service.
  bool restore(JobId job, GpuCount now, GpuCount before, const std::vector<NodeShare>& shares);

  /// Makes room for jobs that have been added to the workload.
  void grow() {
    if (needs_shares_) slot_of_.resize(jobs_.size());
  }
  /// Gives a gang in a known place to a job that holds nothing. False, with nothing changed, if some of these
  /// GPUs are taken or out of service.
  bool put(JobId job, GpuCount num_gpus, const std::vector<NodeShare>& shares) {
    return in_service(shares) && reacquire(job, num_gpus, shares);
  }

  /// Lets gangs hold more GPUs than there are from now on; false if the placement cannot.
  bool overcommit() { return placement_->overcommit(); }

  /// Nodes of a running job; empty under a placement without nodes.
  std::span<const NodeShare> shares(JobId job) const {
    if (!knows_nodes_) return {};
    return slots_[slot_of_[job.value]];
  }
  /// Shares that placement gave to a running job; empty unless it needs them to take the gang back.
  std::span<const NodeShare> held(JobId job) const {
    if (!needs_shares_) return {};
    return slots_[slot_of_[job.value]];
  }
  /// Thousandths of each GPU of a gang that its job uses. Gangs that need several nodes hold whole GPUs,
  /// whatever share their job requests.
  std::int16_t gpu_share(JobId job, std::span<const NodeShare> shares) const {
    if (!shares_gpus_ || shares.front().first_gpu == NodeShare::kNoNumber) return kWholeGpu;
    return jobs_[job.value].gpu_share;
  }
  const Placement& placement() const { return *placement_; }
  /// Finds the jobs on nodes out of service, ascending, and the GPUs that they hold, each once, also on other
  /// nodes. Only where nodes may go out of service.
  void find_staying(std::vector<JobId>& jobs, std::vector<NodeShare>& gpus) const;
  /// Nodes in and out of service; null unless nodes may go out of service.
  NodeService* service() { return service_ ? &*service_ : nullptr; }
  const NodeService* service() const { return service_ ? &*service_ : nullptr; }

 private:
  bool place_listed(JobId job, const GangRequest& request);
  void release_listed(JobId job, const GangRequest& request);
  bool reacquire(JobId job, GpuCount num_gpus, const std::vector<NodeShare>& shares);
  /// True if all nodes of a gang are in service.
  bool in_service(std::span<const NodeShare> shares) const;
  /// Opens an empty list for a job that starts.
  std::vector<NodeShare>& open(JobId job);
  std::vector<NodeShare>& list_of(JobId job) { return slots_[slot_of_[job.value]]; }
  void close(JobId job);

  const std::vector<Job>& jobs_;
  std::unique_ptr<Placement> placement_;
  const bool needs_shares_;
  const bool knows_nodes_;
  const bool shares_gpus_;
  std::optional<NodeService> service_;
  std::vector<std::uint32_t> slot_of_;         ///< slot by `JobId`
  std::vector<std::vector<NodeShare>> slots_;  ///< lists of running gangs, and empty ones
  std::vector<std::uint32_t> free_slots_;
  std::vector<NodeShare> no_shares_;  ///< always empty
  std::vector<NodeShare> former_;     ///< former list of a gang that is resized or restored
};

}  // namespace vtrain
