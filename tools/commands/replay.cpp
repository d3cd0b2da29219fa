/// `vtrain replay`: one policy, and `vtrain compare`: several on the same jobs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/staged_folder.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/run_text.hpp"
#include "tools/experiment/experiment.hpp"
#include "tools/experiment/policy_runs.hpp"
#include "tools/format/progress.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/options/options.hpp"
#include "tools/report/report.hpp"
#include "tools/results/results.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The default of `compare`: one of each kind (in order, backfilling, shortest first, deadline first), all of
/// which give jobs the GPUs that they ask for.
constexpr std::string_view kDefaultPolicies = "fifo,easy,srtf,edf:resize=no";

/// One report page for all runs.
std::string render(const Experiment& experiment, const std::vector<ExperimentRun>& runs,
                   const ExperimentArguments& arguments) {
  ReportInput input;
  input.workload = &experiment.workload;
  input.cluster = experiment.cluster;
  input.gpus_are_shared = info_of(experiment.placement).shares_gpus;
  input.trace_name = experiment.trace_name;
  input.assumptions = experiment.assumptions;
  input.provenance = experiment.provenance;
  input.provenance.emplace_back("version", "vtrain " VTRAIN_VERSION);
  input.provenance.emplace_back("repeat with", arguments.command_line);
  for (const ExperimentRun& run : runs)
    input.runs.push_back({run.summary, &run.result});
  return render_report(input);
}

/// Which rows of the trace are no jobs, and what was assumed.
ordered_json reading_to_json(const Experiment& experiment) {
  return {{"skipped_rows", experiment.skipped.total()},
          {"skipped", skipped_to_json(experiment.skipped)},
          {"assumptions", experiment.assumptions}};
}

/// Writes the files of every run, to the `places` of their policies within the folder, and of all of them.
/// Then the folder takes the place of what is there.
Result<void> write_results(StagedFolder& folder, const std::vector<std::string>& places,
                           const ExperimentArguments& arguments, const Experiment& experiment,
                           const std::vector<ExperimentRun>& runs) {
  const std::int32_t num_nodes =
      info_of(experiment.placement).knows_nodes ? experiment.cluster.total_nodes() : 0;
  const CellText cells = arguments.spreadsheet_safe ? CellText::SpreadsheetSafe : CellText::Exact;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto written = write_run(folder, places[i], experiment.workload, num_nodes, runs[i], cells);
    if (!written) return fail(written.error());
    names.insert(names.end(), written->begin(), written->end());
  }
  auto written =
      write_run_provenance(folder, arguments, experiment, runs, names, render(experiment, runs, arguments));
  if (!written) return written;
  return folder.commit();
}

/// Begins the folder that `--out` names; says so if another run is writing there.
Result<StagedFolder> begin_folder(const std::filesystem::path& out) {
  return StagedFolder::create(out, previous_files, [&out] {
    log_warning(fmt::format("waiting for another run that is writing to {}", printable(out.string())));
  });
}

/// True if timelines are to be written: as the option says or, under `auto`, for few enough jobs to look at;
/// never without a folder.
bool wants_timeline(const ExperimentArguments& arguments, const Experiment& experiment) {
  constexpr std::size_t kFewJobs = 5000;
  if (arguments.out.empty()) return false;
  if (arguments.timeline != "auto") return arguments.timeline == "always";
  return experiment.workload.jobs.size() <= kFewJobs;
}

/// Replays the jobs under every policy, with a progress bar.
Result<std::vector<ExperimentRun>> run_all(const ExperimentArguments& arguments, Experiment& experiment) {
  const auto total = static_cast<std::int64_t>(experiment.workload.jobs.size() * experiment.policies.size());
  std::atomic<std::int64_t> jobs_done = 0;
  const ProgressBar progress("replaying", "jobs", total, jobs_done);
  return run_policies(experiment, arguments.threads, arguments.trace.strict,
                      wants_timeline(arguments, experiment), jobs_done);
}

/// What `run_and_write` leaves.
struct FinishedRuns {
  std::vector<ExperimentRun> runs;
  double replay_s = 0;  ///< time for all of them
};

/// Replays the jobs under every policy and writes the results, if there is a folder for them, of which some
/// go to `places` within it: one that cannot be written is found out before the work, not after it. `folder`
/// is the one that `--out` names unless it is begun already.
Result<FinishedRuns> run_and_write(const ExperimentArguments& arguments, Experiment& experiment,
                                   const std::vector<std::string>& places,
                                   std::optional<StagedFolder> folder = std::nullopt) {
  const bool writes = !arguments.out.empty();
  if (writes) {
    auto checked = check_run_folder(arguments.out, places, experiment.input_files);
    if (!checked) return fail(std::move(checked.error()));
  }
  const auto start = std::chrono::steady_clock::now();
  auto runs = run_all(arguments, experiment);
  log_warnings(experiment.pricing->cache_warnings());
  if (!runs) return fail(std::move(runs.error()));
  const auto end = std::chrono::steady_clock::now();
  if (writes && !folder) {
    auto begun = begin_folder(arguments.out);
    if (!begun) return fail(std::move(begun.error()));
    folder.emplace(*std::move(begun));
  }
  if (writes) {
    auto written = write_results(*folder, places, arguments, experiment, *runs);
    if (!written) return fail(std::move(written.error()));
  }
  return FinishedRuns{*std::move(runs), Seconds(end - start).count()};
}

/// Prepares the experiment and logs its warnings.
Result<Experiment> prepare(const ExperimentArguments& arguments) {
  std::vector<std::string> warnings;
  auto experiment = prepare_experiment(arguments, warnings);
  log_warnings(warnings);
  return experiment;
}

Result<void> replay(const ExperimentArguments& arguments) {
  auto experiment = prepare(arguments);
  if (!experiment) return fail(experiment.error());
  const auto finished = run_and_write(arguments, *experiment, {""});
  if (!finished) return fail(finished.error());
  const std::vector<ExperimentRun>& runs = finished->runs;
  const ExperimentRun& run = runs.front();
  if (arguments.json) {
    ordered_json document = summary_to_json(run.summary);
    document.update(reading_to_json(*experiment));
    print_json(document);
    return {};
  }
  print_text(stdout, "{}replayed  {} in {}\n\n{}{}{}", describe_experiment(*experiment),
             count_of(run.summary.events, "event"), as_duration(run.wall_s), comparison_of(runs).table,
             lost_gpu_hours(runs), notes_on_runs(*experiment, runs));
  if (!arguments.out.empty()) print_text(stdout, "{}\n", printable((arguments.out / "report.html").string()));
  return {};
}

/// A folder that is begun, and its name.
struct NamedFolder {
  std::filesystem::path name;
  StagedFolder folder;
};

/// Begins the first of runs/compare-1, runs/compare-2, ... that does not exist and that nobody else has
/// begun.
Result<NamedFolder> begin_next_run_folder() {
  for (int number = 1;; ++number) {
    std::filesystem::path name = fmt::format("runs/compare-{}", number);
    auto begun = StagedFolder::try_create_new(name, previous_files);
    if (!begun) return fail(std::move(begun.error()));
    if (*begun) return NamedFolder{std::move(name), **std::move(begun)};
  }
}

/// What a newcomer who has just run the embedded default may try.
constexpr std::string_view kNextCommands = R"(
next, for instance
  vtrain compare --policies srsf,las,conservative --placement yarn
  vtrain trace generate --jobs 1000 --cluster 16x8:a100 --load 0.9 --seed 7 --out jobs.csv
  vtrain policies
)";

/// Splits `fifo,las:timer=peer,queues=3250;7200,edf` into specs: a part with `=` but no `:` before it goes on
/// with the parameters of the policy before. Blanks around specs are left out.
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

/// What a list of policies may not be.
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

Result<void> compare(ExperimentArguments arguments) {
  if (auto checked = check_policies(arguments.policies); !checked) return checked;
  auto experiment = prepare(arguments);
  if (!experiment) return fail(experiment.error());
  std::optional<StagedFolder> folder;
  if (arguments.out.empty() && !arguments.json) {
    auto next = begin_next_run_folder();
    if (!next) return fail(std::move(next.error()));
    arguments.out = std::move(next->name);
    folder.emplace(std::move(next->folder));
  }
  const auto finished =
      run_and_write(arguments, *experiment, policy_folders(arguments.policies), std::move(folder));
  if (!finished) return fail(finished.error());
  const std::vector<ExperimentRun>& runs = finished->runs;
  if (arguments.json) {
    ordered_json list = ordered_json::array();
    for (const ExperimentRun& run : runs)
      list.push_back(summary_to_json(run.summary));
    ordered_json document = {{"trace", experiment->trace_name}, {"cluster", experiment->cluster.describe()}};
    document.update(reading_to_json(*experiment));
    document["runs"] = list;
    print_json(document);
    return {};
  }
  const Comparison comparison = comparison_of(runs);
  print_text(stdout, "{}replayed  {} in {}\n\n{}{}{}{}\n{}{}", describe_experiment(*experiment),
             runs.size() == 1 ? "1 policy" : fmt::format("{} policies", runs.size()),
             as_duration(finished->replay_s), comparison.table, comparison.stars,
             comparison.stars.empty() ? "" : "        ", printable((arguments.out / "report.html").string()),
             lost_gpu_hours(runs), notes_on_runs(*experiment, runs));
  const bool is_default = arguments.policies == split_policies(kDefaultPolicies);
  if (arguments.trace.files.empty() && is_default) print_text(stdout, "{}", kNextCommands);
  return {};
}

}  // namespace

void add_replay_command(CLI::App& app, Action& action, const std::string& command_line) {
  CLI::App* command =
      app.add_subcommand("replay",
                         "Replay the jobs of a trace under one scheduling policy.\n\n"
                         "  vtrain replay --policy easy\n"
                         "  vtrain replay --trace jobs.csv --cluster 16x8:a100 --policy edf --out runs/edf");
  const auto arguments = std::make_shared<ExperimentArguments>();
  arguments->command_line = command_line;
  const auto policy = std::make_shared<std::string>("fifo");
  add_experiment_options(*command, *arguments);
  command
      ->add_option("--policy", *policy,
                   "Policy, with parameters as NAME:key=value,...; see `vtrain policies`")
      ->capture_default_str();
  command->callback([=, &action] {
    arguments->policies = {*policy};
    action = [arguments] { return replay(*arguments); };
  });
}

void add_compare_command(CLI::App& app, Action& action, const std::string& command_line) {
  CLI::App* command = app.add_subcommand(
      "compare",
      "Replay the same jobs under several policies: one table, one report.\n\n"
      "  vtrain compare\n"
      "  vtrain compare --trace jobs.csv --cluster 64x8:a100 --policies fifo,easy,las,edf");
  const auto arguments = std::make_shared<ExperimentArguments>();
  arguments->command_line = command_line;
  const auto policies = std::make_shared<std::string>(kDefaultPolicies);
  add_experiment_options(*command, *arguments);
  command->add_option("--policies", *policies, "Policies, separated by commas")->capture_default_str();
  command->add_option("--threads", arguments->threads, "Policies replayed at once; 0 is one per processor")
      ->transform(whole_number(0, 1024))
      ->capture_default_str();
  command->callback([=, &action] {
    arguments->policies = split_policies(*policies);
    action = [arguments] { return compare(*arguments); };
  });
}

}  // namespace vtrain
