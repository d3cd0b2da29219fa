/// `vtrain eta`: when the pending jobs of a running cluster start and end, and why not earlier.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/io/file.hpp"
#include "core/text/calendar.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/backtest_text.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/eta_text.hpp"
#include "tools/experiment/eta.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/traces.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/live/backtest.hpp"
#include "tools/live/eta_request.hpp"
#include "tools/options/options.hpp"

namespace vtrain {
namespace {

struct EtaArguments {
  EtaRequest request{};  ///< without its dumps
  std::vector<std::string> now;
  std::vector<std::string> history;
  std::string models;
  std::string report;
  TraceArguments log{};
  std::vector<std::string> estimates;
  std::int64_t submissions = 2000;
  bool json = false;
};

/// The request with the dumps of its files.
Result<EtaRequest> read_request(const EtaArguments& arguments) {
  EtaRequest request = arguments.request;
  auto now = read_dumps(arguments.now);
  if (!now) return fail(in_option("--now", std::move(now.error())));
  request.now = *std::move(now);
  auto history = read_dumps(arguments.history);
  if (!history) return fail(in_option("--history", std::move(history.error())));
  request.history = *std::move(history);
  if (arguments.models.empty()) return request;
  auto models = read_dumps({&arguments.models, 1});
  if (!models) return fail(in_option("--models", std::move(models.error())));
  request.models = std::move(models->front());
  return request;
}

/// Starts that a scheduler estimated, on the clock of a trace, by job: the first one of each.
Result<std::map<std::string, SimTime, std::less<>>> read_estimates(const std::vector<std::string>& files,
                                                                   const Trace& trace) {
  std::map<std::string, SimTime, std::less<>> estimates;
  if (files.empty()) return estimates;
  if (!trace.origin) return fail({.message = "expected a log with dates, found times without"});
  for (const std::string& file : files) {
    const auto state = read_live_state({&file, 1});
    if (!state) return fail(state.error());
    for (const DumpedJob& job : state->jobs) {
      if (!job.start_estimate) continue;
      const SimDuration since_1970 = std::chrono::seconds(*job.start_estimate);
      estimates.emplace(job.id, SimTime(since_1970 - trace.origin->time.time_since_epoch()));
    }
  }
  return estimates;
}

Result<void> backtest(const EtaArguments& arguments) {
  auto log = read_traces(arguments.log);
  if (!log) return fail(std::move(log.error()));
  if (arguments.request.cluster.empty() && !log->trace.num_gpus)
    return fail({.field = "--cluster", .message = "missing: the cluster of the log"});
  auto cluster = arguments.request.cluster.empty() ? cluster_of_trace(*log->trace.num_gpus)
                                                   : ClusterSpec::parse(arguments.request.cluster);
  if (!cluster) return fail(in_option("--cluster", cluster.error()));
  auto estimates = read_estimates(arguments.estimates, log->trace);
  if (!estimates) return fail(in_option("--estimates", estimates.error()));
  const BacktestOptions options{.policy = arguments.request.policy,
                                .submissions = arguments.submissions,
                                .samples = arguments.request.samples,
                                .seed = arguments.request.seed,
                                .threads = arguments.request.threads,
                                .own_estimates = *std::move(estimates)};
  const auto test = run_backtest(log->trace.workload, *cluster, options, PolicyRegistry::built_in());
  if (!test) return fail(in_option("--backtest", test.error()));
  if (arguments.json)
    print_json(backtest_json(*test, options));
  else
    print_text(stdout, "{}", backtest_text(*test, options));
  return {};
}

Result<void> eta(const EtaArguments& arguments) {
  if (!arguments.log.files.empty()) return backtest(arguments);
  if (arguments.now.empty())
    return fail({.field = "--now", .message = "missing: files of the running cluster, or --backtest LOG"});
  auto request = read_request(arguments);
  if (!request) return fail(std::move(request.error()));
  const auto estimate = answer_eta(*std::move(request));
  if (!estimate) return fail(estimate.error());
  if (!arguments.report.empty()) {
    EtaPageInput page = eta_page(*estimate);
    for (const std::string& file : arguments.now)
      page.provenance.emplace_back("now", file);
    for (const std::string& file : arguments.history)
      page.provenance.emplace_back("history", file);
    if (auto written = write_file(arguments.report, render_eta_page(page)); !written) return written;
  }
  if (arguments.json)
    print_json(eta_json(*estimate), summary_stream(arguments.report));
  else
    print_text(summary_stream(arguments.report), "{}", eta_text(*estimate, !arguments.request.job.empty()));
  return {};
}

}  // namespace

void add_eta_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "eta",
      "Estimate when the pending jobs of a running cluster start and end, and say why not earlier.\n\n"
      "  vtrain eta --now jobs.txt nodes.txt --policy easy --history sacct.txt\n"
      "  squeue --json | vtrain eta --now - nodes.txt --job 4711\n  vtrain eta --backtest sacct.txt "
      "--cluster 64x8 --policy easy");
  const auto arguments = std::make_shared<EtaArguments>();
  command
      ->add_option(
          "--now", arguments->now,
          "Files that Slurm's commands or kubectl wrote at about one instant, or - for standard "
          "input: scontrol show job|node|partition -o, squeue --json or -o %all, sacct, sinfo --json, "
          "kubectl get workloads,clusterqueues,... -A -o json")
      ->type_name("FILE...");
  CLI::Option* const log = command->add_option("--backtest", arguments->log.files,
                                               "Log of past jobs in any format of traces: estimate for some "
                                               "of its submissions as of then, and compare "
                                               "with what happened");
  log->type_name("LOG...")->excludes(command->get_option("--now"));
  command
      ->add_option("--format", arguments->log.format,
                   "Format of the log (vtrain trace info --help lists them)")
      ->needs(log)
      ->capture_default_str();
  command
      ->add_option("--submissions", arguments->submissions,
                   "Most submissions of a back-test, chosen by the seed")
      ->needs(log)
      ->transform(whole_number(1, 10'000'000))
      ->capture_default_str();
  command
      ->add_option(
          "--estimates", arguments->estimates,
          "Starts that the scheduler estimated for jobs of the log, as squeue --start or scontrol show "
          "job tell them: the first one of each job is compared, too")
      ->type_name("FILE...")
      ->needs(log);
  command
      ->add_option("--history", arguments->history,
                   "Past jobs, as sacct -P or --json writes them: how long jobs really run")
      ->type_name("FILE...");
  command
      ->add_option("--models", arguments->models,
                   "CSV file with the models that jobs train: job (id, or name with *), model, global_batch, "
                   "tokens or iterations, plan")
      ->type_name("FILE");
  add_pricing_options(*command, arguments->request.pricing);
  command->add_option("--policy", arguments->request.policy, "Policy that can begin with running jobs")
      ->capture_default_str();
  command
      ->add_option("--cluster", arguments->request.cluster,
                   "Cluster in place of the nodes in the files, as 16x8:a100")
      ->type_name("SPEC");
  command->add_option("--placement", arguments->request.placement, "Rule that chooses the GPUs of a gang")
      ->capture_default_str();
  command
      ->add_option("--at", arguments->request.at,
                   "Instant of the files (UTC), as 2026-11-25T09:16:18; default: the latest time in them")
      ->type_name("TIME");
  command
      ->add_option("--time-zone", arguments->request.zone,
                   "Zone of times in the files that name none, as Europe/Berlin; default: UTC")
      ->type_name("NAME");
  command
      ->add_option("--job", arguments->request.job,
                   "Answer for this job alone, with changes that make it start earlier")
      ->type_name("ID");
  command->add_option("--report", arguments->report, "Write an HTML page with the jobs on one time line")
      ->type_name("FILE")
      ->excludes(log);
  command->add_option("--samples", arguments->request.samples, "Simulations, each with run times drawn anew")
      ->transform(whole_number(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--seed", arguments->request.seed, "Seed of the draws")->capture_default_str();
  command->add_option("--threads", arguments->request.threads, "Threads; 0: one per processor")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [arguments] { return eta(*arguments); }; });
}

}  // namespace vtrain
