/// The folder of a replay: the files of its runs, `run.json`, and replacement of an earlier run.

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "core/io/input.hpp"
#include "tools/experiment/file_hash.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/report/headline.hpp"
#include "tools/report/report.hpp"
#include "tools/report/size_tables.hpp"
#include "tools/report/validation_tables.hpp"
#include "tools/results/results.hpp"
#include "tools/results/validation_files.hpp"
#include "traces/editing/statistics.hpp"
#include "workloads/physical/extrapolation_list.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

namespace fs = std::filesystem;

constexpr std::string_view kProvenance = "run.json";
constexpr std::string_view kReport = "report.html";
constexpr std::string_view kExtrapolated = "extrapolated.csv";
constexpr std::string_view kSeeds = "seeds.csv";
constexpr std::string_view kVariations = "variations.csv";
constexpr std::string_view kSizes = "size.csv";
constexpr std::string_view kValidation = "validation.csv";
constexpr std::string_view kWaits = "waits.csv";
constexpr std::string_view kUtilization = "utilization.csv";
constexpr const char* kWallOfPolicies = "simulation_wall_s";
/// The version of `run.json`; vtrain 0.1 wrote none.
constexpr int kRunVersion = 2;

/// Files that a policy's run may write to its place.
constexpr std::array<std::string_view, 5> kPolicyFiles = {"jobs.csv", "interruptions.csv", "outages.csv",
                                                          "timeline.json", "summary.json"};

/// Files of a run that belong to no policy.
constexpr std::array<std::string_view, 9> kRunFiles = {
    kProvenance, kReport, kExtrapolated, kSeeds, kVariations, kSizes, kValidation, kWaits, kUtilization};

/// True if a file of this name may belong to a run.
bool is_name_of_run_file(const std::string& name) {
  return std::find(kRunFiles.begin(), kRunFiles.end(), name) != kRunFiles.end() ||
         std::find(kPolicyFiles.begin(), kPolicyFiles.end(), name) != kPolicyFiles.end();
}

/// Files that a run may write to its folder, with policies' files in these `places`.
std::vector<fs::path> possible_files(const std::vector<std::string>& places) {
  std::vector<fs::path> files(kRunFiles.begin(), kRunFiles.end());
  for (const std::string& place : places) {
    for (const std::string_view file : kPolicyFiles)
      files.push_back(fs::path(place) / file);
  }
  return files;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// Notes as `[{"kind", "count", "text"}]`.
ordered_json to_json(const std::vector<Note>& notes) {
  ordered_json list = ordered_json::array();
  for (const Note& note : notes)
    list.push_back({{"kind", name_of(note.kind)}, {"count", note.count}, {"text", note.text}});
  return list;
}

/// Format of names in tables.
CellText cells_of(const Scenario& scenario) {
  return scenario.spec().spreadsheet_safe ? CellText::SpreadsheetSafe : CellText::Exact;
}

/// Contents of `run.json`.
ordered_json run_to_json(const RunPlace& place, const Scenario& scenario, const std::vector<RunResult>& runs,
                         const std::vector<std::string>& files) {
  ordered_json inputs = ordered_json::object();
  for (const auto& [label, value] : scenario.provenance())
    inputs[label] = value;
  ordered_json wall = ordered_json::object();
  for (const RunResult& run : runs)
    wall[run.summary.policy] = run.wall_s;
  return {
      {"schema_version", kRunVersion},
      {"version", VTRAIN_VERSION},
      {"command", place.command},
      {"written_at", fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::now()))},
      {"host", host_name()},
      {"trace", scenario.trace_name()},
      {"cluster", scenario.cluster().describe()},
      {"num_gpus", scenario.cluster().total_gpus().value},
      {"predictor", scenario.predictor()},
      {"scenario", scenario_to_json(scenario)},
      {"spec", spec_to_json(scenario.spec(), scenario.files(), place.folder)},
      {"inputs", inputs},
      {"skipped_rows", scenario.skipped().total()},
      {"skipped", skipped_to_json(scenario.skipped())},
      {"assumptions", to_json(scenario.notes())},
      {"read_s", scenario.preparation_s()},
      {kWallOfPolicies, wall},
      {"files", files},
  };
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

Result<std::vector<std::string>> write_run(StagedFolder& folder, const fs::path& place,
                                           const Scenario& scenario, const RunResult& run) {
  const Workload& workload = scenario.workload();
  const std::int32_t num_nodes =
      info_of(scenario.placement()).knows_nodes ? scenario.cluster().total_nodes() : 0;
  const CellText cells = cells_of(scenario);
  const SimulationResult& result = run.result;
  std::vector<std::string> names = {(place / "jobs.csv").string()};
  auto jobs = folder.open(names.back());
  if (!jobs) return fail(std::move(jobs.error()));
  write_jobs_csv(*jobs, workload, result, scenario.prices(), cells);
  auto written = jobs->finish();
  const auto write = [&](std::string_view name, const std::string& content) {
    if (!written) return;
    names.push_back((place / name).string());
    written = folder.add(names.back(), content);
  };
  if (!result.losses.empty()) {
    const std::string interruptions = interruptions_to_csv(workload, result, cells);
    const bool has_rows = interruptions.find('\n') + 1 < interruptions.size();
    if (has_rows) write("interruptions.csv", interruptions);
    if (!result.outages.empty()) write("outages.csv", outages_to_csv(result.outages));
  }
  if (result.segments_recorded) write("timeline.json", cluster_timeline(workload, num_nodes, result));
  ordered_json summary = summary_to_json(run.summary);
  summary["scenario"] = scenario_to_json(scenario);
  write("summary.json", json_text(summary));
  if (!written) return fail(std::move(written.error()));
  return names;
}

std::vector<fs::path> previous_files(const fs::path& folder) {
  const auto text = read_file(folder / kProvenance, InputKind::Provenance);
  const auto run = ordered_json::parse(text.value_or(""), nullptr, false);
  if (!run.is_object() || !run.contains(kWallOfPolicies) || !run.contains("files")) return {};
  // Others write files of that name, too: only what a run may leave counts, where it may leave it.
  std::vector<fs::path> files;
  for (const auto& name : run["files"]) {
    const fs::path file(name.is_string() ? name.get<std::string>() : "");
    const fs::path place = file.parent_path();
    const std::string leaf = file.filename().string();
    if (!is_name_of_run_file(leaf)) continue;
    if (file.is_absolute() || place.has_parent_path() || place.string().starts_with('.')) continue;
    std::error_code ignored;
    if (!place.empty() &&
        (fs::is_symlink(folder / place, ignored) || fs::exists(folder / place / kProvenance, ignored)))
      continue;
    files.push_back(file);
  }
  return files;
}

Result<void> check_run_folder(const fs::path& folder, const std::vector<std::string>& places,
                              const std::vector<std::string>& inputs) {
  const std::vector<fs::path> possible = possible_files(places);
  std::vector<fs::path> files = previous_files(folder);
  files.insert(files.end(), possible.begin(), possible.end());
  for (const fs::path& file : files) {
    for (const std::string& input : inputs) {
      std::error_code ignored;  // of what is not there
      if (!fs::equivalent(folder / file, input == "-" ? "/dev/stdin" : input, ignored)) continue;
      return fail({.field = "--out",
                   .message = fmt::format("would overwrite '{}', which is read; name another folder",
                                          printable(input))});
    }
  }
  return StagedFolder::check(folder, possible);
}

namespace {

/// Input of the page of these runs. Scenario and runs must outlive it.
ReportInput report_input(const Scenario& scenario, const std::vector<RunResult>& runs) {
  const ScenarioSpec& spec = scenario.spec();
  ReportInput input;
  input.workload = &scenario.workload();
  input.cluster = scenario.cluster();
  input.gpus_are_shared = info_of(scenario.placement()).shares_gpus;
  input.trace_name = scenario.trace_name();
  input.interruption_cost = scenario.interruption_cost();
  input.deadlines_are_made = scenario.deadlines_are_made() && !spec.trace.files.empty();
  input.assumptions = texts_of(scenario.notes());
  input.provenance = scenario.provenance();
  input.provenance.emplace_back("version", "vtrain " VTRAIN_VERSION);
  input.provenance.emplace_back("repeat with", spec.command);
  for (const RunResult& run : runs)
    input.runs.push_back({run.summary, &run.result});
  return input;
}

}  // namespace

std::string scenario_report(const Scenario& scenario, const std::vector<RunResult>& runs,
                            const std::optional<SeedComparison>& seeds) {
  ReportInput input = report_input(scenario, runs);
  const ScenarioSpec& spec = scenario.spec();
  input.seeds = seeds;
  input.detail = seeds && seeds->study->resampled != "none" && spec.transformations.resample == "auto"
                     ? "The trace itself"
                     : fmt::format("Seed {}", spec.transformations.seed);
  return render_report(input);
}

std::string answer_of(const Scenario& scenario, const std::vector<RunResult>& runs) {
  return report::headline(report_input(scenario, runs));
}

std::vector<std::string> hints_on(const Scenario& scenario, const std::vector<RunResult>& runs) {
  return report::hints(report_input(scenario, runs));
}

std::string jobs_of_sizes(const Scenario& scenario) {
  const std::string load =
      scenario.reference() ? fmt::format(", load {} of {} (--reference)", as_load(scenario.reference_load()),
                                         scenario.reference()->describe())
                           : "";
  return fmt::format("{}{}: the same on every size", count_of(std::ssize(scenario.workload().jobs), "job"),
                     load);
}

ordered_json scenario_to_json(const Scenario& scenario) {
  const ScenarioSpec& spec = scenario.spec();
  const ClusterSpec& cluster = scenario.cluster();
  const bool shared = info_of(scenario.placement()).shares_gpus;
  const double load = trace_totals(scenario.workload()).offered_load(cluster.total_gpus(), shared);
  return {{"trace", scenario.trace_name()},
          {"trace_format", scenario.trace_format().empty() ? "generated" : scenario.trace_format()},
          {"cluster", cluster.describe()},
          {"num_nodes", cluster.total_nodes()},
          {"num_gpus", cluster.total_gpus().value},
          {"placement", info_of(scenario.placement()).name},
          {"seed", spec.transformations.seed},
          {"offered_load", finite_or_null(load)},
          {"deadlines", scenario.deadlines_are_made() ? spec.transformations.deadlines : "trace"},
          {"run_times", spec.transformations.run_times},
          {"interruption_cost", spec.disruptions.interruption_cost},
          {"price", spec.price.empty() ? "none" : fmt::format("{}", fmt::join(spec.price, ","))},
          {"failures", spec.disruptions.failures}};
}

Result<void> write_runs(StagedFolder& folder, const RunPlace& place, const Scenario& scenario,
                        const std::vector<RunResult>& runs, const std::optional<SeedComparison>& seeds) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto written = write_run(folder, place.places[i], scenario, runs[i]);
    if (!written) return fail(std::move(written.error()));
    names.insert(names.end(), written->begin(), written->end());
  }
  if (!scenario.extrapolated().empty()) {
    names.emplace_back(kExtrapolated);
    auto added = folder.add(kExtrapolated, scenario.extrapolated().to_csv("jobs"));
    if (!added) return added;
  }
  if (seeds) {
    names.emplace_back(kSeeds);
    if (auto added = folder.add(kSeeds, seeds_to_csv(*seeds->study)); !added) return added;
  }
  names.insert(names.end(), {std::string(kProvenance), std::string(kReport)});
  const std::string provenance = json_text(run_to_json(place, scenario, runs, names));
  if (auto added = folder.add(kProvenance, provenance); !added) return added;
  if (auto added = folder.add(kReport, scenario_report(scenario, runs, seeds)); !added) return added;
  return folder.commit();
}

Result<void> write_varied(StagedFolder& folder, const RunPlace& place, const ScenarioSpec& spec,
                          std::span<const Scenario> scenarios, const VariedComparison& comparison) {
  const Scenario& first = scenarios.front();
  std::vector<SpecFile> files;
  for (const Scenario& scenario : scenarios) {
    for (const SpecFile& file : scenario.files()) {
      if (std::ranges::find(files, file.name, &SpecFile::name) == files.end()) files.push_back(file);
    }
  }
  const std::vector<std::string> names = {std::string(kVariations), std::string(kProvenance),
                                          std::string(kReport)};
  ordered_json provenance = run_to_json(place, first, {}, names);
  provenance["spec"] = spec_to_json(spec, files, place.folder);
  const ReportInput input = report_input(first, {});
  const std::string page = varied_report(
      comparison, {first.trace_name(), first.cluster().describe(), input.assumptions, input.provenance});
  if (auto added = folder.add(kVariations, varied_to_csv(comparison)); !added) return added;
  if (auto added = folder.add(kProvenance, json_text(provenance)); !added) return added;
  if (auto added = folder.add(kReport, page); !added) return added;
  return folder.commit();
}

Result<void> write_sizes(StagedFolder& folder, const RunPlace& place, const ScenarioSpec& spec,
                         const Scenario& largest, const SizeStudy& study) {
  const std::vector<std::string> names = {std::string(kSizes), std::string(kVariations),
                                          std::string(kProvenance), std::string(kReport)};
  ordered_json provenance = run_to_json(place, largest, {}, names);
  provenance["cluster"] = spec.cluster;
  provenance["spec"] = spec_to_json(spec, largest.files(), place.folder);
  const ReportInput input = report_input(largest, {});
  const std::string page =
      size_report(study, {largest.trace_name(), jobs_of_sizes(largest), input.assumptions, input.provenance});
  if (auto added = folder.add(kSizes, size_curves_to_csv(study)); !added) return added;
  if (auto added = folder.add(kVariations, size_replays_to_csv(study)); !added) return added;
  if (auto added = folder.add(kProvenance, json_text(provenance)); !added) return added;
  if (auto added = folder.add(kReport, page); !added) return added;
  return folder.commit();
}

Result<void> write_validation(StagedFolder& folder, const RunPlace& place, const Scenario& scenario,
                              const std::vector<RunResult>& runs, const ScheduleValidation& validation) {
  const std::vector<std::string> names = {std::string(kValidation), std::string(kWaits),
                                          std::string(kUtilization), std::string(kProvenance),
                                          std::string(kReport)};
  const ReportInput input = report_input(scenario, runs);
  const std::string page = validation_report(
      validation,
      {scenario.trace_name(), scenario.cluster().describe(), input.assumptions, input.provenance});
  const CellText cells = cells_of(scenario);
  for (const auto& [name, text] :
       {std::pair(kValidation, validation_to_csv(validation, cells)),
        std::pair(kWaits, waits_to_csv(scenario.workload(), runs, cells)),
        std::pair(kUtilization, utilization_to_csv(validation)),
        std::pair(kProvenance, json_text(run_to_json(place, scenario, runs, names))),
        std::pair(kReport, page)}) {
    if (auto added = folder.add(name, text); !added) return added;
  }
  return folder.commit();
}

Result<void> write_runs(const fs::path& folder, const Scenario& scenario,
                        const std::vector<RunResult>& runs) try {
  RunPlace place{folder, {""}};
  if (runs.size() != 1) {
    std::vector<std::string> policies;
    for (const RunResult& run : runs)
      policies.push_back(run.summary.policy);
    place.places = policy_folders(policies);
  }
  if (auto checked = check_run_folder(folder, place.places, scenario.input_paths()); !checked) return checked;
  auto staged = StagedFolder::create(folder, previous_files, [] {});
  if (!staged) return fail(std::move(staged.error()));
  return write_runs(*staged, place, scenario, runs);
} catch (const std::exception& error) {
  return fail({.kind = ErrorKind::Failed, .file = folder.string(), .message = error.what()});
}

}  // namespace vtrain
