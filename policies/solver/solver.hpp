/// The solver behind linear programs. No other file knows which one it is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "policies/solver/linear_program.hpp"

namespace vtrain {

/// When a search ends. The same program under the same limits gives the same bytes, unless the clock ends it.
struct SolverLimits {
  /// A solution whose objective is within this share of the best one's is good enough, in [0, 1].
  double gap = 0;
  std::int64_t nodes = 0;       ///< of the branch-and-bound tree of an integer program; 0 for no limit
  std::int64_t iterations = 0;  ///< of the simplex method on a program without integers; 0 for no limit
  Seconds time{0};              ///< by the wall clock; 0 for no limit
};

/// How a search ended.
enum class SolverStatus : std::uint8_t {
  Optimal,       ///< with a solution within the gap
  Stopped,       ///< at a limit, with a solution
  NothingFound,  ///< at a limit, without one
  Infeasible,    ///< no solution exists
  Unbounded,     ///< the objective has no bound
};

/// What a search found.
struct LinearSolution {
  SolverStatus status = SolverStatus::NothingFound;
  std::vector<double> values{};  ///< [columns] under `Optimal` and `Stopped`; those of integers are whole
  double objective = 0;          ///< at the values
  double bound = 0;              ///< no solution has a better objective; infinite where none is proven
  double gap = 0;                ///< |bound - objective| / max(|objective|, 1e-9); infinite with the bound
};

/// Solves a program: by COIN-OR Clp, or with integers by COIN-OR Cbc on one thread. `start[columns]`, when
/// not empty, is a solution to improve on. Throws as `check_program` does, on a start of another size, and
/// `std::runtime_error` where the system has no memory or process left.
///
/// Thread-safe; calls from several threads run at the same time. Cbc keeps its command line, random numbers,
/// branching statistics and signal handlers in global variables. Each integer program is therefore solved in
/// a forked process of its own, which takes about a millisecond more. Under LLVM 14's address sanitizer only
/// one thread may be busy meanwhile: its allocator keeps its locks over a fork.
LinearSolution solve(const LinearProgram& program, const SolverLimits& limits = {},
                     std::span<const double> start = {});

}  // namespace vtrain
