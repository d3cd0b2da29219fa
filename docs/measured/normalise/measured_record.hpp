/// One record of published measurements: its JSON as a case.
#pragma once

#include <nlohmann/json.hpp>

#include "core/base/result.hpp"
#include "core/io/json_reader.hpp"
#include "docs/measured/normalise/raw_case.hpp"

namespace vtrain {

/// Reads a record. The case lists the data that it lacks. An error is a record that is not an object, or has
/// a field of a wrong type or out of range.
Result<RawCase> read_measured_record(const JsonDocument& document, const nlohmann::json& record);

}  // namespace vtrain
