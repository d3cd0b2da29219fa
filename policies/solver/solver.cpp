#include "policies/solver/solver.hpp"

#include <Cbc_C_Interface.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ClpSimplex.hpp>
#include <ClpSolve.hpp>
#include <CoinHelperFunctions.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>

namespace vtrain {
namespace {

/// Bounds from here on are infinite for COIN-OR.
constexpr double kCoinInfinity = 1e30;

std::int32_t to_limit(std::int64_t limit) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(limit > 0 ? std::min(limit, kMost) : kMost);
}

/// A program column by column, as COIN-OR takes it; coefficients of a column in the order of rows.
struct CoinProgram {
  explicit CoinProgram(const LinearProgram& program) {
    starts.assign(program.columns.size() + 1, 0);
    for (const LinearRow& row : program.rows) {
      for (const LinearTerm& term : row.terms)
        ++starts[term.column + 1];
    }
    for (std::size_t i = 0; i < program.columns.size(); ++i)
      starts[i + 1] += starts[i];
    rows.resize(static_cast<std::size_t>(starts.back()));
    coefficients.resize(rows.size());
    std::vector<int> next(starts.begin(), starts.end() - 1);
    for (std::size_t i = 0; i < program.rows.size(); ++i) {
      for (const LinearTerm& term : program.rows[i].terms) {
        const auto place = static_cast<std::size_t>(next[term.column]++);
        rows[place] = static_cast<int>(i);
        coefficients[place] = term.coefficient;
      }
      row_lower.push_back(std::max(program.rows[i].lower, -kCoinInfinity));
      row_upper.push_back(std::min(program.rows[i].upper, kCoinInfinity));
    }
    for (const LinearColumn& column : program.columns) {
      lower.push_back(std::max(column.lower, -kCoinInfinity));
      upper.push_back(std::min(column.upper, kCoinInfinity));
      objective.push_back(column.objective);
    }
  }

  std::vector<int> starts;  ///< [columns + 1]
  std::vector<int> rows;    ///< [coefficients]
  std::vector<double> coefficients;
  std::vector<double> lower, upper, objective;  ///< [columns]
  std::vector<double> row_lower, row_upper;     ///< [rows]
};

/// Puts every column at a bound if its value is there, else between: the start of the values pass of the
/// primal simplex method.
void set_start(const LinearProgram& program, std::span<const double> start, ClpSimplex& model) {
  model.createStatus();
  for (std::size_t i = 0; i < start.size(); ++i) {
    const LinearColumn& column = program.columns[i];
    const auto status = start[i] <= column.lower   ? ClpSimplex::atLowerBound
                        : start[i] >= column.upper ? ClpSimplex::atUpperBound
                                                   : ClpSimplex::superBasic;
    model.setColumnStatus(static_cast<int>(i), status);
  }
  model.setColSolution(start.data());
}

/// Bound on the objective that prices of the rows prove by weak duality: no solution is better. Infinite
/// where the prices prove none.
double proven_bound(const LinearProgram& program, const double* row_prices) {
  constexpr double kZero = 1e-7;
  const double sense = program.maximize ? -1 : 1;  // of a minimization
  std::vector<double> reduced_costs;
  for (const LinearColumn& column : program.columns)
    reduced_costs.push_back(sense * column.objective);
  double bound = 0;
  const auto add = [&bound](double price, double lower, double upper) {
    if (std::abs(price) > kZero) bound += price * (price > 0 ? lower : upper);
  };
  for (std::size_t i = 0; i < program.rows.size(); ++i) {
    const double price = sense * row_prices[i];
    add(price, program.rows[i].lower, program.rows[i].upper);
    for (const LinearTerm& term : program.rows[i].terms)
      reduced_costs[term.column] -= price * term.coefficient;
  }
  for (std::size_t i = 0; i < program.columns.size(); ++i)
    add(reduced_costs[i], program.columns[i].lower, program.columns[i].upper);
  return sense * bound;
}

/// True if the model ended at a solution that its prices prove to be the best.
bool is_proven(const LinearProgram& program, const ClpSimplex& model) {
  constexpr double kTolerance = 1e-6;
  const double objective = model.getObjValue();
  const double bound = proven_bound(program, model.getRowPrice());
  return std::abs(bound - objective) <= kTolerance * std::max(1.0, std::abs(objective));
}

LinearSolution solve_continuous(const LinearProgram& program, const SolverLimits& limits,
                                std::span<const double> start) {
  const CoinProgram coin(program);
  ClpSimplex model;
  model.setLogLevel(0);
  model.loadProblem(static_cast<int>(program.columns.size()), static_cast<int>(program.rows.size()),
                    coin.starts.data(), coin.rows.data(), coin.coefficients.data(), coin.lower.data(),
                    coin.upper.data(), coin.objective.data(), coin.row_lower.data(), coin.row_upper.data());
  model.setOptimizationDirection(program.maximize ? -1 : 1);
  model.setMaximumIterations(to_limit(limits.iterations));
  if (limits.time.count() > 0) model.setMaximumWallSeconds(limits.time.count());
  if (start.empty()) {
    ClpSolve options;
    constexpr int kInterrupts = 2;
    constexpr int kNoSignalHandler = 1;  // it needs a global pointer to the model
    options.setSpecialOption(kInterrupts, kNoSignalHandler);
    model.initialSolve(options);
  } else {
    constexpr int kValuesPass = 1;
    set_start(program, start, model);
    model.primal(kValuesPass);
  }
  // The presolve of Clp 1.17.6 calls a corner of some programs without a best solution optimal.
  if (model.isProvenOptimal() && !is_proven(program, model)) {
    model.createStatus();
    model.primal();
  }

  LinearSolution solution;
  if (model.isProvenPrimalInfeasible()) {
    solution.status = SolverStatus::Infeasible;
    return solution;
  }
  if (model.isProvenDualInfeasible()) {
    solution.status = SolverStatus::Unbounded;
    return solution;
  }
  std::vector<double> values(model.getColSolution(), model.getColSolution() + program.columns.size());
  if (!is_feasible(program, values)) return solution;
  solution.objective = objective_at(program, values);
  solution.values = std::move(values);
  const bool is_optimal = model.isProvenOptimal();
  solution.status = is_optimal ? SolverStatus::Optimal : SolverStatus::Stopped;
  solution.bound = is_optimal ? solution.objective : program.maximize ? kUnbounded : -kUnbounded;
  return solution;
}

/// Result that the process of an integer program leaves in shared memory; the values of columns follow it.
struct SharedAnswer {
  bool is_complete = false;
  SolverStatus status = SolverStatus::NothingFound;
  double bound = 0;
};

/// Memory for an answer that survives the process that writes it.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t num_columns)
      : num_bytes_(sizeof(SharedAnswer) + num_columns * sizeof(double)),
        memory_(::mmap(nullptr, num_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::runtime_error("no memory is left for the integer program's answer");
    new (memory_) SharedAnswer;
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { ::munmap(memory_, num_bytes_); }

  SharedAnswer& answer() { return *static_cast<SharedAnswer*>(memory_); }
  double* values() { return reinterpret_cast<double*>(static_cast<SharedAnswer*>(memory_) + 1); }

 private:
  std::size_t num_bytes_;
  void* memory_;
};

void set_cbc_limits(const SolverLimits& limits, Cbc_Model* model) {
  Cbc_setLogLevel(model, 0);
  Cbc_setParameter(model, "log", "0");
  Cbc_setParameter(model, "threads", "0");
  // The preprocessing of Cbc 2.10.8 loses the best solution of some small programs and calls the rest proven.
  Cbc_setParameter(model, "preprocess", "off");
  if (limits.nodes > 0)
    Cbc_setParameter(model, "maxNodes", fmt::format("{}", to_limit(limits.nodes)).c_str());
  Cbc_setParameter(model, "ratioGap", fmt::format("{}", limits.gap).c_str());
  if (limits.time.count() > 0) {
    Cbc_setParameter(model, "timeMode", "elapsed");
    Cbc_setParameter(model, "sec", fmt::format("{}", limits.time.count()).c_str());
  }
}

/// Runs Cbc, which must have the process to itself.
void run_cbc(const LinearProgram& program, const SolverLimits& limits, std::span<const double> start,
             SharedMemory& memory) {
  const int num_columns = static_cast<int>(program.columns.size());
  const std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> model(Cbc_newModel(), &Cbc_deleteModel);
  CoinProgram coin(program);
  // Cbc 2.10.8 treats the objective of a start as one of minimization, and a negative one would cut off
  // better solutions. A positive one cuts off nothing.
  const bool is_negated = program.maximize && !start.empty() && objective_at(program, start) < 0;
  if (is_negated)
    std::transform(coin.objective.begin(), coin.objective.end(), coin.objective.begin(), std::negate<>());
  Cbc_loadProblem(model.get(), num_columns, static_cast<int>(program.rows.size()), coin.starts.data(),
                  coin.rows.data(), coin.coefficients.data(), coin.lower.data(), coin.upper.data(),
                  coin.objective.data(), coin.row_lower.data(), coin.row_upper.data());
  for (int column = 0; column < num_columns; ++column) {
    if (program.columns[static_cast<std::size_t>(column)].is_integer) Cbc_setInteger(model.get(), column);
  }
  Cbc_setObjSense(model.get(), program.maximize && !is_negated ? -1 : 1);
  if (!start.empty()) {
    std::vector<int> columns(start.size());
    for (int column = 0; column < num_columns; ++column)
      columns[static_cast<std::size_t>(column)] = column;
    Cbc_setMIPStartI(model.get(), num_columns, columns.data(), start.data());
  }
  set_cbc_limits(limits, model.get());
  constexpr int kSeed = 1;
  CoinSeedRandom(kSeed);
  ::srand(kSeed);
  Cbc_solve(model.get());

  SharedAnswer& answer = memory.answer();
  const double* const values = Cbc_bestSolution(model.get());
  if (Cbc_isProvenInfeasible(model.get()) != 0) {
    answer.status = SolverStatus::Infeasible;
  } else if (Cbc_isContinuousUnbounded(model.get()) != 0) {
    answer.status = SolverStatus::Unbounded;
  } else if (values != nullptr) {
    std::copy_n(values, program.columns.size(), memory.values());
    answer.status = Cbc_isProvenOptimal(model.get()) != 0 ? SolverStatus::Optimal : SolverStatus::Stopped;
    answer.bound = (is_negated ? -1 : 1) * Cbc_getBestPossibleObjValue(model.get());
  }
  answer.is_complete = true;
}

/// The forked process: ends with its parent, takes no signals meant for the parent, and runs none of its exit
/// handlers. Cbc flushes standard output, whose buffer is a copy of the parent's, and reports its failed
/// assertions on standard error: both are discarded.
[[noreturn]] void run_child(pid_t parent, const LinearProgram& program, const SolverLimits& limits,
                            std::span<const double> start, SharedMemory& memory) noexcept {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (::getppid() != parent || nowhere < 0 || ::dup2(nowhere, STDOUT_FILENO) < 0 ||
      ::dup2(nowhere, STDERR_FILENO) < 0)
    ::_exit(EXIT_FAILURE);
  try {
    run_cbc(program, limits, start, memory);
  } catch (...) {
    ::_exit(EXIT_FAILURE);
  }
  ::_exit(EXIT_SUCCESS);
}

/// Searches in a process of its own. True if the process left an answer before it ended.
bool run_apart(const LinearProgram& program, const SolverLimits& limits, std::span<const double> start,
               SharedMemory& memory) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) run_child(parent, program, limits, start, memory);
  if (child < 0) {
    throw std::runtime_error(
        fmt::format("the process for an integer program cannot be started: {}", std::strerror(errno)));
  }
  // This fails on a host that ignores SIGCHLD when the process has ended; the answer decides.
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return memory.answer().is_complete;
}

LinearSolution solve_integer(const LinearProgram& program, const SolverLimits& limits,
                             std::span<const double> start) {
  SharedMemory memory(program.columns.size());
  if (!run_apart(program, limits, start, memory)) {
    // An assertion ends Cbc 2.10.8 on some programs with few rows. Rows without bounds change no answer.
    LinearProgram padded = program;
    padded.rows.resize(program.rows.size() + program.columns.size(), LinearRow{.terms = {{0, 1}}});
    if (!run_apart(padded, limits, start, memory))
      throw std::runtime_error("the process that solves an integer program ended before its answer");
  }

  const SharedAnswer& answer = memory.answer();
  LinearSolution solution;
  if (answer.status == SolverStatus::Infeasible || answer.status == SolverStatus::Unbounded)
    solution.status = answer.status;
  if (answer.status != SolverStatus::Optimal && answer.status != SolverStatus::Stopped) return solution;
  std::vector<double> values(memory.values(), memory.values() + program.columns.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (program.columns[i].is_integer) values[i] = std::round(values[i]);
  }
  // Cbc works with tolerances; its answer is checked.
  if (!is_feasible(program, values)) return solution;
  solution.status = answer.status;
  solution.objective = objective_at(program, values);
  solution.values = std::move(values);
  solution.bound = answer.bound;
  return solution;
}

}  // namespace

LinearSolution solve(const LinearProgram& program, const SolverLimits& limits,
                     std::span<const double> start) {
  check_program(program);
  if (!start.empty() && start.size() != program.columns.size())
    throw std::logic_error("linear program: the start has another number of columns");
  const bool has_integers = std::any_of(program.columns.begin(), program.columns.end(),
                                        [](const LinearColumn& column) { return column.is_integer; });
  LinearSolution solution =
      has_integers ? solve_integer(program, limits, start) : solve_continuous(program, limits, start);
  if (solution.values.empty()) return solution;
  const double scale = std::max(std::abs(solution.objective), 1e-9);
  solution.gap = std::abs(solution.bound - solution.objective) / scale;
  return solution;
}

}  // namespace vtrain
