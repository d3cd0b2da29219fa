/// `POST /v1/predict` and `POST /v1/plans`: the answers of `vtrain predict --json` and `vtrain plan --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tools/serve/answer_cache.hpp"
#include "tools/serve/http.hpp"
#include "workloads/calibration/calibration.hpp"

namespace vtrain::serve {

/// Answers predictions and plan searches. A request may name what comes with the program, but no file.
/// Answers follow from the request alone, so they are kept. Threads may share it.
class Predictions {
 public:
  /// Predictions with these factors.
  explicit Predictions(Calibration calibration) : calibration_(std::move(calibration)) {}

  /// Body: a configuration as `vtrain predict` reads it, `{"model": ..., "plan": {...}}`.
  Response predict(const Request& request);
  /// Body: a spec as `vtrain plan --spec` reads it. At most `kMostCounts` numbers of GPUs.
  Response search_plans(const Request& request);

  /// Largest number of GPU counts of a search.
  static constexpr std::size_t kMostCounts = 64;

  /// Kept answers that were given, and others.
  AnswerCache::Figures figures() const { return cache_.figures(); }

 private:
  static constexpr std::size_t kCacheBytes = std::size_t{64} << 20;

  Calibration calibration_;
  AnswerCache cache_{kCacheBytes};
};

/// The JSON Schema of the body of `Predictions::predict`.
nlohmann::ordered_json predict_request_schema();
/// The JSON Schema of its answer.
nlohmann::ordered_json predict_response_schema();
/// The JSON Schema of the answer of `Predictions::search_plans`; that of its body is `plan_spec_schema`.
nlohmann::ordered_json plans_response_schema();

}  // namespace vtrain::serve
