/// Common parts of all readers of recorded cluster logs. A log also contains jobs that never started, used no
/// GPU or had not ended, and damaged lines. Such rows are skipped and counted by reason; with
/// `ReadOptions::strict` the first of them is an error. A file whose structure is not that of its format is
/// always an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/text/calendar.hpp"
#include "traces/reading/trace.hpp"

namespace vtrain {

/// Reasons why a row of a log is no job to replay.
namespace skip {
inline constexpr std::string_view kMalformed = "malformed row (columns, quotes or length)";
inline constexpr std::string_view kBadTime = "malformed time";
inline constexpr std::string_view kBadNumber = "malformed number";
inline constexpr std::string_view kBadName = "malformed name";
inline constexpr std::string_view kRepeated = "job id of an earlier row";
inline constexpr std::string_view kEarlierRun = "earlier run of a requeued job";
inline constexpr std::string_view kNoGpu = "no GPU requested";
inline constexpr std::string_view kNoSubmission = "no submission time";
inline constexpr std::string_view kNeverStarted = "never started";
inline constexpr std::string_view kNotEnded = "not ended when the log was taken";
inline constexpr std::string_view kNoEnd = "no end time";
inline constexpr std::string_view kNoRunTime = "run time of zero";
inline constexpr std::string_view kEndsBeforeStart = "ends before it starts";
inline constexpr std::string_view kTooLong = "times beyond 100 years";
}  // namespace skip

/// Meaning of time 0 of a trace.
enum class Origin {
  AsWritten,             ///< the file's own time 0
  FirstSubmission,       ///< the first submission of a kept job; the file has dates
  FirstLocalSubmission,  ///< as `FirstSubmission`, with dates of a clock whose offset is unknown
};

/// Meaning of a row with the job id of an earlier one.
enum class Repetition {
  SameRow,   ///< a copy of the earlier row
  LaterRun,  ///< a later run of a job that was requeued
  OtherJob,  ///< another job, because ids were used again
};
/// Classifies two jobs with one id, by their positions in the log. The second is not submitted before the
/// first.
using RepetitionRule = std::function<Repetition(std::size_t earlier, std::size_t later)>;

/// True if a field has no value: it is empty, or a spelling of none (`nan`, `NaN`, `None`, `none`, `NULL`,
/// `null`, `N/A`, `NaT`).
bool is_missing(std::string_view text);

/// True if `check_name` accepts a text.
bool is_name(std::string_view text);

/// Sets the id of a name, which is added when new. A missing name leaves the id unset. Returns the reason for
/// a failure, or an empty text.
template <class NameId>
std::string_view take_name(std::string_view text, NameTable& names, NameId& to) {
  if (is_missing(text)) return {};
  if (!is_name(text)) return skip::kBadName;
  to = NameId(names.add(text));
  return {};
}

/// A date as time since 1970, for a log whose origin is not known yet.
SimTime to_sim_time(Instant instant);

/// Sets submission, original start and duration. Returns the reason why such a job cannot be replayed, or an
/// empty text. A start before the submission (clocks of two machines) is dropped.
std::string_view set_run(Job& job, SimTime submit, SimTime start, SimTime end);

/// Collects the jobs of a log.
class JobLog {
 public:
  /// Starts an empty log of the file of `input`, with its options.
  explicit JobLog(const TraceInput& input) : file_(input.file), strict_(input.options.strict) {}

  /// The workload that the jobs and their names are added to.
  Workload& workload() { return trace_.workload; }
  /// Reserves memory for `num_jobs` jobs. Unfilled memory is never touched, so an overestimate costs only
  /// address space.
  void reserve(std::size_t num_jobs);

  /// Counts a row that is no job. Under `strict` an error with the reason, `field` and the value `found` in
  /// it.
  Result<void> skip(std::string_view reason, std::int64_t line, std::string_view field = {},
                    std::string_view found = {});
  /// Counts a row that is no job and whose error is known already.
  Result<void> skip(std::string_view reason, Error error);
  /// Adds a job. A job without a valid name is skipped. `job.name` is copied.
  Result<void> add(Job job, std::int64_t line);

  /// Keeps the first job of each id, and moves time 0. With a rule, keeps the last run of each job. Other
  /// jobs with the id of an earlier one are then renamed to `id#2`, `id#3` and so on, in order of submission.
  Result<Trace> finish(Origin origin, const RepetitionRule& rule = {});

 private:
  /// A job that is left out.
  struct Dropped {
    std::size_t position = 0;
    std::string_view reason{};
  };

  std::vector<Dropped> find_repeated(const RepetitionRule& rule);
  Result<void> drop(std::vector<Dropped> dropped);
  void move_origin(std::string_view clock);

  std::string file_;
  bool strict_;
  Trace trace_;
};

/// Adds an assumption on the jobs that use a part of a GPU, if there are any.
void note_shared_gpus(Trace& trace);

}  // namespace vtrain
