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
#include "workloads/stack/stack.hpp"

namespace vtrain {

/// The stack of a name, for an empty one the default one of the GPU. The error names `stack`, as
/// configurations do.
Result<Stack> choose_stack(const std::string& name, const GpuProfile& profile);
/// The stack of `--stack`, the default one for an empty name, with the factors that the calibration has for
/// it on this GPU. Errors name the option.
Result<Stack> read_stack(const std::string& name, const std::string& calibration, const GpuProfile& profile);

/// For people: `calibrated with published`, or that the file has no factors for this stack on this GPU; empty
/// without a calibration.
std::string describe_calibration(const std::string& calibration, const Stack& stack);

/// The nodes of a group, as profiles know them.
NodeShape node_shape(const NodeGroup& nodes);
/// A sentence where a profile's nodes are not those of its GPUs here: `h100 is in nodes of 4 GPUs here, ...`;
/// empty where they are. `name` is what the profile was loaded by, `profile` it in the nodes here.
std::string node_shape_note(const std::string& name, const GpuProfile& profile);
/// A sentence where the profile that was named is of other GPUs than the cluster says; empty otherwise.
std::string named_profile_note(const std::string& name, const GpuProfile& profile,
                               const std::string& gpu_type);

/// GPUs and software to train on.
struct TrainingTarget {
  std::optional<ClusterSpec> cluster;  ///< none: only a number of GPUs is given
  GpuProfile profile;                  ///< its memory without the headroom
  double headroom = 0;                 ///< `TargetArguments::headroom`
  Stack stack;                         ///< its precision is that of every plan that is searched
  bool stack_is_default = false;       ///< nothing named it
  std::string calibration{};           ///< corrects the stack, for people; empty for none
};

/// `profile`, `stack`, `precision`, `calibration` and `headroom_percent`.
nlohmann::ordered_json target_to_json(const TrainingTarget& target);

/// `stack megatron-core, bf16`, and what calibrates it and is left free of memory.
std::string describe_target(const TrainingTarget& target);

/// A line that says so where nothing named the stack and it is of old software; empty otherwise.
std::string default_stack_note(const TrainingTarget& target);

/// Reads the arguments, as the functions above do. Adds to `warnings` where a named profile is not that of
/// the cluster's GPUs, or its nodes are not the cluster's.
Result<TrainingTarget> read_target(const TargetArguments& arguments, std::vector<std::string>& warnings);

}  // namespace vtrain
