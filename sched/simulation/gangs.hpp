/// Where the gangs that run now are.
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

/// Places gangs and remembers their nodes. A gang's list is kept in a slot that the next gang reuses, so that
/// starts stop allocating once the slots are as many as jobs ever run together. It keeps nothing for a
/// placement that needs no list.
class Gangs {
 public:
  /// `takes_nodes_out`: whether nodes may go out of service, for which the placement must know nodes.
  /// `counts_types`: see `make_placement`.
  Gangs(PlacementKind kind, const ClusterSpec& cluster, const Workload& workload, bool takes_nodes_out,
        bool counts_types = false);

  /// Places a job's gang; false, with nothing changed, when it does not fit.
  bool place(JobId job, GpuCount num_gpus, std::optional<std::uint32_t> only_type = std::nullopt) {
    if (!needs_shares_) return placement_->place({.num_gpus = num_gpus}, no_shares_);
    return place_listed(job, request_of(jobs_[job.value], num_gpus, only_type));
  }
  /// Gives a gang back.
  void release(JobId job, GpuCount num_gpus) {
    if (!needs_shares_) return placement_->release({.num_gpus = num_gpus}, no_shares_);
    release_listed(job, request_of(jobs_[job.value], num_gpus));
  }
  /// Places another gang instead of the one that the job has; false, with nothing changed, when
  /// it does not fit, or when some of its nodes are out of service, so that it could not be put back. Then
  /// the gang is where it was.
  bool resize(JobId job, GpuCount from, GpuCount to, std::optional<std::uint32_t> only_type = std::nullopt);
  /// Gives a job the gang that it had, in place of the one of `now` GPUs that it has (0: of none); false,
  /// with nothing changed, when some of its GPUs have been taken since, or nodes are out of service.
  bool restore(JobId job, GpuCount now, GpuCount before, const std::vector<NodeShare>& shares);

  /// Makes room for jobs that have been added to the workload.
  void grow() {
    if (needs_shares_) slot_of_.resize(jobs_.size());
  }
  /// Gives a job that holds nothing a gang whose place is known; false, with nothing changed, when some of
  /// these GPUs are taken or out of service.
  bool put(JobId job, GpuCount num_gpus, const std::vector<NodeShare>& shares) {
    return in_service(shares) && take_again(job, num_gpus, shares);
  }

  /// Lets gangs have GPUs from now on though too few are free; false if the placement can't.
  bool overcommit() { return placement_->overcommit(); }

  /// The nodes of a job that runs; empty under a placement without nodes.
  std::span<const NodeShare> shares(JobId job) const {
    if (!knows_nodes_) return {};
    return slots_[slot_of_[job.value]];
  }
  /// What placement gave a job that runs; empty unless it needs that to take it back.
  std::span<const NodeShare> held(JobId job) const {
    if (!needs_shares_) return {};
    return slots_[slot_of_[job.value]];
  }
  /// Thousandths of each of its GPUs that a job takes from others on a gang. Those that need several nodes
  /// hold whole GPUs, whatever they use.
  std::int16_t gpu_share(JobId job, std::span<const NodeShare> shares) const {
    if (!shares_gpus_ || shares.front().first_gpu == NodeShare::kNoNumber) return kWholeGpu;
    return jobs_[job.value].gpu_share;
  }
  const Placement& placement() const { return *placement_; }
  /// Finds the jobs on nodes out of service, ascending, and what they hold, each GPU once: also on other
  /// nodes. Only where nodes may go out of service.
  void find_staying(std::vector<JobId>& jobs, std::vector<NodeShare>& gpus) const;
  /// Null unless nodes may go out of service.
  NodeService* service() { return service_ ? &*service_ : nullptr; }
  const NodeService* service() const { return service_ ? &*service_ : nullptr; }

 private:
  bool place_listed(JobId job, const GangRequest& request);
  void release_listed(JobId job, const GangRequest& request);
  bool take_again(JobId job, GpuCount num_gpus, const std::vector<NodeShare>& shares);
  /// Whether all nodes of a gang are in service.
  bool in_service(std::span<const NodeShare> shares) const;
  /// An empty list for a job that starts.
  std::vector<NodeShare>& open(JobId job);
  std::vector<NodeShare>& list_of(JobId job) { return slots_[slot_of_[job.value]]; }
  void close(JobId job);

  const std::vector<Job>& jobs_;
  std::unique_ptr<Placement> placement_;
  const bool needs_shares_;
  const bool knows_nodes_;
  const bool shares_gpus_;
  std::optional<NodeService> service_;
  std::vector<std::uint32_t> slot_of_;         ///< by `JobId`
  std::vector<std::vector<NodeShare>> slots_;  ///< those of gangs that run, and empty ones
  std::vector<std::uint32_t> free_slots_;
  std::vector<NodeShare> no_shares_;  ///< stays empty
  std::vector<NodeShare> former_;     ///< of a gang that is resized or restored
};

}  // namespace vtrain
