#include "sched/simulation/result.hpp"

#include <algorithm>
#include <utility>

namespace vtrain {

std::vector<GangPart> parts_of(std::span<const NodeShare> shares) {
  // A gang's shares of one node are adjacent.
  std::vector<GangPart> parts;
  for (const NodeShare& share : shares) {
    if (parts.empty() || parts.back().node != share.node) parts.push_back({share.node, GpuCount(0)});
    parts.back().gpus += share.gpus;
  }
  return parts;
}

void record_sample(SimulationResult& result, const ClusterSample& sample, const Placement& placement) {
  if (const auto rate = placement.fragmentation()) result.fragmentation.push_back({sample.time, *rate});
  if (!result.samples.empty()) {
    const ClusterSample& last = result.samples.back();
    if (last.waiting_jobs == sample.waiting_jobs && last.gpus_in_use == sample.gpus_in_use) return;
  }
  result.samples.push_back(sample);
}

}  // namespace vtrain
