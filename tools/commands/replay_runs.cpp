#include "tools/commands/replay_runs.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "tools/commands/commands.hpp"
#include "tools/format/progress.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/results/results.hpp"

namespace vtrain {
namespace {

/// True if timelines are to be written. Under `auto` they are, if the jobs are few enough to look at. False
/// without a folder.
bool wants_timeline(const ReplayArguments& arguments, const Scenario& scenario) {
  constexpr std::size_t kFewJobs = 5000;
  if (arguments.out.empty()) return false;
  const std::string& wanted = scenario.spec().timeline;
  return wanted == "auto" ? scenario.workload().jobs.size() <= kFewJobs : wanted == "always";
}

/// Replays the jobs under every policy, with a progress bar.
Result<std::vector<RunResult>> run_all(const ReplayArguments& arguments, const Scenario& scenario,
                                       const ReasonOptions& reasons) {
  const auto total =
      static_cast<std::int64_t>(scenario.workload().jobs.size() * scenario.spec().policies.size());
  std::atomic<std::int64_t> jobs_done = 0;
  const ProgressBar progress("replaying", "jobs", total, jobs_done);
  return scenario.run_all({.record_segments = wants_timeline(arguments, scenario),
                           .threads = arguments.threads,
                           .jobs_done = &jobs_done,
                           .reasons = reasons});
}

/// Replays the scenario under all seeds. With one seed and a baseline, takes the finished runs. None without
/// either.
Result<std::optional<SeedStudy>> study_of(const ReplayArguments& arguments, const Scenario& scenario,
                                          const std::vector<RunResult>& runs,
                                          std::span<const std::uint64_t> seeds) {
  const ScenarioSpec& spec = scenario.spec();
  if (seeds.size() > 1) {
    const auto total = static_cast<std::int64_t>(seeds.size() * spec.policies.size());
    std::atomic<std::int64_t> replays_done = 0;
    const ProgressBar progress("replaying", "replays", total, replays_done);
    auto study = replay_seeds(
        scenario, seeds, {.threads = arguments.threads, .replays_done = &replays_done, .finished = runs});
    if (!study) return fail(std::move(study.error()));
    return *std::move(study);
  }
  if (spec.baseline.empty()) return std::nullopt;
  SeedStudy study{.policies = spec.policies, .seeds = {{.seed = spec.transformations.seed}}};
  for (const RunResult& run : runs)
    study.seeds.front().values.emplace_back(run.summary);
  return study;
}

/// Rejects empty and repeated names in a list of policies.
Result<void> check_policies(const std::vector<std::string>& specs) {
  std::set<std::string> seen;
  for (const std::string& spec : specs) {
    if (spec.empty())
      return fail(
          {.field = "--policies", .message = "expected names separated by commas, found an empty one"});
    if (!seen.insert(spec).second)
      return fail({.field = "--policies", .message = fmt::format("'{}' is named twice", printable(spec))});
  }
  return {};
}

}  // namespace

std::optional<std::size_t> position_of(const std::vector<std::string>& policies, const std::string& policy) {
  const auto found = std::ranges::find(policies, policy);
  if (found == policies.end()) return std::nullopt;
  return static_cast<std::size_t>(found - policies.begin());
}

std::vector<std::string> split_policies(std::string_view list) {
  std::vector<std::string> specs;
  for (const std::string_view part : split(list, ',')) {
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && part.find(':') > equals && !specs.empty()) {
      specs.back() += "," + std::string(part);
    } else {
      specs.emplace_back(part);
    }
  }
  return specs;
}

nlohmann::ordered_json reading_to_json(const Scenario& scenario) {
  return {{"skipped_rows", scenario.skipped().total()},
          {"skipped", skipped_to_json(scenario.skipped())},
          {"assumptions", texts_of(scenario.notes())}};
}

Result<StagedFolder> begin_folder(const std::filesystem::path& out) {
  return StagedFolder::create(out, previous_files, [&out] {
    log_warning(fmt::format("waiting for another run that is writing to {}", printable(out.string())));
  });
}

Result<std::vector<std::uint64_t>> complete_comparison(ScenarioSpec& spec) {
  if (!spec.baseline.empty() && !position_of(spec.policies, spec.baseline))
    spec.policies.push_back(spec.baseline);
  if (spec.seeds.empty()) return std::vector<std::uint64_t>{};
  auto seeds = parse_seeds(spec.seeds);
  if (!seeds) return fail({.field = "--seeds", .message = std::move(seeds.error().message)});
  spec.transformations.seed = seeds->front();
  return seeds;
}

Result<Scenario> prepare_spec(ScenarioSpec spec, NumPolicies num_policies) {
  if (num_policies == NumPolicies::One && spec.policies.size() != 1)
    return fail({.field = "--policies",
                 .message = expected_found("one policy (vtrain compare takes several)",
                                           std::to_string(spec.policies.size()))});
  if (spec.policies.empty())
    return fail({.field = "--policies", .message = expected_found("at least one policy", "none")});
  if (auto checked = check_policies(spec.policies); !checked) return fail(std::move(checked.error()));
  std::vector<std::string> warnings;
  auto scenario = Scenario::prepare(std::move(spec), warnings);
  log_warnings(warnings);
  return scenario;
}

Result<SpecDocument<ScenarioSpec>> read_spec(const ReplayArguments& arguments) {
  if (arguments.spec_file.empty()) {
    if (arguments.spec.timeline == "always" && arguments.out.empty() && arguments.json)
      log_warning("--timeline: without effect; nothing is written without --out");
    SpecDocument<ScenarioSpec> read{arguments.spec, nullptr};
    read.spec.command = arguments.command;
    return read;
  }
  auto read = read_scenario_spec(arguments.spec_file);
  if (read && read->spec.command.empty()) read->spec.command = arguments.command;
  return read;
}

Error locate_error(const SpecDocument<ScenarioSpec>& read, Error error) {
  return read.document == nullptr ? error : read.in_file(std::move(error));
}

Result<FinishedRuns> run_and_write(const ReplayArguments& arguments, const Scenario& scenario,
                                   const std::vector<std::string>& places, std::optional<StagedFolder> folder,
                                   const ReasonOptions& reasons, std::span<const std::uint64_t> seeds) {
  const bool writes = !arguments.out.empty();
  if (writes) {
    auto checked = check_run_folder(arguments.out, places, scenario.input_paths());
    if (!checked) return fail(std::move(checked.error()));
  }
  const auto start = std::chrono::steady_clock::now();
  auto runs = run_all(arguments, scenario, reasons);
  log_warnings(scenario.cache_warnings());
  if (!runs) return fail(std::move(runs.error()));
  auto study = study_of(arguments, scenario, *runs, seeds);
  if (!study) return fail(std::move(study.error()));
  const auto end = std::chrono::steady_clock::now();
  FinishedRuns finished{*std::move(runs), *std::move(study), {}, Seconds(end - start).count()};
  if (finished.study) finished.baseline = position_of(scenario.spec().policies, scenario.spec().baseline);
  if (writes && !folder) {
    auto begun = begin_folder(arguments.out);
    if (!begun) return fail(std::move(begun.error()));
    folder.emplace(*std::move(begun));
  }
  if (writes) {
    auto written = write_runs(*folder, {arguments.out, places, arguments.command}, scenario, finished.runs,
                              finished.seeds());
    if (!written) return fail(std::move(written.error()));
  }
  return finished;
}

std::string written_lines(const std::filesystem::path& folder, const std::vector<std::string>& places) {
  const auto line = [](std::string_view label, const std::filesystem::path& file, std::string_view more) {
    return fmt::format("{:<10}{}{}\n", label, printable(file.string()), more);
  };
  std::string text = line("report", folder / "report.html", "");
  std::uintmax_t bytes = 0;
  std::vector<std::filesystem::path> timelines;
  for (const std::string& place : places) {
    std::filesystem::path file = folder / place / "timeline.json";
    std::error_code absent;
    const std::uintmax_t size = std::filesystem::file_size(file, absent);
    if (absent) continue;
    bytes += size;
    timelines.push_back(std::move(file));
  }
  if (timelines.empty()) return text;
  const std::string others = timelines.size() > 1 ? fmt::format(" and {} more", timelines.size() - 1) : "";
  return text + line("timeline", timelines.front(),
                     fmt::format("{}, {}, for Perfetto", others, as_file_size(bytes)));
}

void add_spec_option(CLI::App& command, ReplayArguments& arguments) {
  const std::vector<CLI::Option*> replaced = command.get_options();
  CLI::Option* const spec = command.add_option("--spec", arguments.spec_file,
                                               "Repeat a run from its run.json, or from a spec written by "
                                               "hand; replaces the options that say what is replayed");
  for (CLI::Option* const option : replaced) {
    if (option != command.get_help_ptr() && option->get_name() != "--no-cache") spec->excludes(option);
  }
  command.add_option("--out", arguments.out, "Folder for the results");
  command.add_flag("--json", arguments.json, "Print one JSON document; writes files only with --out");
}

}  // namespace vtrain
