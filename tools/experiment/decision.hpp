/// One decision of a policy for one stated situation.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "policies/chronus/lease_plan.hpp"
#include "policies/chronus/lease_program.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/result.hpp"

namespace vtrain {

class JsonDocument;

/// Reads a situation of `chronus` from JSON:
///
///     {"lease_s": 1200, "current_lease": 0, "gpus": 8, "gpus_by_lease": [6], "mode": "must_serve",
///      "tie_break": "early", "jobs": [{"name": "a", "gpus": 4, "remaining_s": 2400,
///                                      "deadlines": [{"deadline_s": 7200, "value": 1}]}]}
///
/// `current_lease` (0), `gpus_by_lease` (none), `mode` (`must_serve`, or `may_reject`), `tie_break` (`none`,
/// or `early`, `late`), names and values (1) may be left out. Seconds are exact to the nanosecond. A deadline
/// counts from time 0 and is rounded down to whole leases; `gpus_by_lease` begins with the current lease.
/// Each deadline becomes an option, in the order of jobs, then deadlines. `name`, `note` and `expected` are
/// ignored. At most `kMostDecisionVariables` options and leases of options.
Result<LeaseProgram> parse_lease_instance(const JsonDocument& document);
/// Reads a situation from a text; `file` is used in errors.
Result<LeaseProgram> parse_lease_instance(std::string text, std::string file);

inline constexpr std::int64_t kMostDecisionVariables = 1'000'000;

/// A decision, and the leases and deadlines that limit it.
struct LeaseDecision {
  LeaseProgram program;
  LeaseSolution solution;
  std::vector<std::int64_t> full_leases{};   ///< leases without room for any rejected or delayed option
  std::vector<std::size_t> tight_options{};  ///< accepted options without a spare lease before the deadline
};

/// A job and the GPUs that a decision gives it.
struct GivenGpus {
  std::string name{};
  GpuCount gpus{0};
  std::string gpu_type{};         ///< type of all these GPUs; empty if several or unknown
  std::vector<GangPart> nodes{};  ///< empty under a placement without nodes
};

/// One pass of a policy over a stated cluster. Jobs are in the order of their submission.
struct PassDecision {
  std::string policy{};  ///< the spec, as given
  SimTime now{};
  std::vector<GivenGpus> started{};
  std::vector<std::string> preempted{};  ///< includes jobs that started again on other GPUs
  std::vector<GivenGpus> resized{};
  std::vector<std::string> rejected{};
  std::vector<std::string> still_running{};  ///< jobs that keep their GPUs
  std::vector<std::string> still_waiting{};
  std::optional<SimTime> next_event{};  ///< none: no event is left
};

/// The answer to a case of `kueue` (`tools/experiment/kueue_case.hpp`).
struct KueueDecision {
  nlohmann::ordered_json answer{};
};

/// The decision for leases, for a cluster or for a case of Kueue, whichever the file states.
using StatedDecision = std::variant<LeaseDecision, PassDecision, KueueDecision>;

/// Error unless a policy, made of `arguments`, can begin with jobs that run and wait. The message names those
/// that can.
Result<void> check_begins_with_jobs(const Policy& policy, const PolicyArguments& arguments,
                                    const PolicyRegistry& registry);

/// Decides as the policy would in the situation that a file states. Leases are for `chronus`, with `nodes`,
/// `gap` and `time_limit` if the search is to end before the best plan is proven. A cluster
/// (`sched/simulation/stated_cluster.hpp`) is for any policy of `registry` that `can_begin_with_jobs`. A
/// case, with a `kind`, is for `kueue`. Errors: those of reading the file, a policy that decides no such
/// situation, a parameter that the situation states, those of `Simulation::begin`.
Result<StatedDecision> decide_stated(const std::string& file, std::string_view policy,
                                     const PolicyRegistry& registry = PolicyRegistry::built_in());

}  // namespace vtrain
