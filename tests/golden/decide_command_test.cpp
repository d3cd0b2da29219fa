/// `vtrain decide` through the command line.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using vtrain::testing::run_vtrain;
using vtrain::testing::shared_folder;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

// With leases of 1,000 s on 4 GPUs, a needs 2 of its 3 leases, b 1 of its 2.
constexpr const char* kInstance = R"({
  "lease_s": 1000,
  "current_lease": 2,
  "gpus": 4,
  "tie_break": "early",
  "jobs": [
    {"name": "a", "gpus": 3, "remaining_s": 1500, "deadlines": [{"deadline_s": 5900, "value": 2}]},
    {"name": "b", "gpus": 2, "remaining_s": 1000,
     "deadlines": [{"deadline_s": 2500, "value": 5}, {"deadline_s": 4000}]}
  ]
})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

json decide_json(const std::string& instance, const std::string& policy = "chronus") {
  const TemporaryFolder work;
  work.write("i.json", instance);
  const auto result = run_vtrain("decide i.json --policy " + policy, work.path());
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  return json::parse(result.out);
}

}  // namespace

TEST_CASE("decide: a schedule that is known by hand") {
  // The first deadline of b, in the current lease, leaves it none: floor(2.5) - 2 = 0. Under `early` a runs
  // in lease 0 with 3 of 4 GPUs, so that b runs in lease 1 and a in lease 2: 2 + 1 + 3/4.
  const json early = decide_json(kInstance);
  CHECK(early["status"] == "optimal");
  CHECK(early["objective"].get<double>() == doctest::Approx(3.75));
  CHECK(early["gap"] == 0);
  CHECK(early["schedule"] == json::parse("[[0, 2], [], [1]]"));
  // In lease 0 b finds 1 GPU, in lease 1 a finds 2.
  CHECK(early["bound_by"]["full_leases"] == json::parse("[0, 1]"));
  CHECK(early["bound_by"]["tight_options"] == json::array());
  // Under `late` b, the smaller gang, has lease 0: 3 - 2/4.
  const json late = decide_json(replaced(kInstance, "early", "late"));
  CHECK(late["objective"].get<double>() == doctest::Approx(2.5));
  CHECK(late["schedule"] == json::parse("[[1, 2], [], [0]]"));
}

TEST_CASE("decide: no schedule is null, and a job may be left out where that is allowed") {
  const std::string too_long = replaced(kInstance, "\"remaining_s\": 1500", "\"remaining_s\": 3000.5");
  CHECK(decide_json(too_long) == json::parse(R"({"schedule": null})"));
  const json served =
      decide_json(replaced(too_long, "\"gpus\": 4,", "\"gpus\": 4, \"mode\": \"may_reject\","));
  CHECK(served["schedule"] == json::parse("[[], [], [0]]"));
  CHECK(served["objective"].get<double>() == doctest::Approx(1.5));
  const json fewer = decide_json(replaced(kInstance, "\"gpus\": 4,", "\"gpus\": 4, \"gpus_by_lease\": [2],"));
  CHECK(fewer["schedule"] == json::parse("[[1, 2], [], [0]]"));
  CHECK(fewer["objective"].get<double>() == doctest::Approx(3.5));
}

TEST_CASE("decide: the answer is the same to the byte, and in spite of what is expected") {
  const TemporaryFolder work;
  work.write("i.json", kInstance);
  work.write("j.json", replaced(kInstance, "\"gpus\": 4,",
                                R"("gpus": 4, "expected": {"objective": 9, "one_schedule": [[0]]},)"));
  const std::string first = run_vtrain("decide i.json --policy chronus", work.path()).out;
  CHECK(!first.empty());
  CHECK(run_vtrain("decide i.json --policy chronus --json", work.path()).out == first);
  CHECK(run_vtrain("decide j.json --policy chronus", work.path()).out == first);
}

TEST_CASE("decide: instances that do not fit exit 2 with file, line, field, expected and found") {
  struct Bad {
    std::string from, to;
    std::vector<std::string> message;
  };
  for (const Bad& bad : std::vector<Bad>{
           {"1000,", "0,", {"i.json:2", "lease_s", "expected a number from 1", "found", "0"}},
           {"\"gpus\": 4,", "", {"i.json", "gpus"}},
           {"\"gpus\": 4,", "\"gpus\": 4.5,", {"i.json:4", "gpus", "whole number", "4.5"}},
           {"\"early\"", "\"soon\"", {"i.json:5", "tie_break", "early", "soon"}},
           {"\"tie_break\"", "\"tie_brake\"", {"i.json:5", "tie_brake", "tie_break"}},
           {"\"gpus\": 3", "\"gpus\": 0", {"i.json:7", "jobs[0].gpus", "from 1", "0"}},
           {"1500", "-1", {"i.json:7", "jobs[0].remaining_s", "-1"}},
           {"[{\"deadline_s\": 5900, \"value\": 2}]",
            "[]",
            {"i.json:7", "jobs[0].deadlines", "at least one element", "[]"}},
           {"5900", "\"late\"", {"i.json:7", "jobs[0].deadlines[0].deadline_s", "a number", "late"}},
           {"4000", "900000000", {"i.json:9", "jobs[1].deadlines[1].deadline_s", "10000 leases"}},
           {"\"gpus\": 4,",
            "\"gpus\": 4, \"gpus_by_lease\": [4, \"x\"],",
            {"i.json:4", "gpus_by_lease[1]", "whole number", "x"}},
           {"\"jobs\": [", "\"jobs\": [ oops", {"i.json:6"}}}) {
    CAPTURE(bad.to);
    const TemporaryFolder work;
    work.write("i.json", replaced(kInstance, bad.from, bad.to));
    const auto result = run_vtrain("decide i.json --policy chronus", work.path());
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    for (const std::string& piece : bad.message)
      CHECK(result.err.find(piece) != std::string::npos);
  }
}

TEST_CASE("decide: policies that cannot decide exit 2") {
  const TemporaryFolder work;
  work.write("i.json", kInstance);
  for (const std::string policy : {"fifo", "nothing", "chronus:lease=10m", "chronus:gap=x", "chronus:no=1"}) {
    CAPTURE(policy);
    const auto result = run_vtrain("decide i.json --policy " + policy, work.path());
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("--policy") != std::string::npos);
  }
  CHECK(run_vtrain("decide absent.json --policy chronus", work.path()).exit_code == 2);
  CHECK(run_vtrain("decide i.json", work.path()).exit_code == 2);
}

TEST_CASE("decide: the known instances of Chronus") {
  const fs::path folder = shared_folder("algorithms/golden");
  if (folder.empty()) return;
  const bool has_python = std::system("command -v python3 >/dev/null 2>&1") == 0;
  if (!has_python) MESSAGE("skipped: check.py, python3 absent");
  int num_instances = 0;
  for (const auto& entry : fs::directory_iterator(folder / "chronus")) {
    CAPTURE(entry.path().string());
    const json expected = json::parse(slurp(entry.path()))["expected"];
    const TemporaryFolder work;
    const auto result = run_vtrain("decide '" + entry.path().string() + "' --policy chronus", work.path());
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    const json answer = json::parse(result.out);
    CHECK(answer["schedule"].is_null() == !expected["feasible"].get<bool>());
    if (expected["feasible"].get<bool>())
      CHECK(answer["objective"].get<double>() ==
            doctest::Approx(expected["objective"].get<double>()).epsilon(1e-6));
    if (has_python) {
      const std::string solution = work.write("solution.json", result.out).string();
      const std::string verdict = (work / "verdict").string();
      const std::string command = "python3 '" + (folder / "check.py").string() + "' '" +
                                  entry.path().string() + "' '" + solution + "' > '" + verdict + "'";
      CHECK(std::system(command.c_str()) == 0);
      CHECK(slurp(verdict).starts_with("OK"));
    }
    ++num_instances;
  }
  CHECK(num_instances >= 5);
}
