/// Reads what is to be trained on: the cluster, the GPU profile and the software stack.
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

/// An error of `resolve_target` with the option that it is about, where a name came from one: `--profile`,
/// `--stack`, and `--cluster` for the cluster's GPUs.
Error in_target_option(Error error);

/// A note in the words of the command line.
std::string describe_note(const TargetNote& note);

/// A target of plan searches. The memory of its profile is without the headroom; the precision of its stack
/// is that of every plan that is searched.
struct TrainingTarget : Target {
  std::optional<ClusterSpec> cluster{};  ///< none: only a number of GPUs is given
  double headroom = 0;                   ///< `TargetArguments::headroom`
};

/// `profile`, `stack`, `precision`, `calibration` and `headroom_percent`.
nlohmann::ordered_json target_to_json(const TrainingTarget& target);

/// `stack megatron-core, bf16`, and what calibrates it and is left free of memory.
std::string describe_target(const TrainingTarget& target);

/// A line that says so where nothing named the stack and it is of old software; empty otherwise.
std::string default_stack_note(const TrainingTarget& target);

/// Reads the arguments. Adds to `warnings` where a named profile is not that of
/// the cluster's GPUs, or its nodes are not the cluster's.
Result<TrainingTarget> read_target(const TargetArguments& arguments, std::vector<std::string>& warnings);

}  // namespace vtrain
