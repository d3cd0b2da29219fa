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
#include "tools/live/cluster_now.hpp"
#include "tools/live/kueue_now.hpp"
#include "tools/live/read_state.hpp"
#include "tools/live/suggestions.hpp"
#include "tools/options/options.hpp"

namespace vtrain {
namespace {

struct EtaArguments {
  std::vector<std::string> now;
  std::vector<std::string> history;
  std::string policy = "easy";
  std::string cluster;
  std::string placement = "count";
  std::string at;
  std::string job;
  std::string models;
  std::string zone;
  PricingArguments pricing{};
  std::string report;
  TraceArguments log{};
  std::vector<std::string> estimates;
  std::int64_t submissions = 2000;
  std::int64_t samples = 200;
  std::uint64_t seed = 1;
  unsigned threads = 0;
  bool json = false;
};

Result<std::optional<std::int64_t>> parse_at(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto seconds = parse_seconds_since_1970(text);
  if (!seconds) return fail(in_option("--at", seconds.error()));
  return *seconds;
}

/// The spec with the files of a state as parameters, where the policy reads such files and the spec names
/// none.
std::string with_policy_files(const std::string& spec, const LiveState& state) {
  const auto policy = PolicyRegistry::built_in().parse(spec);
  if (!policy || state.policy_files.empty()) return spec;
  const auto& known = policy->policy().parameters;
  std::string text = spec;
  const auto is_known = [&](std::string_view name) {
    return std::ranges::find(known, name, &PolicyParameter::name) != known.end();
  };
  if (!is_known("conf") || !(*policy)["folder"].empty()) return spec;
  for (const auto& [name, file] : state.policy_files) {
    if (!is_known(name) || !(*policy)[name].empty()) continue;
    text += fmt::format("{}{}={}", text.find(':') == std::string::npos ? ":" : ",", name, file);
  }
  return text;
}

/// The spec with the instant of time 0, where the policy reads dates and the spec names none.
std::string with_origin(const std::string& spec, std::int64_t origin) {
  const auto policy = PolicyRegistry::built_in().parse(spec);
  if (!policy) return spec;
  const auto& known = policy->policy().parameters;
  if (std::ranges::find(known, std::string_view("origin"), &PolicyParameter::name) == known.end() ||
      !(*policy)["origin"].empty())
    return spec;
  return fmt::format("{}{}origin={}", spec, spec.find(':') == std::string::npos ? ":" : ",", origin);
}

Result<EtaReport> make_estimate(const EtaArguments& arguments) {
  const auto zone = arguments.zone.empty() ? Result<TimeZone>(kUtc) : TimeZone::find(arguments.zone);
  if (!zone) return fail(in_option("--time-zone", zone.error()));
  const auto state = read_live_state(arguments.now, *zone);
  if (!state) return fail(in_option("--now", state.error()));
  const auto book = read_run_times(*state, arguments.history, *zone);
  if (!book) return fail(in_option("--history", book.error()));
  ClusterNowOptions options;
  options.pricing = arguments.pricing;
  std::optional<JobModels> models;
  if (!arguments.models.empty()) {
    auto read = JobModels::read(arguments.models);
    if (!read) return fail(in_option("--models", read.error()));
    models = *std::move(read);
    options.models = &*models;
  }
  const auto at = parse_at(arguments.at);
  if (!at) return fail(at.error());
  options.now = *at;
  const auto placement = parse_placement(arguments.placement);
  if (!placement) return fail(in_option("--placement", placement.error()));
  options.placement = *placement;
  if (!arguments.cluster.empty()) {
    auto cluster = ClusterSpec::parse(arguments.cluster);
    if (!cluster) return fail(in_option("--cluster", cluster.error()));
    options.cluster = *std::move(cluster);
  }
  const std::string spec = with_policy_files(arguments.policy, *state);
  const auto policy = PolicyRegistry::built_in().parse(spec);
  options.policy_names_nodes = policy && policy->policy().follows_requests;
  // It chooses GPU types, whatever jobs ask for.
  options.counts_types = policy && policy->policy().name == "kueue";
  const bool is_kueue = options.counts_types && (*policy)["objects"].empty() && !state->kubernetes.empty();
  auto cluster = make_cluster_now(*state, *book, options);
  if (!cluster) return fail(in_option("--now", cluster.error()));
  cluster->question.policy = with_origin(spec, cluster->origin);
  if (is_kueue) {
    auto objects = make_kueue_objects(*state, *cluster);
    if (!objects) return fail(in_option("--now", objects.error()));
    cluster->question.make_policy = [objects = *std::move(objects)](const PolicyArguments& given) {
      return make_kueue_live(given, objects);
    };
  }
  if (options.policy_names_nodes) {
    for (const DumpedPartition& partition : state->partitions) {
      if (partition.state == "UP") cluster->partitions.push_back(partition.name);
    }
  }
  cluster->question.samples = arguments.samples;
  cluster->question.seed = arguments.seed;
  cluster->question.threads = arguments.threads;
  auto answer = estimate_starts(cluster->question, PolicyRegistry::built_in());
  if (!answer) return fail(in_option("--policy", answer.error()));
  // Jobs of which the policy says that somebody must act are no estimates.
  for (const JobEta& each : answer->jobs) {
    if (each.words.needs_somebody)
      cluster->stuck.push_back(
          {std::string(cluster->question.workload.jobs[each.job.value].name), each.words.text});
  }
  std::erase_if(answer->jobs, [](const JobEta& each) { return each.words.needs_somebody; });
  std::set<std::string> used;
  std::set<std::string> unused;
  for (const auto& [name, file] : state->policy_files)
    (spec.find(fmt::format("{}={}", name, file)) == std::string::npos ? unused : used).insert(file);
  std::erase_if(unused, [&](const std::string& file) { return used.contains(file); });
  return EtaReport{*std::move(cluster), *std::move(answer),         book->num_jobs(),
                   arguments.policy,    {used.begin(), used.end()}, std::ssize(unused)};
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
  if (arguments.cluster.empty() && !log->trace.num_gpus)
    return fail({.field = "--cluster", .message = "missing: the cluster of the log"});
  auto cluster = arguments.cluster.empty() ? cluster_of_trace(*log->trace.num_gpus)
                                           : ClusterSpec::parse(arguments.cluster);
  if (!cluster) return fail(in_option("--cluster", cluster.error()));
  auto estimates = read_estimates(arguments.estimates, log->trace);
  if (!estimates) return fail(in_option("--estimates", estimates.error()));
  const BacktestOptions options{.policy = arguments.policy,
                                .submissions = arguments.submissions,
                                .samples = arguments.samples,
                                .seed = arguments.seed,
                                .threads = arguments.threads,
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
  auto estimate = make_estimate(arguments);
  if (!estimate) return fail(std::move(estimate.error()));
  if (!arguments.job.empty()) {
    const auto is_other = [&](const JobEta& each) { return estimate->job(each.job).name != arguments.job; };
    std::erase_if(estimate->answer.jobs, is_other);
    if (estimate->answer.jobs.empty())
      return fail(
          {.field = "--job", .message = expected_found("a pending job that can start", arguments.job)});
    auto found =
        suggest_changes(estimate->cluster, estimate->answer.jobs.front(), PolicyRegistry::built_in());
    if (!found) return fail(std::move(found.error()));
    estimate->suggestions = *std::move(found);
  }
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
    print_text(summary_stream(arguments.report), "{}", eta_text(*estimate, !arguments.job.empty()));
  return {};
}

}  // namespace

void add_eta_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "eta",
      "EtaReport when the pending jobs of a running cluster start and end, and say why not earlier.\n\n"
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
  add_pricing_options(*command, arguments->pricing);
  command->add_option("--policy", arguments->policy, "Policy that can begin with running jobs")
      ->capture_default_str();
  command
      ->add_option("--cluster", arguments->cluster,
                   "Cluster in place of the nodes in the files, as 16x8:a100")
      ->type_name("SPEC");
  command->add_option("--placement", arguments->placement, "Rule that chooses the GPUs of a gang")
      ->capture_default_str();
  command
      ->add_option("--at", arguments->at,
                   "Instant of the files (UTC), as 2026-11-25T09:16:18; default: the latest time in them")
      ->type_name("TIME");
  command
      ->add_option("--time-zone", arguments->zone,
                   "Zone of times in the files that name none, as Europe/Berlin; default: UTC")
      ->type_name("NAME");
  command
      ->add_option("--job", arguments->job,
                   "Answer for this job alone, with changes that make it start earlier")
      ->type_name("ID");
  command->add_option("--report", arguments->report, "Write an HTML page with the jobs on one time line")
      ->type_name("FILE")
      ->excludes(log);
  command->add_option("--samples", arguments->samples, "Simulations, each with run times drawn anew")
      ->transform(whole_number(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "Seed of the draws")->capture_default_str();
  command->add_option("--threads", arguments->threads, "Threads; 0: one per processor")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [arguments] { return eta(*arguments); }; });
}

}  // namespace vtrain
