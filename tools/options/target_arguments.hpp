/// What commands that predict read alike: the stack, the cluster, the GPU profile and the GPUs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/profile/gpu_profile.hpp"
#include "sched/cluster/cluster.hpp"
#include "workloads/stack/stack.hpp"

namespace CLI {
class App;
}

namespace vtrain {

/// Adds `--stack`, and `--calibrate` with a file of `vtrain profile calibrate`.
void add_stack_options(CLI::App& command, std::string& name, std::string& calibration);
/// All stacks, for `--help`.
std::string stack_names();
/// What `--help` says of a stack that is not named: `default_stack`.
inline constexpr const char* kDefaultStackHelp = "megatron-core, on GPUs without fp8 megatron-2021";
/// What `--help` says of how a GPU profile is named: `load_gpu_profile`.
inline constexpr const char* kProfileNameHelp =
    "a name, a JSON file or the folder of a recording, with constants that differ behind a colon: "
    "h100:node_network_bandwidth=400Gbit/s";
/// The stack of a name, for an empty one the default one of the GPU. The error names `stack`, as
/// configurations do.
Result<Stack> choose_stack(const std::string& name, const GpuProfile& profile);
/// The stack of `--stack`, the default one for an empty name, with the factors that the calibration has for
/// it on this GPU. Errors name the option.
Result<Stack> read_stack(const std::string& name, const std::string& calibration, const GpuProfile& profile);

/// For people: `calibrated with published`, or that the file has no factors for this stack on this GPU; empty
/// without a calibration.
std::string describe_calibration(const std::string& calibration, const Stack& stack);

/// Reads `--cluster`: nodes of one kind, or nothing for an empty text.
Result<std::optional<ClusterSpec>> read_uniform_cluster(const std::string& text);

/// Loads the profile of a name or file; for an empty name that of the cluster's GPUs, or `a100`. On a cluster
/// it is that of GPUs in its nodes (`NodeShape`).
Result<GpuProfile> read_profile(const std::string& name, const std::optional<ClusterSpec>& cluster);

/// The nodes of a group, as profiles know them.
NodeShape node_shape(const NodeGroup& nodes);
/// A sentence where a profile's nodes are not those of its GPUs here: `h100 is in nodes of 4 GPUs here, ...`;
/// empty where they are. `name` is what the profile was loaded by, `profile` it in the nodes here.
std::string node_shape_note(const std::string& name, const GpuProfile& profile);
/// Warns where the profile that was named is of other GPUs than the cluster says.
void warn_of_named_profile(const std::string& name, const GpuProfile& profile, const std::string& gpu_type);

/// What is to be trained on.
struct TrainingTarget {
  std::optional<ClusterSpec> cluster;  ///< none: only a number of GPUs is given
  GpuProfile profile;                  ///< its memory without the headroom
  double headroom = 0;                 ///< `TargetArguments::headroom`
  Stack stack;                         ///< its precision is that of every plan that is searched
  bool stack_is_default = false;       ///< nothing named it
  std::string calibration{};           ///< of the stack, for people; empty for none
};

/// `profile`, `stack`, `precision`, `calibration` and `headroom_percent`.
nlohmann::ordered_json target_to_json(const TrainingTarget& target);

/// `stack megatron-core, bf16`, and what calibrates it and is left free of memory.
std::string describe_target(const TrainingTarget& target);

/// A line that says so where nothing named the stack and it is of old software; empty otherwise.
std::string default_stack_note(const TrainingTarget& target);

/// The options that say so, as given; empty where they are not.
struct TargetArguments {
  std::string cluster{};
  std::string profile{};
  std::string stack{};
  std::string calibration{};  ///< file of `vtrain profile calibrate`
  std::string precision{};
  double headroom = 0;  ///< per cent of the GPUs' memory that plans leave free
};

/// Adds `--cluster`, for a command that has `--gpus` beside it.
void add_cluster_option(CLI::App& command, TargetArguments& arguments);
/// Adds `--profile`, `--stack`, `--calibrate`, `--precision` and `--headroom`.
void add_target_options(CLI::App& command, TargetArguments& arguments);

/// Reads them, as the functions above do.
Result<TrainingTarget> read_target(const TargetArguments& arguments);

/// Whether there are plans of `--offload`: the stack can keep activations in the memory of the CPU, and the
/// link to it is in the profile.
Result<void> check_offload(const Stack& stack, const GpuProfile& profile);
/// The same of `--partial-recompute`: the stack can recompute some layers of a stage.
Result<void> check_partial_recompute(const Stack& stack);
/// The same of `--zero-bubble`: a fork of the stack's framework has the schedule.
Result<void> check_zero_bubble(const Stack& stack);

/// Reads `--gpus` (`parse_gpu_counts`) within the cluster. An empty text is the whole cluster or, with
/// `parts`, every part of it.
Result<std::vector<GpuCount>> read_gpus(std::string text, const std::optional<ClusterSpec>& cluster,
                                        const GpuProfile& profile, bool parts);

}  // namespace vtrain
