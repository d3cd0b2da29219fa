/// Questions in JSON that programs ask, and their answers: predictions and plan searches, as
/// `vtrain predict --json` and `vtrain plan --json` answer them. A question may name what comes with the
/// program, but no file. Errors have the field and the line of the question.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.hpp"
#include "workloads/calibration/calibration.hpp"

namespace vtrain::serve {

/// Largest number of GPU counts of a search.
inline constexpr std::size_t kMostCounts = 64;

/// Predicts a configuration as `vtrain predict` reads it, `{"model": ..., "plan": {...}}`.
Result<nlohmann::ordered_json> answer_predict_question(const std::string& question,
                                                       const Calibration& calibration);

/// Searches plans by a spec as `vtrain plan --spec` reads it, for at most `kMostCounts` numbers of GPUs. A
/// spec without a calibration gets this one. `is_late` ends the search with an error.
Result<nlohmann::ordered_json> answer_plan_question(const std::string& question,
                                                    const Calibration& calibration,
                                                    std::function<bool()> is_late);

/// The JSON Schema of a question of `answer_predict_question`. Plan searches have `plan_spec_schema`.
nlohmann::ordered_json predict_request_schema();
/// The JSON Schema of its answer.
nlohmann::ordered_json predict_response_schema();
/// The JSON Schema of an answer of `answer_plan_question`.
nlohmann::ordered_json plans_response_schema();

}  // namespace vtrain::serve
