/// Accuracy by group, and of calibrations on rows that they were not fitted on.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/calibration/accuracy.hpp"
#include "workloads/validation/case_prediction.hpp"

namespace vtrain {

/// Figures of all rows, and of each group.
struct GroupedAccuracy {
  Accuracy all{};
  std::map<std::string, Accuracy> groups{};
};

/// The accuracy of these predictions.
GroupedAccuracy accuracy_by_group(const std::vector<Outcome>& outcomes);

/// Number of equal parts of the configurations such that one part is at most `percent` of them. `percent` is
/// from 1 to 50: 30 gives 4 parts, as a third is too much.
int num_folds_of(double percent);

/// The part (of `num_folds`) of a configuration, derived from its MD5. Repetitions stay together, and the
/// order of the rows has no effect.
int fold_of(std::string_view configuration, int num_folds);

/// Result of a cross-validation.
struct CrossValidation {
  /// Errors and bias are means over the parts; ranks and correlations are computed from `outcomes`.
  GroupedAccuracy accuracy{};
  /// Mean prediction for each case, over the fits on the parts without it.
  std::vector<Outcome> outcomes{};
};

/// Fits on each part in turn and tests on the others.
CrossValidation cross_validate(const CasePredictions& cases, CaseTargets& targets, int num_folds);

}  // namespace vtrain
