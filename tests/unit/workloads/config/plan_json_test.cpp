/// Conversion of parallel plans to JSON and back.
#include "workloads/config/plan_json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "core/io/json_reader.hpp"
#include "tests/support/random_fields.hpp"
#include "workloads/model/plan_fields.hpp"

namespace vtrain {
namespace {

/// A plan in which no member has its default.
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
                                .replicate = 11,
                                .attention = AttentionChoice::Cudnn};

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
  for (const Field<ParallelPlan>& field : plan_fields()) {
    CAPTURE(field.key);
    nlohmann::json part = whole;
    part.erase(std::string(field.key));
    if (field.omits_default) {
      CHECK(has_default(field, plan_from_json(part)));
      continue;
    }
    CHECK_THROWS_AS(plan_from_json(part), nlohmann::json::exception);
    part[std::string(field.key)] = plan_to_json(ParallelPlan{}).at(std::string(field.key));
    CHECK(plan_from_json(part) != kPlan);
  }
}

TEST_CASE("plan_json: random plans come back from both readers") {
  RandomStream random(1, "plans");
  for (int round = 0; round < 1000; ++round) {
    ParallelPlan plan;
    randomize(plan_fields(), plan, random);
    const std::string text = plan_to_json(plan).dump();
    CAPTURE(text);
    REQUIRE(plan_from_json(nlohmann::json::parse(text)) == plan);
    const auto document = JsonDocument::parse(text, "plan.json");
    const auto read = read_plan(*document, document->root());
    REQUIRE(read);
    REQUIRE(read->plan == plan);
  }
}

TEST_CASE("plan_json: every row of the table is a key with bounds, a meaning and a default of its own") {
  const nlohmann::ordered_json all = plan_to_json(kPlan);
  REQUIRE(all.size() == plan_fields().size());
  auto entry = all.begin();
  for (const Field<ParallelPlan>& field : plan_fields()) {
    CAPTURE(field.key);
    CHECK(entry++.key() == field.key);
    CHECK_FALSE(field.meaning.empty());
    CHECK_FALSE(has_default(field, kPlan));
    CHECK(has_default(field, ParallelPlan{}));
    if (!std::holds_alternative<std::int64_t ParallelPlan::*>(field.member)) continue;
    CHECK_FALSE(field.unit.empty());
    for (const std::int64_t value : {field.low - 1, field.high + 1}) {
      nlohmann::json plan = all;
      plan[std::string(field.key)] = value;
      const auto document = JsonDocument::parse(plan.dump(), "plan.json");
      const auto read = read_plan(*document, document->root());
      REQUIRE_FALSE(read);
      CHECK(read.error().field == field.key);
    }
  }
}

TEST_CASE("plan_json: what a plan needs") {
  const auto error_of = [](const char* text) {
    const auto document = JsonDocument::parse(text, "plan.json");
    return read_plan(*document, document->root()).error().describe();
  };
  CHECK(error_of("{}") == "plan.json: global_batch: missing");
  CHECK(error_of(R"({"global_batch": 8, "micro_batch": 1})") ==
        "plan.json: recompute: missing: expected 'none', 'selective' or 'full'");
  CHECK(error_of(R"({"global_batch": 8, "micro_batch": 1, "recompute": "half"})") ==
        "plan.json:1: recompute: expected one of 'none', 'selective' and 'full', found 'half'");
  const std::string rest = R"("global_batch": 8, "micro_batch": 1, "recompute": "none"})";
  CHECK(error_of((R"({"tensor": 2, "num_gpus": 9, )" + rest).c_str()) ==
        "plan.json:1: num_gpus: expected a multiple of tensor x context x pipeline = 2, found '9'");
  CHECK(error_of((R"({"tensor": 2, "data": 2, "num_gpus": 8, )" + rest).c_str()) ==
        "plan.json:1: num_gpus: expected tensor x context x pipeline x data = 4, found '8'");
}

TEST_CASE("plan_json: a name that is not known is no plan") {
  nlohmann::json plan = plan_to_json(kPlan);
  plan["schedule"] = "2f2b";
  CHECK_THROWS_AS(plan_from_json(plan), tl::bad_expected_access<Error>);
}

}  // namespace
}  // namespace vtrain
