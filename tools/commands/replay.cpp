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
#include "tools/cli/output_files.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/job_story.hpp"
#include "tools/commands/run_text.hpp"
#include "tools/experiment/scenario.hpp"
#include "tools/format/progress.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/options/options.hpp"
#include "tools/results/decisions_file.hpp"
#include "tools/results/results.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The policies that `compare` takes by default for a trace: one of each kind (in order, backfilling,
/// shortest first, deadline first). All give jobs the GPUs that they request.
constexpr std::string_view kTracePolicies = "fifo,easy,srtf,edf:resize=no";
/// Default policies for the embedded default, whose jobs all have a model and a deadline. The last two make
/// use of that: they resize jobs and turn away those that would be late.
constexpr std::string_view kGeneratedPolicies = "fifo,easy,srtf,elasticflow,deadline";

/// Arguments of `replay` and `compare`.
struct ReplayArguments {
  ScenarioSpec spec;
  std::filesystem::path spec_file;  ///< file of the spec; empty: the spec is in options
  std::filesystem::path out;        ///< empty: nothing is written
  bool json = false;
  unsigned threads = 0;
  std::string command;              ///< command line as typed
  std::filesystem::path decisions;  ///< file for the reasons of waiting jobs; empty: none
  std::optional<std::string> job;   ///< job whose story is printed
};

/// Skipped rows of the trace, and assumptions.
ordered_json reading_to_json(const Scenario& scenario) {
  return {{"skipped_rows", scenario.skipped().total()},
          {"skipped", skipped_to_json(scenario.skipped())},
          {"assumptions", texts_of(scenario.notes())}};
}

/// Begins the folder that `--out` names; reports it if another run is writing there.
Result<StagedFolder> begin_folder(const std::filesystem::path& out) {
  return StagedFolder::create(out, previous_files, [&out] {
    log_warning(fmt::format("waiting for another run that is writing to {}", printable(out.string())));
  });
}

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

/// Result of `run_and_write`.
struct FinishedRuns {
  std::vector<RunResult> runs;
  double replay_s = 0;  ///< time for all runs, seconds
};

/// Replays the jobs under every policy, and writes the results if there is a folder. Policies' files go to
/// `places` within it. Errors of writing to the folder are found before the work. `folder` is already begun,
/// or else the one that `--out` names is begun.
Result<FinishedRuns> run_and_write(const ReplayArguments& arguments, const Scenario& scenario,
                                   const std::vector<std::string>& places,
                                   std::optional<StagedFolder> folder = std::nullopt,
                                   const ReasonOptions& reasons = {}) {
  const bool writes = !arguments.out.empty();
  if (writes) {
    auto checked = check_run_folder(arguments.out, places, scenario.input_paths());
    if (!checked) return fail(std::move(checked.error()));
  }
  const auto start = std::chrono::steady_clock::now();
  auto runs = run_all(arguments, scenario, reasons);
  log_warnings(scenario.cache_warnings());
  if (!runs) return fail(std::move(runs.error()));
  const auto end = std::chrono::steady_clock::now();
  if (writes && !folder) {
    auto begun = begin_folder(arguments.out);
    if (!begun) return fail(std::move(begun.error()));
    folder.emplace(*std::move(begun));
  }
  if (writes) {
    auto written = write_runs(*folder, {arguments.out, places, arguments.command}, scenario, *runs);
    if (!written) return fail(std::move(written.error()));
  }
  return FinishedRuns{*std::move(runs), Seconds(end - start).count()};
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

/// Number of policies that a command takes.
enum class NumPolicies : std::uint8_t { One, Several };

/// Checks the spec, prepares its scenario and logs the warnings.
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

/// Prepares the scenario of the options, or of the file of `--spec`.
Result<Scenario> prepare(const ReplayArguments& arguments, NumPolicies num_policies) {
  if (arguments.spec_file.empty()) {
    if (arguments.spec.timeline == "always" && arguments.out.empty() && arguments.json)
      log_warning("--timeline: without effect; nothing is written without --out");
    ScenarioSpec spec = arguments.spec;
    spec.command = arguments.command;
    return prepare_spec(std::move(spec), num_policies);
  }
  auto read = read_scenario_spec(arguments.spec_file);
  if (!read) return fail(std::move(read.error()));
  if (read->spec.command.empty()) read->spec.command = arguments.command;
  auto scenario = prepare_spec(read->spec, num_policies);
  if (!scenario) return fail(read->in_file(std::move(scenario.error())));
  return scenario;
}

/// Places of these runs' report and timelines, with the timelines' size; a line each.
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

/// Begins the file of `--decisions`, if one is named.
Result<std::optional<DecisionsFile>> begin_decisions(const ReplayArguments& arguments,
                                                     const Scenario& scenario) {
  if (arguments.decisions.empty()) return std::nullopt;
  for (const std::string& input : scenario.input_paths()) {
    std::error_code ignored;  // of what is not there
    if (!std::filesystem::is_regular_file(arguments.decisions, ignored) ||
        !std::filesystem::equivalent(arguments.decisions, input, ignored))
      continue;
    return fail(
        {.field = "--decisions",
         .message = fmt::format("would overwrite '{}', which is read; name another file", printable(input))});
  }
  auto file = DecisionsFile::create(arguments.decisions, scenario.workload());
  if (!file) return fail(std::move(file.error()));
  return *std::move(file);
}

Result<void> replay(const ReplayArguments& arguments) {
  const auto scenario = prepare(arguments, NumPolicies::One);
  if (!scenario) return fail(scenario.error());
  ReasonOptions reasons;
  WatchedReasons watched;
  if (arguments.job) {
    const auto job = find_job(scenario->workload(), *arguments.job);
    if (!job) return fail(job.error());
    reasons.watched = &watched;
    reasons.job = *job;
  }
  auto decisions = begin_decisions(arguments, *scenario);
  if (!decisions) return fail(std::move(decisions.error()));
  if (*decisions) reasons.all = &**decisions;
  const auto finished = run_and_write(arguments, *scenario, {""}, std::nullopt, reasons);
  if (!finished) return fail(finished.error());
  if (*decisions) {
    if (auto written = (*decisions)->commit(); !written) return written;
  }
  const std::vector<RunResult>& runs = finished->runs;
  const RunResult& run = runs.front();
  if (arguments.job) {
    print_text(stdout, "{}", job_story(*scenario, run, reasons.job, watched.changes()));
    return {};
  }
  if (arguments.json) {
    ordered_json document = summary_to_json(run.summary);
    document["scenario"] = scenario_to_json(*scenario);
    document.update(reading_to_json(*scenario));
    print_json(document);
    return {};
  }
  const Comparison comparison = comparison_of(runs);
  print_text(stdout, "{}\n\n{}replayed  {} in {}\n\n{}{}{}{}{}", answer_lines(*scenario, runs),
             describe_scenario(*scenario), count_of(run.summary.events, "event"), as_duration(run.wall_s),
             comparison.table, comparison.left_out, lost_gpu_hours(runs), figures_by_group(runs),
             notes_on_runs(*scenario, runs));
  if (!arguments.out.empty()) print_text(stdout, "{}", written_lines(arguments.out, {""}));
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

/// Commands to try after the embedded default: for the value that decides its answer, for its other half, and
/// for a trace to edit.
std::string next_commands() {
  return fmt::format(R"(
next, for instance
  vtrain compare --interruption-cost 1m
      the same day where each preemption and each resize costs a job a minute
  vtrain plan llama3-8b --gpus 64 --profile h100 --global-batch 512
      the fastest parallel plans of a model, and how long an iteration takes
  vtrain trace generate --jobs 1000 --cluster 16x8:a100 --load 0.9 --out {}
      jobs as a table, to edit and to replay
)",
                     unused_file_name("jobs", ".csv"));
}

/// Splits `fifo,las:timer=peer,queues=3250;7200,edf` into specs: a part with `=` but no `:` before it
/// continues the parameters of the previous policy. Blanks around specs are removed.
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

Result<void> compare(ReplayArguments arguments) {
  const auto scenario = prepare(arguments, NumPolicies::Several);
  if (!scenario) return fail(scenario.error());
  const ScenarioSpec& spec = scenario->spec();
  std::optional<StagedFolder> folder;
  Result<void> written;
  if (arguments.out.empty() && !arguments.json) {
    if (auto next = begin_next_run_folder()) {
      arguments.out = std::move(next->name);
      folder.emplace(std::move(next->folder));
    } else {
      // The table is the answer: it is printed all the same.
      written = fail(std::move(next.error()));
    }
  }
  const std::vector<std::string> places = policy_folders(spec.policies);
  const auto finished = run_and_write(arguments, *scenario, places, std::move(folder));
  if (!finished) return fail(finished.error());
  const std::vector<RunResult>& runs = finished->runs;
  if (arguments.json) {
    ordered_json list = ordered_json::array();
    for (const RunResult& run : runs)
      list.push_back(summary_to_json(run.summary));
    ordered_json document = {{"trace", scenario->trace_name()}, {"cluster", scenario->cluster().describe()}};
    document["scenario"] = scenario_to_json(*scenario);
    document.update(reading_to_json(*scenario));
    document["runs"] = list;
    print_json(document);
    return {};
  }
  const Comparison comparison = comparison_of(runs);
  print_text(stdout, "{}\n\n{}replayed  {} in {}\n\n{}{}{}{}{}{}{}", answer_lines(*scenario, runs),
             describe_scenario(*scenario),
             runs.size() == 1 ? "1 policy" : fmt::format("{} policies", runs.size()),
             as_duration(finished->replay_s), comparison.table, comparison.marks, comparison.left_out,
             written ? written_lines(arguments.out, places) : "", lost_gpu_hours(runs),
             figures_by_group(runs), notes_on_runs(*scenario, runs));
  if (!written) return written;
  const bool is_default = spec.policies == split_policies(kGeneratedPolicies);
  if (spec.trace.files.empty() && is_default) print_text(stdout, "{}", next_commands());
  return {};
}

/// Adds `--spec`, which excludes all options that `command` has so far, and the options on outputs of a run.
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

}  // namespace

void add_replay_command(CLI::App& app, Action& action, const std::string& command_line) {
  CLI::App* command =
      app.add_subcommand("replay",
                         "Replay the jobs of a trace under one scheduling policy.\n\n"
                         "  vtrain replay --policy easy\n"
                         "  vtrain replay --trace jobs.csv --cluster 16x8:a100 --policy edf --out runs/edf");
  const auto arguments = std::make_shared<ReplayArguments>();
  arguments->command = command_line;
  const auto policy = std::make_shared<std::string>("fifo");
  add_scenario_options(*command, arguments->spec);
  command
      ->add_option("--policy", *policy,
                   "Policy, with parameters as NAME:key=value,...; see `vtrain policies`")
      ->capture_default_str();
  add_spec_option(*command, *arguments);
  command->add_option("--decisions", arguments->decisions,
                      "Write the reason of each waiting job, whenever it changes, to a file of JSON lines");
  command
      ->add_option("--job", arguments->job,
                   "Print the story of one job instead of the result: its waits with their reasons, and the "
                   "GPUs that it held")
      ->type_name("ID")
      ->excludes("--json");
  command->callback([=, &action] {
    arguments->spec.policies = {*policy};
    action = [arguments] { return replay(*arguments); };
  });
}

void add_compare_command(CLI::App& app, Action& action, const std::string& command_line) {
  CLI::App* command = app.add_subcommand(
      "compare",
      "Replay the same jobs under several policies: one table, one report.\n\n"
      "  vtrain compare\n"
      "  vtrain compare --trace jobs.csv --cluster 64x8:a100 --policies fifo,easy,las,edf");
  const auto arguments = std::make_shared<ReplayArguments>();
  arguments->command = command_line;
  const auto policies = std::make_shared<std::string>();
  add_scenario_options(*command, arguments->spec);
  command
      ->add_option("--policies", *policies,
                   "Policies, separated by commas; for generated jobs the default is " +
                       std::string(kGeneratedPolicies))
      ->default_str(std::string(kTracePolicies));
  add_spec_option(*command, *arguments);
  command
      ->add_option("--threads", arguments->threads,
                   "Policies to replay at the same time; 0 = one per processor")
      ->transform(whole_number(0, 1024))
      ->capture_default_str();
  command->callback([=, &action] {
    const bool is_given = command->count("--policies") > 0;
    const std::string_view defaults =
        arguments->spec.trace.files.empty() ? kGeneratedPolicies : kTracePolicies;
    arguments->spec.policies = split_policies(is_given ? *policies : defaults);
    action = [arguments] { return compare(*arguments); };
  });
}

}  // namespace vtrain
