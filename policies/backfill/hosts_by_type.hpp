/// Hosts, which stand for GPUs, by GPU type.
#pragma once

#include <vector>

#include "policies/backfill/host_set.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// Says which hosts a job may use. Where types matter the hosts of a type follow one another, in the order of
/// the types; elsewhere all hosts are alike.
class HostsByType {
 public:
  /// Where all hosts are alike.
  HostsByType() = default;
  /// For the cluster of a replay.
  explicit HostsByType(const SchedulingPass& pass);

  /// The most of some hosts that a job can have together.
  GpuCount most(const HostSet& hosts, GpuTypeId asked) const {
    return by_type_ == nullptr ? hosts.size() : most_by_type(hosts, asked);
  }
  /// The lowest `num_hosts` of some hosts that a job can have together, which are no more than the most.
  HostRanges lowest(const HostSet& hosts, GpuTypeId asked, GpuCount num_hosts) const;
  /// For a job that has just started: the lowest hosts of the types that it holds, of `first` if they suffice
  /// or else of `hosts`, or what there is of these. It can be too few only where jobs share GPUs.
  HostRanges held(const HostSet& first, const HostSet& hosts, const SchedulingPass& pass, JobId job) const;
  /// Moves hosts between `free` and `out` until `out` has as many of each type as are out of service, or
  /// `free` has none left.
  void follow_service(const SchedulingPass& pass, HostSet& free, HostSet& out) const;

 private:
  GpuCount most_by_type(const HostSet& hosts, GpuTypeId asked) const;

  const GpusByType* by_type_ = nullptr;
  std::vector<HostRange> hosts_of_{};  ///< [types]
};

}  // namespace vtrain
