#include "sched/simulation/gangs.hpp"

#include <algorithm>

namespace vtrain {

Gangs::Gangs(PlacementKind kind, const ClusterSpec& cluster, const Workload& workload, bool takes_nodes_out,
             bool counts_types)
    : jobs_(workload.jobs),
      placement_(make_placement(kind, cluster, workload, counts_types)),
      needs_shares_(placement_->needs_shares()),
      knows_nodes_(placement_->info().knows_nodes),
      shares_gpus_(placement_->info().shares_gpus),
      slot_of_(needs_shares_ ? workload.jobs.size() : 0) {
  if (takes_nodes_out) service_.emplace(*placement_, cluster);
}

bool Gangs::place_listed(JobId job, const GangRequest& request) {
  const bool placed = placement_->place(request, open(job));
  if (!placed) close(job);
  if (placed && service_) service_->occupy(job, list_of(job), gpu_share(job, list_of(job)));
  return placed;
}

void Gangs::release_listed(JobId job, const GangRequest& request) {
  placement_->release(request, list_of(job));
  if (service_) service_->vacate(job, list_of(job));
  close(job);
}

bool Gangs::in_service(std::span<const NodeShare> shares) const {
  return !service_ || std::ranges::all_of(shares, [this](const NodeShare& share) {
    return service_->in_service(share.node);
  });
}

bool Gangs::reacquire(JobId job, GpuCount num_gpus, const std::vector<NodeShare>& shares) {
  if (!placement_->reacquire(request_of(jobs_[job.value], num_gpus), shares)) return false;
  if (needs_shares_) open(job) = shares;
  if (service_) service_->occupy(job, shares, gpu_share(job, shares));
  return true;
}

bool Gangs::resize(JobId job, GpuCount from, GpuCount to, std::optional<std::uint32_t> only_type) {
  if (!in_service(shares(job))) return false;
  if (needs_shares_) former_ = list_of(job);
  release(job, from);
  if (place(job, to, only_type)) return true;
  reacquire(job, from, former_);
  return false;
}

bool Gangs::restore(JobId job, GpuCount now, GpuCount before, const std::vector<NodeShare>& shares) {
  const bool holds = now.value > 0;
  if (!in_service(shares) || (holds && !in_service(this->shares(job)))) return false;
  if (holds) {
    if (needs_shares_) former_ = list_of(job);
    release(job, now);
  }
  if (reacquire(job, before, shares)) return true;
  if (holds) reacquire(job, now, former_);
  return false;
}

void Gangs::find_staying(std::vector<JobId>& jobs, std::vector<NodeShare>& gpus) const {
  jobs.clear();
  gpus.clear();
  for (const NodeId node : service_->out_of_service()) {
    if (service_->held_gpus(node).value == 0) continue;
    gpus.push_back({node, service_->held_gpus(node)});
    for (const JobId job : service_->jobs_on(node))
      jobs.push_back(job);
  }
  std::ranges::sort(jobs);
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  for (const JobId job : jobs) {
    for (const NodeShare& share : shares(job)) {
      if (service_->in_service(share.node)) gpus.push_back(share);
    }
  }
}

std::vector<NodeShare>& Gangs::open(JobId job) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  slot_of_[job.value] = free_slots_.back();
  free_slots_.pop_back();
  return slots_[slot_of_[job.value]];
}

void Gangs::close(JobId job) {
  list_of(job).clear();
  free_slots_.push_back(slot_of_[job.value]);
}

}  // namespace vtrain
