/// One replay as a timeline.
#pragma once

#include <string>

#include "tools/experiment/policy_runs.hpp"

namespace vtrain {

/// What happened, as Chrome trace events for Perfetto: a process for each node with its jobs (category `job`)
/// and the times at which it was out of service (category `outage`, with its cause), or a track for each job
/// where placement knows no nodes.
std::string cluster_timeline(const Experiment& experiment, const ExperimentRun& run);

}  // namespace vtrain
