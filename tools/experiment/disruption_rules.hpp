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
  /// The rule is the default: jobs of a known model pay for a checkpoint, others nothing.
  bool is_default_cost = false;
  CheckpointRule checkpoints{};
  std::optional<SimDuration> checkpoint_cost{};  ///< none: it follows from the size of the model
  BytesPerSecond checkpoint_bandwidth{};

  /// Whether the sizes of all models must be known.
  bool needs_models() const;
};

/// Reads them before anything else, so that a misspelt word does not cost a long read. Errors: values that
/// cannot be read, an interval that follows from failures where there are none, a placement that knows no
/// nodes where some are to fail. Adds to `warnings` the options that nothing reads.
Result<DisruptionRules> read_disruption_rules(const DisruptionArguments& arguments, PlacementKind placement,
                                              std::vector<std::string>& warnings);

/// Adds to `warnings` that nothing costs as much as the size of a model, if the bandwidth of checkpoints is
/// given.
void warn_of_bandwidth(const DisruptionArguments& arguments, std::vector<std::string>& warnings);

/// What rules and arguments say of these jobs on this cluster; none if they say nothing. Errors: failures and
/// outages that cannot be read, names that the cluster does not know, jobs without a model where its size is
/// asked for.
Result<std::optional<Disruptions>> read_disruptions(const DisruptionArguments& arguments,
                                                    const DisruptionRules& rules, const Workload& workload,
                                                    const ClusterSpec& cluster, std::uint64_t seed);

/// One sentence for every disruption that was assumed, other than the cost of interruptions.
std::vector<std::string> describe_disruptions(const Disruptions& disruptions,
                                              const DisruptionArguments& arguments);

/// What preemption and resizing cost jobs, as a sentence.
struct InterruptionCostText {
  std::string text;
  std::int64_t jobs = 0;  ///< that it is about; 0 for all
};
/// `disruptions` are those of these rules, if there are any.
InterruptionCostText describe_interruption_cost(const DisruptionRules& rules,
                                                const std::optional<Disruptions>& disruptions,
                                                const DisruptionArguments& arguments,
                                                const Workload& workload);

}  // namespace vtrain
