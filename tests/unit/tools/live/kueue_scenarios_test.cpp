/// The policy `kueue` on known histories of Kueue, started again from the jobs that run and wait.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "policies/tenants/kueue/live_objects.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/shared_data.hpp"
#include "tools/experiment/kueue_case_reader.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// A history without evictions, whose objects all exist at first, under the default gates.
bool is_plain(const json& scenario) {
  if (scenario["kind"] != "scenario" || !scenario.value("feature_gates", json::object()).empty())
    return false;
  return std::ranges::all_of(scenario["steps"], [](const json& step) {
    if (step.contains("expect")) return step["expect"] != "being_evicted";
    return step["do"] == "create" || step["do"] == "finish" || step["do"] == "delete" || step["do"] == "wait";
  });
}

/// Plays the steps of a history: each end of a job is a fact, which makes the policy begin again.
class History {
 public:
  explicit History(const JsonDocument& document) : scenario_(document.root()), reader_(document) {
    const kueue::Objects objects = reader_.objects(scenario_);
    const auto live = std::make_shared<kueue::LiveObjects>();
    live->objects.objects = objects;
    SimTime time{};
    for (const json& step : scenario_["steps"]) {
      time += std::chrono::seconds(1);
      if (step.value("do", "") != "create") continue;
      kueue::Workload workload = reader_.workload(step["workload"], time.time_since_epoch().count());
      // A job here has one size.
      for (kueue::PodSet& set : workload.pod_sets)
        set.min_count.reset();
      live->workloads.emplace(kueue::full_name(workload.name_space, workload.name), workload);
    }
    REQUIRE(!reader_.error());
    const bool is_fair = scenario_["fair_sharing"].value("enabled", false);
    const auto arguments = PolicyRegistry::built_in().parse(is_fair ? "kueue:fair_sharing=yes" : "kueue");
    policy_ = *make_kueue_live(*arguments, live);
    auto begun = Simulation::begin({}, *ClusterSpec::parse("100x8"), *policy_, {.policy_name = "kueue"});
    REQUIRE(begun);
    simulation_ = std::make_unique<Simulation>(*std::move(begun));
  }

  /// Number of expectations that were compared.
  int play() {
    int compared = 0;
    for (const json& step : scenario_["steps"]) {
      now_ += std::chrono::seconds(1);
      if (step.contains("expect")) {
        compared += look(step);
        continue;
      }
      if (step["do"] == "create") create(step["workload"]);
      if (step["do"] == "finish" || step["do"] == "delete") end(step);
      REQUIRE(simulation_->run_until(now_));
    }
    return compared;
  }

 private:
  void create(const json& workload) {
    const std::string name =
        kueue::full_name(workload.value("namespace", ""), workload["name"].get<std::string>());
    Job job;
    job.num_gpus = GpuCount(1);
    job.submit = now_;
    job.duration = std::chrono::hours(1000);
    const auto id = simulation_->submit(name, job);
    REQUIRE_MESSAGE(id, id.error().describe());
    ids_[name] = *id;
  }

  std::vector<std::string> names_in(const json& step) const {
    if (step.contains("workload")) return {step["workload"].get<std::string>()};
    return step.value("workloads", std::vector<std::string>{});
  }

  bool runs(const std::string& name) const {
    return simulation_->outcome(ids_.at(name)).state == JobState::Running;
  }

  void end(const json& step) {
    for (const std::string& name : names_in(step)) {
      const JobId id = ids_.at(name);
      REQUIRE(simulation_->tell(now_, runs(name) ? Fact(JobEnded{id}) : Fact(JobCancelled{id})));
    }
  }

  int look(const json& step) const {
    CAPTURE(step.dump());
    const std::string expected = step["expect"];
    const bool holds = expected == "quota_reserved" || expected == "admitted";
    if (!holds && expected != "pending") return 0;
    for (const std::string& name : names_in(step))
      CHECK(runs(name) == holds);
    return 1;
  }

  const json& scenario_;
  KueueCaseReader reader_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Simulation> simulation_;
  std::map<std::string, JobId> ids_;
  SimTime now_{};
};

}  // namespace

TEST_CASE("kueue: a history goes on as it did when the policy begins again in its middle") {
  const auto folder = std::filesystem::path(VTRAIN_SHARED_DIR) / "golden/kueue/cases";
  if (!have(folder)) return;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("scenario-")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  int compared = 0;
  for (const auto& file : files) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    const auto document = JsonDocument::parse(text.str(), file.filename().string());
    REQUIRE(document);
    if (!is_plain(document->root())) continue;
    CAPTURE(file.string());
    compared += History(*document).play();
  }
  CHECK(compared >= 20);
}

}  // namespace vtrain
