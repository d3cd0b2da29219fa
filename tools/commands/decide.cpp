/// `vtrain decide`: one decision of a policy for one stated situation.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/commands/commands.hpp"
#include "tools/experiment/decision.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The arguments as given.
struct DecideArguments {
  std::string instance;
  std::string policy;
  bool json = false;  ///< changes nothing: the answer is always JSON
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

Result<void> decide(const DecideArguments& arguments) {
  const auto decision = decide_leases(arguments.instance, arguments.policy);
  if (!decision) return fail(in_option("--policy", decision.error()));
  switch (decision->solution.search) {
    case LeaseSearch::Solved:
    case LeaseSearch::Stopped:
      print_json(decision_json(*decision));
      return {};
    case LeaseSearch::Infeasible:
      log_warning("no schedule serves every job before one of its deadlines");
      print_json(ordered_json{{"schedule", nullptr}});
      return {};
    case LeaseSearch::NothingFound:
      break;
  }
  return fail({.kind = ErrorKind::Failed,
               .file = arguments.instance,
               .message = "the search ended at its limit before it found a schedule"});
}

}  // namespace

void add_decide_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("decide",
                                         "Make one decision for one stated situation, as JSON.\n\n"
                                         "  vtrain decide leases.json --policy chronus\n"
                                         "  vtrain decide leases.json --policy chronus:nodes=1000,gap=1");
  const auto arguments = std::make_shared<DecideArguments>();
  command
      ->add_option("instance", arguments->instance,
                   "The situation as JSON (docs/decide.md): GPUs, leases, jobs with their deadlines")
      ->required();
  command
      ->add_option("--policy", arguments->policy,
                   "chronus; its nodes, gap and time_limit end the search before the proof")
      ->required();
  command->add_flag("--json", arguments->json, "Print one JSON document, which is what is printed anyway");
  command->callback([=, &action] { action = [arguments] { return decide(*arguments); }; });
}

}  // namespace vtrain
