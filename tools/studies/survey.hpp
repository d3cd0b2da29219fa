/// A study as a whole: its answer, what is missing, and the combinations that a page or a terminal shows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/report/varied_tables.hpp"
#include "tools/studies/study_results.hpp"

namespace vtrain {

/// Choices of a user.
struct SurveyOptions {
  std::vector<const Metric*> metrics{};  ///< columns of tables; empty: those of a comparison
  std::string baseline{};                ///< policy that others are compared with; empty: that of the study
  unsigned threads = 0;                  ///< threads; 0: one per processor. Results do not depend on it
};

/// Reads names of metrics, separated by commas: keys of `summary.json` and columns of a sweep's results.
/// The error names `--metrics`.
Result<std::vector<const Metric*>> parse_metrics(std::string_view names);

/// A study in numbers and words.
struct Survey {
  VariedComparison shown{};          ///< the first combinations that have runs, with all metrics
  std::int64_t combinations = 0;     ///< combinations that have runs under a seed of all their policies
  std::string answer{};              ///< a sentence or a few
  std::int64_t expected = 0;         ///< runs that the results should have
  std::int64_t finished = 0;         ///< runs that they have
  std::int64_t failed = 0;           ///< runs that failed
  std::int64_t unpaired = 0;         ///< finished runs under seeds that lack a run of another policy
  std::int64_t without_runs = 0;     ///< combinations without a seed that all policies have
  std::int64_t with_fewer = 0;       ///< combinations with fewer seeds than the study
  std::vector<std::string> fewer{};  ///< the first of these, with their number of seeds
  std::vector<Failure> failures{};
  bool has_one_main_metric = true;  ///< all combinations are judged by one metric

  /// True if every run of the study is there.
  bool is_complete() const { return finished == expected; }
};

/// Surveys a study. Error: no combination has a seed that all of its policies have; those of reading; a
/// baseline that is no policy of the study.
Result<Survey> survey_of(const StudyResults& results, const SurveyOptions& options);

/// Sentences on missing runs and on others that were left out because of them; empty for none.
std::vector<std::string> gaps_in(const StudyResults& results, const Survey& survey);

/// The statements that give the tables of these metrics.
TableQueries queries_of(const StudyResults& results, const Survey& survey,
                        std::span<const Metric* const> metrics);

/// The study for a terminal: answer, subject, what is missing, tables.
std::string survey_text(const StudyResults& results, const Survey& survey);

/// The study as a page, with the statements of its tables.
std::string survey_page(const StudyResults& results, const Survey& survey, const std::string& command);

}  // namespace vtrain
