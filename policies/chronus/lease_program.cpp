#include "policies/chronus/lease_program.hpp"

#include <Cbc_C_Interface.h>
#include <fmt/format.h>
#include <CoinHelperFunctions.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <vector>

namespace vtrain {
namespace {

constexpr double kNoBound = 1e30;

/// The program column by column, as the solver takes it.
class Columns {
 public:
  /// Adds a binary variable; rows are added to it by `entry`.
  void add(double objective, double upper) {
    starts_.push_back(static_cast<int>(rows_.size()));
    objective_.push_back(objective);
    upper_.push_back(upper);
  }
  /// Puts the last variable into a row.
  void entry(std::int64_t row, double coefficient) {
    rows_.push_back(static_cast<int>(row));
    coefficients_.push_back(coefficient);
  }
  /// Hands the variables over, all binary, to be chosen for the highest objective.
  void load(Cbc_Model* model, const std::vector<double>& row_lower, const std::vector<double>& row_upper) {
    const int num_columns = static_cast<int>(objective_.size());
    starts_.push_back(static_cast<int>(rows_.size()));
    const std::vector<double> lower(objective_.size(), 0.0);
    Cbc_loadProblem(model, num_columns, static_cast<int>(row_lower.size()), starts_.data(), rows_.data(),
                    coefficients_.data(), lower.data(), upper_.data(), objective_.data(), row_lower.data(),
                    row_upper.data());
    for (int column = 0; column < num_columns; ++column)
      Cbc_setInteger(model, column);
    constexpr double kMaximize = -1;
    Cbc_setObjSense(model, kMaximize);
  }

 private:
  std::vector<int> starts_;
  std::vector<int> rows_;
  std::vector<double> coefficients_;
  std::vector<double> objective_;
  std::vector<double> upper_;
};

/// Rows: for each option "its leases = required x taken", for each lease "GPUs used <= GPUs", for each job
/// "options taken = 1" (or at most 1). Columns: for each option whether it is taken, followed by its leases.
void load_program(const LeaseProgram& program, Cbc_Model* model) {
  const auto num_options = std::ssize(program.options);
  const std::int64_t num_leases = program.num_leases();
  std::vector<double> lower(program.options.size(), 0.0);
  std::vector<double> upper(program.options.size(), 0.0);
  for (std::int64_t lease = 0; lease < num_leases; ++lease) {
    lower.push_back(-kNoBound);
    upper.push_back(program.gpus_in(lease).value);
  }

  // `used` GPUs in lease 0 count `used` times this.
  const double tie_value = tie_break_value(program, GpuCount(1));

  Columns columns;
  for (std::size_t i = 0; i < program.options.size(); ++i) {
    const LeaseOption& option = program.options[i];
    if (i == 0 || option.job != program.options[i - 1].job) {
      lower.push_back(program.must_serve ? 1 : 0);
      upper.push_back(1);
    }
    columns.add(option.value, option.required_leases <= option.max_lease ? 1 : 0);
    columns.entry(static_cast<std::int64_t>(i), -static_cast<double>(option.required_leases));
    columns.entry(std::ssize(lower) - 1, 1);
    for (std::int64_t lease = 0; lease < option.max_lease; ++lease) {
      columns.add(lease == 0 ? tie_value * option.num_gpus.value : 0, 1);
      columns.entry(static_cast<std::int64_t>(i), 1);
      columns.entry(num_options + lease, option.num_gpus.value);
    }
  }
  columns.load(model, lower, upper);
}

/// Gives the solver every variable's value in a known plan.
void load_start(const LeaseProgram& program, const LeasePlan& plan, Cbc_Model* model) {
  std::vector<int> columns;
  std::vector<double> values;
  const auto set_next = [&](bool value) {
    columns.push_back(static_cast<int>(columns.size()));
    values.push_back(value ? 1 : 0);
  };
  for (std::size_t i = 0; i < plan.size(); ++i) {
    set_next(!plan[i].empty());
    for (std::int64_t lease = 0; lease < program.options[i].max_lease; ++lease)
      set_next(std::binary_search(plan[i].begin(), plan[i].end(), lease));
  }
  Cbc_setMIPStartI(model, static_cast<int>(columns.size()), columns.data(), values.data());
}

LeasePlan read_plan(const LeaseProgram& program, const double* values) {
  LeasePlan plan(program.options.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const bool taken = *values++ > 0.5;
    for (std::int64_t lease = 0; lease < program.options[i].max_lease; ++lease) {
      if (*values++ > 0.5 && taken) plan[i].push_back(lease);
    }
  }
  return plan;
}

void set_limits(const LeaseSolverLimits& limits, Cbc_Model* model) {
  Cbc_setLogLevel(model, 0);
  Cbc_setParameter(model, "log", "0");
  Cbc_setParameter(model, "threads", "0");
  // The preprocessing of Cbc 2.10.8 loses the best plan of some small programs and calls the rest proven.
  Cbc_setParameter(model, "preprocess", "off");
  Cbc_setParameter(model, "maxNodes", fmt::format("{}", limits.nodes).c_str());
  Cbc_setParameter(model, "ratioGap", fmt::format("{}", limits.gap).c_str());
  if (limits.time.count() > 0) {
    Cbc_setParameter(model, "timeMode", "elapsed");
    Cbc_setParameter(model, "sec", fmt::format("{}", limits.time.count()).c_str());
  }
}

}  // namespace

LeaseSolution solve_leases(const LeaseProgram& program, const LeaseSolverLimits& limits,
                           const LeasePlan* start) {
  if (program.options.empty()) return {.search = LeaseSearch::Solved};
  static std::mutex solver_turn;
  const std::scoped_lock turn(solver_turn);
  const std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> model(Cbc_newModel(), &Cbc_deleteModel);
  load_program(program, model.get());
  if (start != nullptr) load_start(program, *start, model.get());
  set_limits(limits, model.get());
  constexpr int kSeed = 1;
  CoinSeedRandom(kSeed);
  Cbc_solve(model.get());

  LeaseSolution solution;
  if (Cbc_isProvenInfeasible(model.get()) != 0) {
    solution.search = LeaseSearch::Infeasible;
    return solution;
  }
  const double* const values = Cbc_bestSolution(model.get());
  if (values == nullptr) return solution;
  solution.plan = read_plan(program, values);
  // The solver works with tolerances; what it says is checked.
  if (!is_feasible(program, solution.plan)) return {};
  solution.search = Cbc_isProvenOptimal(model.get()) != 0 ? LeaseSearch::Solved : LeaseSearch::Stopped;
  solution.objective = plan_objective(program, solution.plan);
  const double bound = Cbc_getBestPossibleObjValue(model.get());
  const double scale = std::max(std::abs(solution.objective), 1e-9);
  solution.gap = std::max(0.0, (bound - solution.objective) / scale);
  return solution;
}

}  // namespace vtrain
