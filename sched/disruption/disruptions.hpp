/// All that may happen to jobs in a replay other than by the policy.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/disruption/checkpoints.hpp"
#include "sched/disruption/failure_rates.hpp"
#include "sched/disruption/interruption_cost.hpp"
#include "sched/disruption/outage.hpp"

namespace vtrain {

/// What interrupts jobs, what that costs them, and what they do against it. As constructed: nothing.
struct Disruptions {
  InterruptionCost interruption_cost{};
  CheckpointRule checkpoints{};
  CheckpointTimes checkpoint_times{};      ///< what saving and loading takes
  std::optional<FailureRates> failures{};  ///< random outages
  std::vector<Outage> outages{};           ///< given ones
  std::uint64_t seed = 1;                  ///< of the random ones
  /// What a gang's speed is multiplied by for each level of the network that it crosses (between nodes,
  /// between racks), in (0, 1]; 1: how it is spread makes no difference. For jobs of whose links nothing
  /// better is known (`GangSpeedModel`).
  double spread_factor = 1;

  /// Whether nodes may go out of service, for which the placement must know nodes.
  bool takes_nodes_out() const { return failures.has_value() || !outages.empty(); }
  /// Whether anything happens at all.
  bool any() const {
    return takes_nodes_out() || interruption_cost.rule().kind != InterruptionRule::Kind::None ||
           checkpoints.kind != CheckpointRule::Kind::None || spread_factor < 1;
  }
};

}  // namespace vtrain
