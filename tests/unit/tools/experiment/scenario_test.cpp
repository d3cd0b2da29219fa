#include "tools/experiment/scenario.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace vtrain {
namespace {

using testing::TemporaryFolder;

constexpr const char* kJobs =
    "job_id,submit_s,num_gpus,duration_s,deadline_s\na,0,8,1000,1500\nb,10,8,100,500\nc,20,4,50,400\n";

/// A spec of three jobs on one node under these policies.
ScenarioSpec spec_of(const TemporaryFolder& folder, std::vector<std::string> policies) {
  folder.write("jobs.csv", kJobs);
  ScenarioSpec spec;
  spec.trace.files = {(folder / "jobs.csv").string()};
  spec.cluster = "1x8";
  spec.pricing.no_cache = true;
  spec.policies = std::move(policies);
  return spec;
}

Scenario prepared(ScenarioSpec spec) {
  std::vector<std::string> warnings;
  auto scenario = Scenario::prepare(std::move(spec), warnings);
  REQUIRE_MESSAGE(scenario, scenario.error().describe());
  return *std::move(scenario);
}

/// The error of the preparation of a spec.
std::string refusal(ScenarioSpec spec) {
  std::vector<std::string> warnings;
  const auto scenario = Scenario::prepare(std::move(spec), warnings);
  REQUIRE_FALSE(scenario);
  return scenario.error().describe();
}

/// All data of a run on its jobs, as text.
std::string described(const RunResult& run) {
  std::string text = run.summary.policy;
  for (const JobOutcome& job : run.result.outcomes)
    text += " " + std::to_string(job.start.time_since_epoch().count()) + "-" +
            std::to_string(job.end.time_since_epoch().count());
  return text;
}

}  // namespace

TEST_CASE("scenario: policies run as often as wanted, and nothing is read again") {
  const TemporaryFolder folder;
  const Scenario scenario = prepared(spec_of(folder, {"fifo", "srtf"}));
  std::filesystem::remove(folder / "jobs.csv");
  const auto first = scenario.run("fifo");
  const auto second = scenario.run("fifo");
  const auto other = scenario.run("las");  // not one of the spec's
  REQUIRE(first);
  REQUIRE(second);
  REQUIRE(other);
  CHECK(first->summary.completed == 3);
  CHECK(described(*first) == described(*second));
  // fifo: a 0 to 1000, b 1000 to 1100, c 1100 to 1150.
  CHECK(first->summary.makespan_s == 1150);
  const auto all = scenario.run_all();
  REQUIRE(all);
  CHECK(described(all->front()) == described(*first));
}

TEST_CASE("scenario: threads share one, and each gets what one thread gets") {
  const TemporaryFolder folder;
  ScenarioSpec spec;  // the generated day, whose jobs the predictor prices while they run
  spec.pricing.no_cache = true;
  spec.cluster = "2x8:a100+2x8:h100";
  spec.placement = "consolidate";
  spec.policies = {"srtf", "elasticflow"};
  const Scenario scenario = prepared(std::move(spec));
  std::vector<std::string> expected;
  for (const std::string& policy : scenario.spec().policies)
    expected.push_back(described(*scenario.run(policy)));
  constexpr std::size_t kThreads = 4;
  std::vector<std::string> found(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&scenario, &found, i] {
        const auto run = scenario.run(scenario.spec().policies[i % 2]);
        if (run) found[i] = described(*run);
      });
    }
  }
  for (std::size_t i = 0; i < kThreads; ++i)
    CHECK(found[i] == expected[i % 2]);
}

TEST_CASE("scenario: notes are data") {
  const TemporaryFolder folder;
  const Scenario scenario = prepared(spec_of(folder, {"fifo"}));
  const auto known = std::ranges::find(scenario.notes(), NoteKind::Policies, &Note::kind);
  REQUIRE(known != scenario.notes().end());
  CHECK(name_of(known->kind) == "policies");
  REQUIRE(scenario.files().size() == 1);
  CHECK(scenario.files().front().sha256.size() == 64);
}

TEST_CASE("scenario: what cannot be prepared or run is an error, never an exception") {
  const TemporaryFolder folder;
  ScenarioSpec spec = spec_of(folder, {"fifo"});
  spec.trace.files = {"/nowhere/jobs.csv"};
  CHECK(refusal(spec).find("/nowhere/jobs.csv: cannot open") == 0);
  spec = spec_of(folder, {"fifo"});
  spec.timeline = "sometimes";
  CHECK(refusal(spec).find("--timeline: expected one of 'auto'") == 0);
  spec = spec_of(folder, {"fifo"});
  spec.disruptions.spread_factor = 0;
  CHECK(refusal(spec).find("--spread-factor: expected a number from 0.01 to 1") == 0);
  CHECK(refusal(spec_of(folder, {"fifoo"})).find("unknown policy 'fifoo'") == 0);
  const Scenario scenario = prepared(spec_of(folder, {"fifo"}));
  CHECK(scenario.run("fifoo").error().describe().find("unknown policy 'fifoo'") == 0);
  // No policy of the spec is elastic, so no speeds on other numbers of GPUs are prepared.
  CHECK(scenario.run("elasticflow").error().field == "elasticflow");
}

TEST_CASE("scenario: a spec goes to JSON and comes back the same") {
  const TemporaryFolder folder;
  ScenarioSpec spec = spec_of(folder, {"fifo", "las:timer=peer"});
  spec.transformations.seed = 77;
  spec.transformations.deadlines = "1:2";
  spec.disruptions.spread_factor = 0.5;
  spec.placement = "yarn";
  spec.spreadsheet_safe = true;
  const Scenario scenario = prepared(spec);
  const std::string text = spec_to_json(scenario.spec(), scenario.files(), folder.path()).dump();
  folder.write("spec.json", text);
  const auto read = read_scenario_spec(folder / "spec.json");
  REQUIRE_MESSAGE(read, read.error().describe());
  CHECK(spec_to_json(read->spec, read->spec.files.listed, folder.path()).dump() == text);
  CHECK(read->spec.transformations.seed == 77);
  CHECK(read->spec.policies == spec.policies);
}

}  // namespace vtrain
