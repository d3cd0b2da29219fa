/// A trace on its way through a reader: the input with its options, and the jobs with all else that is kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Options of all readers.
struct ReadOptions {
  /// A row that would be skipped and counted is an error instead.
  bool strict = false;
  /// File or folder with the throughput tables of formats that state work in iterations (ElasticFlow, Gavel).
  /// Empty: those in the folder of the trace, if any.
  std::string throughputs{};
  /// The GPU type whose throughputs give run times, where there are several (Gavel).
  std::string throughputs_gpu = "v100";
};

/// One trace file on its way into a reader.
struct TraceInput {
  std::string_view text;
  std::string file;  ///< its path, for errors; formats of several tables find the others in its folder
  ReadOptions options{};
};

/// Rows of a trace that are no jobs to replay (never started, no GPU, still running), counted by reason, so
/// that nothing is dropped silently.
class SkippedRows {
 public:
  /// Number of first lines that are kept of each reason.
  static constexpr std::size_t kLinesKept = 3;

  /// The rows of one reason.
  struct Reason {
    std::string_view text;  ///< such as `no GPU requested`; a string that lasts as long as the program
    std::int64_t count = 0;
    /// 1-based lines of the file, at most `kLinesKept`; none where rows of several files are counted.
    std::vector<std::int64_t> first_lines{};
  };

  /// Counts one row. `reason` is a string literal; `line` is its 1-based line in the file.
  void add(std::string_view reason, std::int64_t line);
  /// Counts the rows of another file as well, without their lines.
  void add(const SkippedRows& others);
  /// All reasons, in the order in which they first came up.
  std::span<const Reason> reasons() const { return reasons_; }
  /// Number of rows that were left out.
  std::int64_t total() const;

 private:
  /// The reason with this text, added when new.
  Reason& find(std::string_view text);

  std::vector<Reason> reasons_;
};

/// Time 0 of a trace with dates, whose times were moved such that its first submission is at 0.
struct TraceOrigin {
  SimTime time{};            ///< counted from 1970
  std::string_view clock{};  ///< that shows it: `UTC`, or `local time` where its offset is not known

  /// `time 0 is the first submission, 2020-03-31 16:00:00 UTC`, one of the trace's assumptions.
  std::string describe() const;
};

/// The jobs of a trace, and what else its reader kept.
struct Trace {
  Workload workload{};
  std::string format{};                    ///< the name of the format it was read as
  std::optional<std::int32_t> num_gpus{};  ///< cluster size that the file itself names (Batsim's `nb_res`)
  std::optional<TraceOrigin> origin{};     ///< nothing where times are as written
  SkippedRows skipped{};                   ///< rows that are no jobs, by reason
  bool has_replaced_bytes = false;         ///< bytes of a file that are no UTF-8 were read as U+FFFD
  /// Everything that had to be assumed or was computed, one sentence each.
  std::vector<std::string> assumptions{};
  /// The files that were read; the first is the one that was recognised.
  std::vector<std::string> files{};
};

/// The file `name` of a folder, or `name` with a suffix of a packed file; empty when neither is there.
std::filesystem::path find_table(const std::filesystem::path& folder, std::string_view name);

/// A table of a format of several, as read from the folder of the file that was given.
struct CompanionFile {
  std::string path;
  std::string text;
  bool has_replaced_bytes = false;  ///< as of a trace
};

/// Reads the table `name` in the folder of `file`, with U+FFFD for bytes that are no UTF-8. Not found:
/// nothing.
Result<std::optional<CompanionFile>> read_companion(const std::string& file, std::string_view name);

}  // namespace vtrain
