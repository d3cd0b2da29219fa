#include "workloads/validation/measured_case.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "workloads/validation/case_prediction.hpp"

namespace vtrain {
namespace {

/// A run of Llama 3 8B on eight H200, with replaceable parts.
struct Run {
  std::string model = R"("llama3-8b")";
  std::string profile = "h200";
  std::string stack = R"("megatron-core")";
  std::string plan = R"("tensor": 2, "data": 4, "global_batch": 64, "micro_batch": 1, "recompute": "none")";
  std::string measured = R"("iteration_s": 2)";
  std::string more{};

  std::string text() const {
    return fmt::format(
        R"({{"id": "x", "settings": {{"model": {}, "profile": "{}", "stack": {}, "plan": {{{}}}}}, "measured": {{{}}}{}}})",
        model, profile, stack, plan, measured, more);
  }
  MeasuredCase read() const {
    const auto cases = parse_measured_cases("[" + text() + "]", "runs.json");
    REQUIRE_MESSAGE(cases, cases.error().describe());
    REQUIRE(cases->cases.size() == 1);
    return cases->cases.front();
  }
  std::string error() const {
    const auto cases = parse_measured_cases("[" + text() + "]", "runs.json");
    REQUIRE_FALSE(cases);
    return cases.error().describe();
  }
};

TEST_CASE("measured_case: a run states model, plan, profile and stack") {
  const MeasuredCase plain = Run{}.read();
  CHECK(plain.missing.empty());
  CHECK(plain.group == "megatron-core-h200");
  CHECK(plain.gpu == "h200");
  CHECK(plain.model.name == "llama3-8b");
  CHECK(plain.plan.tensor == 2);
  CHECK(plain.plan.precision == Precision::Bf16);
  CHECK(plain.has_micro_batch);
  CHECK(plain.measured == Seconds(2));
  CHECK_FALSE(plain.allocated);
  CHECK(plain.unread.empty());

  const MeasuredCase full =
      Run{.profile = "h200:gpus_per_node=4",
          .stack = R"({"base": "megatron-core", "overlap": {"tensor": true}})",
          .measured = R"("tokens_per_s_per_gpu": 4096, "mem_alloc_gib": 2.5, "mfu": 0.4)",
          .more = R"(, "group": "ours", "gpu": "H200 of ours", "cluster": "new",
          "source": {"title": "log"}, "assumed": ["a", "b"], "assumption": "c", "unread": ["system.x"],
          "date": "2026", "predicted_blind": {}, "collour": 1)"}
          .read();
  CHECK(full.group == "ours");
  CHECK(full.stack.overlap.tensor);
  // 64 sequences of 8192 tokens at 8 x 4096 tokens/s.
  CHECK(full.measured.count() == doctest::Approx(16));
  CHECK(full.allocated->value == 2.5 * 1073741824);
  CHECK(full.assumed == std::vector<std::string>{"a", "b", "c"});
  CHECK(full.unread == std::vector<std::string>{"system.x", "collour"});
  CHECK(full.choice() == "megatron-core|H200 of ours|llama3-8b|32|4096|8192|64|8|2|new");
}

TEST_CASE("measured_case: a precision that is left out is the stack's, a nameless model stays so") {
  CHECK(Run{.stack = R"("megatron-2021")"}.read().plan.precision == Precision::Fp16);
  CHECK(Run{.model = R"({"num_layers": 4, "hidden_size": 512, "num_heads": 8, "sequence_length": 512,
                         "vocab_size": 1000})"}
            .read()
            .model.name.empty());
}

TEST_CASE("measured_case: runs that cannot be predicted say why") {
  CHECK(Run{.measured = R"("mfu": 0.4)"}.read().missing ==
        std::vector<std::string>{"the iteration time: iteration_s, tokens_per_s or tokens_per_s_per_gpu"});
  CHECK(Run{.measured = R"("iteration_s": 2, "tokens_per_s": 1)"}.read().missing.front().starts_with(
      "one iteration time: "));
  const auto cases = parse_measured_cases(R"({"note": "n", "simulated": true, "runs": [
      {"id": "x", "missing": ["the precision", "the plan"]}, {"id": "y"}]})",
                                          "runs.json");
  REQUIRE(cases);
  CHECK_FALSE(cases->are_measured);
  CHECK(cases->cases[0].missing == std::vector<std::string>{"the precision", "the plan"});
  CHECK(cases->cases[1].missing == std::vector<std::string>{"runs.json:2: runs[1].settings: missing"});
}

TEST_CASE("measured_case: errors name the field of the settings") {
  CHECK(Run{.profile = ""}.error() == "runs.json:1: [0].settings.profile: missing");
  CHECK(Run{.stack = "null"}.error() == "runs.json:1: [0].settings.stack: missing");
  CHECK(
      Run{.stack = R"("torchtitans")"}.error().starts_with("runs.json:1: [0].settings.stack: unknown stack"));
  CHECK(Run{.plan = R"("tensr": 2, "global_batch": 64, "micro_batch": 1, "recompute": "none")"}
            .error()
            .starts_with("runs.json:1: [0].settings.plan.tensr: unknown key"));
  CHECK(Run{.plan = R"("tensor": 3, "global_batch": 64, "micro_batch": 1, "recompute": "none")"}
            .error()
            .starts_with("runs.json:1: [0].settings.plan.tensor: "));
  CHECK(Run{.measured = R"("iteration_s": "2")"}.error().starts_with(
      "runs.json:1: [0].measured.iteration_s: "));
  CHECK(Run{.more = R"(, "assumed": "much")"}.error() ==
        "runs.json:1: [0].assumed: expected a list of texts, found '\"much\"'");
}

TEST_CASE("measured_case: files that are none, and files in the forms of others") {
  for (const std::string text : {"", "{", "{}", R"({"runs": 3})", R"({"runs": [3]})", R"({"runz": []})"}) {
    CAPTURE(text);
    CHECK(!parse_measured_cases(text, "x"));
  }
  CHECK(parse_measured_cases("[]", "x"));
  for (const std::string text : {"Parameters (billion),# GPUs\n", R"({"cases": []})",
                                 R"([{"id": "x", "framework": "torchtitan", "parallel": {"tp": 1}}])"}) {
    CAPTURE(text);
    const auto cases = parse_measured_cases(text, "raw.json");
    REQUIRE(!cases);
    CHECK(cases.error().describe().find("`normalise raw.json --out runs.json`") != std::string::npos);
  }
}

TEST_CASE("measured_case: a missing micro-batch is that of the fastest plan that fits") {
  const MeasuredCase open =
      Run{.plan = R"("tensor": 2, "data": 4, "global_batch": 64, "recompute": "none")"}.read();
  CHECK_FALSE(open.has_micro_batch);
  CaseTargets targets = CaseTargets::open("").value();
  const CasePredictions predictions = predict_cases({.cases = {open}}, targets);
  REQUIRE(predictions.predicted.size() == 1);
  const MeasuredCase& chosen = predictions.predicted[0].measured;
  CHECK(chosen.assumed.back() ==
        fmt::format("micro-batch: {}, the fastest that fits", chosen.plan.micro_batch));
}

TEST_CASE("measured_case: the records that profiler/validation writes") {
  // The same file is what tests/unit/profiler/validation_test.py makes the script write. Its times are
  // invented.
  const auto cases = read_measured_cases(VTRAIN_SOURCE_DIR "/tests/unit/profiler/validation_records.json");
  REQUIRE_MESSAGE(cases, cases.error().describe());
  REQUIRE(cases->cases.size() == 3);
  for (const MeasuredCase& measured : cases->cases) {
    CAPTURE(measured.id);
    CHECK(measured.missing.empty());
    CHECK(measured.assumed.empty());
    CHECK(measured.profile == "NVIDIA H200");
    CHECK(measured.plan.num_gpus() == GpuCount(1));
    CHECK(measured.plan.num_micro_batches() == 4);
    CHECK(measured.plan.sharding == Sharding::None);
    CHECK(measured.plan.precision == Precision::Bf16);
    CHECK_FALSE(measured.model.has_bias);
    CHECK(measured.allocated->value == 17179869184);  // 2^34
    CHECK(measured.reserved->value == 25769803776);   // 3 * 2^33
  }
  const MeasuredCase& compiled = cases->cases[0];
  CHECK(compiled.group == "pytorch-compiled-h200");
  CHECK(compiled.stack.name == "pytorch-compiled");
  CHECK(compiled.plan.recompute == Recompute::Full);
  CHECK(compiled.model.num_layers == 12);
  CHECK(compiled.model.kv_heads() == 8);
  CHECK(compiled.model.positions == Positions::Rotary);
  CHECK_FALSE(compiled.model.tied_embeddings);
  CHECK(compiled.measured.count() == 2);  // the median of 3, 1 and 2
  const MeasuredCase& eager = cases->cases[1];
  CHECK(eager.group == "pytorch-eager-h200");
  CHECK(eager.stack.attention == AttentionKernel::Flash2);
  CHECK(eager.model.tied_embeddings);
  CHECK(eager.model.normalization == Normalization::LayerNorm);
  const MeasuredCase& unfused = cases->cases[2];
  CHECK(unfused.group == "pytorch-unfused-h200");
  CHECK(unfused.stack.attention == AttentionKernel::Unfused);
  CHECK(unfused.stack.memory.dropout == Dropout{});

  CaseTargets targets = CaseTargets::open("").value();
  const CasePredictions predictions = predict_cases(*cases, targets);
  CHECK(predictions.skipped.empty());
  REQUIRE(predictions.predicted.size() == 3);
  for (const CasePrediction& prediction : predictions.predicted) {
    CHECK(prediction.predicted.count() > 0);
    CHECK(prediction.profile == "h200");
    CHECK(prediction.allocated.value > 0);
  }
}

TEST_CASE("measured_case: one profile for all keeps the nodes of a run") {
  const auto seconds = [](const std::string& own, const std::string& all) {
    const MeasuredCase run = Run{.profile = own}.read();
    CaseTargets targets = CaseTargets::open(all).value();
    const CasePredictions predictions = predict_cases({.cases = {run}}, targets);
    REQUIRE(predictions.predicted.size() == 1);
    CHECK(predictions.predicted[0].profile == "h200");
    return predictions.predicted[0].predicted;
  };
  const std::string slow = "node_network_bandwidth=1GB/s";
  const std::string nodes = "gpus_per_node=4,nvlink_domain=4," + slow;
  CHECK(seconds("h200:" + nodes, "") > seconds("h200", ""));
  CHECK(seconds("h100:" + nodes, "h200") == seconds("h200:" + nodes, ""));
  CHECK(seconds("h100:nvlink_bandwidth=200GB/s", "h200") == seconds("h200", ""));
}

}  // namespace
}  // namespace vtrain
