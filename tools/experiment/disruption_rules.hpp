/// Reads interruptions of jobs and their costs: failures, outages, checkpoints.
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

/// Rules from the arguments, independent of jobs and cluster.
struct DisruptionRules {
  InterruptionRule interruption{};
  /// The rule is the default: jobs of a known model pay for a checkpoint, others nothing.
  bool is_default_cost = false;
  CheckpointRule checkpoints{};
  std::optional<SimDuration> checkpoint_cost{};  ///< none: derived from the size of the model
  BytesPerSecond checkpoint_bandwidth{};

  /// True if the sizes of all models must be known.
  bool needs_models() const;
};

/// Reads the rules before the trace, so that a misspelt word fails at once. Errors: invalid values; an
/// interval derived from failures without any; failures of nodes under a placement without nodes. Adds unused
/// options to `warnings`.
Result<DisruptionRules> read_disruption_rules(const DisruptionArguments& arguments, PlacementKind placement,
                                              std::vector<std::string>& warnings);

/// Warns if the bandwidth of checkpoints is given, but no cost depends on the size of a model.
void warn_of_bandwidth(const DisruptionArguments& arguments, std::vector<std::string>& warnings);

/// Disruptions of these jobs on this cluster; none if the rules and arguments name none. Errors: invalid
/// failures or outages; names that the cluster lacks; jobs without a model whose size is needed.
Result<std::optional<Disruptions>> read_disruptions(const DisruptionArguments& arguments,
                                                    const DisruptionRules& rules, const Workload& workload,
                                                    const ClusterSpec& cluster, std::uint64_t seed);

/// One sentence for each assumed disruption, except the cost of interruptions.
std::vector<std::string> describe_disruptions(const Disruptions& disruptions,
                                              const DisruptionArguments& arguments);

/// Sentence on the cost of preemption and resizing.
struct InterruptionCostText {
  std::string text;
  std::int64_t jobs = 0;  ///< number of jobs that it is about; 0 for all
};
/// Describes the cost. `disruptions` come from these rules; they may be absent.
InterruptionCostText describe_interruption_cost(const DisruptionRules& rules,
                                                const std::optional<Disruptions>& disruptions,
                                                const DisruptionArguments& arguments,
                                                const Workload& workload);

}  // namespace vtrain
