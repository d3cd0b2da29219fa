/// Records of measured runs, for tests.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "docs/measured/normalise/raw_case.hpp"

namespace vtrain {

/// Text of a file with one record.
inline std::string one_case(const std::string& record) {
  return R"({"schema_version": 1, "cases": [)" + record + "]}";
}

/// The case that is read from a file with only `record`.
inline RawCase only_case(const std::string& record) {
  auto cases = parse_raw_cases(one_case(record), "cases.json");
  REQUIRE(cases);
  REQUIRE(cases->cases.size() == 1);
  return cases->cases.front();
}

/// The error of a file of one record, as a user reads it.
inline std::string error_of_case(const std::string& record) {
  const auto cases = parse_raw_cases(one_case(record), "cases.json");
  REQUIRE_FALSE(cases);
  return cases.error().describe();
}

/// A model with all its fields.
inline const std::string kModel =
    R"("model": {"name": "Llama", "layers": 8, "hidden": 1024, "ffn_hidden": 2816, "heads": 16, "kv_heads": 4,
       "vocab": 32000, "seq_len": 2048, "activation": "swiglu", "gated_mlp": true, "pos": "rope"})";

}  // namespace vtrain
