#include "policies/backfill/hosts_by_type.hpp"

#include <algorithm>
#include <map>

#include "sched/placement/placement.hpp"
#include "sched/simulation/gpus_by_type.hpp"

namespace vtrain {

HostsByType::HostsByType(const SchedulingPass& pass) : by_type_(pass.gpus_by_type()) {
  std::int32_t first = 0;
  const auto add = [&](std::int64_t num_hosts) {
    hosts_of_.push_back({first, static_cast<std::int32_t>(num_hosts)});
    first += hosts_of_.back().count;
  };
  if (by_type_ == nullptr) {
    add(pass.total_gpus().value);
    return;
  }
  for (const std::int64_t num_gpus : by_type_->total())
    add(num_gpus);
}

GpuCount HostsByType::most_by_type(const HostSet& hosts, GpuTypeId asked) const {
  GpuCount most(0);
  for (const std::uint32_t type : by_type_->allowed(asked)) {
    const GpuCount here = hosts.size_in(hosts_of_[type]);
    most = by_type_->splits_gangs() ? most + here : std::max(most, here);
  }
  return most;
}

HostRanges HostsByType::lowest(const HostSet& hosts, GpuTypeId asked, GpuCount num_hosts) const {
  if (by_type_ == nullptr) return hosts.lowest(num_hosts);
  HostRanges result;
  for (const std::uint32_t type : by_type_->allowed(asked)) {
    const GpuCount here = hosts.size_in(hosts_of_[type]);
    if (!by_type_->splits_gangs() && here < num_hosts) continue;
    const GpuCount taken = std::min(here, num_hosts);
    const HostRanges lowest = hosts.lowest(taken, hosts_of_[type]);
    result.insert(result.end(), lowest.begin(), lowest.end());
    num_hosts -= taken;
  }
  return result;
}

HostRanges HostsByType::held(const HostSet& first, const HostSet& hosts, const SchedulingPass& pass,
                             JobId job) const {
  if (by_type_ == nullptr) return first.lowest(pass.job(job).num_gpus);
  std::map<std::uint32_t, GpuCount> num_gpus;  // by type
  for (const NodeShare& share : by_type_->held(job))
    num_gpus[by_type_->type_of(share)] += share.gpus;
  HostRanges result;
  for (const auto& [type, num] : num_gpus) {
    const HostRange range = hosts_of_[type];
    const HostSet& from = first.size_in(range) >= num ? first : hosts;
    const HostRanges lowest = from.lowest(std::min(num, from.size_in(range)), range);
    result.insert(result.end(), lowest.begin(), lowest.end());
  }
  return result;
}

void HostsByType::follow_service(const SchedulingPass& pass, HostSet& free, HostSet& out) const {
  std::vector<std::int64_t> usable(1, pass.usable_gpus().value);
  if (by_type_ != nullptr) by_type_->get_usable(usable);
  for (std::size_t type = 0; type < hosts_of_.size(); ++type) {
    const HostRange range = hosts_of_[type];
    const GpuCount wanted(range.count - static_cast<std::int32_t>(usable[type]));
    const GpuCount before = out.size_in(range);
    if (wanted > before) {
      // Jobs on parts of GPUs count as if they held all of them, so that fewer may seem free.
      const HostRanges hosts = free.lowest(std::min(wanted - before, free.size_in(range)), range);
      free.erase(hosts);
      out.insert(hosts);
    } else if (wanted < before) {
      const HostRanges hosts = out.lowest(before - wanted, range);
      out.erase(hosts);
      free.insert(hosts);
    }
  }
}

}  // namespace vtrain
