/// The integer program of Chronus' leases.
#pragma once

#include <cstdint>

#include "core/base/units.hpp"
#include "policies/chronus/lease_plan.hpp"
#include "policies/solver/linear_program.hpp"

namespace vtrain {

/// Limits of the search for a better plan.
struct LeaseSolverLimits {
  /// Sufficient gap, in [0, 1]: the search ends if the objective is proven to be within this share of the
  /// best.
  double gap = 0.001;
  /// Nodes of the branch-and-bound tree; 0: no limit. Equal programs under equal limits give equal plans.
  std::int64_t nodes = 100;
  /// Wall-clock time; 0: no limit. A search that it ends may end elsewhere when repeated.
  Seconds time{0};
};

/// The end of a search.
enum class LeaseSearch : std::uint8_t {
  Solved,        ///< found a plan that is good enough
  Stopped,       ///< reached a limit, with a plan
  NothingFound,  ///< reached a limit, without a plan
  Infeasible,    ///< no plan follows the program's rules
};

/// The result of the solver.
struct LeaseSolution {
  LeaseSearch search = LeaseSearch::NothingFound;
  LeasePlan plan{};      ///< plan under `Solved` and `Stopped`
  double objective = 0;  ///< objective of the plan
  double gap = 0;        ///< (proven bound - objective) / |objective|, at least 0
};

/// The program of Chronus (Gao et al., SoCC'21) with a binary for every option and for every lease of an
/// option. Columns: for each option a binary "taken", followed by its leases. Rows: for each option "its
/// leases = required x taken", for each lease "GPUs used <= GPUs", for each job "options taken = 1" (or at
/// most 1).
LinearProgram linear_program(const LeaseProgram& program);

/// Searches the plan with the highest objective. `start` is a feasible plan to improve, or null. The result
/// depends only on the arguments, unless the time limit ends the search. Thread-safe, like `solve`.
LeaseSolution solve_leases(const LeaseProgram& program, const LeaseSolverLimits& limits,
                           const LeasePlan* start = nullptr);

}  // namespace vtrain
