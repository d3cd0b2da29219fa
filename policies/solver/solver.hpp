/// The solver of linear programs. No other file depends on the library behind it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "policies/solver/linear_program.hpp"

namespace vtrain {

/// Limits of a search. Equal programs under equal limits give equal bytes, unless the clock ends the search.
struct SolverLimits {
  /// Sufficient gap, in [0, 1]: a solution is good enough if its objective is within this share of the best.
  double gap = 0;
  std::int64_t nodes = 0;       ///< nodes of the branch-and-bound tree of an integer program; 0: no limit
  std::int64_t iterations = 0;  ///< simplex iterations on a program without integers; 0: no limit
  Seconds time{0};              ///< wall-clock time; 0: no limit
};

/// The end of a search.
enum class SolverStatus : std::uint8_t {
  Optimal,       ///< found a solution within the gap
  Stopped,       ///< reached a limit, with a solution
  NothingFound,  ///< reached a limit, without a solution
  Infeasible,    ///< no solution exists
  Unbounded,     ///< the objective has no bound
};

/// The result of a search.
struct LinearSolution {
  SolverStatus status = SolverStatus::NothingFound;
  std::vector<double> values{};  ///< [columns] under `Optimal` and `Stopped`; integer variables are whole
  double objective = 0;          ///< objective of the values
  double bound = 0;              ///< proven bound: no solution is better; infinite if none is proven
  double gap = 0;                ///< |bound - objective| / max(|objective|, 1e-9); infinite with the bound
};

/// Solves a program: by COIN-OR Clp, or with integers by COIN-OR Cbc on one thread. `start[columns]`, if not
/// empty, is a solution to improve. Throws like `check_program`, for a start of another size, and
/// `std::runtime_error` if the system has no memory or process left.
///
/// Thread-safe; calls from several threads run at the same time. Cbc keeps its command line, random numbers,
/// branching statistics and signal handlers in global variables. Each integer program is therefore solved in
/// a forked process of its own, which adds about a millisecond. Under LLVM 14's address sanitizer only one
/// thread may be busy meanwhile: its allocator keeps its locks over a fork.
LinearSolution solve(const LinearProgram& program, const SolverLimits& limits = {},
                     std::span<const double> start = {});

}  // namespace vtrain
