#include "sched/simulation/result.hpp"

#include <algorithm>
#include <utility>

namespace vtrain {

void record_segment(SimulationResult& result, JobSegment run, std::span<const NodeShare> shares) {
  // What a gang has of a node stands together.
  for (const NodeShare& share : shares) {
    if (run.nodes.empty() || run.nodes.back() != share.node) run.nodes.push_back(share.node);
  }
  result.segments.push_back(std::move(run));
}

void forget_segment(SimulationResult& result, JobId job, SimTime now) {
  const auto earlier = std::find_if(result.segments.rbegin(), result.segments.rend(),
                                    [now](const JobSegment& run) { return run.end != now; });
  const auto run = std::find_if(earlier.base(), result.segments.end(),
                                [job](const JobSegment& candidate) { return candidate.job == job; });
  if (run != result.segments.end()) result.segments.erase(run);
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
