/// All disruptions of jobs in a replay other than by the policy.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/disruption/checkpoints.hpp"
#include "sched/disruption/failure_rates.hpp"
#include "sched/disruption/interruption_cost.hpp"
#include "sched/disruption/outage.hpp"

namespace vtrain {

/// Interruptions of jobs, their costs, and checkpoints against them. None by default.
struct Disruptions {
  InterruptionCost interruption_cost{};    ///< cost of a preemption or a resize
  CheckpointRule checkpoints{};            ///< times between checkpoints
  CheckpointTimes checkpoint_times{};      ///< times to save and load a job's state
  std::optional<FailureRates> failures{};  ///< random outages
  std::vector<Outage> outages{};           ///< given outages
  std::uint64_t seed = 1;                  ///< seed of the random outages
  /// Factor of a gang's speed for each level of the network that it crosses (between nodes, between racks),
  /// in (0, 1]; 1: spread has no effect. Only for jobs that `GangSpeedModel` does not know.
  double spread_factor = 1;

  /// True if nodes may go out of service, for which the placement must know nodes.
  bool takes_nodes_out() const { return failures.has_value() || !outages.empty(); }
  /// True if anything disrupts jobs.
  bool any() const {
    return takes_nodes_out() || !interruption_cost.rule().is_free() ||
           checkpoints.kind != CheckpointRule::Kind::None || spread_factor < 1;
  }
};

}  // namespace vtrain
