#include "tools/curve_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/gpu_profile.hpp"
#include "core/text.hpp"
#include "tools/file_hash.hpp"
#include "tools/output_format.hpp"
#include "tools/plan_arguments.hpp"
#include "workloads/elastic_jobs.hpp"

namespace vtrain {

void add_curve_options(CLI::App& command, CurveArguments& arguments) {
  command.add_option("--profile", arguments.profile,
                     "GPU profile that prices jobs given by model and iterations; without it that of the "
                     "cluster's GPUs, or a100");
  command
      .add_option(
          "--curves", arguments.kind,
          "Plans of these jobs, and how fast they are on other numbers of GPUs under elastic policies: "
          "best-plan, the fastest on as many GPUs; data-parallel, replicas of the smallest plan that fits; "
          "none, best-plan on the GPUs asked for and no others")
      ->capture_default_str();
  command.add_flag("--no-cache", arguments.no_cache,
                   "Neither read nor keep iteration times in the cache ($XDG_CACHE_HOME/vtrain)");
}

namespace {

/// The name of a profile and, where it is not that of all GPUs, why.
struct ProfileChoice {
  std::string name;
  std::string assumption{};
};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_embedded(std::string_view profile) {
  const auto names = embedded_profile_names();
  return std::find(names.begin(), names.end(), profile) != names.end();
}

ProfileChoice profile_of(const std::optional<ClusterSpec>& cluster) {
  const std::string fallback = "a100";
  if (!cluster) return {fallback};
  const std::string& type = cluster->groups.front().gpu_type;
  const bool one_type = std::all_of(cluster->groups.begin(), cluster->groups.end(),
                                    [&](const NodeGroup& group) { return group.gpu_type == type; });
  if (type.empty() && one_type) return {fallback};
  if (one_type && is_embedded(lower_case(type))) return {lower_case(type)};
  return {fallback, one_type ? fmt::format("models run as fast as on {}: there is no profile of {}", fallback,
                                           printable(type))
                             : fmt::format("models run as fast as on {}, on every type of GPU", fallback)};
}

}  // namespace

Result<CachedCurves> CachedCurves::open(const CurveArguments& arguments,
                                        const std::optional<ClusterSpec>& cluster) {
  CachedCurves opened;
  CurveSettings settings;
  opened.elastic_ = arguments.kind != "none";
  if (opened.elastic_) {
    const auto kind = parse_curve_kind(arguments.kind);
    if (!kind) {
      constexpr std::array<std::string_view, 3> kKnown = {"best-plan", "data-parallel", "none"};
      return fail({.field = "--curves", .message = expected_found(list_names(kKnown), arguments.kind)});
    }
    settings.kind = *kind;
  }
  const ProfileChoice choice =
      arguments.profile.empty() ? profile_of(cluster) : ProfileChoice{arguments.profile};
  opened.assumption_ = choice.assumption;
  auto profile = load_gpu_profile(choice.name);
  if (!profile) {
    Error error = profile.error();
    if (error.file.empty() && error.field.empty()) error.field = "--profile";
    return fail(std::move(error));
  }
  const auto stack = read_stack(arguments.stack, "", *profile);
  if (!stack) return fail(stack.error());
  settings.stack = *stack;
  if (!is_embedded(choice.name)) {
    auto hash = sha256_of_file(choice.name);
    if (!hash) return fail(std::move(hash.error()));
    settings.profile_content = *std::move(hash);
  }
  const auto folder = arguments.no_cache ? std::nullopt : curve_cache_folder();
  if (folder) opened.cache_ = std::make_unique<CurveCache>(*folder);
  opened.curves_ =
      std::make_unique<ThroughputCurves>(*std::move(profile), std::move(settings), opened.cache_.get());
  return opened;
}

std::string CachedCurves::plans() const {
  return curves_->settings().kind == CurveKind::BestPlan ? "the best plan"
                                                         : "replicas of the smallest plan that fits";
}

std::string CachedCurves::describe() const {
  return fmt::format("iterations x the iteration time of {}, profile {}, stack {}", plans(),
                     curves_->profile().name, curves_->settings().stack.name);
}

Result<std::vector<std::string>> add_curves(Workload& workload, CachedCurves& curves, GpuCount largest,
                                            bool strict) {
  ElasticJobs found;
  if (curves.elastic()) {
    const auto made = make_elastic(workload, curves.curves(), largest, strict);
    if (!made) return fail(made.error());
    found = *made;
  }
  const std::string of_all = fmt::format("of {} jobs elastic", with_thousands(std::ssize(workload.jobs)));
  const auto elastic = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                     [](const Job& job) { return static_cast<bool>(job.curve); });
  const auto measured = elastic - found.elastic;
  std::vector<std::string> sentences;
  if (measured > 0)
    sentences.push_back(fmt::format("{} {} as measured for their trace", with_thousands(measured), of_all));
  if (found.elastic > 0) {
    sentences.push_back(fmt::format("{} {} as predicted for {} on each number of GPUs, profile {}, stack {}",
                                    with_thousands(found.elastic), of_all, curves.plans(),
                                    curves.curves().profile().name, curves.curves().settings().stack.name));
  }
  if (elastic == 0) {
    sentences.push_back(
        "none " + of_all +
        (curves.elastic() ? ": none says a known model, its global batch and iterations" : ""));
  }
  constexpr double kNoticeable = 0.0005;
  if (found.largest_deviation > kNoticeable) {
    sentences.push_back(
        fmt::format("on the GPUs asked for the prediction differs from given run times by up to {}",
                    as_percent(found.largest_deviation)));
  }
  if (found.with_idle_gpus > 0) {
    sentences.push_back(
        fmt::format("{} elastic jobs ask for a number of GPUs that no plan divides; some idle there",
                    with_thousands(found.with_idle_gpus)));
  }
  if (found.without_plan > 0) {
    sentences.push_back(fmt::format("{} jobs of a known model rigid: it has no plan on the GPUs asked for",
                                    with_thousands(found.without_plan)));
  }
  return sentences;
}

}  // namespace vtrain
