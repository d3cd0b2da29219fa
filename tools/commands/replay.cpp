/// `vtrain replay`: one policy.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/utf8.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/job_story.hpp"
#include "tools/commands/replay_runs.hpp"
#include "tools/commands/run_text.hpp"
#include "tools/format/text_format.hpp"
#include "tools/options/options.hpp"
#include "tools/results/decisions_file.hpp"
#include "tools/results/results.hpp"

namespace vtrain {
namespace {

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
  const auto read = read_spec(arguments);
  if (!read) return fail(read.error());
  const auto scenario = prepare_spec(read->spec, NumPolicies::One);
  if (!scenario) return fail(locate_error(*read, scenario.error()));
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
    nlohmann::ordered_json document = summary_to_json(run.summary);
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

}  // namespace vtrain
