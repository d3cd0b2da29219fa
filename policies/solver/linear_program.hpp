/// Linear programs with integer variables, as plain values.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace vtrain {

/// Bound of a column or row without a limit.
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// A variable.
struct LinearColumn {
  double objective = 0;       ///< finite
  double lower = 0;           ///< finite or -`kUnbounded`
  double upper = kUnbounded;  ///< finite or `kUnbounded`
  bool is_integer = false;    ///< true if only whole numbers are allowed
  std::string name{};         ///< shown in the LP format; may be empty
};

/// A coefficient of a row.
struct LinearTerm {
  std::size_t column = 0;
  double coefficient = 0;  ///< finite
};

/// A constraint: lower <= the sum of the terms <= upper.
struct LinearRow {
  std::vector<LinearTerm> terms{};  ///< terms, each column at most once
  double lower = -kUnbounded;
  double upper = kUnbounded;
  std::string name{};  ///< shown in the LP format; may be empty
};

/// Minimizes, or maximizes, the sum of objective x value of the columns subject to the rows and bounds.
struct LinearProgram {
  bool maximize = false;
  std::vector<LinearColumn> columns{};
  std::vector<LinearRow> rows{};
};

/// Throws `std::logic_error` for a number that is not finite where it must be, an unknown column, or a column
/// that is in a row twice. A lower bound above the upper one is allowed: the program is infeasible.
void check_program(const LinearProgram& program);

/// The objective at `values[columns]`.
double objective_at(const LinearProgram& program, std::span<const double> values);

/// True if `values[columns]` keep bounds, rows and integrality. The tolerance is absolute for bounds and
/// integers. For rows it is multiplied by the largest of 1 and the terms' magnitudes.
bool is_feasible(const LinearProgram& program, std::span<const double> values, double tolerance = 1e-6);

/// The program in CPLEX's LP format, which other solvers read (`glpsol --lp`, `cbc`, HiGHS). Column 3 named
/// `take a` is `x3_take_a`, row 2 without a name is `r2`. A row with two different bounds becomes two rows.
std::string to_lp_format(const LinearProgram& program);

}  // namespace vtrain
