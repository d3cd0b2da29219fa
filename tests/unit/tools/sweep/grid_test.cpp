#include "tools/sweep/grid.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>
#include <set>

using vtrain::Error;
using vtrain::Grid;
using vtrain::GridPlace;
using vtrain::parse_sweep_spec;
using vtrain::RunKeys;

namespace {

/// Error of a spec with these members.
Error error_of(const std::string& members) {
  const auto spec = parse_sweep_spec("{\"spec_version\": 1,\n" + members + "}", "grid.json");
  REQUIRE_FALSE(spec.has_value());
  return spec.error();
}

Grid grid_of(const std::string& members) {
  const auto spec = parse_sweep_spec("{\"spec_version\": 1,\n" + members + "}", "grid.json");
  if (!spec) FAIL(spec.error().describe());
  return spec->grid;
}

const std::string kPolicies = "\"policies\": [\"fifo\", \"easy\"],\n";

}  // namespace

TEST_CASE("grid: policies vary fastest, then seeds, then the last option") {
  const Grid grid =
      grid_of(kPolicies + R"("seeds": "1-3", "vary": {"load": [0.5, 1], "deadlines": ["1:2", "none"]})");
  CHECK(grid.num_variants() == 4);
  CHECK(grid.num_scenarios() == 12);
  CHECK(grid.num_runs() == 24);
  // Options are ordered by name.
  CHECK(grid.values(0) == std::vector<std::string>{"1:2", "0.5"});
  CHECK(grid.values(1) == std::vector<std::string>{"1:2", "1"});
  CHECK(grid.values(2) == std::vector<std::string>{"none", "0.5"});
  // Run 8: position 7 is scenario 3 (combination 1, seed 1) under policy 1.
  const GridPlace place = grid.place(8);
  CHECK(place.scenario == 3);
  CHECK(place.variant == 1);
  CHECK(place.seed == 0);
  CHECK(place.policy == 1);
  CHECK(grid.first_run(3) == 7);
  const auto spec = grid.variant_spec(2);
  REQUIRE(spec.has_value());
  CHECK(spec->transformations.deadlines == "none");
  CHECK(spec->transformations.load == 0.5);
}

TEST_CASE("grid: values with commas stay whole") {
  const Grid grid = grid_of(
      kPolicies + R"("vary": {"failures": ["mtbf=100h,repair=4h"], "checkpoints": ["none", "daly"]})");
  CHECK(grid.num_runs() == 4);
  CHECK(grid.values(1) == std::vector<std::string>{"daly", "mtbf=100h,repair=4h"});
}

TEST_CASE("grid: keys name a run by its spec, seed and policy") {
  const Grid wide = grid_of(kPolicies + R"("seeds": "1-3", "vary": {"load": [0.5, 1]})");
  RunKeys keys(wide);
  std::set<std::int64_t> all;
  for (std::int64_t run = 1; run <= wide.num_runs(); ++run)
    all.insert(keys.of(run));
  CHECK(std::ssize(all) == wide.num_runs());
  // Load 1, seed 2, easy: run 1 + 6 + 2 + 1. A narrow grid with this run alone gives it the same key.
  const Grid narrow = grid_of(R"("policies": ["easy"], "seeds": "2", "vary": {"load": [1]})");
  CHECK(RunKeys(narrow).of(1) == keys.of(10));
  // The options may stand in the spec itself.
  const Grid plain = grid_of(R"("policies": ["easy"], "transformations": {"seed": 2, "load": 1})");
  CHECK(RunKeys(plain).of(1) == keys.of(10));
}

TEST_CASE("grid: mistakes name file, line and field") {
  const auto check = [](const std::string& members, std::int64_t line, const std::string& field,
                        const std::string& message) {
    CAPTURE(members);
    const Error error = error_of(members);
    CHECK(error.file == "grid.json");
    CHECK(error.line == line);
    CHECK(error.field == field);
    CHECK_MESSAGE(error.message.find(message) != std::string::npos, error.message);
  };
  check("\"policis\": []", 2, "policis", "did you mean 'policies'?");
  check("\"policies\": []", 2, "policies", "expected at least one policy, found 'none'");
  check("\"policies\": [\"fifo\", \"fifo\"]", 2, "policies", "'fifo' is named twice");
  check("\"policies\": [\"fifoo\"]", 2, "policies[0]", "did you mean 'fifo'?");
  check(kPolicies + "\"seeds\": \"9-1\"", 3, "seeds", "expected seeds such as 1-20");
  check(kPolicies + "\"vary\":\n{\"lod\": [1]}", 4, "vary.lod", "did you mean 'load'?");
  check(kPolicies + "\"vary\":\n{\"load\": []}", 4, "vary.load",
        "expected a list of one value or more, found '[]'");
  check(kPolicies + "\"vary\":\n{\"load\": [1,\n\"x\"]}", 5, "vary.load[1]", "expected a number");
  check(kPolicies + "\"vary\":\n{\"load\": [1,\ntrue]}", 5, "vary.load[1]", "expected a string or a number");
  check(kPolicies + "\"vary\": {\"load\": [1, 1]}", 3, "vary", "'1' is named twice");
  check(kPolicies + "\"vary\": {\"run-times\": [\"guessed\"]}", 3, "vary", "run-times: expected one of");
  check(kPolicies + "\"vary\": {\"seed\": [1, 2]}", 3, "vary", "list seeds under `seeds`");
  check(kPolicies + "\"vary\": {\"timeline\": [\"always\"]}", 3, "vary", "it changes no run");
  check(
      kPolicies + "\"seeds\": \"1-10000\", \"vary\": {\"load\": [" +
          [] {
            std::string values = "0.1";
            for (int i = 1; i < 501; ++i)
              values += fmt::format(", {}", 0.1 + i * 0.001);
            return values;
          }() +
          "]}",
      3, "vary", "expected up to 10,000,000 runs, found more");
}
