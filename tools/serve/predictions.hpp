/// `POST /v1/predict` and `POST /v1/plans`: the answers of `vtrain predict --json` and `vtrain plan --json`.
#pragma once

#include <cstddef>
#include <utility>

#include "tools/serve/answer_cache.hpp"
#include "tools/serve/http.hpp"
#include "tools/serve/questions.hpp"
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

  /// Kept answers that were given, and others.
  AnswerCache::Figures figures() const { return cache_.figures(); }

 private:
  static constexpr std::size_t kCacheBytes = std::size_t{64} << 20;

  Calibration calibration_;
  AnswerCache cache_{kCacheBytes};
};

}  // namespace vtrain::serve
