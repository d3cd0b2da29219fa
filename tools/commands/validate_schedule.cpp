/// `vtrain validate-schedule`: simulated waits against those of a log.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/io/staged_folder.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/replay_runs.hpp"
#include "tools/commands/run_text.hpp"
#include "tools/experiment/schedule_validation.hpp"
#include "tools/format/progress.hpp"
#include "tools/format/text_format.hpp"
#include "tools/options/options.hpp"
#include "tools/report/validation_tables.hpp"
#include "tools/results/results.hpp"
#include "tools/results/validation_files.hpp"

namespace vtrain {
namespace {

/// Policies in the order of submission, with and without backfilling, as schedulers of clusters have them.
constexpr const char* kPlainPolicies = "fifo,fit-first,easy,conservative";

/// Replays the scenario with a progress bar.
Result<ScheduleValidation> validate_runs(const ReplayArguments& arguments, const Scenario& scenario,
                                         std::vector<RunResult>& runs) {
  const auto total =
      static_cast<std::int64_t>(scenario.workload().jobs.size() * scenario.spec().policies.size());
  std::atomic<std::int64_t> jobs_done = 0;
  const ProgressBar progress("replaying", "jobs", total, jobs_done);
  return validate_schedule(scenario, {.threads = arguments.threads, .jobs_done = &jobs_done}, runs);
}

Result<void> validate_and_print(const ReplayArguments& arguments, const ScenarioSpec& spec) {
  if (auto checked = check_validation(spec); !checked) return checked;
  const auto scenario = prepare_spec(spec, NumPolicies::Several);
  if (!scenario) return fail(scenario.error());
  if (!arguments.out.empty()) {
    if (auto checked = check_run_folder(arguments.out, {}, scenario->input_paths()); !checked) return checked;
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<RunResult> runs;
  const auto validation = validate_runs(arguments, *scenario, runs);
  log_warnings(scenario->cache_warnings());
  if (!validation) return fail(validation.error());
  const double took_s = Seconds(std::chrono::steady_clock::now() - start).count();
  if (!arguments.out.empty()) {
    auto folder = begin_folder(arguments.out);
    if (!folder) return fail(std::move(folder.error()));
    auto written =
        write_validation(*folder, {arguments.out, {}, arguments.command}, *scenario, runs, *validation);
    if (!written) return written;
  }
  if (arguments.json) {
    nlohmann::ordered_json document = {{"trace", scenario->trace_name()},
                                       {"cluster", scenario->cluster().describe()}};
    document.update(validation_to_json(*validation));
    document.update(reading_to_json(*scenario));
    print_json(document);
    return {};
  }
  print_text(stdout, "{}\n\n{}{}replayed  {} in {}\n\n{}{}",
             wrap_text(validation_answer(*validation), text_columns()), describe_scenario(*scenario),
             left_out_lines(*validation),
             runs.size() == 1 ? "1 policy" : fmt::format("{} policies", runs.size()), as_duration(took_s),
             validation_table_text(*validation),
             arguments.out.empty() ? "" : written_lines(arguments.out, {}));
  return {};
}

Result<void> run_validation(const ReplayArguments& arguments) {
  const auto read = read_spec(arguments);
  if (!read) return fail(read.error());
  auto done = validate_and_print(arguments, read->spec);
  if (!done) return fail(locate_error(*read, std::move(done.error())));
  return done;
}

}  // namespace

void add_validate_schedule_command(CLI::App& app, Action& action, const std::string& command_line) {
  CLI::App* command = app.add_subcommand(
      "validate-schedule",
      "Compare simulated waits with those of a log: does a policy behave like the real scheduler?\n\n"
      "  vtrain validate-schedule sacct.txt --cluster 64x8\n"
      "  vtrain validate-schedule log.swf --cluster 16x8 --policy easy --out runs/check");
  const auto arguments = std::make_shared<ReplayArguments>();
  arguments->command = command_line;
  const auto policy = std::make_shared<std::string>();
  const auto policies = std::make_shared<std::string>(kPlainPolicies);
  add_scenario_options(*command, arguments->spec);
  // The jobs and their times stay those of the log.
  for (const char* const changes_jobs : {"--trace", "--load", "--reference", "--resample", "--run-times",
                                         "--prediction-error", "--failures", "--timeline", "--price"})
    command->remove_option(command->get_option(changes_jobs));
  command->add_option("trace", arguments->spec.trace.files,
                      "Trace with recorded starts, plain, gzip or zstd; several are joined into one");
  command->get_option("--by")->description(
      "Group jobs by tenant, user, queue, type of GPUs requested or size (number of GPUs requested); "
      "default: queue, or else tenant, or else size");
  CLI::Option* const one = command->add_option(
      "--policy", *policy, "Policy, with parameters as NAME:key=value,...; see `vtrain policies`");
  command->add_option("--policies", *policies, "Policies, separated by commas")
      ->capture_default_str()
      ->excludes(one);
  add_spec_option(*command, *arguments);
  command
      ->add_option("--threads", arguments->threads,
                   "Policies to replay at the same time; 0 = one per processor")
      ->transform(whole_number(0, 1024))
      ->capture_default_str();
  command->callback([=, &action] {
    arguments->spec.policies =
        policy->empty() ? split_policies(*policies) : std::vector<std::string>{*policy};
    action = [arguments] { return run_validation(*arguments); };
  });
}

}  // namespace vtrain
