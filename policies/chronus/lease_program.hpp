/// The integer program of Chronus' leases.
#pragma once

#include <cstdint>

#include "core/base/units.hpp"
#include "policies/chronus/lease_plan.hpp"
#include "policies/solver/linear_program.hpp"

namespace vtrain {

/// When the search for a better plan ends.
struct LeaseSolverLimits {
  /// A plan is good enough whose objective is known to be within this share of the best one's, in [0, 1].
  double gap = 0.001;
  /// Nodes of the branch-and-bound tree; 0 for no limit. The same program under the same limit gives the same plan.
  std::int64_t nodes = 100;
  /// Wall-clock time; 0 for no limit. A search that it ends may end elsewhere when it is repeated.
  Seconds time{0};
};

/// How a search ended.
enum class LeaseSearch : std::uint8_t {
  Solved,        ///< with a plan that is good enough
  Stopped,       ///< at a limit, with a plan
  NothingFound,  ///< at a limit, without one
  Infeasible,    ///< no plan keeps the program's rules
};

/// What the solver found.
struct LeaseSolution {
  LeaseSearch search = LeaseSearch::NothingFound;
  LeasePlan plan{};      ///< under `Solved` and `Stopped`
  double objective = 0;  ///< of the plan
  double gap = 0;        ///< (proven bound - objective) / |objective|, at least 0
};

/// The program of Chronus (Gao et al., SoCC'21) with a binary for every option and for every lease of an
/// option. Columns: for each option whether it is taken, followed by its leases. Rows: for each option "its
/// leases = required x taken", for each lease "GPUs used <= GPUs", for each job "options taken = 1" (or at
/// most 1).
LinearProgram linear_program(const LeaseProgram& program);

/// Looks for the plan with the highest objective. `start` is a feasible plan to improve on, or null. The
/// result depends on the arguments alone, unless the time limit strikes. Thread-safe, as `solve` is.
LeaseSolution solve_leases(const LeaseProgram& program, const LeaseSolverLimits& limits,
                           const LeasePlan* start = nullptr);

}  // namespace vtrain
