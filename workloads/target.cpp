#include "workloads/target.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "workloads/calibration/calibration.hpp"

namespace vtrain {
namespace {

constexpr std::array<std::string_view, 2> kSemanticsNames = {"physical", "vtrain"};

/// An error in the value of a field, unless it is in a file.
Error in_field(std::string field, Error error) {
  if (!error.file.empty()) return error;
  const bool is_named = error.field.empty() || error.field == field;
  error.field = is_named ? std::move(field) : field + ": " + error.field;
  return error;
}

/// The profile of a type of GPUs; that of another one where there is none and the names allow it.
std::string profile_of_type(const TargetNames& names, std::vector<TargetNote>& notes) {
  const std::string& gpu_type = names.gpu_type;
  if (gpu_type.empty()) return std::string(kDefaultProfile);
  if (!names.assumes_profile) return gpu_type;
  if (const std::string_view profile = embedded_profile_of(gpu_type); !profile.empty())
    return std::string(profile);
  notes.push_back({TargetNote::Kind::AssumedProfile,
                   with_guess(fmt::format("models run on {} as fast as on {}: there is no profile of it",
                                          printable(gpu_type), kDefaultProfile),
                              gpu_type, embedded_profile_names())});
  return std::string(kDefaultProfile);
}

/// Notes where the named profile is of other GPUs than the cluster has.
void note_other_gpus(const TargetNames& names, const GpuProfile& profile, std::vector<TargetNote>& notes) {
  if (names.profile.empty() || names.gpu_type.empty()) return;
  if (embedded_profile_of(names.gpu_type) == profile.base_name) return;
  notes.push_back(
      {TargetNote::Kind::OtherGpus, fmt::format("profile {} takes the place of the cluster's {}",
                                                printable(names.profile), printable(names.gpu_type))});
}

/// Notes where the nodes of a profile, which was loaded by `name`, are not those of the cluster.
void note_other_nodes(const std::string& name, const GpuProfile& profile, std::vector<TargetNote>& notes) {
  const auto plain = load_gpu_profile(name);
  if (!plain || plain->gpus_per_node == profile.gpus_per_node) return;
  const std::string joined = profile.nvlink_domain == 1 ? "none" : std::to_string(profile.nvlink_domain);
  notes.push_back(
      {TargetNote::Kind::OtherNodes,
       fmt::format("profile {} is of nodes of {} GPU{}, the cluster's have {}: each GPU has as much of the "
                   "network as there, and NVLink joins {}",
                   plain->name, with_thousands(plain->gpus_per_node), plain->gpus_per_node == 1 ? "" : "s",
                   profile.gpus_per_node, joined)});
}

/// Sets the profile, in its nodes.
Result<void> set_profile(const TargetNames& names, Target& target) {
  const bool is_named = !names.profile.empty();
  const std::string name = is_named ? names.profile : profile_of_type(names, target.notes);
  auto profile = names.nodes ? load_gpu_profile(name, *names.nodes) : load_gpu_profile(name);
  if (!profile) return fail(in_field(is_named ? "profile" : "gpu_type", std::move(profile.error())));
  note_other_gpus(names, *profile, target.notes);
  if (names.nodes) note_other_nodes(name, *profile, target.notes);
  target.profile = *std::move(profile);
  if (!names.node_network) return {};
  target.profile.node_network_bandwidth = *names.node_network;
  target.network_is_given = true;
  return {};
}

/// Everything but the calibration.
Result<Target> resolve_names(const TargetNames& names) {
  Target target{.semantics = names.semantics, .set_up = names.set_up, .release = names.release};
  if (auto set = set_profile(names, target); !set) return fail(std::move(set.error()));
  if (names.semantics == Semantics::Release) return target;
  target.stack_is_default = names.stack.empty();
  if (target.stack_is_default) {
    target.stack = default_stack(target.profile);
    return target;
  }
  auto stack = names.changed_stack ? Result<Stack>(*names.changed_stack) : find_stack(names.stack);
  if (!stack) return fail(in_field("stack", std::move(stack.error())));
  target.stack = *std::move(stack);
  return target;
}

/// Corrects the stack.
void calibrate_target(Target& target, const Calibration& calibration) {
  if (target.semantics == Semantics::Release) return;
  target.calibration = calibration.file;
  target.stack.factors = calibration.factors(target.stack.name, target.profile.base_name);
  for (const CalibratedStack& stack : calibration.stacks) {
    if (stack.stack == target.stack.name && stack.profile == target.profile.base_name)
      target.left_out = stack.left_out;
  }
}

}  // namespace

std::string_view name_of(Semantics semantics) {
  return kSemanticsNames[static_cast<std::size_t>(semantics)];
}

Result<Semantics> parse_semantics(std::string_view name) {
  return parse_name<Semantics>("semantics", kSemanticsNames, name);
}

Result<Target> resolve_target(const TargetNames& names) {
  auto target = resolve_names(names);
  if (!target || names.semantics == Semantics::Release) return target;
  const auto calibration = read_calibration(names.calibration);
  if (!calibration) return fail(calibration.error());
  calibrate_target(*target, *calibration);
  return target;
}

Result<Target> resolve_target(const TargetNames& names, const Calibration& calibration) {
  auto target = resolve_names(names);
  if (target) calibrate_target(*target, calibration);
  return target;
}

std::string describe_calibration(const std::string& calibration, const Stack& stack) {
  if (calibration.empty()) return {};
  const bool has_factors = stack.factors != KernelFactors{};
  return fmt::format("{} {}",
                     has_factors ? "calibrated with" : "not calibrated, no factors of stack and profile in",
                     printable(calibration));
}

}  // namespace vtrain
