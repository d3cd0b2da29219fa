#include "tools/experiment/target.hpp"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/experiment/option_error.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

/// Precision as given, or the stack's.
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

NodeShape node_shape(const NodeGroup& nodes) {
  return {.gpus = nodes.gpus_per_node.value, .gpus_per_island = nodes.gpus_per_island.value};
}

Error in_target_option(Error error) {
  if (!error.file.empty()) return error;
  constexpr std::string_view kGpuType = "gpu_type";
  if (error.field.starts_with(kGpuType)) {
    error.field.replace(0, kGpuType.size(), "--cluster");
  } else if (error.field.starts_with("profile") || error.field.starts_with("stack")) {
    error.field.insert(0, "--");
  }
  return error;
}

std::string describe_note(const TargetNote& note) {
  return (note.kind == TargetNote::Kind::OtherGpus ? "--" : "") + note.text;
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

}  // namespace

Result<TrainingTarget> read_target(const TargetArguments& arguments, std::vector<std::string>& warnings) {
  auto cluster = read_uniform_cluster(arguments.cluster);
  if (!cluster) return fail(std::move(cluster.error()));
  TargetNames names{
      .profile = arguments.profile, .stack = arguments.stack, .calibration = arguments.calibration};
  if (*cluster) {
    const NodeGroup& nodes = (*cluster)->groups.front();
    names.gpu_type = nodes.gpu_type;
    names.nodes = node_shape(nodes);
  }
  const auto set_up = parse_set_up(arguments.set_up);
  if (!set_up) return fail(in_option("--set-up", set_up.error()));
  names.set_up = *set_up;
  auto resolved = resolve_target(names);
  if (!resolved) return fail(in_target_option(std::move(resolved.error())));
  TrainingTarget target{*std::move(resolved), *std::move(cluster), arguments.headroom};
  for (const TargetNote& note : target.notes)
    warnings.push_back(describe_note(note));
  const auto precision = read_precision(arguments.precision, target.stack, target.profile);
  if (!precision) return fail(precision.error());
  target.stack.choices.precision = *precision;
  return target;
}

nlohmann::ordered_json target_to_json(const TrainingTarget& target) {
  using nlohmann::ordered_json;
  const std::string calibration = describe_calibration(target.calibration, target.stack);
  return {{"profile", target.profile.name},
          {"stack", target.stack.name},
          {"precision", name_of(target.stack.choices.precision)},
          {"calibration", calibration.empty() ? ordered_json(nullptr) : ordered_json(calibration)},
          {"headroom_percent", target.headroom}};
}

std::string describe_target(const TrainingTarget& target) {
  std::string text = fmt::format("stack {}, {}", target.stack.name, name_of(target.stack.choices.precision));
  if (!target.calibration.empty()) text += ", " + describe_calibration(target.calibration, target.stack);
  if (target.headroom > 0) text += fmt::format(", {} % of memory left free", short_number(target.headroom));
  return text;
}

std::string default_stack_note(const TrainingTarget& target) {
  if (!target.stack_is_default || target.stack.libraries != Libraries::Old) return {};
  return fmt::format(
      "stack {}, the default for GPUs without fused attention, is software of 2021; for today's software: "
      "--stack "
      "megatron-core\n",
      target.stack.name);
}

}  // namespace vtrain
