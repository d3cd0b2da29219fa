/// How `replay` and `compare` are told what interrupts jobs and what that costs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/disruption/disruptions.hpp"
#include "sched/placement/placement.hpp"
#include "workloads/jobs/job.hpp"

namespace CLI {
class App;
}

namespace vtrain {

/// The arguments as given; as they are here nothing happens to jobs beside what the policy does.
struct DisruptionArguments {
  std::string interruption_cost = "none";
  std::string checkpoints = "none";
  std::string checkpoint_cost = "30s";
  std::string checkpoint_bandwidth = "10GB/s";
  std::string failures = "none";
  std::filesystem::path outages{};  ///< empty: none
  double spread_factor = 1;         ///< in [0.01, 1]
};

/// Adds an option for each.
void add_disruption_options(CLI::App& command, DisruptionArguments& arguments);

/// What the arguments say that depends neither on jobs nor on the cluster.
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
/// nodes where some are to fail.
Result<DisruptionRules> read_disruption_rules(const DisruptionArguments& arguments, PlacementKind placement);

/// What rules and arguments say of these jobs on this cluster; none if they say nothing. Errors: failures and
/// outages that cannot be read, names that the cluster does not know, jobs without a model where its size is
/// asked for.
Result<std::optional<Disruptions>> read_disruptions(const DisruptionArguments& arguments,
                                                    const DisruptionRules& rules, const Workload& workload,
                                                    const ClusterSpec& cluster, std::uint64_t seed);

/// One sentence for everything that was assumed.
std::vector<std::string> describe_disruptions(const Disruptions& disruptions,
                                              const DisruptionArguments& arguments);

/// The arguments by option name, to repeat what was done.
nlohmann::ordered_json disruptions_to_json(const DisruptionArguments& arguments);

}  // namespace vtrain
