/// `decide_stated` with a custom policy that uses all parts of a decision.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "sched/simulation/decision.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/experiment/decision.hpp"

namespace vtrain {
namespace {

/// Moves the first job to the second type, preempts the second, starts the third and rejects the fourth.
class SaysAll final : public DecisionPolicy {
 public:
  bool chooses_types() const override { return true; }
  Decision decide(const PassEvents& events) override {
    const auto id = [&](std::size_t job) { return events.live[job].id; };
    return {.reject = {id(3)},
            .run = {{id(0), {GpuCount(4), 1}}, {id(2), {GpuCount(2), 0}}},
            .wake_at = events.now + std::chrono::milliseconds(1500)};
  }
};

}  // namespace

TEST_CASE("decide: a decision says who starts, moves, stops, and is turned away") {
  PolicyRegistry registry;
  REQUIRE(registry.add({.name = "says-all",
                        .summary = "for this test",
                        .make = [](const PolicyArguments&) -> Result<std::unique_ptr<Policy>> {
                          return std::make_unique<SaysAll>();
                        }}));
  const testing::TemporaryFolder folder;
  const std::string file =
      folder
          .write("state.json", R"({"version": 1, "cluster": "1x8:a100+1x4:h100", "now_s": 10,
    "jobs": [
      {"name": "moves", "submit_s": 0, "num_gpus": 4, "duration_s": 100, "state": "running", "started_s": 1,
       "nodes": [{"node": 0, "gpus": 4}]},
      {"name": "stops", "submit_s": 1, "num_gpus": 4, "duration_s": 100, "state": "running", "started_s": 1,
       "nodes": [{"node": 0, "gpus": 4}]},
      {"name": "starts", "submit_s": 2, "num_gpus": 2, "duration_s": 100},
      {"name": "leaves", "submit_s": 3, "num_gpus": 2, "duration_s": 100},
      {"name": "waits", "submit_s": 4, "num_gpus": 2, "duration_s": 100}]})")
          .string();
  const auto stated = decide_stated(file, "says-all", registry);
  REQUIRE_MESSAGE(stated, stated.error().describe());
  const PassDecision& decision = std::get<PassDecision>(*stated);
  REQUIRE(decision.resized.size() == 1);
  CHECK(decision.resized[0].name == "moves");
  CHECK(decision.resized[0].gpus == GpuCount(4));
  CHECK(decision.resized[0].gpu_type == "h100");
  REQUIRE(decision.started.size() == 1);
  CHECK(decision.started[0].name == "starts");
  CHECK(decision.started[0].gpu_type == "a100");
  CHECK(decision.started[0].nodes.empty());
  CHECK(decision.preempted == std::vector<std::string>{"stops"});
  CHECK(decision.rejected == std::vector<std::string>{"leaves"});
  CHECK(decision.still_waiting == std::vector<std::string>{"waits"});
  CHECK(decision.still_running.empty());
  CHECK(decision.now == at(10));
  CHECK(decision.next_event == at(11.5));
}

}  // namespace vtrain
