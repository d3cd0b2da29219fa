/// What a replay keeps beside what became of each job: the runs of gangs, and the cluster over time.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sched/placement/placement.hpp"
#include "sched/simulation/simulator.hpp"

namespace vtrain {

/// Appends a run that has ended, with the nodes of its gang. `run.nodes` comes empty.
void record_segment(SimulationResult& result, JobSegment run, std::span<const NodeShare> shares);

/// Takes the first of a job's runs that were recorded with the end `now`, the latest there is, out of the
/// record, if there is one: the job runs on.
void forget_segment(SimulationResult& result, JobId job, SimTime now);

/// Appends a sample of the cluster, unless it is as it was, and of its fragmentation where that is kept.
void record_sample(SimulationResult& result, const ClusterSample& sample, const Placement& placement);

}  // namespace vtrain
