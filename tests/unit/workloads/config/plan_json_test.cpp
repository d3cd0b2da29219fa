/// Parallel plans as JSON, there and back.
#include "workloads/config/plan_json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/io/json_reader.hpp"

namespace vtrain {
namespace {

/// No member has its default.
constexpr ParallelPlan kPlan = {.tensor = 2,
                                .data = 4,
                                .pipeline = 3,
                                .global_batch = 64,
                                .micro_batch = 5,
                                .recompute = Recompute::Selective,
                                .sequence_parallel = true,
                                .context = 6,
                                .virtual_stages = 7,
                                .expert = 8,
                                .sharding = Sharding::Gradients,
                                .schedule = Schedule::GPipe,
                                .precision = Precision::Fp8,
                                .ends_count_as_layers = true,
                                .expert_tensor = 9,
                                .offloaded_layers = 10,
                                .recomputed_layers = 12,
                                .replicate = 11};

TEST_CASE("plan_json: both readers give back what was written") {
  const std::string text = plan_to_json(kPlan).dump();
  CHECK(plan_from_json(nlohmann::json::parse(text)) == kPlan);
  const auto document = JsonDocument::parse(text, "plan.json");
  REQUIRE(document);
  const auto read = read_plan(*document, document->root());
  REQUIRE(read);
  CHECK(read->plan == kPlan);
}

TEST_CASE("plan_json: what is written has a key for each member, and every one is read") {
  const nlohmann::json whole = plan_to_json(kPlan);
  const nlohmann::json defaults = plan_to_json(ParallelPlan{});
  for (const auto& entry : whole.items()) {
    const std::string& key = entry.key();
    CAPTURE(key);
    CHECK(entry.value() != defaults.at(key));
    nlohmann::json part = whole;
    part.erase(key);
    CHECK_THROWS_AS(plan_from_json(part), nlohmann::json::exception);
    part[key] = defaults.at(key);
    CHECK(plan_from_json(part) != kPlan);
  }
}

TEST_CASE("plan_json: a name that is not known is no plan") {
  nlohmann::json plan = plan_to_json(kPlan);
  plan["schedule"] = "2f2b";
  CHECK_THROWS_AS(plan_from_json(plan), tl::bad_expected_access<Error>);
}

}  // namespace
}  // namespace vtrain
