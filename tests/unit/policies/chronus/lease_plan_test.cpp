#include "policies/chronus/lease_plan.hpp"

#include <doctest/doctest.h>

#include "tests/support/rounds.hpp"
#include "tests/unit/policies/lease_support.hpp"

namespace vtrain {
namespace {

/// The only option of a job.
LeaseOption option(std::uint32_t job, std::int32_t num_gpus, std::int64_t required, std::int64_t max_lease) {
  return {.job = job, .num_gpus = GpuCount(num_gpus), .required_leases = required, .max_lease = max_lease};
}

}  // namespace

TEST_CASE(
    "lease_plan: the greedy test gives jobs the latest leases with room, those with least slack first") {
  // Slacks are 2, 2, 0 and 2. The third job must take leases 0 and 1. Of those with slack 2 the one that
  // needs one lease goes first (lease 2), then the two that need two, smaller gang first: 2 and 3 beside it,
  // and, with 4 GPUs, what is left are leases 2 and 3 with 1 and 3 GPUs free: no room for the fourth.
  LeaseProgram program{.gpus = GpuCount(4)};
  program.options = {option(0, 3, 2, 4), option(1, 2, 1, 3), option(2, 4, 2, 2), option(3, 1, 2, 4)};
  const LeasePlan plan = pack_leases(program);
  CHECK(plan[2] == std::vector<std::int64_t>{0, 1});
  CHECK(plan[1] == std::vector<std::int64_t>{2});
  CHECK(plan[3] == std::vector<std::int64_t>{2, 3});
  CHECK(plan[0].empty());
  CHECK_FALSE(serves_all_leases(program, plan));
  CHECK_FALSE(is_feasible(program, plan));
  program.must_serve = false;
  CHECK(is_feasible(program, plan));
}

TEST_CASE("lease_plan: a plan that breaks a rule is not feasible") {
  LeaseProgram program{.gpus_by_lease = {GpuCount(1)}, .gpus = GpuCount(4)};
  program.options = {option(0, 2, 2, 4), option(1, 3, 1, 3)};
  CHECK(is_feasible(program, {{1, 3}, {2}}));
  CHECK_FALSE(is_feasible(program, {{1, 2}, {2}}));  // lease 2 has 4 GPUs, not 5
  CHECK_FALSE(is_feasible(program, {{0, 3}, {2}}));  // lease 0 has 1 GPU
  CHECK_FALSE(is_feasible(program, {{1}, {2}}));     // too few leases
  CHECK_FALSE(is_feasible(program, {{1, 1}, {2}}));  // one lease twice
  CHECK_FALSE(is_feasible(program, {{1, 2}, {3}}));  // after the deadline
  CHECK_FALSE(is_feasible(program, {{1, 2}, {}}));   // a job is left out
  CHECK_FALSE(is_feasible(program, {{1, 2}}));       // an option is missing
  program.options[1].job = 0;
  CHECK_FALSE(is_feasible(program, {{1, 3}, {2}}));  // both deadlines of one job
  CHECK(is_feasible(program, {{}, {2}}));
}

TEST_CASE("lease_plan: ties are worth the share of the largest lease that lease 0 uses") {
  LeaseProgram program{.gpus_by_lease = {GpuCount(4)}, .gpus = GpuCount(8)};
  program.options = {option(0, 2, 1, 2), option(1, 1, 1, 1)};
  CHECK(plan_objective(program, {{0}, {0}}) == 2);
  program.tie_break = LeaseTieBreak::Early;
  CHECK(plan_objective(program, {{0}, {0}}) == 2 + 3.0 / 8);
  CHECK(objective_bound(program) == 2 + 3.0 / 8);
  program.tie_break = LeaseTieBreak::Late;
  CHECK(plan_objective(program, {{1}, {0}}) == 2 - 1.0 / 8);
  CHECK(objective_bound(program) == 2 - 1.0 / 8);
}

TEST_CASE("lease_plan: moving leases into or out of lease 0 keeps a plan feasible and never lowers it") {
  int improved = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(500); ++seed) {
    const LeaseProgram program = testing::random_lease_program(seed, 4);
    LeasePlan plan = pack_leases(program);
    if (!is_feasible(program, plan)) continue;
    CAPTURE(seed);
    const double before = plan_objective(program, plan);
    improve_tie_break(program, plan);
    REQUIRE(is_feasible(program, plan));
    const double after = plan_objective(program, plan);
    REQUIRE(after >= before);
    if (after > before) ++improved;
    if (serves_all_leases(program, plan)) REQUIRE(after <= objective_bound(program) + 1e-9);
    REQUIRE(after <= *testing::best_objective(program) + 1e-9);
  }
  CHECK(improved > static_cast<int>(testing::rounds(20)));
}

}  // namespace vtrain
