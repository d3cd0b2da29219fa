/// One decision of a policy for one stated situation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "policies/chronus/lease_plan.hpp"
#include "policies/chronus/lease_program.hpp"

namespace vtrain {

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
/// not looked at. At most `kMostDecisionVariables` options and leases of options.
Result<LeaseProgram> parse_lease_instance(std::string text, std::string file);

inline constexpr std::int64_t kMostDecisionVariables = 1'000'000;

/// A decision and what bound it.
struct LeaseDecision {
  LeaseProgram program;
  LeaseSolution solution;
  std::vector<std::int64_t> full_leases{};   ///< in which no option left out, or delayed, would find room
  std::vector<std::size_t> tight_options{};  ///< taken, and without a lease to spare before the deadline
};

/// Decides as the policy would with these GPUs and jobs. `policy` is `chronus`, with `nodes`, `gap` and
/// `time_limit` if the search is to end before the best plan is proven. Errors: those of reading the file, a
/// policy that decides no stated situations, a parameter that the situation states.
Result<LeaseDecision> decide_leases(const std::string& file, std::string_view policy);

}  // namespace vtrain
