// Known answers for the lease program and the greedy test, found by two other solvers and by enumeration.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/io/input.hpp"
#include "policies/chronus/lease_plan.hpp"
#include "policies/chronus/lease_program.hpp"
#include "tests/support/shared_data.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The instance as a program: a job with deadline D may run in the leases up to floor(D / lease), counted
/// from the current one.
LeaseProgram program_of(const json& instance) {
  LeaseProgram program{.gpus = GpuCount(instance["gpus"].get<std::int32_t>())};
  for (const json& gpus : instance.value("gpus_by_lease", json::array()))
    program.gpus_by_lease.emplace_back(gpus.get<std::int32_t>());
  program.must_serve = instance["mode"] == "must_serve";
  const std::string tie_break = instance["tie_break"];
  if (tie_break == "early") program.tie_break = LeaseTieBreak::Early;
  if (tie_break == "late") program.tie_break = LeaseTieBreak::Late;
  const auto lease_s = instance["lease_s"].get<std::int64_t>();
  std::uint32_t job_number = 0;
  for (const json& job : instance["jobs"]) {
    for (const json& deadline : job["deadlines"]) {
      const auto deadline_s = deadline["deadline_s"].get<std::int64_t>();
      program.options.push_back(
          {.job = job_number,
           .num_gpus = GpuCount(job["gpus"].get<std::int32_t>()),
           .required_leases = (job["remaining_s"].get<std::int64_t>() + lease_s - 1) / lease_s,
           .max_lease = deadline_s / lease_s - instance["current_lease"].get<std::int64_t>(),
           .value = deadline["value"].get<double>()});
    }
    ++job_number;
  }
  return program;
}

void check_options(const LeaseProgram& program, const json& expected) {
  REQUIRE(program.options.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const LeaseOption& option = program.options[i];
    CHECK(option.job == expected[i]["job"].get<std::uint32_t>());
    CHECK(option.num_gpus.value == expected[i]["gpus"].get<std::int32_t>());
    CHECK(option.required_leases == expected[i]["required_leases"].get<std::int64_t>());
    CHECK(option.max_lease == expected[i]["max_lease"].get<std::int64_t>());
    CHECK(option.value == expected[i]["value"].get<double>());
  }
}

}  // namespace

TEST_CASE("lease golden: objectives and greedy plans of the known instances") {
  const fs::path folder = fs::path(VTRAIN_SHARED_DIR) / "algorithms" / "golden" / "chronus";
  if (!have(folder)) return;
  int instances = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    CAPTURE(entry.path().string());
    const json instance = json::parse(*read_file(entry.path(), InputKind::Trace));
    const json& expected = instance["expected"];
    const LeaseProgram program = program_of(instance);
    if (expected.contains("options")) check_options(program, expected["options"]);

    const LeaseSolution solution = solve_leases(program, {.gap = 0, .nodes = 100'000});
    if (expected["feasible"].get<bool>()) {
      REQUIRE(solution.search == LeaseSearch::Solved);
      CHECK(is_feasible(program, solution.plan));
      CHECK(solution.objective == doctest::Approx(expected["objective"].get<double>()).epsilon(1e-9));
    } else {
      CHECK(solution.search == LeaseSearch::Infeasible);
    }

    const LeasePlan greedy = pack_leases(program);
    CHECK(serves_all_leases(program, greedy) == expected["greedy_packing_accepts"].get<bool>());
    if (!expected["greedy_schedule"].is_null()) CHECK(greedy == expected["greedy_schedule"].get<LeasePlan>());
    ++instances;
  }
  CHECK(instances >= 5);
}

}  // namespace vtrain
