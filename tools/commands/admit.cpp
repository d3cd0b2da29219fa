/// `vtrain admit`: may a training job be admitted before its deadline, and if not, what would be?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/names.hpp"
#include "core/text/calendar.hpp"
#include "sched/cluster/cluster.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/experiment/admission_text.hpp"
#include "tools/commands/commands.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/traces.hpp"
#include "tools/format/text_format.hpp"
#include "tools/live/cluster_now.hpp"
#include "tools/live/read_state.hpp"
#include "tools/options/options.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

struct AdmitArguments {
  AdmissionSpec spec{};
  std::vector<std::string> now{};
  std::vector<std::string> history{};
  std::string cluster{};
  std::string placement = "count";
  std::string at{};
  bool json = false;
};

/// Takes the longest known run times, so that a promise does not rest on luck.
void take_longest_runs(ClusterNow& now) {
  EtaQuestion& question = now.question;
  for (std::size_t i = 0; i < question.workload.jobs.size(); ++i) {
    Job& job = question.workload.jobs[i];
    SimDuration held{0};
    if (i < question.state.jobs.size() && question.state.jobs[i].outcome.state == JobState::Running)
      held = question.state.now - question.state.jobs[i].resumed;
    job.duration = question.run_times[i].longest(held);
    if (job.requested_time.count() > 0) job.requested_time = std::max(job.requested_time, job.duration);
  }
}

/// The cluster of the question, with remarks.
struct Today {
  ClusterToday cluster{};
  AdmitContext context{};
};

Result<Today> read_today(const AdmitArguments& arguments, PlacementKind placement) {
  std::optional<ClusterSpec> named;
  if (!arguments.cluster.empty()) {
    auto cluster = ClusterSpec::parse(arguments.cluster);
    if (!cluster) return fail(in_option("--cluster", std::move(cluster.error())));
    named = *std::move(cluster);
  }
  Today today;
  if (arguments.now.empty()) {
    if (!arguments.history.empty()) return fail({.field = "--history", .message = "needs --now"});
    if (!arguments.at.empty()) return fail({.field = "--at", .message = "needs --now"});
    today.cluster.cluster = named ? *std::move(named) : *ClusterSpec::parse(kDefaultCluster);
    return today;
  }
  const auto state = read_live_state(arguments.now);
  if (!state) return fail(in_option("--now", state.error()));
  const auto book = read_run_times(*state, arguments.history);
  if (!book) return fail(in_option("--history", book.error()));
  ClusterNowOptions options{.cluster = std::move(named), .now = {}, .placement = placement};
  if (!arguments.at.empty()) {
    const auto seconds = parse_seconds_since_1970(arguments.at);
    if (!seconds) return fail(in_option("--at", seconds.error()));
    options.now = *seconds;
  }
  auto now = make_cluster_now(*state, *book, options);
  if (!now) return fail(in_option("--now", std::move(now.error())));
  take_longest_runs(*now);
  today.context.now = now->now;
  today.context.assumed.emplace_back(
      "other jobs run for as long as they may, by their limits or by past runs");
  for (const auto& [text, count] : now->assumed)
    today.context.assumed.push_back(count > 1 ? fmt::format("{}: {}", text, count) : text);
  if (!now->stuck.empty())
    today.context.assumed.push_back(fmt::format("{} left out that can't start until somebody acts",
                                                count_of(std::ssize(now->stuck), "job")));
  today.cluster = {std::move(now->question.cluster), std::move(now->question.workload),
                   std::move(now->question.state)};
  return today;
}

Result<void> admit(const AdmitArguments& arguments, int& exit_code) {
  AdmissionSpec spec = arguments.spec;
  const auto placement = parse_placement(arguments.placement);
  if (!placement) return fail(in_option("--placement", placement.error()));
  spec.placement = *placement;
  auto today = read_today(arguments, *placement);
  if (!today) return fail(std::move(today.error()));
  std::vector<std::string> warnings;
  auto request = AdmissionRequest::prepare(std::move(spec), std::move(today->cluster),
                                           PolicyRegistry::built_in(), warnings);
  log_warnings(warnings);
  if (!request) return fail(std::move(request.error()));
  auto answer = (*request)->answer();
  if (!answer) return fail(std::move(answer.error()));
  AdmitReport report{
      .request = **request, .answer = *std::move(answer), .context = std::move(today->context)};
  if (report.answer.is_yes()) {
    auto likely = (*request)->likely_ends();
    if (!likely) return fail(std::move(likely.error()));
    report.likely = *std::move(likely);
  } else {
    auto changes = (*request)->changes();
    if (!changes) return fail(std::move(changes.error()));
    report.changes = *std::move(changes);
  }
  if (arguments.json)
    print_json(admit_json(report));
  else
    print_text(stdout, "{}", admit_text(report));
  constexpr int kNo = 3;
  exit_code = report.answer.is_yes() ? 0 : kNo;
  return {};
}

}  // namespace

void add_admit_command(CLI::App& app, Action& action, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "admit",
      "Say whether a training job would be done by its deadline without breaking the promises of other "
      "jobs.\n\n"
      "  vtrain admit gpt3-13b --tokens 300B --deadline 10d --cluster 32x8:a100\n"
      "  vtrain admit gpt3-13b --tokens 300B --deadline 10d --now jobs.txt nodes.txt --tenant nlp");
  command->footer(
      "Exit code: 0 for a yes, 3 for a no, 2 for bad input.\n\n"
      "No: what would be a yes follows, each simulated: the earliest deadline, the most tokens, for rigid "
      "jobs "
      "another number of GPUs, another type.");
  const auto arguments = std::make_shared<AdmitArguments>();
  AdmissionSpec& to = arguments->spec;
  to.pricing.prediction_error = "empirical";
  command->add_option("model", to.model, "Model: a name from `vtrain models`");
  command->add_option("--tokens", to.tokens, "Tokens to train on: 300B, 1.4T (10^9, 10^12)");
  command->add_option("--deadline", to.deadline, "Time from now on in which the job must be done: 10d, 36h");
  command
      ->add_option("--global-batch", to.global_batch,
                   "Global batch, in sequences; default: the model's published one, else about 4 Mi tokens")
      ->transform(whole_number(1, kMaxGlobalBatch));
  command
      ->add_option(
          "--gpus", to.gpus,
          "GPUs that it requests, and holds under policies that do not resize; default: the fewest with "
          "which it would be in time alone")
      ->transform(whole_number(1, kMaxClusterGpus));
  command->add_flag("--rigid", to.rigid, "The job can train only on the GPUs that it requests");
  command->add_option("--gpu-type", to.gpu_type,
                      "Type of GPUs that it must have; default: any of the cluster");
  command->add_option("--tenant", to.tenant, "Tenant whose share the job uses");
  command->add_option("--policy", to.policy, "Policy that can begin with running jobs")
      ->capture_default_str();
  command
      ->add_option("--now", arguments->now,
                   "Files that Slurm's commands wrote at about one instant, or - for standard input, as for "
                   "vtrain eta; default: an empty cluster")
      ->type_name("FILE...");
  command
      ->add_option("--history", arguments->history,
                   "Past jobs, as sacct -P or --json writes them: how long jobs really run")
      ->type_name("FILE...");
  command
      ->add_option("--at", arguments->at,
                   "Instant of the files (UTC), as 2026-11-25T09:16:18; default: the latest time in them")
      ->type_name("TIME");
  command
      ->add_option(
          "--cluster", arguments->cluster,
          fmt::format("Cluster as NODESxGPUS:TYPE, in place of the nodes in the files; default without "
                      "files: {}",
                      kDefaultCluster))
      ->type_name("SPEC");
  command->add_option("--placement", arguments->placement, "Rule that chooses the GPUs of a gang")
      ->capture_default_str();
  command
      ->add_option("--interruption-cost", to.interruption_cost,
                   "Time that a preemption or a resize costs a job: none, a duration, checkpoint, or auto (a "
                   "checkpoint for jobs of a known model)")
      ->capture_default_str();
  add_pricing_options(*command, to.pricing);
  command
      ->add_option("--prediction-error", to.pricing.prediction_error,
                   "Errors of the predictor for the probability: empirical (those of the validated runs), "
                   "lognormal:SIGMA, or none")
      ->capture_default_str();
  command
      ->add_option("--samples", to.samples,
                   "Simulations with errors; default: 100, fewer where many jobs are live")
      ->transform(whole_number(1, 1'000'000));
  command->add_option("--seed", to.seed, "Seed of the errors")->capture_default_str();
  command->add_option("--threads", to.threads, "Threads; 0: one per processor")->capture_default_str();
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action, &exit_code] {
    action = [arguments, &exit_code] { return admit(*arguments, exit_code); };
  });
}

}  // namespace vtrain
