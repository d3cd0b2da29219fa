/// The tool `explain`: why an iteration takes its time, why a job waits.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.hpp"
#include "workloads/calibration/calibration.hpp"

namespace vtrain::mcp {

/// Answers `{"prediction": {...}}`, a question of `answer_predict_question`, with the parts of its time, or
/// `{"waiting_job": {...}}`, a question of `read_eta_question` that names a job, with what holds it up.
Result<nlohmann::ordered_json> answer_explain_question(const std::string& question,
                                                       const Calibration& calibration);

/// The JSON Schema of a question.
nlohmann::ordered_json explain_question_schema();
/// The JSON Schema of its answer.
nlohmann::ordered_json explain_answer_schema();

}  // namespace vtrain::mcp
