#include "tools/experiment/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "core/text/quantities.hpp"
#include "policies/chronus/lease_book.hpp"
#include "sched/cluster/node_table.hpp"
#include "sched/simulation/simulation.hpp"
#include "sched/simulation/stated_cluster.hpp"
#include "tools/experiment/kueue_case.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr double kMostInstanceSeconds = 1e9;
constexpr std::int64_t kMostInstanceGpus = 10'000'000;

constexpr std::array<std::string_view, 10> kInstanceKeys = {
    "lease_s",   "current_lease", "gpus", "gpus_by_lease", "mode",
    "tie_break", "jobs",          "name", "note",          "expected"};
constexpr std::array<std::string_view, 5> kJobKeys = {"name", "note", "gpus", "remaining_s", "deadlines"};
constexpr std::array<std::string_view, 3> kDeadlineKeys = {"deadline_s", "value", "note"};
constexpr std::array<std::string_view, 3> kModes = {"must_serve", "may_reject", "may-reject"};
constexpr std::array<std::string_view, 3> kTieBreaks = {"none", "early", "late"};

std::int64_t to_nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

/// Reads one instance. Functions return false after the first error, which `error` then has.
class LeaseInstanceReader {
 public:
  explicit LeaseInstanceReader(const JsonDocument& document) : document_(document) {}

  Result<LeaseProgram> read() {
    if (!read_root(document_.root())) return fail(*std::move(error_));
    return std::move(program_);
  }

 private:
  bool keep(std::optional<Error> error) {
    error_ = std::move(error);
    return !error_;
  }
  bool complain(const json& object, std::string_view key, std::string message) {
    return keep(document_.error_at(object, key, std::move(message)));
  }

  /// A list with at least one element, or null after an error.
  const json* list(const json& object, std::string_view key) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_array() && !found->empty()) return &*found;
    complain(object, key,
             expected_found("a list with at least one element", found == object.end() ? "nothing"
                                                                : found->is_array()   ? "[]"
                                                                                      : found->dump()));
    return nullptr;
  }

  bool read_root(const json& root) {
    JsonFields fields(document_, root);
    fields.allow_only(kInstanceKeys);
    lease_ = to_nanoseconds(fields.number("lease_s", 1, kMostInstanceSeconds));
    current_lease_ = fields.integer_or("current_lease", 0, std::int64_t{1'000'000'000}, 0);
    program_.gpus = GpuCount(static_cast<std::int32_t>(fields.integer("gpus", 0, kMostInstanceGpus)));
    program_.must_serve = fields.choice_or("mode", kModes, 0) == 0;
    program_.tie_break = static_cast<LeaseTieBreak>(fields.choice_or("tie_break", kTieBreaks, 0));
    if (!keep(fields.error())) return false;
    return read_capacities(root) && read_jobs(root);
  }

  bool read_capacities(const json& root) {
    const auto found = root.find("gpus_by_lease");
    if (found == root.end()) return true;
    if (!found->is_array() || std::ssize(*found) > kLeaseHorizon) {
      return complain(
          root, "gpus_by_lease",
          expected_found(fmt::format("a list of at most {} numbers of GPUs", kLeaseHorizon),
                         found->is_array() ? fmt::format("{} numbers", found->size()) : found->dump()));
    }
    for (const json& entry : *found) {
      const std::string text = entry.dump();
      const auto gpus = parse_integer(entry.is_number() ? text : "", 0, kMostInstanceGpus);
      if (!gpus) {
        return complain(entry, "",
                        expected_found(fmt::format("a whole number from 0 to {}", kMostInstanceGpus), text));
      }
      program_.gpus_by_lease.emplace_back(static_cast<std::int32_t>(*gpus));
    }
    return true;
  }

  bool read_jobs(const json& root) {
    const json* const jobs = list(root, "jobs");
    if (jobs == nullptr) return false;
    for (const json& job : *jobs) {
      if (!read_job(job)) return false;
      ++num_jobs_;
    }
    return true;
  }

  bool read_job(const json& job) {
    JsonFields fields(document_, job);
    fields.allow_only(kJobKeys);
    LeaseOption option{.job = num_jobs_};
    option.num_gpus = GpuCount(static_cast<std::int32_t>(fields.integer("gpus", 1, kMostInstanceGpus)));
    constexpr double kShortest = 1e-9;
    const std::int64_t remaining =
        to_nanoseconds(fields.number("remaining_s", kShortest, kMostInstanceSeconds));
    if (!keep(fields.error())) return false;
    option.required_leases = (remaining - 1) / lease_ + 1;
    const json* const deadlines = list(job, "deadlines");
    if (deadlines == nullptr) return false;
    for (const json& deadline : *deadlines) {
      if (!read_deadline(deadline, option)) return false;
    }
    return true;
  }

  bool read_deadline(const json& deadline, LeaseOption option) {
    JsonFields fields(document_, deadline);
    fields.allow_only(kDeadlineKeys);
    const std::int64_t end = to_nanoseconds(fields.number("deadline_s", 0, kMostInstanceSeconds));
    option.value = fields.number_or("value", 0, 1e9, 1);
    if (!keep(fields.error())) return false;
    option.max_lease = end / lease_ - current_lease_;
    if (option.max_lease > kLeaseHorizon) {
      return complain(deadline, "deadline_s",
                      expected_found(fmt::format("at most {} leases ahead", kLeaseHorizon),
                                     fmt::format("{} leases", option.max_lease)));
    }
    num_variables_ += 1 + std::max<std::int64_t>(option.max_lease, 0);
    if (num_variables_ > kMostDecisionVariables) {
      return complain(deadline, "deadline_s",
                      fmt::format("expected at most {} deadlines and leases before them in all, found more",
                                  kMostDecisionVariables));
    }
    program_.options.push_back(option);
    return true;
  }

  const JsonDocument& document_;
  LeaseProgram program_;
  std::int64_t lease_ = 1;  ///< length of a lease, nanoseconds
  std::int64_t current_lease_ = 0;
  std::uint32_t num_jobs_ = 0;
  std::int64_t num_variables_ = 0;
  std::optional<Error> error_;
};

/// Limits in a policy's spec. Defaults are exact here, as a single decision can wait for its proof.
Result<LeaseSolverLimits> limits_of(const PolicyArguments& arguments) {
  // Checks all values.
  if (auto made = arguments.policy().make(arguments); !made) return fail(std::move(made.error()));
  LeaseSolverLimits limits{.gap = 0, .nodes = 0};
  for (const PolicyParameter& parameter : arguments.policy().parameters) {
    const std::string_view value = arguments[parameter.name];
    if (value == parameter.default_value) continue;
    if (parameter.name == "nodes")
      limits.nodes = *parse_integer(value, 1, 1'000'000);
    else if (parameter.name == "gap")
      limits.gap = *parse_number(value, 0, 100) / 100;
    else if (parameter.name == "time_limit")
      limits.time = Seconds(*parse_time_span(value));
    else
      return fail(
          arguments.bad_value(parameter.name, "its default, since the instance states the situation"));
  }

  return limits;
}

void find_what_binds(LeaseDecision& decision) {
  const LeaseProgram& program = decision.program;
  const LeasePlan& plan = decision.solution.plan;
  FreeLeases free(program, plan);
  for (std::int64_t lease = 0; lease < program.num_leases(); ++lease) {
    // Full is a lease in which an option that could use it finds no room.
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const LeaseOption& option = program.options[i];
      const bool is_held = std::binary_search(plan[i].begin(), plan[i].end(), lease);
      if (is_held || lease >= option.max_lease || free.at(lease) >= option.num_gpus) continue;
      decision.full_leases.push_back(lease);
      break;
    }
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const LeaseOption& option = program.options[i];
    if (!plan[i].empty() && option.required_leases == option.max_lease) decision.tight_options.push_back(i);
  }
}

Result<LeaseDecision> decide_leases(const JsonDocument& document, const PolicyArguments& arguments) {
  const auto limits = limits_of(arguments);
  if (!limits) return fail(limits.error());
  auto program = parse_lease_instance(document);
  if (!program) return fail(std::move(program.error()));

  LeaseDecision decision{.program = *std::move(program), .solution = {}};
  const LeasePlan greedy = pack_leases(decision.program);
  const bool is_start = is_feasible(decision.program, greedy);
  decision.solution = solve_leases(decision.program, *limits, is_start ? &greedy : nullptr);
  if (!decision.solution.plan.empty()) find_what_binds(decision);
  return decision;
}

/// Policies that can begin with running jobs, with their default parameters.
std::vector<std::string_view> policies_that_begin_anywhere(const PolicyRegistry& registry) {
  std::vector<std::string_view> names;
  for (const PolicyInfo& info : registry.policies()) {
    const auto made = registry.make(info.name);
    if (made && (*made)->can_begin_with_jobs()) names.push_back(info.name);
  }
  return names;
}

/// GPUs of a live job, with names.
GivenGpus given_gpus(const Job& job, const LiveJob& live, const StatedCluster& stated,
                     const NodeTable& nodes) {
  GivenGpus given{.name = std::string(job.name), .gpus = live.num_gpus};
  const bool knows_nodes = info_of(stated.placement).knows_nodes;
  if (knows_nodes) given.nodes = parts_of(live.gang);
  const auto type_of = [&](const NodeShare& share) {
    return knows_nodes ? nodes[share.node.value].type : share.node.value;
  };
  const std::vector<std::string>& names = nodes.types().names();
  if (names.size() == 1) {
    given.gpu_type = names.front();
  } else if (!live.gang.empty() && std::ranges::all_of(live.gang, [&](const NodeShare& share) {
               return type_of(share) == type_of(live.gang.front());
             })) {
    given.gpu_type = names[type_of(live.gang.front())];
  }
  return given;
}

/// Adds a job to the list for its change in the pass. `live` is null if the job neither runs nor waits any
/// more.
void add_job(PassDecision& decision, const Job& job, const LiveJob& before, const LiveJob* live,
             const StatedCluster& stated, const NodeTable& nodes) {
  std::string name(job.name);
  const bool ran = before.outcome.state == JobState::Running;
  if (live == nullptr) return decision.rejected.push_back(std::move(name));
  const bool runs = live->outcome.state == JobState::Running;
  const bool was_preempted = live->outcome.preemptions > before.outcome.preemptions;
  if (was_preempted) decision.preempted.push_back(name);
  if (!runs) {
    if (!ran) decision.still_waiting.push_back(std::move(name));
  } else if (!ran || was_preempted) {
    decision.started.push_back(given_gpus(job, *live, stated, nodes));
  } else if (live->outcome.resizes > before.outcome.resizes) {
    decision.resized.push_back(given_gpus(job, *live, stated, nodes));
  } else {
    decision.still_running.push_back(std::move(name));
  }
}

Result<PassDecision> decide_pass(const JsonDocument& document, const PolicyArguments& arguments,
                                 std::string_view spec, const PolicyRegistry& registry) {
  const auto policy = arguments.policy().make(arguments);
  if (!policy) return fail(policy.error());
  if (auto checked = check_begins_with_jobs(**policy, arguments, registry); !checked)
    return fail(std::move(checked.error()));
  auto stated = parse_stated_cluster(document);
  if (!stated) return fail(std::move(stated.error()));

  const NodeTable nodes(stated->cluster, stated->workload);
  const SimulationOptions options{
      .placement = stated->placement, .strict = true, .policy_name = std::string(spec)};
  auto simulation =
      Simulation::begin(std::move(stated->workload), stated->cluster, **policy, options, stated->state);
  if (!simulation) return fail(std::move(simulation.error()));

  PassDecision decision{.policy = std::string(spec), .now = stated->state.now};
  const std::vector<JobId> live = simulation->live();
  const SimulationState after = simulation->state();
  std::size_t next_live = 0;
  for (std::size_t i = 0; i < stated->state.jobs.size(); ++i) {
    const bool is_live = next_live < live.size() && live[next_live].value == i;
    add_job(decision, simulation->workload().jobs[i], stated->state.jobs[i],
            is_live ? &after.jobs[next_live] : nullptr, *stated, nodes);
    if (is_live) ++next_live;
  }
  decision.next_event = simulation->next_event();
  return decision;
}

}  // namespace

Result<void> check_begins_with_jobs(const Policy& policy, const PolicyArguments& arguments,
                                    const PolicyRegistry& registry) {
  if (policy.can_begin_with_jobs()) return {};
  const std::string known = list_names(policies_that_begin_anywhere(registry));
  return fail(
      {.field = "--policy",
       .message = expected_found(fmt::format("a policy that can begin with a stated cluster: {}", known),
                                 arguments.policy().name)});
}

Result<LeaseProgram> parse_lease_instance(const JsonDocument& document) {
  return LeaseInstanceReader(document).read();
}

Result<LeaseProgram> parse_lease_instance(std::string text, std::string file) {
  const auto document = JsonDocument::parse(std::move(text), std::move(file));
  if (!document) return fail(document.error());
  return parse_lease_instance(*document);
}

Result<StatedDecision> decide_stated(const std::string& file, std::string_view policy,
                                     const PolicyRegistry& registry) {
  const auto arguments = registry.parse(policy);
  if (!arguments) return fail(arguments.error());
  auto text = read_file(file, InputKind::Instance);
  if (!text) return fail(std::move(text.error()));
  const auto document = JsonDocument::parse(*std::move(text), file);
  if (!document) return fail(document.error());

  const bool plans_leases = arguments->policy().name == "chronus";
  const bool states_leases = document->root().is_object() && document->root().contains("lease_s");
  const bool states_cluster = document->root().is_object() && document->root().contains("cluster");
  if (arguments->policy().name == "kueue" && states_kueue_case(*document)) {
    auto answer = decide_kueue_case(*document);
    if (!answer) return fail(std::move(answer.error()));
    return KueueDecision{*std::move(answer)};
  }
  if (plans_leases && !states_cluster) return decide_leases(*document, *arguments);
  if (!plans_leases && states_leases) {
    return fail({.field = "--policy",
                 .message = expected_found("chronus, as the file states leases", arguments->policy().name)});
  }
  return decide_pass(*document, *arguments, policy, registry);
}

}  // namespace vtrain
