#include "tools/experiment/cross_validation.hpp"

#include <openssl/evp.h>

#include <array>
#include <cmath>
#include <stdexcept>

namespace vtrain {
namespace {

/// Sums of figures, for their mean.
class MeanAccuracy {
 public:
  void add(const Accuracy& accuracy) {
    if (accuracy.num_rows == 0) return;
    ++count_;
    sum_.mape_percent += accuracy.mape_percent;
    sum_.median_ape_percent += accuracy.median_ape_percent;
    sum_.p95_ape_percent += accuracy.p95_ape_percent;
    sum_.bias_percent += accuracy.bias_percent;
  }
  /// The means; counts and ranks are those of all rows.
  Accuracy mean(const Accuracy& all_rows) const {
    Accuracy mean = all_rows;
    const auto count = static_cast<double>(count_);
    if (count_ == 0) return mean;
    mean.mape_percent = sum_.mape_percent / count;
    mean.median_ape_percent = sum_.median_ape_percent / count;
    mean.p95_ape_percent = sum_.p95_ape_percent / count;
    mean.bias_percent = sum_.bias_percent / count;
    return mean;
  }

 private:
  Accuracy sum_;
  int count_ = 0;
};

}  // namespace

GroupedAccuracy accuracy_by_group(const std::vector<Outcome>& outcomes) {
  std::map<std::string, std::vector<Outcome>> groups;
  for (const Outcome& outcome : outcomes)
    groups[outcome.group].push_back(outcome);
  GroupedAccuracy accuracy{.all = measure_accuracy(outcomes)};
  for (const auto& [name, members] : groups)
    accuracy.groups[name] = measure_accuracy(members);
  return accuracy;
}

int num_folds_of(double percent) {
  return static_cast<int>(std::ceil(100 / percent));
}

int fold_of(std::string_view configuration, int num_folds) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(configuration.data(), configuration.size(), digest.data(), &size, EVP_md5(), nullptr) != 1) {
    throw std::runtime_error("MD5 is not available");
  }
  // The digest as a big-endian number, modulo the folds.
  int remainder = 0;
  for (unsigned i = 0; i < size; ++i)
    remainder = (remainder * 256 + digest[i]) % num_folds;
  return remainder;
}

CrossValidation cross_validate(const CasePredictions& cases, CaseTargets& targets, int num_folds) {
  CrossValidation result{.outcomes = calibrated_outcomes(cases, {}, targets)};
  for (Outcome& outcome : result.outcomes)
    outcome.predicted = Seconds(0);
  MeanAccuracy all;
  std::map<std::string, MeanAccuracy> groups;
  for (int fold = 0; fold < num_folds; ++fold) {
    const Calibration calibration = calibrate(cases, targets, [&](const std::string& configuration) {
      return fold_of(configuration, num_folds) == fold;
    });
    const std::vector<Outcome> outcomes = calibrated_outcomes(cases, calibration, targets);
    std::vector<Outcome> held_out;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (fold_of(outcomes[i].configuration, num_folds) == fold) continue;
      result.outcomes[i].predicted += outcomes[i].predicted / static_cast<double>(num_folds - 1);
      held_out.push_back(outcomes[i]);
    }
    const GroupedAccuracy accuracy = accuracy_by_group(held_out);
    all.add(accuracy.all);
    for (const auto& [name, figures] : accuracy.groups)
      groups[name].add(figures);
  }
  result.accuracy = accuracy_by_group(result.outcomes);
  result.accuracy.all = all.mean(result.accuracy.all);
  for (auto& [name, figures] : result.accuracy.groups)
    figures = groups[name].mean(figures);
  return result;
}

}  // namespace vtrain
