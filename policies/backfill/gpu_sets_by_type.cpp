#include "policies/backfill/gpu_sets_by_type.hpp"

#include <algorithm>
#include <map>

#include "sched/placement/placement.hpp"
#include "sched/simulation/gpus_by_type.hpp"

namespace vtrain {

GpuSetsByType::GpuSetsByType(const SchedulingPass& pass) : by_type_(pass.gpus_by_type()) {
  std::int32_t first = 0;
  const auto add = [&](std::int64_t num_gpus) {
    gpus_of_.push_back({first, static_cast<std::int32_t>(num_gpus)});
    first += gpus_of_.back().count;
  };
  if (by_type_ == nullptr) {
    add(pass.total_gpus().value);
    return;
  }
  for (const std::int64_t num_gpus : by_type_->total())
    add(num_gpus);
}

GpuCount GpuSetsByType::most_by_type(const GpuSet& gpus, GpuTypeId asked) const {
  GpuCount most(0);
  for (const std::uint32_t type : by_type_->allowed(asked)) {
    const GpuCount here = gpus.size_in(gpus_of_[type]);
    most = by_type_->splits_gangs() ? most + here : std::max(most, here);
  }
  return most;
}

GpuRanges GpuSetsByType::lowest(const GpuSet& gpus, GpuTypeId asked, GpuCount num_gpus) const {
  if (by_type_ == nullptr) return gpus.lowest(num_gpus);
  GpuRanges result;
  for (const std::uint32_t type : by_type_->allowed(asked)) {
    const GpuCount here = gpus.size_in(gpus_of_[type]);
    if (!by_type_->splits_gangs() && here < num_gpus) continue;
    const GpuCount taken = std::min(here, num_gpus);
    const GpuRanges lowest = gpus.lowest(taken, gpus_of_[type]);
    result.insert(result.end(), lowest.begin(), lowest.end());
    num_gpus -= taken;
  }
  return result;
}

GpuRanges GpuSetsByType::held(const GpuSet& first, const GpuSet& gpus, const SchedulingPass& pass,
                              JobId job) const {
  if (by_type_ == nullptr) return first.lowest(pass.job(job).num_gpus);
  std::map<std::uint32_t, GpuCount> num_gpus;  // by type
  for (const NodeShare& share : by_type_->held(job))
    num_gpus[by_type_->type_of(share)] += share.gpus;
  GpuRanges result;
  for (const auto& [type, num] : num_gpus) {
    const GpuRange range = gpus_of_[type];
    const GpuSet& from = first.size_in(range) >= num ? first : gpus;
    const GpuRanges lowest = from.lowest(std::min(num, from.size_in(range)), range);
    result.insert(result.end(), lowest.begin(), lowest.end());
  }
  return result;
}

void GpuSetsByType::follow_service(const SchedulingPass& pass, GpuSet& free, GpuSet& out) const {
  std::vector<std::int64_t> usable(1, pass.usable_gpus().value);
  if (by_type_ != nullptr) by_type_->get_usable(usable);
  for (std::size_t type = 0; type < gpus_of_.size(); ++type) {
    const GpuRange range = gpus_of_[type];
    const GpuCount wanted(range.count - static_cast<std::int32_t>(usable[type]));
    const GpuCount before = out.size_in(range);
    if (wanted > before) {
      // Jobs on parts of GPUs count as if they held all of them, so that fewer may seem free.
      const GpuRanges gpus = free.lowest(std::min(wanted - before, free.size_in(range)), range);
      free.erase(gpus);
      out.insert(gpus);
    } else if (wanted < before) {
      const GpuRanges gpus = out.lowest(before - wanted, range);
      out.erase(gpus);
      free.insert(gpus);
    }
  }
}

}  // namespace vtrain
