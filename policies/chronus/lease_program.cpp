#include "policies/chronus/lease_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "policies/solver/solver.hpp"

namespace vtrain {
namespace {

/// Values of the columns of `linear_program` for a known plan.
std::vector<double> values_of(const LeaseProgram& program, const LeasePlan& plan) {
  std::vector<double> values;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    values.push_back(plan[i].empty() ? 0 : 1);
    for (std::int64_t lease = 0; lease < program.options[i].max_lease; ++lease)
      values.push_back(std::binary_search(plan[i].begin(), plan[i].end(), lease) ? 1 : 0);
  }
  return values;
}

LeasePlan read_plan(const LeaseProgram& program, std::span<const double> values) {
  LeasePlan plan(program.options.size());
  auto value = values.begin();
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const bool is_taken = *value++ > 0.5;
    for (std::int64_t lease = 0; lease < program.options[i].max_lease; ++lease) {
      if (*value++ > 0.5 && is_taken) plan[i].push_back(lease);
    }
  }
  return plan;
}

LeaseSearch search_of(SolverStatus status) {
  switch (status) {
    case SolverStatus::Optimal:
      return LeaseSearch::Solved;
    case SolverStatus::Stopped:
      return LeaseSearch::Stopped;
    case SolverStatus::Infeasible:
      return LeaseSearch::Infeasible;
    case SolverStatus::NothingFound:
    case SolverStatus::Unbounded:
      break;
  }
  return LeaseSearch::NothingFound;
}

}  // namespace

LinearProgram linear_program(const LeaseProgram& program) {
  LinearProgram linear{.maximize = true};
  for (std::size_t i = 0; i < program.options.size(); ++i)
    linear.rows.push_back({.lower = 0, .upper = 0, .name = fmt::format("option_{}", i)});
  for (std::int64_t lease = 0; lease < program.num_leases(); ++lease) {
    const double num_gpus = program.gpus_in(lease).value;
    linear.rows.push_back({.upper = num_gpus, .name = fmt::format("lease_{}", lease)});
  }

  // `used` GPUs in lease 0 count `used` times this.
  const double tie_value = tie_break_value(program, GpuCount(1));

  const auto add_column = [&](double objective, double upper, std::string name) {
    linear.columns.push_back(
        {.objective = objective, .upper = upper, .is_integer = true, .name = std::move(name)});
  };
  const auto add_term = [&](std::size_t row, double coefficient) {
    linear.rows[row].terms.push_back({linear.columns.size() - 1, coefficient});
  };
  for (std::size_t i = 0; i < program.options.size(); ++i) {
    const LeaseOption& option = program.options[i];
    if (i == 0 || option.job != program.options[i - 1].job) {
      linear.rows.push_back(
          {.lower = program.must_serve ? 1.0 : 0.0, .upper = 1, .name = fmt::format("job_{}", option.job)});
    }
    add_column(option.value, option.required_leases <= option.max_lease ? 1 : 0, fmt::format("take_{}", i));
    add_term(i, -static_cast<double>(option.required_leases));
    add_term(linear.rows.size() - 1, 1);
    for (std::int64_t lease = 0; lease < option.max_lease; ++lease) {
      add_column(lease == 0 ? tie_value * option.num_gpus.value : 0, 1, fmt::format("run_{}_{}", i, lease));
      add_term(i, 1);
      add_term(program.options.size() + static_cast<std::size_t>(lease), option.num_gpus.value);
    }
  }
  return linear;
}

LeaseSolution solve_leases(const LeaseProgram& program, const LeaseSolverLimits& limits,
                           const LeasePlan* start) {
  if (program.options.empty()) return {.search = LeaseSearch::Solved};
  const std::vector<double> start_values =
      start != nullptr ? values_of(program, *start) : std::vector<double>{};
  const LinearSolution found = solve(
      linear_program(program), {.gap = limits.gap, .nodes = limits.nodes, .time = limits.time}, start_values);

  LeaseSolution solution{.search = search_of(found.status)};
  if (found.values.empty()) return solution;
  solution.plan = read_plan(program, found.values);
  // The solver works with tolerances, so its result is checked.
  if (!is_feasible(program, solution.plan)) return {};
  solution.objective = plan_objective(program, solution.plan);
  const double scale = std::max(std::abs(solution.objective), 1e-9);
  solution.gap = std::max(0.0, (found.bound - solution.objective) / scale);
  return solution;
}

}  // namespace vtrain
