/// `vtrain decide`: one decision of a policy for one stated situation.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "core/base/numbers.hpp"
#include "sched/simulation/stated_cluster.hpp"
#include "tools/commands/commands.hpp"
#include "tools/experiment/decision.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/slurm_queue.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The arguments as given.
struct DecideArguments {
  std::string instance;
  std::string policy;
  bool json = false;  ///< no effect: the answer is always JSON
};

ordered_json decision_json(const LeaseDecision& decision) {
  const LeaseSolution& solution = decision.solution;
  return {{"policy", "chronus"},
          {"status", solution.search == LeaseSearch::Solved ? "optimal" : "stopped"},
          {"objective", solution.objective},
          {"gap", solution.gap},
          {"schedule", solution.plan},
          {"bound_by", {{"full_leases", decision.full_leases}, {"tight_options", decision.tight_options}}}};
}

/// A decimal number of seconds, exactly.
ordered_json seconds_json(SimTime time) {
  std::string text;
  append_ns_as_seconds(text, time.time_since_epoch().count());
  return ordered_json::parse(text);
}

ordered_json given_json(const std::vector<GivenGpus>& jobs) {
  ordered_json list = ordered_json::array();
  for (const GivenGpus& job : jobs) {
    ordered_json& object = list.emplace_back(ordered_json{{"name", job.name}, {"gpus", job.gpus.value}});
    if (!job.gpu_type.empty()) object["gpu_type"] = job.gpu_type;
    for (const GangPart& part : job.nodes)
      object["nodes"].push_back({{"node", part.node.value}, {"gpus", part.gpus.value}});
  }
  return list;
}

ordered_json decision_json(const PassDecision& decision) {
  return {{"version", kStatedClusterVersion},
          {"policy", decision.policy},
          {"now_s", seconds_json(decision.now)},
          {"started", given_json(decision.started)},
          {"preempted", decision.preempted},
          {"resized", given_json(decision.resized)},
          {"rejected", decision.rejected},
          {"still_running", decision.still_running},
          {"still_waiting", decision.still_waiting},
          {"next_event_s", decision.next_event ? seconds_json(*decision.next_event) : ordered_json()}};
}

Result<void> print_decision(const LeaseDecision& decision, const std::string& file) {
  switch (decision.solution.search) {
    case LeaseSearch::Solved:
    case LeaseSearch::Stopped:
      print_json(decision_json(decision));
      return {};
    case LeaseSearch::Infeasible:
      log_warning("no schedule serves every job before one of its deadlines");
      print_json(ordered_json{{"schedule", nullptr}});
      return {};
    case LeaseSearch::NothingFound:
      break;
  }
  return fail({.kind = ErrorKind::Failed,
               .file = file,
               .message = "the search ended at its limit before it found a schedule"});
}

Result<void> print_decision(const PassDecision& decision, const std::string& /*file*/) {
  print_json(decision_json(decision));
  return {};
}

Result<void> print_decision(const KueueDecision& decision, const std::string& /*file*/) {
  print_json(decision.answer);
  return {};
}

/// Factors of a job by name; `weights` turns them into parts of its priority.
ordered_json factors_json(const slurm::JobPriority& row, const slurm::QueuePriorities& queue, bool weighted) {
  const slurm::PriorityFactors& factors = row.factors;
  const slurm::PriorityConf& conf = queue.conf;
  const auto value = [weighted](double factor, double weight) { return weighted ? factor * weight : factor; };
  ordered_json object = {{"age", value(factors.age, conf.weight_age)},
                         {"assoc", value(factors.assoc, conf.weight_assoc)},
                         {"fair_share", value(factors.fair_share, conf.weight_fair_share)},
                         {"job_size", value(factors.job_size, conf.weight_job_size)},
                         {"partition", value(factors.partition, conf.weight_partition)},
                         {"qos", value(factors.qos, conf.weight_qos)},
                         {"tres", ordered_json::object()}};
  for (std::size_t i = 0; i < factors.tres.size(); ++i)
    object["tres"][queue.names[factors.tres[i].tres]] =
        value(factors.tres[i].amount, conf.weight_tres[i].amount);
  return object;
}

ordered_json queue_json(const slurm::QueuePriorities& queue, const std::string& policy) {
  ordered_json rows = ordered_json::array();
  for (const slurm::JobPriority& row : queue.rows)
    rows.push_back({{"job_id", row.job},
                    {"partition", row.partition},
                    {"user", row.user},
                    {"account", row.account},
                    {"qos", row.qos},
                    {"factors", factors_json(row, queue, false)},
                    {"weighted", factors_json(row, queue, true)},
                    {"nice", row.nice},
                    {"priority", row.priority}});
  ordered_json ignored = ordered_json::object();
  for (const auto& [key, count] : queue.ignored)
    ignored[key] = count;
  return {{"version", 1},
          {"policy", policy},
          {"calculated_at", queue.calculated_at},
          {"jobs", std::move(rows)},
          {"ignored", std::move(ignored)}};
}

Result<void> decide(const DecideArguments& arguments) {
  if (is_slurm_folder(arguments.instance)) {
    const auto queue = decide_slurm_queue(arguments.instance, arguments.policy, PolicyRegistry::built_in());
    if (!queue) return fail(in_option("--policy", queue.error()));
    print_json(queue_json(*queue, arguments.policy));
    return {};
  }
  const auto decision = decide_stated(arguments.instance, arguments.policy);
  if (!decision) return fail(in_option("--policy", decision.error()));
  return std::visit([&](const auto& made) { return print_decision(made, arguments.instance); }, *decision);
}

}  // namespace

void add_decide_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("decide",
                         "Decide which jobs start, stop or wait in a cluster state that a file describes, as "
                         "JSON.\n\n  vtrain decide state.json --policy easy\n  vtrain decide leases.json "
                         "--policy chronus\n  vtrain decide leases.json --policy chronus:nodes=1000,gap=1\n  "
                         "vtrain decide case.json --policy kueue");
  const auto arguments = std::make_shared<DecideArguments>();
  command
      ->add_option("instance", arguments->instance,
                   "Cluster state as JSON (docs/decide.md): running and waiting jobs; or leases and jobs "
                   "with deadlines; or a situation of Kueue")
      ->required();
  command
      ->add_option("--policy", arguments->policy,
                   "Policy: for a cluster state any policy without a memory of its own, such as fifo, srtf "
                   "or easy; for leases chronus, whose nodes, gap and time_limit may end the search before "
                   "the optimum is proved; for a situation of Kueue kueue")
      ->required();
  command->add_flag("--json", arguments->json, "Print one JSON document (the default)");
  command->callback([=, &action] { action = [arguments] { return decide(*arguments); }; });
}

}  // namespace vtrain
