#include "tools/serve/predictions.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tools/format/text_format.hpp"
#include "tools/serve/problem.hpp"

namespace vtrain::serve {
namespace {

/// The kept answer, or the one that `compute` gives.
template <class Compute>
Response answer_once(AnswerCache& cache, std::string key, const Compute& compute) {
  if (auto known = cache.find(key)) return {.body = *std::move(known)};
  const Result<nlohmann::ordered_json> answer = compute();
  if (!answer) return problem(answer.error());
  std::string text = json_text(*answer);
  cache.keep(std::move(key), text);
  return {.body = std::move(text)};
}

}  // namespace

Response Predictions::predict(const Request& request) {
  return answer_once(cache_, "predict " + request.body,
                     [&] { return answer_predict_question(request.body, calibration_); });
}

Response Predictions::search_plans(const Request& request) {
  return answer_once(cache_, "plans " + request.body,
                     [&] { return answer_plan_question(request.body, calibration_, request.lateness()); });
}

}  // namespace vtrain::serve
