/// One record of published measurements: its JSON as a case.
#pragma once

#include <nlohmann/json.hpp>

#include "core/base/result.hpp"
#include "core/io/json_reader.hpp"
#include "workloads/validation/measured_case.hpp"

namespace vtrain {

/// Reads a record. What it lacks is listed in the case; an error is a record that is not one: not an object,
/// or a field of a wrong type or out of range.
Result<MeasuredCase> read_measured_record(const JsonDocument& document, const nlohmann::json& record);

}  // namespace vtrain
