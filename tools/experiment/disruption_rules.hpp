/// Reads what interrupts jobs and what that costs: failures, outages, checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/disruption/disruptions.hpp"
#include "sched/placement/placement.hpp"
#include "tools/experiment/arguments.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Rules of the arguments that depend neither on jobs nor on the cluster.
struct DisruptionRules {
  InterruptionRule interruption{};
  CheckpointRule checkpoints{};
  std::optional<SimDuration> checkpoint_cost{};  ///< none: it follows from the size of the model
  BytesPerSecond checkpoint_bandwidth{};

  /// Whether the sizes of models matter.
  bool needs_models() const;
};

/// Reads them before anything else, so that a misspelt word does not cost a long read. Errors: values that
/// cannot be read, an interval that follows from failures where there are none, a placement that knows no
/// nodes where some are to fail. Adds to `warnings` the options that nothing reads.
Result<DisruptionRules> read_disruption_rules(const DisruptionArguments& arguments, PlacementKind placement,
                                              std::vector<std::string>& warnings);

/// What rules and arguments say of these jobs on this cluster; none if they say nothing. Errors: failures and
/// outages that cannot be read, names that the cluster does not know, jobs without a model where its size is
/// asked for.
Result<std::optional<Disruptions>> read_disruptions(const DisruptionArguments& arguments,
                                                    const DisruptionRules& rules, const Workload& workload,
                                                    const ClusterSpec& cluster, std::uint64_t seed);

/// One sentence for everything that was assumed.
std::vector<std::string> describe_disruptions(const Disruptions& disruptions,
                                              const DisruptionArguments& arguments);

}  // namespace vtrain
