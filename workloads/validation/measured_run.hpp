/// One measured run: its JSON as a case.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.hpp"
#include "core/io/json_reader.hpp"
#include "workloads/validation/measured_case.hpp"

namespace vtrain {

/// Reads a run. The case lists the data that it lacks. An error is a run that is not an object, or has a
/// field of a wrong type, out of range or with settings that do not fit together.
Result<MeasuredCase> read_measured_run(const JsonDocument& document, const nlohmann::json& run);

}  // namespace vtrain
