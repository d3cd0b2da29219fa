/// Predictions of measured cases.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/calibration/accuracy.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/calibration/prediction_interval.hpp"
#include "workloads/physical/memory_model.hpp"
#include "workloads/target.hpp"
#include "workloads/validation/measured_case.hpp"

namespace vtrain {

/// Targets of measured cases. Their GPUs are resolved on first use and kept.
class CaseTargets {
 public:
  /// `profile` is used for every case, in the case's nodes, and calibrations then belong to it; empty: the
  /// profile of each case. Errors: those of `resolve_target`.
  static Result<CaseTargets> open(std::string profile);

  /// The case's GPU with the case's stack; valid until the next call.
  const Result<Target>& target(const MeasuredCase& measured);

 private:
  explicit CaseTargets(std::string profile) : profile_(std::move(profile)) {}

  std::string profile_;
  std::map<std::string, Result<Target>> known_;  ///< by the profile's name
};

/// One case as predicted.
struct CasePrediction {
  MeasuredCase measured{};   ///< case with the micro-batch that was used
  std::string profile{};     ///< base name of the profile it is predicted with
  std::string generation{};  ///< `generation_of` the profile
  double furthest = 1;       ///< furthest extrapolation of a kernel (`furthest`)
  Seconds predicted{0};      ///< time without calibration
  MemoryEstimate memory{};
  Bytes allocated{};  ///< memory of tensors on the fullest stage
  Bytes reserved{};   ///< memory that the allocator holds on the fullest stage
};

/// A case that was not predicted.
struct SkippedCase {
  std::string id{};
  std::string reason{};
};

/// All cases of a file.
struct CasePredictions {
  std::vector<CasePrediction> predicted{};
  std::vector<SkippedCase> skipped{};
  /// Keys of records that are not used, with the number of their records.
  std::map<std::string, std::int64_t> unread{};
};

/// Predicts every case with a sufficient record. If a record lacks the micro-batch, that of the fastest plan
/// that fits into memory is used, and `assumed` says so.
CasePredictions predict_cases(const MeasuredCases& cases, CaseTargets& targets);

/// How sure the prediction is, judged by validated runs other than this one: those of other sources for runs
/// of users, and of other groups for recipes.
Uncertainty uncertainty_of(const CasePrediction& prediction, SetUp set_up);

/// The outcome of a prediction without calibration.
Outcome outcome_of(const CasePrediction& prediction);
/// The outcomes of predictions with their stack's and GPU's factors.
std::vector<Outcome> calibrated_outcomes(const CasePredictions& cases, const Calibration& calibration,
                                         CaseTargets& targets);

/// Fits the factors of every stack and GPU on those of its cases that `is_fitted` picks by their
/// configuration, and tests them on the others.
Calibration calibrate(const CasePredictions& cases, CaseTargets& targets,
                      const std::function<bool(const std::string& configuration)>& is_fitted);

/// Outcomes in bytes instead of seconds, of cases where both numbers are known: memory that PyTorch reports
/// as allocated.
std::vector<Outcome> allocated_outcomes(const CasePredictions& cases);
/// Outcomes in bytes for the memory that PyTorch reports as reserved.
std::vector<Outcome> reserved_outcomes(const CasePredictions& cases);

}  // namespace vtrain
