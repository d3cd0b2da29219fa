/// The folder of a replay: the files of its runs, `run.json`, and what becomes of an earlier run.

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "tools/experiment/file_hash.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/results/results.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kProvenance = "run.json";
constexpr std::string_view kReport = "report.html";
constexpr const char* kWallOfPolicies = "simulation_wall_s";

/// What a run may leave in its folder.
constexpr std::array<std::string_view, 7> kRunFiles = {
    "jobs.csv", "interruptions.csv", "outages.csv", "timeline.json", "summary.json", kProvenance, kReport};

/// The files that the run whose `run.json` is in `folder` wrote, relative to it. None where there is no such
/// run.
std::vector<std::filesystem::path> previous_files(const std::filesystem::path& folder) {
  const auto text = read_file(folder / kProvenance);
  const auto run = ordered_json::parse(text.value_or(""), nullptr, false);
  if (!run.is_object() || !run.contains(kWallOfPolicies) || !run.contains("files")) return {};
  // Others write files of that name, too: only what a run may leave counts, where it may leave it.
  std::vector<std::filesystem::path> files;
  for (const auto& name : run["files"]) {
    const std::filesystem::path file(name.is_string() ? name.get<std::string>() : "");
    const std::filesystem::path place = file.parent_path();
    const std::string leaf = file.filename().string();
    if (std::find(kRunFiles.begin(), kRunFiles.end(), leaf) == kRunFiles.end()) continue;
    if (file.is_absolute() || place.has_parent_path() || place.string().starts_with('.')) continue;
    std::error_code ignored;
    if (!place.empty() && (std::filesystem::is_symlink(folder / place, ignored) ||
                           std::filesystem::exists(folder / place / kProvenance, ignored)))
      continue;
    files.push_back(file);
  }
  return files;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// The arguments by option name, to repeat what was done.
nlohmann::ordered_json to_json(const TransformationArguments& arguments) {
  return {{"statuses", arguments.statuses},
          {"tenants", arguments.tenants},
          {"assign", arguments.assign},
          {"run_times", arguments.run_times},
          {"deadlines", arguments.deadlines},
          {"estimates", arguments.estimates},
          {"seed", arguments.seed}};
}

/// The arguments by option name.
nlohmann::ordered_json to_json(const DisruptionArguments& arguments) {
  return {{"interruption_cost", arguments.interruption_cost},
          {"failures", arguments.failures},
          {"outages", arguments.outages.string()},
          {"checkpoints", arguments.checkpoints},
          {"checkpoint_cost", arguments.checkpoint_cost},
          {"checkpoint_bandwidth", arguments.checkpoint_bandwidth},
          {"spread_factor", arguments.spread_factor}};
}

}  // namespace

std::vector<std::string> policy_folders(const std::vector<std::string>& specs) {
  constexpr std::size_t kLongest = 100;
  constexpr std::size_t kHashDigits = 12;
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const std::string& spec : specs) {
    std::string name = spec;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == ':' || c == '/' || c == ';'; }, '-');
    if (name.size() > kLongest || !taken.insert(name).second) {
      name = name.substr(0, kLongest - kHashDigits - 1) + "-" + sha256_of_text(spec).substr(0, kHashDigits);
      taken.insert(name);
    }
    names.push_back(std::move(name));
  }
  return names;
}

Result<std::vector<std::string>> write_run(FileGroup& files, const std::filesystem::path& folder,
                                           const Workload& workload, std::int32_t num_nodes,
                                           const ExperimentRun& run) {
  if (auto made = create_output_folder(folder); !made) return fail(std::move(made.error()));
  const SimulationResult& result = run.result;
  std::vector<std::string> names = {"jobs.csv"};
  auto written = write_jobs_csv(files, folder / names.back(), workload, result);
  const auto write = [&](const std::string& name, const std::string& content) {
    if (!written) return;
    names.push_back(name);
    written = files.add(folder / name, content);
  };
  if (!result.losses.empty()) {
    write("interruptions.csv", interruptions_to_csv(workload, result));
    if (!result.outages.empty()) write("outages.csv", outages_to_csv(result.outages));
  }
  if (result.segments_recorded) write("timeline.json", cluster_timeline(workload, num_nodes, result));
  write("summary.json", json_text(summary_to_json(run.summary)));
  if (!written) return fail(std::move(written.error()));
  return names;
}

Result<void> check_inputs_stay(const std::filesystem::path& folder, const std::vector<std::string>& places,
                               const std::vector<std::string>& inputs) {
  std::vector<std::filesystem::path> files = previous_files(folder);
  for (const std::string_view file : kRunFiles) {
    files.emplace_back(file);
    for (const std::string& place : places)
      files.push_back(std::filesystem::path(place) / file);
  }
  for (const std::filesystem::path& file : files) {
    for (const std::string& input : inputs) {
      std::error_code ignored;  // of what is not there
      if (!std::filesystem::equivalent(folder / file, input == "-" ? "/dev/stdin" : input, ignored)) continue;
      return fail({.field = "--out",
                   .message = fmt::format("would overwrite '{}', which is read; name another folder",
                                          printable(input))});
    }
  }
  return {};
}

Result<void> replace_previous_run(FileGroup& files, const std::filesystem::path& folder,
                                  const std::vector<std::string>& names) {
  std::error_code ignored;  // of what is not there, or not empty
  std::vector<std::filesystem::path> previous = previous_files(folder);
  std::erase_if(previous, [&](const std::filesystem::path& file) {
    return file == kProvenance || file == kReport ||
           std::find(names.begin(), names.end(), file.string()) != names.end();
  });
  if (auto replaced = files.commit(); !replaced) return replaced;
  for (const std::filesystem::path& file : previous)
    std::filesystem::remove(folder / file, ignored);
  for (const std::filesystem::path& file : previous) {
    if (file.has_parent_path()) std::filesystem::remove(folder / file.parent_path(), ignored);
  }
  return {};
}

Result<void> write_run_provenance(FileGroup& files, const ExperimentArguments& arguments,
                                  const Experiment& experiment, const std::vector<ExperimentRun>& runs,
                                  std::vector<std::string> names, std::string_view report) {
  names.insert(names.end(), {std::string(kProvenance), std::string(kReport)});
  ordered_json inputs = ordered_json::object();
  for (const auto& [label, value] : experiment.provenance)
    inputs[label] = value;
  ordered_json wall = ordered_json::object();
  for (const ExperimentRun& run : runs)
    wall[run.summary.policy] = run.wall_s;
  const ordered_json document = {
      {"version", VTRAIN_VERSION},
      {"command", arguments.command_line},
      {"written_at", fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::now()))},
      {"host", host_name()},
      {"trace", experiment.trace_name},
      {"cluster", experiment.cluster.describe()},
      {"num_gpus", experiment.cluster.total_gpus().value},
      {"policies", arguments.policies},
      {"placement", info_of(experiment.placement).name},
      {"predictor", experiment.pricing->made_with()},
      {"curves", arguments.pricing.kind},
      {"seed", arguments.transformations.seed},
      {"transformations", to_json(arguments.transformations)},
      {"disruptions", to_json(arguments.disruptions)},
      {"inputs", inputs},
      {"skipped_rows", experiment.skipped.total()},
      {"skipped", skipped_to_json(experiment.skipped)},
      {"assumptions", experiment.assumptions},
      {"read_s", experiment.read_s},
      {kWallOfPolicies, wall},
      {"files", names},
  };
  if (auto added = files.add(arguments.out / kProvenance, json_text(document)); !added) return added;
  return files.add(arguments.out / kReport, report);
}

}  // namespace vtrain
