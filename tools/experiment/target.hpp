/// Reads the target of training: cluster, GPU profile and software stack.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/profile/gpu_profile.hpp"
#include "sched/cluster/cluster.hpp"
#include "tools/experiment/arguments.hpp"
#include "workloads/target.hpp"

namespace vtrain {

/// The nodes of a group, as profiles know them.
NodeShape node_shape(const NodeGroup& nodes);

/// Adds the option to an error of `resolve_target`, if an option gave the name: `--profile`, `--stack`, and
/// `--cluster` for the cluster's GPUs.
Error in_target_option(Error error);

/// A note in the words of the command line.
std::string describe_note(const TargetNote& note);

/// A target of plan searches. Every searched plan has the precision of its stack.
struct TrainingTarget : Target {
  std::optional<ClusterSpec> cluster{};  ///< none: only a number of GPUs is given
  double headroom = 0;                   ///< `TargetArguments::headroom`
};

/// `profile`, `stack`, `precision`, `calibration` and `headroom_percent`.
nlohmann::ordered_json target_to_json(const TrainingTarget& target);

/// `stack megatron-core, bf16`, with the calibration and the headroom.
std::string describe_target(const TrainingTarget& target);

/// Line that tells that the default stack is old software; empty for a named or newer stack.
std::string default_stack_note(const TrainingTarget& target);

/// Reads the arguments. Warns if a named profile differs from the cluster's GPUs or nodes.
Result<TrainingTarget> read_target(const TargetArguments& arguments, std::vector<std::string>& warnings);

}  // namespace vtrain
