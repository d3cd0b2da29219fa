#include "docs/measured/normalise/normalised_json.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/normalise/measured_records.hpp"
#include "workloads/validation/case_prediction.hpp"

namespace vtrain {
namespace {

/// The predictions of cases with the targets that they name.
CasePredictions predictions_of(const MeasuredCases& cases) {
  CaseTargets targets = CaseTargets::open("").value();
  return predict_cases(cases, targets);
}

/// Requires that the runs written of records predict what the records do, to the last bit.
void check_same_predictions(const RawCases& raw) {
  const auto runs = parse_measured_cases(normalised_file(raw).text, "runs.json");
  REQUIRE_MESSAGE(runs, runs.error().describe());
  CHECK(runs->are_measured == raw.are_measured);
  const CasePredictions expected = predictions_of(measured_cases(raw));
  const CasePredictions found = predictions_of(*runs);
  CHECK(found.unread == expected.unread);
  REQUIRE(found.skipped.size() == expected.skipped.size());
  for (std::size_t i = 0; i < found.skipped.size(); ++i) {
    CHECK(found.skipped[i].id == expected.skipped[i].id);
    CHECK(found.skipped[i].reason == expected.skipped[i].reason);
  }
  REQUIRE(found.predicted.size() == expected.predicted.size());
  for (std::size_t i = 0; i < found.predicted.size(); ++i) {
    const CasePrediction& one = found.predicted[i];
    const CasePrediction& other = expected.predicted[i];
    CAPTURE(other.measured.id);
    CHECK(one.measured.id == other.measured.id);
    CHECK(one.measured.group == other.measured.group);
    CHECK(one.measured.model == other.measured.model);
    CHECK(one.measured.plan == other.measured.plan);
    CHECK(one.measured.configuration() == other.measured.configuration());
    CHECK(one.measured.assumed == other.measured.assumed);
    CHECK(one.measured.measured == other.measured.measured);
    CHECK(one.profile == other.profile);
    CHECK(one.predicted == other.predicted);
    CHECK(one.allocated == other.allocated);
    CHECK(one.reserved == other.reserved);
    CHECK(one.memory.peak == other.memory.peak);
    CHECK(one.measured.allocated.has_value() == other.measured.allocated.has_value());
    if (other.measured.allocated) CHECK(*one.measured.allocated == *other.measured.allocated);
    CHECK(one.measured.reserved.has_value() == other.measured.reserved.has_value());
    if (other.measured.reserved) CHECK(*one.measured.reserved == *other.measured.reserved);
  }
}

TEST_CASE("normalised_json: runs predict what their records do, to the last bit") {
  for (const auto& entry :
       std::filesystem::directory_iterator(VTRAIN_SOURCE_DIR "/tests/fuzz/corpus/raw_case")) {
    CAPTURE(entry.path().string());
    const auto raw = read_raw_cases(entry.path());
    if (raw) check_same_predictions(*raw);
  }
  for (const char* const below :
       {"measured/cases.json", "vtrain/ground_truth_multi.csv", "vtrain/ground_truth_single.csv"}) {
    const std::filesystem::path file = std::filesystem::path(VTRAIN_SHARED_DIR "/data") / below;
    if (!std::filesystem::exists(file)) {
      MESSAGE("skipped: ", file.string(), " absent");
      continue;
    }
    check_same_predictions(read_raw_cases(file).value());
  }
}

/// The file of one record.
std::string written(const std::string& record) {
  return normalised_file(parse_raw_cases(one_case(record), "cases.json").value()).text;
}

TEST_CASE("normalised_json: a run has model, profile, stack and plan, and what differs from the known ones") {
  CHECK(written(R"({"id": "x", "framework": "Megatron-Bridge", "source": {"title": "t, 25.11 N"},
            "model": {"name": "LLAMA3_70B", "seq_len": 4096}, "quality": "A", "caveats": ["c"],
            "system": {"gpu": "H200 of ours", "profile": "h200", "num_gpus": 8, "gpus_per_node": 4, "color": 1},
            "precision": "FP8", "recompute": "none", "parallel": {"tp": 2, "pp": 1}, "batch": {"global_batch": 8},
            "measured": {"tokens_per_s": 1000, "mfu": null, "mem_alloc_gib": 2.5}})") ==
        R"({
  "runs": [
    {
      "id": "x",
      "group": "mbridge-h200",
      "source": {"title": "t, 25.11 N"},
      "gpu": "H200 of ours",
      "cluster": "h200 4 0",
      "settings": {
        "model": {"base": "llama3-70b", "name": "LLAMA3_70B"},
        "profile": "h200:gpus_per_node=4,nvlink_domain=4,node_network_bandwidth=200GB/s",
        "stack": {"base": "megatron-bridge", "dispatch": "one-per-gpu"},
        "plan": {"tensor": 2, "data": 4, "global_batch": 8, "recompute": "none", "sequence_parallel": true, "sharding": "optimizer", "precision": "fp8", "sequence_length": 4096}
      },
      "measured": {"mem_alloc_gib": 2.5, "tokens_per_s": 1000},
      "assumed": ["architecture: 'llama3-70b' of the zoo"],
      "caveats": ["c"],
      "unread": ["system.color"]
    }
  ]
}
)");
}

TEST_CASE("normalised_json: a record that cannot be predicted lists what it lacks in place of settings") {
  CHECK(written(R"({"id": "x", "framework": "JAX", "model": {"name": "llama3-8b", "seq_len": 4096},
            "system": {"gpu": "H200", "num_gpus": 8}, "precision": "bf16", "recompute": "none",
            "parallel": {"tp": 1, "pp": 1}, "batch": {"global_batch": 8}, "measured": {"iteration_s": 1}})") ==
        R"({
  "runs": [
    {
      "id": "x",
      "group": "other-h200",
      "missing": ["no stack describes the framework 'JAX'; \"stack\" can name one"]
    }
  ]
}
)");
}

}  // namespace
}  // namespace vtrain
