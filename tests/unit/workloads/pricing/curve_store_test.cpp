#include "workloads/pricing/curve_store.hpp"

#include <doctest/doctest.h>

#include <string>

#include "workloads/model/model_fields.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

const TransformerModel& model() {
  static const TransformerModel found = find_model("megatron-7.5b")->model();
  return found;
}

/// A record with two plans and an error.
CurveRecord some_record() {
  CurveRecord record;
  RankedPlan plan{.plan = {.tensor = 2, .data = 4, .global_batch = 512, .micro_batch = 2},
                  .iteration = Nanoseconds(1e9 / 3),
                  .memory = {.peak = Bytes(5e10 / 7), .capacity = Bytes(8e10), .stage = 0},
                  .breakdown = {.compute = Nanoseconds(1e8 / 3), .bubble = Nanoseconds(0.1)}};
  record.emplace(8, plan);
  plan.plan = {.tensor = 4,
               .data = 2,
               .pipeline = 2,
               .global_batch = 512,
               .micro_batch = 1,
               .recompute = Recompute::Selective,
               .sequence_parallel = true,
               .sharding = Sharding::Optimizer,
               .schedule = Schedule::ZeroBubble,
               .precision = Precision::Bf16};
  plan.has_fallbacks = true;
  record.emplace(16, plan);
  record.emplace(7, fail({.field = "num_gpus", .message = "cannot be divided"}));
  record.emplace(1, fail({.kind = ErrorKind::Failed, .field = "num_gpus", .message = "does not fit"}));
  return record;
}

TEST_CASE("curve_store: a record comes back as it was, to the bit") {
  const CurveRecord record = some_record();
  const auto read = parse_curve_record(format_curve_record("key", record), "key", model(), 512);
  REQUIRE(read);
  REQUIRE(read->size() == record.size());
  for (const auto& [num_gpus, expected] : record) {
    const Result<RankedPlan>& found = read->at(num_gpus);
    REQUIRE(found.has_value() == expected.has_value());
    if (!expected) {
      CHECK(found.error().kind == expected.error().kind);
      CHECK(found.error().describe() == expected.error().describe());
      continue;
    }
    CHECK(found->plan == expected->plan);
    CHECK(found->iteration == expected->iteration);
    CHECK(found->memory.peak == expected->memory.peak);
    CHECK(found->breakdown.compute == expected->breakdown.compute);
    CHECK(found->breakdown.bubble == expected->breakdown.bubble);
    CHECK(found->has_fallbacks == expected->has_fallbacks);
  }
}

TEST_CASE("curve_store: a damaged record, or another's, is none") {
  const std::string text = format_curve_record("key", some_record());
  CHECK(!parse_curve_record(text, "another key", model(), 512));
  CHECK(!parse_curve_record(text, "key", model(), 256));
  // 5 heads are not divided by 2 or 4.
  CHECK(!parse_curve_record(text, "key", {"", 36, 640, 5, 2048}, 512));
  const auto replaced = [&text](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    return changed.replace(at, from.size(), to);
  };
  CHECK(parse_curve_record(text, "key", model(), 512));
  CHECK(!parse_curve_record(replaced("vtrain-throughput-curve", "other"), "key", model(), 512));
  CHECK(!parse_curve_record(replaced("\"tensor\": 2", "\"tensor\": 4"), "key", model(), 512));
  CHECK(!parse_curve_record(replaced("\"tensor\": 2", "\"tensor\": \"2\""), "key", model(), 512));
  CHECK(!parse_curve_record(replaced("\"full\"", "\"fully\""), "key", model(), 512));
  CHECK(!parse_curve_record(replaced("\"iteration_ns\": 3", "\"iteration_ns\": -3"), "key", model(), 512));
  CHECK(!parse_curve_record(replaced("\"num_gpus\": 8", "\"num_gpus\": 9"), "key", model(), 512));
  CHECK(!parse_curve_record("", "key", model(), 512));
  CHECK(!parse_curve_record("[]", "key", model(), 512));
  for (std::size_t length = 0; length + 2 < text.size(); length += 97) {
    CAPTURE(length);
    CHECK(!parse_curve_record(text.substr(0, length), "key", model(), 512));
  }
}

TEST_CASE("curve_store: fingerprints tell models apart by everything but the name") {
  TransformerModel other = model();
  other.name = "renamed";
  CHECK(model_fingerprint(other) == model_fingerprint(model()));
  const auto changed = [](auto change) {
    TransformerModel copy = model();
    change(copy);
    return model_fingerprint(copy) != model_fingerprint(model());
  };
  CHECK(changed([](TransformerModel& m) { ++m.num_layers; }));
  CHECK(changed([](TransformerModel& m) { m.num_kv_heads = 8; }));
  CHECK(changed([](TransformerModel& m) { m.activation = Activation::SwiGlu; }));
  CHECK(changed([](TransformerModel& m) { m.tied_embeddings = false; }));
  CHECK(changed([](TransformerModel& m) { m.experts.top_k = 2; }));
  CHECK(changed([](TransformerModel& m) { m.experts.capacity_factor = 1.25; }));
  CHECK(changed([](TransformerModel& m) { m.experts.num_groups = 4; }));
  CHECK(changed([](TransformerModel& m) { m.experts.groups_per_token = 4; }));
  CHECK(changed([](TransformerModel& m) { m.latent.kv_rank = 512; }));
  CHECK(changed([](TransformerModel& m) { m.window.full_every = 2; }));
  CHECK(changed([](TransformerModel& m) { m.state_space.chunk_size = 256; }));
  CHECK(changed([](TransformerModel& m) { m.layer_pattern = "M"; }));
  CHECK(changed([](TransformerModel& m) { m.clamps_activation = true; }));
  CHECK(changed([](TransformerModel& m) { m.scales_rotation = true; }));
  CHECK(changed([](TransformerModel& m) { m.has_attention_sinks = true; }));
  CHECK(changed([](TransformerModel& m) { m.has_qk_norm = true; }));
  CHECK(changed([](TransformerModel& m) { m.prediction.shares_weights = true; }));
  CHECK(changed([](TransformerModel& m) { m.dropout = Dropout{}; }));
}

}  // namespace
}  // namespace vtrain
