#include "tools/curve_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "core/gpu_profile.hpp"
#include "tools/file_hash.hpp"
#include "tools/plan_arguments.hpp"

namespace vtrain {

void add_curve_options(CLI::App& command, CurveArguments& arguments) {
  command
      .add_option("--profile", arguments.profile,
                  "GPU profile that prices jobs given by model and iterations")
      ->capture_default_str();
  command
      .add_option(
          "--curves", arguments.kind,
          "Plans of these jobs: best-plan, the fastest on their GPUs; or data-parallel, replicas of the "
          "smallest plan that fits")
      ->capture_default_str();
  command.add_flag("--no-cache", arguments.no_cache,
                   "Neither read nor keep iteration times in the cache ($XDG_CACHE_HOME/vtrain)");
}

Result<CachedCurves> CachedCurves::open(const CurveArguments& arguments) {
  CurveSettings settings;
  const auto kind = parse_curve_kind(arguments.kind);
  if (!kind) return fail({.field = "--curves", .message = kind.error().message});
  settings.kind = *kind;
  const auto stack = read_stack(arguments.stack);
  if (!stack) return fail(stack.error());
  settings.stack = *stack;
  auto profile = load_gpu_profile(arguments.profile);
  if (!profile) {
    Error error = profile.error();
    if (error.file.empty() && error.field.empty()) error.field = "--profile";
    return fail(std::move(error));
  }
  const auto embedded = embedded_profile_names();
  if (std::find(embedded.begin(), embedded.end(), arguments.profile) == embedded.end()) {
    auto hash = sha256_of_file(arguments.profile);
    if (!hash) return fail(std::move(hash.error()));
    settings.profile_content = *std::move(hash);
  }
  CachedCurves opened;
  const auto folder = arguments.no_cache ? std::nullopt : curve_cache_folder();
  if (folder) opened.cache_ = std::make_unique<CurveCache>(*folder);
  opened.curves_ =
      std::make_unique<ThroughputCurves>(*std::move(profile), std::move(settings), opened.cache_.get());
  return opened;
}

std::string CachedCurves::describe() const {
  const bool best = curves_->settings().kind == CurveKind::BestPlan;
  return fmt::format("iterations x the iteration time of {}, profile {}, stack {}",
                     best ? "the best plan" : "replicas of the smallest plan that fits",
                     curves_->profile().name, curves_->settings().stack.name);
}

}  // namespace vtrain
