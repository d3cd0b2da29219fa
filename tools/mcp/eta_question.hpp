/// Arguments of the tool `eta`: a request of `vtrain eta` whose dumps are texts.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.hpp"
#include "core/io/json_reader.hpp"
#include "tools/live/eta_request.hpp"
#include "workloads/calibration/calibration.hpp"

namespace vtrain::mcp {

/// Reads a request, a part of the document. Without a calibration it gets this one. Errors: a wrong type or
/// an unknown key, a value that would name a file.
Result<EtaRequest> read_eta_question(const JsonDocument& document, const nlohmann::json& object,
                                     const Calibration& calibration);

/// An error of the request as one of the question: `--time-zone` is `time_zone`.
Error in_question(Error error);

/// The JSON Schema of a question. With `for_one_job` it must name a job.
nlohmann::ordered_json eta_question_schema(bool for_one_job);
/// The JSON Schema of its answer, `eta_json`.
nlohmann::ordered_json eta_answer_schema();

}  // namespace vtrain::mcp
