/// An experiment's jobs under its policies.
#pragma once

#include <atomic>
#include <cstdint>
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
  /// True if `--interruption-cost` counts under the policy; policies with costs of their own ignore it.
  bool takes_interruption_cost = false;
  double wall_s = 0;  ///< time for the simulation alone
};

/// Replays the jobs under every policy, on up to `threads` threads, 0 for one per processor, and takes the
/// policies; runs come out in their order. `strict` refuses jobs larger than the cluster. With
/// `record_segments` each run keeps the intervals in which jobs held GPUs. `jobs_done` counts up to the
/// number of jobs times that of policies.
Result<std::vector<ExperimentRun>> run_policies(Experiment& experiment, unsigned threads, bool strict,
                                                bool record_segments, std::atomic<std::int64_t>& jobs_done);

}  // namespace vtrain
