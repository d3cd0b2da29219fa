/// An experiment's jobs under its policies.
#pragma once

#include <vector>

#include "core/base/result.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/simulation/simulator.hpp"
#include "tools/experiment/experiment.hpp"

namespace vtrain {

/// One policy's schedule.
struct ExperimentRun {
  Summary summary;
  SimulationResult result;
  /// Whether `--interruption-cost` counts under the policy; those with costs of their own take none.
  bool takes_interruption_cost = false;
  double wall_s = 0;  ///< time limit of the simulation alone
};

/// Replays the jobs under every policy, on up to `arguments.threads` threads, and takes the policies; runs
/// come out in their order. With `record_segments` each keeps the intervals in which jobs held GPUs.
Result<std::vector<ExperimentRun>> run_policies(Experiment& experiment, const ExperimentArguments& arguments,
                                                bool record_segments);

/// Whether timelines are to be written: where anything is, as said, or when there are few enough jobs to look
/// at.
bool wants_timeline(const ExperimentArguments& arguments, const Experiment& experiment);

}  // namespace vtrain
