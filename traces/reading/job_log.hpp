/// What all readers of recorded cluster logs share. A log holds more than jobs to replay: jobs that never
/// started, that used no GPU, that had not ended, and lines that were damaged. Such rows are skipped and
/// counted by reason; with `ReadOptions::strict` the first of them is an error. A file of another structure
/// than its format's is always an error.
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

/// Why a row of a log is no job to replay.
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

/// What time 0 of a trace is.
enum class Origin {
  AsWritten,             ///< the file's own time 0
  FirstSubmission,       ///< the first submission of a job that is kept; the file has dates
  FirstLocalSubmission,  ///< the same; the dates are those of a clock whose offset is not known
};

/// What a row with the job id of an earlier one is.
enum class Repetition {
  SameRow,   ///< the same job once more
  LaterRun,  ///< a later run of a job that was requeued
  OtherJob,  ///< another job: ids were used again
};
/// Says it of two jobs with one id, by their positions in the log. The second is not submitted before the
/// first.
using RepetitionRule = std::function<Repetition(std::size_t earlier, std::size_t later)>;

/// Whether a field says that there is no value: empty, or a spelling of none (`nan`, `NaN`, `None`, `none`,
/// `NULL`, `null`, `N/A`, `NaT`).
bool is_missing(std::string_view text);

/// Whether `check_name` accepts a text.
bool is_name(std::string_view text);

/// Sets the id of a name, which is added when new; a missing name is none. Answers why not, or nothing.
template <class NameId>
std::string_view take_name(std::string_view text, NameTable& names, NameId& to) {
  if (is_missing(text)) return {};
  if (!is_name(text)) return skip::kBadName;
  to = NameId(names.add(text));
  return {};
}

/// A date as an instant of a log whose origin is not known yet: counted from 1970.
SimTime to_sim_time(Instant instant);

/// Sets submission, original start and duration. Answers why such a job cannot be replayed, or nothing. A
/// start before the submission (clocks of two machines) is not kept.
std::string_view set_run(Job& job, SimTime submit, SimTime start, SimTime end);

/// Jobs on their way out of a log.
class JobLog {
 public:
  /// Of the file of `input`, with its options.
  explicit JobLog(const TraceInput& input) : file_(input.file), strict_(input.options.strict) {}

  /// Where names are added.
  Workload& workload() { return trace_.workload; }
  /// Room for so many jobs. Too many cost address space only: what is not filled is never touched.
  void reserve(std::size_t num_jobs);

  /// Counts a row that is no job. Under strict an error that says `found` of `field`.
  Result<void> skip(std::string_view reason, std::int64_t line, std::string_view field = {},
                    std::string_view found = {});
  /// The same for a row whose error is known already.
  Result<void> skip(std::string_view reason, Error error);
  /// Adds a job, unless its name is none. `job.name` is copied.
  Result<void> add(Job job, std::int64_t line);

  /// Leaves the first job of each id, and moves time 0. With a rule: leaves the last run of each job. Other
  /// jobs with the id of an earlier one are then called `id#2`, `id#3` and so on, by their submissions.
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

/// A sentence on the jobs that use a part of a GPU, added to the trace's assumptions if there are any.
void note_shared_gpus(Trace& trace);

}  // namespace vtrain
