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

/// Into how many equal parts configurations are dealt so that one is at most `percent` of them, from 1 to 50:
/// a third is too much where 30 per cent are wanted, a quarter is not.
int num_folds_of(double percent);

/// The part of `num_folds` that a configuration belongs to: its MD5, so that repetitions stay together and
/// the parts do not depend on the order of the rows.
int fold_of(std::string_view configuration, int num_folds);

/// What came of a cross-validation.
struct CrossValidation {
  /// Errors and bias are means over the parts; what ranks and correlates is that of `outcomes`.
  GroupedAccuracy accuracy{};
  /// Of each case the mean of what the fits on the parts without it predict.
  std::vector<Outcome> outcomes{};
};

/// Fits on each part in turn and tests on the others.
CrossValidation cross_validate(const CasePredictions& cases, CaseTargets& targets, int num_folds);

}  // namespace vtrain
