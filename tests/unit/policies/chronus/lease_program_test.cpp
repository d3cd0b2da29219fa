#include "policies/chronus/lease_program.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "tests/support/rounds.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/unit/policies/lease_support.hpp"

namespace vtrain {
namespace {

constexpr LeaseSolverLimits kExact{.gap = 0, .nodes = 100'000};

/// Jobs that overload 16 GPUs: a program that is not solved at the root node.
LeaseProgram hard_program() {
  LeaseProgram program{.gpus = GpuCount(16), .must_serve = false, .tie_break = LeaseTieBreak::Early};
  for (std::uint32_t job = 0; job < 40; ++job) {
    program.options.push_back({.job = job,
                               .num_gpus = GpuCount(static_cast<std::int32_t>(1 + job * 7 % 11)),
                               .required_leases = 1 + job * 5 % 7,
                               .max_lease = 8 + job * 3 % 13});
  }
  return program;
}

}  // namespace

TEST_CASE("lease_program: the solver finds the best of all plans, and knows when there is none") {
  int infeasible = 0;
  int several_deadlines = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(300); ++seed) {
    CAPTURE(seed);
    const LeaseProgram program = testing::random_lease_program(seed, 4);
    const auto best = testing::best_objective(program);
    const LeaseSolution solution = solve_leases(program, kExact);
    if (!best) {
      ++infeasible;
      REQUIRE(solution.search == LeaseSearch::Infeasible);
      continue;
    }
    REQUIRE(solution.search == LeaseSearch::Solved);
    REQUIRE(is_feasible(program, solution.plan));
    REQUIRE(solution.objective == doctest::Approx(*best).epsilon(1e-9));
    REQUIRE(solution.gap < 1e-6);
    if (program.options.back().job + std::size_t{1} < program.options.size()) ++several_deadlines;
  }
  CHECK(infeasible > static_cast<int>(testing::rounds(30)));
  CHECK(several_deadlines > static_cast<int>(testing::rounds(30)));
}

TEST_CASE("lease_program: a search that starts from a plan never ends with a worse one") {
  const LeaseProgram program = hard_program();
  const LeasePlan start = pack_leases(program);
  const LeaseSolution solution = solve_leases(program, {.gap = 0, .nodes = 1}, &start);
  REQUIRE((solution.search == LeaseSearch::Stopped || solution.search == LeaseSearch::Solved));
  CHECK(solution.objective >= plan_objective(program, start));
}

TEST_CASE("lease_program: a search that stops at a limit tells how far the plan may be from the best") {
  const LeaseProgram program = hard_program();
  const LeasePlan start = pack_leases(program);
  const LeaseSolution stopped = solve_leases(program, {.gap = 0, .nodes = 1}, &start);
  const LeaseSolution longer = solve_leases(program, {.gap = 0, .nodes = 200}, &start);
  // The bound of the first search holds for the second one's plan.
  CHECK(longer.objective <= stopped.objective + stopped.gap * stopped.objective + 1e-6);
  CHECK(longer.gap <= stopped.gap + 1e-9);
}

TEST_CASE("lease_program: the same program gives the same plan, whatever was solved before or beside it") {
  const LeaseProgram program = hard_program();
  const LeaseSolverLimits limits{.gap = 0, .nodes = 20};
  const LeaseSolution first = solve_leases(program, limits);
  LeaseSolution beside;
  std::thread other([&] {
    for (std::uint64_t seed = 1; seed <= testing::rounds(20); ++seed)
      solve_leases(testing::random_lease_program(seed, 4), kExact);
    beside = solve_leases(program, limits);
  });
  if (!testing::kMayForkWithThreads) other.join();
  const LeaseSolution again = solve_leases(program, limits);
  if (other.joinable()) other.join();
  CHECK(first.plan == again.plan);
  CHECK(first.plan == beside.plan);
  CHECK(first.gap == again.gap);
}

TEST_CASE("lease_program: a time limit ends a search") {
  const LeaseProgram program = hard_program();
  const LeasePlan start = pack_leases(program);
  const LeaseSolution solution =
      solve_leases(program, {.gap = 0, .nodes = 1'000'000, .time = Seconds(0.2)}, &start);
  REQUIRE_FALSE(solution.plan.empty());
  CHECK(is_feasible(program, solution.plan));
}

TEST_CASE("lease_program: no jobs are served by the empty plan") {
  const LeaseSolution solution = solve_leases({}, {});
  CHECK(solution.search == LeaseSearch::Solved);
  CHECK(solution.plan.empty());
}

}  // namespace vtrain
