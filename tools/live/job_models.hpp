/// Models that jobs of a running cluster train, as their comments or a file tell.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/experiment/training_time.hpp"
#include "tools/live/live_state.hpp"

namespace vtrain {

/// Reads `model=llama3-8b global_batch=512 tokens=300B plan=tensor=8`: a known model, with tokens or
/// iterations; the batch is the published one where none is given. Values may be in double quotes.
/// `deadline=` and `job=` are for `vtrain serve`, and pass. The error has field and message.
Result<TrainingWork> parse_training_work(std::string_view text);

/// A table of jobs with their models.
class JobModels {
 public:
  /// Reads a CSV file with the columns `job` and `model`, and any of `global_batch`, `tokens`, `iterations`
  /// and `plan`. `job` is an id, or a name with `*` for any text. Errors name file, line and field: those of
  /// `parse_training_work`, an unknown column, a job that comes twice.
  static Result<JobModels> read(const std::string& file);
  /// Reads its text.
  static Result<JobModels> parse(std::string_view text, const std::string& file);

  /// The work of the first row with the job's id or that of its array, or else with a pattern of its name.
  const TrainingWork* find(const DumpedJob& job, std::string_view id) const;
  /// Number of rows that `find` never returned.
  std::int64_t num_unused() const;

 private:
  struct Row {
    std::string job{};
    TrainingWork work{};
    mutable bool is_used = false;
  };
  std::vector<Row> rows_;
};

/// The text of a comment after `vtrain:`, or that of an annotation; none if the job names no model.
std::optional<std::string_view> model_text(const DumpedJob& job);

}  // namespace vtrain
