#include "tools/experiment/target.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/utf8.hpp"
#include "core/profile/constants.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/validation/calibration.hpp"

namespace vtrain {

namespace {

/// As given, or that of the stack.
Result<Precision> read_precision(const std::string& name, const Stack& stack, const GpuProfile& profile) {
  auto precision = name.empty() ? stack.choices.precision : parse_precision(name);
  if (precision) {
    if (const auto checked = check_precision(profile, *precision); !checked)
      precision = fail(checked.error());
  }
  if (!precision) return fail({.field = "--precision", .message = precision.error().message});
  return precision;
}

}  // namespace

Result<Stack> choose_stack(const std::string& name, const GpuProfile& profile) {
  if (name.empty()) return default_stack(profile);
  return find_stack(name);
}

Result<Stack> read_stack(const std::string& name, const std::string& calibration, const GpuProfile& profile) {
  Result<Stack> stack = choose_stack(name, profile);
  if (!stack) {
    stack.error().field = "--stack";
    return stack;
  }
  const auto calibrated = read_calibration(calibration);
  if (!calibrated) return fail(calibrated.error());
  stack->factors = calibrated->factors(stack->name, profile.base_name);
  return stack;
}

std::string describe_calibration(const std::string& calibration, const Stack& stack) {
  if (calibration.empty()) return {};
  const bool has_factors = stack.factors != KernelFactors{};
  return fmt::format("{} {}",
                     has_factors ? "calibrated with" : "not calibrated, no factors of stack and profile in",
                     printable(calibration));
}

NodeShape node_shape(const NodeGroup& nodes) {
  return {.gpus = nodes.gpus_per_node.value, .gpus_per_island = nodes.gpus_per_island.value};
}

std::string node_shape_note(const std::string& name, const GpuProfile& profile) {
  const auto plain = load_gpu_profile(name);
  if (!plain || plain->gpus_per_node == profile.gpus_per_node) return {};
  return fmt::format(
      "profile {} is of nodes of {}, the cluster's have {}: each GPU has as much of the network "
      "as there, and NVLink joins {}",
      plain->name, count_of(plain->gpus_per_node, "GPU"), profile.gpus_per_node,
      profile.nvlink_domain == 1 ? "none" : std::to_string(profile.nvlink_domain));
}

std::string named_profile_note(const std::string& name, const GpuProfile& profile,
                               const std::string& gpu_type) {
  if (name.empty() || gpu_type.empty() || embedded_profile_of(gpu_type) == profile.base_name) return {};
  return fmt::format("--profile {} takes the place of the cluster's {}", printable(name),
                     printable(gpu_type));
}

namespace {

/// Reads `--cluster`: nodes of one kind, or nothing for an empty text.
Result<std::optional<ClusterSpec>> read_uniform_cluster(const std::string& text) {
  if (text.empty()) return std::optional<ClusterSpec>();
  auto cluster = ClusterSpec::parse(text);
  if (!cluster) return fail(in_option("--cluster", cluster.error()));
  const NodeGroup& first = cluster->groups.front();
  for (const NodeGroup& group : cluster->groups) {
    if (same_nodes(group, first)) continue;
    return fail({.field = "--cluster", .message = expected_found("nodes of one kind", text)});
  }
  return std::optional(*std::move(cluster));
}

/// Loads the profile of a name or file; for an empty name that of the cluster's GPUs, or `a100`. On a cluster
/// it is that of GPUs in its nodes (`NodeShape`).
Result<GpuProfile> read_profile(const std::string& name, const std::optional<ClusterSpec>& cluster,
                                std::vector<std::string>& warnings) {
  if (!cluster) {
    auto profile = load_gpu_profile(name.empty() ? std::string(kDefaultProfile) : name);
    if (!profile) return fail(in_option("--profile", std::move(profile.error())));
    return profile;
  }
  const NodeGroup& nodes = cluster->groups.front();
  std::string wanted = name.empty() ? nodes.gpu_type : name;
  if (wanted.empty()) wanted = kDefaultProfile;
  auto profile = load_gpu_profile(wanted, node_shape(nodes));
  if (!profile) return fail(in_option(name.empty() ? "--cluster" : "--profile", profile.error()));
  for (std::string note :
       {named_profile_note(name, *profile, nodes.gpu_type), node_shape_note(wanted, *profile)}) {
    if (!note.empty()) warnings.push_back(std::move(note));
  }
  return profile;
}

}  // namespace

Result<TrainingTarget> read_target(const TargetArguments& arguments, std::vector<std::string>& warnings) {
  TrainingTarget target;
  auto nodes = read_uniform_cluster(arguments.cluster);
  if (!nodes) return fail(std::move(nodes.error()));
  target.cluster = *std::move(nodes);
  auto gpu = read_profile(arguments.profile, target.cluster, warnings);
  if (!gpu) return fail(std::move(gpu.error()));
  target.profile = *std::move(gpu);
  target.headroom = arguments.headroom;
  target.profile.memory_capacity = target.profile.memory_capacity * (1 - target.headroom / 100);
  auto chosen = read_stack(arguments.stack, arguments.calibration, target.profile);
  if (!chosen) return fail(std::move(chosen.error()));
  target.stack = *std::move(chosen);
  const auto precision = read_precision(arguments.precision, target.stack, target.profile);
  if (!precision) return fail(precision.error());
  target.stack.choices.precision = *precision;
  target.stack_is_default = arguments.stack.empty();
  target.calibration = describe_calibration(arguments.calibration, target.stack);
  return target;
}

nlohmann::ordered_json target_to_json(const TrainingTarget& target) {
  using nlohmann::ordered_json;
  return {
      {"profile", target.profile.name},
      {"stack", target.stack.name},
      {"precision", name_of(target.stack.choices.precision)},
      {"calibration", target.calibration.empty() ? ordered_json(nullptr) : ordered_json(target.calibration)},
      {"headroom_percent", target.headroom}};
}

std::string describe_target(const TrainingTarget& target) {
  std::string text = fmt::format("stack {}, {}", target.stack.name, name_of(target.stack.choices.precision));
  if (!target.calibration.empty()) text += ", " + target.calibration;
  if (target.headroom > 0) text += fmt::format(", {} % of memory left free", short_number(target.headroom));
  return text;
}

std::string default_stack_note(const TrainingTarget& target) {
  if (!target.stack_is_default || target.stack.libraries != Libraries::Old) return {};
  return fmt::format(
      "stack {}, the default for GPUs without fp8, is software of 2021; that of today: --stack "
      "megatron-core\n",
      target.stack.name);
}

}  // namespace vtrain
