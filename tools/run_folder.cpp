#include "tools/run_folder.hpp"

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

#include "core/csv.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "sched/metrics.hpp"
#include "tools/cluster_timeline.hpp"
#include "tools/file_hash.hpp"
#include "tools/json_output.hpp"
#include "tools/summary_json.hpp"
#include "tools/trace_description.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kProvenance = "run.json";
constexpr std::string_view kReport = "report.html";
constexpr const char* kWallOfPolicies = "simulation_wall_s";

/// What a run may leave in its folder.
constexpr std::array<std::string_view, 7> kRunFiles = {
    "jobs.csv", "interruptions.csv", "outages.csv", "timeline.json", "summary.json", kProvenance, kReport};

std::string_view state_name(JobState state) {
  switch (state) {
    case JobState::Completed:
      return "completed";
    case JobState::Rejected:
      return "rejected";
    case JobState::Failed:
      return "failed";
    case JobState::NotSubmitted:
    case JobState::Waiting:
    case JobState::Running:
    case JobState::Unfinished:
      return "unfinished";
  }
  throw std::logic_error("a job state without a name");
}

void append_job(std::string& out, const Workload& workload, const Job& job, const JobOutcome& outcome) {
  const auto comma_then_seconds = [&out](bool known, std::int64_t nanoseconds) {
    out += ',';
    if (known) append_ns_as_seconds(out, nanoseconds);
  };
  const bool ended = has_ended(outcome);
  const bool started = has_started(outcome);
  append_csv_field(out, job.name);
  out += ',';
  if (job.tenant) append_csv_field(out, workload.tenants[job.tenant.value]);
  out += ',';
  if (job.model) append_csv_field(out, workload.models[job.model.value]);
  comma_then_seconds(true, job.submit.time_since_epoch().count());
  comma_then_seconds(started, outcome.start.time_since_epoch().count());
  comma_then_seconds(ended, outcome.end.time_since_epoch().count());
  out += ',';
  out += state_name(outcome.state);
  out += ',';
  out += std::to_string(job.num_gpus.value);
  comma_then_seconds(ended, ended ? job_completion_time(job, outcome).count() : 0);
  comma_then_seconds(started, started ? queueing_delay(job, outcome).count() : 0);
  comma_then_seconds(job.has_deadline(), job.deadline.time_since_epoch().count());
  out += ',';
  if (job.has_deadline()) out += deadline_met(job, outcome) ? "true" : "false";
  out += ',';
  out += std::to_string(outcome.preemptions);
  out += ',';
  outcome.gpu_time.append_to(out);
  out += '\n';
}

Result<void> write_jobs_csv(FileGroup& files, const std::filesystem::path& path, const Workload& workload,
                            const SimulationResult& result) {
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  // Written row by row: a million rows need no second copy in memory.
  file->write(
      "job_id,tenant,model,submit_s,start_s,end_s,state,num_gpus,jct_s,queueing_delay_s,deadline_s,deadline_"
      "met,preemptions,gpu_seconds\n");
  std::string row;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    row.clear();
    append_job(row, workload, workload.jobs[i], result.outcomes[i]);
    file->write(row);
  }
  return files.add(*std::move(file));
}

/// What jobs lost, a row for each that was interrupted or lost something.
std::string interruptions_to_csv(const Workload& workload, const SimulationResult& result) {
  std::string rows = "job_id,failures,preemptions,resizes,gpu_seconds";
  for (const LossCauseInfo& cause : kLossCauses)
    rows += fmt::format(",{}_gpu_seconds", cause.name);
  rows += '\n';
  for (std::size_t i = 0; i < result.losses.size(); ++i) {
    const JobOutcome& outcome = result.outcomes[i];
    const LostGpuTime& lost = result.losses[i];
    if (outcome.failures + outcome.preemptions + outcome.resizes == 0 && lost.none()) continue;
    append_csv_field(rows, workload.jobs[i].name);
    rows += fmt::format(",{},{},{},", outcome.failures, outcome.preemptions, outcome.resizes);
    outcome.gpu_time.append_to(rows);
    for (std::size_t cause = 0; cause < kNumLossCauses; ++cause) {
      rows += ',';
      lost[static_cast<LossCause>(cause)].append_to(rows);
    }
    rows += '\n';
  }
  return rows;
}

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

}  // namespace

Result<std::vector<std::string>> write_run(FileGroup& files, const std::filesystem::path& folder,
                                           const Experiment& experiment, const ExperimentRun& run) {
  if (auto made = create_output_folder(folder); !made) return fail(std::move(made.error()));
  const SimulationResult& result = run.result;
  std::vector<std::string> names = {"jobs.csv"};
  auto written = write_jobs_csv(files, folder / names.back(), experiment.workload, result);
  const auto write = [&](const std::string& name, const std::string& content) {
    if (!written) return;
    names.push_back(name);
    written = files.add(folder / name, content);
  };
  if (!result.losses.empty()) {
    write("interruptions.csv", interruptions_to_csv(experiment.workload, result));
    if (!result.outages.empty()) write("outages.csv", outages_to_csv(result.outages));
  }
  if (result.runs_recorded) write("timeline.json", cluster_timeline(experiment, run));
  write("summary.json", json_text(summary_to_json(run.summary)));
  if (!written) return fail(std::move(written.error()));
  return names;
}

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
      {"predictor", experiment.curves->made_with()},
      {"curves", arguments.curves.kind},
      {"seed", arguments.transformations.seed},
      {"transformations", transformations_to_json(arguments.transformations)},
      {"disruptions", disruptions_to_json(arguments.disruptions)},
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
