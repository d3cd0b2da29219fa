#include "policies/solver/solver.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/base/rng.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vtrain {
namespace {

enum class Kind : std::uint8_t { Continuous, Integer, Mixed };

/// A program of up to 6 columns and 5 rows with small whole coefficients. Columns lie in [-2, 4] or narrower
/// unless the program is `open`.
LinearProgram random_program(std::uint64_t seed, Kind kind, bool is_open = false) {
  RandomStream random(seed, "linear program");
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return static_cast<double>(
        low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1))));
  };
  LinearProgram program{.maximize = random.below(2) == 1};
  const std::size_t num_columns = 1 + random.below(6);
  for (std::size_t i = 0; i < num_columns; ++i) {
    const double lower = between(-2, 1);
    LinearColumn column{.objective = between(-5, 5), .lower = lower, .upper = lower + between(0, 3)};
    if (is_open && random.below(3) == 0) column.upper = kUnbounded;
    if (is_open && random.below(3) == 0) column.lower = -kUnbounded;
    column.is_integer = kind == Kind::Integer || (kind == Kind::Mixed && random.below(2) == 1);
    if (random.below(2) == 1) column.name = "take it/" + std::to_string(i);
    program.columns.push_back(column);
  }
  const std::size_t num_rows = random.below(6);
  for (std::size_t i = 0; i < num_rows; ++i) {
    LinearRow row;
    for (std::size_t column = 0; column < num_columns; ++column) {
      if (random.below(3) > 0) row.terms.push_back({column, between(-4, 6)});
    }
    const double lower = between(-8, 4);
    if (random.below(3) > 0) row.lower = lower;
    if (random.below(3) > 0) row.upper = lower + between(0, 6);
    program.rows.push_back(row);
  }
  return program;
}

/// The best objective of a bounded integer program, by trying all values.
std::optional<double> best_by_enumeration(const LinearProgram& program) {
  std::optional<double> best;
  std::vector<double> values;
  for (const LinearColumn& column : program.columns)
    values.push_back(column.lower);
  while (true) {
    if (is_feasible(program, values, 0)) {
      const double objective = objective_at(program, values);
      if (!best || (program.maximize ? objective > *best : objective < *best)) best = objective;
    }
    std::size_t column = 0;
    for (; column < values.size(); ++column) {
      if (++values[column] <= program.columns[column].upper) break;
      values[column] = program.columns[column].lower;
    }
    if (column == values.size()) return best;
  }
}

/// A multi-dimensional knapsack for which Cbc needs some hundred nodes.
LinearProgram hard_knapsack(std::uint64_t seed) {
  RandomStream random(seed, "knapsack");
  LinearProgram program{.maximize = true};
  constexpr std::size_t kItems = 50;
  for (std::size_t i = 0; i < kItems; ++i) {
    program.columns.push_back(
        {.objective = 10.0 + static_cast<double>(random.below(90)), .upper = 1, .is_integer = true});
  }
  for (std::size_t i = 0; i < 8; ++i) {
    LinearRow row;
    double sum = 0;
    for (std::size_t column = 0; column < kItems; ++column) {
      const double weight = 10.0 + static_cast<double>(random.below(90));
      row.terms.push_back({column, weight});
      sum += weight;
    }
    row.upper = std::floor(sum / 2);
    program.rows.push_back(row);
  }
  return program;
}

/// The bits of a solution.
std::vector<std::uint64_t> bits_of(const LinearSolution& solution) {
  std::vector<std::uint64_t> bits{static_cast<std::uint64_t>(solution.status)};
  for (const double value : {solution.objective, solution.bound, solution.gap})
    bits.push_back(std::bit_cast<std::uint64_t>(value));
  for (const double value : solution.values)
    bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

/// The objective according to glpsol, or nothing if there is no optimal solution.
std::optional<double> glpsol_objective(const LinearProgram& program, const testing::TemporaryFolder& work) {
  work.write("program.lp", to_lp_format(program));
  const std::string folder = "cd '" + work.path().string() + "' && ";
  const std::string command = folder + "rm -f answer && glpsol --lp program.lp --write answer >log 2>&1";
  REQUIRE(std::system(command.c_str()) == 0);
  // The line "s bas ROWS COLUMNS PRIMAL DUAL OBJECTIVE" or "s mip ROWS COLUMNS STATUS OBJECTIVE".
  std::ifstream answer(work / "answer");
  std::string word;
  while (answer >> word) {
    if (word != "s") {
      std::getline(answer, word);
      continue;
    }
    std::string kind, status, dual;
    std::size_t rows = 0, columns = 0;
    double objective = 0;
    answer >> kind >> rows >> columns >> status;
    if (kind == "bas") answer >> dual;
    answer >> objective;
    REQUIRE(answer.good());
    CHECK(columns == program.columns.size());
    const bool is_optimal = kind == "bas" ? status == "f" && dual == "f" : status == "o";
    if (!is_optimal) return std::nullopt;
    return objective;
  }
  FAIL("glpsol wrote no solution");
  return std::nullopt;
}

}  // namespace

TEST_CASE("solver: a program whose answer is known by hand") {
  // max 3x + 2y, x + y <= 4, x + 3y <= 6, x <= 3: the corner x = 3, y = 1 gives 11. With 2x + 2y <= 7 in
  // place of the first row, y = 0.5 gives 10; whole numbers give x = 3, y = 0 and 9.
  LinearProgram program{
      .maximize = true,
      .columns = {{.objective = 3, .upper = 3}, {.objective = 2}},
      .rows = {{.terms = {{0, 1}, {1, 1}}, .upper = 4}, {.terms = {{0, 1}, {1, 3}}, .upper = 6}}};
  LinearSolution solution = solve(program);
  REQUIRE(solution.status == SolverStatus::Optimal);
  CHECK(solution.objective == doctest::Approx(11));
  CHECK(solution.bound == doctest::Approx(11));
  CHECK(solution.values[1] == doctest::Approx(1));
  program.rows[0] = {.terms = {{0, 2}, {1, 2}}, .upper = 7};
  CHECK(solve(program).objective == doctest::Approx(10));
  for (LinearColumn& column : program.columns)
    column.is_integer = true;
  solution = solve(program);
  REQUIRE(solution.status == SolverStatus::Optimal);
  CHECK(solution.values == std::vector<double>{3, 0});
  CHECK(solution.gap == 0);
}

TEST_CASE("solver: integer programs have the best of all solutions, or none where there is none") {
  int num_infeasible = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(300); ++seed) {
    CAPTURE(seed);
    const LinearProgram program = random_program(seed, Kind::Integer);
    const auto best = best_by_enumeration(program);
    const LinearSolution solution = solve(program);
    if (!best) {
      ++num_infeasible;
      REQUIRE(solution.status == SolverStatus::Infeasible);
      continue;
    }
    REQUIRE(solution.status == SolverStatus::Optimal);
    REQUIRE(is_feasible(program, solution.values));
    REQUIRE(solution.objective == doctest::Approx(*best).epsilon(1e-9));
    REQUIRE(solution.gap < 1e-6);
  }
  CHECK(num_infeasible > static_cast<int>(testing::rounds(30)));
}

TEST_CASE("solver: programs on which Cbc and Clp fail have their answer all the same") {
  // An assertion ends Cbc 2.10.8 in its heuristics.
  const LinearProgram aborted = random_program(3660, Kind::Integer);
  const LinearSolution solution = solve(aborted);
  REQUIRE(solution.status == SolverStatus::Optimal);
  CHECK(solution.objective == doctest::Approx(best_by_enumeration(aborted).value()));
  // With x1 = -t and x4 = t / 3, rows hold for x0 = t / 6 + 2, and the objective is 5 t - 4. Clp 1.17.6 calls
  // a corner optimal.
  const LinearProgram unbounded{
      .maximize = true,
      .columns = {{.objective = -2},
                  {.objective = -5, .lower = -kUnbounded, .upper = 3},
                  {.lower = -kUnbounded},
                  {.objective = -5, .upper = 1},
                  {.objective = 1, .lower = -kUnbounded}},
      .rows = {{.terms = {{1, 2}, {3, -3}, {4, 6}}, .lower = -4, .upper = 0},
               {.terms = {{0, -2}, {1, -1}, {2, 0}, {3, 0}, {4, -2}}, .upper = -4}}};
  CHECK(solve(unbounded).status == SolverStatus::Unbounded);
}

TEST_CASE("solver: glpsol reads the LP format of a program and finds the same objective") {
  if (std::system("command -v glpsol >/dev/null 2>&1") != 0) {
    MESSAGE("skipped: glpsol absent");
    return;
  }
  const testing::TemporaryFolder work;
  int num_optimal = 0;
  int num_without = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(60); ++seed) {
    for (const Kind kind : {Kind::Continuous, Kind::Integer, Kind::Mixed}) {
      const LinearProgram program = random_program(seed, kind, kind == Kind::Continuous);
      CAPTURE(to_lp_format(program));
      const LinearSolution solution = solve(program);
      const auto objective = glpsol_objective(program, work);
      REQUIRE(objective.has_value() == (solution.status == SolverStatus::Optimal));
      if (objective) CHECK(solution.objective == doctest::Approx(*objective).epsilon(1e-6));
      ++(objective ? num_optimal : num_without);
    }
  }
  CHECK(num_optimal > testing::enough(50));
  CHECK(num_without > static_cast<int>(testing::rounds(20)));
}

TEST_CASE("solver: programs without a best solution are told apart") {
  LinearProgram program{.maximize = true, .columns = {{.objective = 1}}};
  CHECK(solve(program).status == SolverStatus::Unbounded);
  program.columns[0].is_integer = true;
  CHECK(solve(program).status == SolverStatus::Unbounded);
  program.rows = {{.terms = {{0, 1}}, .lower = 3, .upper = 2}};
  CHECK(solve(program).status == SolverStatus::Infeasible);
  program.columns[0].is_integer = false;
  CHECK(solve(program).status == SolverStatus::Infeasible);
}

TEST_CASE("solver: a start is never made worse, and the optimum does not depend on it") {
  for (std::uint64_t seed = 1; seed <= testing::rounds(100); ++seed) {
    CAPTURE(seed);
    for (const Kind kind : {Kind::Continuous, Kind::Mixed}) {
      const LinearProgram program = random_program(seed, kind);
      const LinearSolution best = solve(program);
      if (best.status != SolverStatus::Optimal) continue;
      LinearProgram other = program;
      other.maximize = !program.maximize;
      const LinearSolution worst = solve(other);
      REQUIRE(worst.status == SolverStatus::Optimal);
      CAPTURE(to_lp_format(program));
      CAPTURE(static_cast<int>(kind));
      const LinearSolution again = solve(program, {}, worst.values);
      REQUIRE(again.status == SolverStatus::Optimal);
      REQUIRE(again.objective == doctest::Approx(best.objective).epsilon(1e-7));
    }
  }
  const LinearProgram program = hard_knapsack(1);
  const LinearSolution best = solve(program);
  const LinearSolution stopped = solve(program, {.nodes = 1}, best.values);
  CHECK(stopped.objective >= best.objective);
}

TEST_CASE("solver: a search ends at its limits with a bound that holds") {
  const LinearProgram program = hard_knapsack(2);
  const LinearSolution best = solve(program);
  REQUIRE(best.status == SolverStatus::Optimal);
  const LinearSolution stopped = solve(program, {.nodes = 2});
  REQUIRE(stopped.status == SolverStatus::Stopped);
  CHECK(stopped.objective <= best.objective);
  CHECK(stopped.bound >= best.objective - 1e-6);
  CHECK(stopped.gap > 0);
  CHECK(solve(program, {.gap = 0.5}).gap <= 0.5);
  LinearProgram relaxed = program;
  for (LinearColumn& column : relaxed.columns)
    column.is_integer = false;
  const LinearSolution optimum = solve(relaxed);
  CHECK(optimum.objective >= best.objective - 1e-6);
  // From nothing taken, which is feasible, one step of the simplex method is not enough.
  const std::vector<double> nothing(relaxed.columns.size(), 0.0);
  const LinearSolution one_step = solve(relaxed, {.iterations = 1}, nothing);
  REQUIRE(one_step.status == SolverStatus::Stopped);
  CHECK(one_step.objective < optimum.objective);
  CHECK(std::isinf(one_step.gap));
}

TEST_CASE("solver: threads that solve different programs get the bytes of one thread") {
  constexpr std::uint64_t kPrograms = 24;
  const auto solve_one = [](std::uint64_t number) {
    if (number % 4 == 0) return bits_of(solve(hard_knapsack(number), {.nodes = 30}));
    const Kind kind = number % 4 == 1 ? Kind::Continuous : number % 4 == 2 ? Kind::Integer : Kind::Mixed;
    return bits_of(solve(random_program(number, kind)));
  };
  std::vector<std::vector<std::uint64_t>> alone;
  for (std::uint64_t number = 0; number < kPrograms; ++number)
    alone.push_back(solve_one(number));
  constexpr std::size_t kThreads = testing::kMayForkWithThreads ? 8 : 1;
  std::vector<std::vector<std::vector<std::uint64_t>>> beside(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        beside[thread].resize(kPrograms);
        // Each thread begins with another program.
        for (std::uint64_t i = 0; i < kPrograms; ++i) {
          const std::uint64_t number = (i + 5 * thread) % kPrograms;
          beside[thread][number] = solve_one(number);
        }
      });
    }
  }
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    CAPTURE(thread);
    CHECK(beside[thread] == alone);
  }
}

TEST_CASE("solver: programs that make no sense are broken invariants") {
  const LinearProgram good{.columns = {{}}, .rows = {{.terms = {{0, 1}}}}};
  CHECK(solve(good).status == SolverStatus::Optimal);
  LinearProgram bad = good;
  bad.rows[0].terms[0].column = 1;
  CHECK_THROWS_AS(solve(bad), std::logic_error);
  bad = good;
  bad.rows[0].terms.push_back({0, 2});
  CHECK_THROWS_AS(solve(bad), std::logic_error);
  bad = good;
  bad.columns[0].objective = std::nan("");
  CHECK_THROWS_AS(solve(bad), std::logic_error);
  bad = good;
  bad.columns[0].lower = std::nan("");
  CHECK_THROWS_AS(solve(bad), std::logic_error);
  CHECK_THROWS_AS(solve(good, {}, std::vector<double>{1, 2}), std::logic_error);
}

}  // namespace vtrain
