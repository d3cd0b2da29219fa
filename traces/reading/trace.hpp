/// Input and output of a trace reader: the file with its options, and the jobs with all other kept data.
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
  /// True: a row that would be skipped and counted is an error instead.
  bool strict = false;
  /// File or folder with the throughput tables of formats whose work is in iterations (ElasticFlow, Gavel).
  /// Empty: the tables in the trace's folder, if any.
  std::string throughputs{};
  /// The GPU type whose throughputs give run times, if there are several types (Gavel).
  std::string throughputs_gpu = "v100";
};

/// One trace file as input of a reader.
struct TraceInput {
  std::string_view text;  ///< whole text of the file
  std::string file;       ///< path for errors; other tables of the format are in its folder
  ReadOptions options{};  ///< options of the user
};

/// Rows of a trace that are no jobs to replay (never started, no GPU, still running), counted by reason.
class SkippedRows {
 public:
  /// Number of first lines that are kept for each reason.
  static constexpr std::size_t kLinesKept = 3;

  /// The rows of one reason.
  struct Reason {
    std::string_view text;   ///< reason such as `no GPU requested`, a string literal
    std::int64_t count = 0;  ///< number of skipped rows
    /// 1-based lines of the file, at most `kLinesKept`; empty if rows of several files are counted.
    std::vector<std::int64_t> first_lines{};
  };

  /// Counts one row. `reason` is a string literal; `line` is its 1-based line in the file.
  void add(std::string_view reason, std::int64_t line);
  /// Also counts the rows of another file, without their lines.
  void add(const SkippedRows& others);
  /// All reasons, in the order of their first rows.
  std::span<const Reason> reasons() const { return reasons_; }
  /// Number of skipped rows.
  std::int64_t total() const;

 private:
  /// Finds the reason with this text, or adds it.
  Reason& find(std::string_view text);

  std::vector<Reason> reasons_;
};

/// Time 0 of a trace with dates. Its times were moved so that the first submission is at 0.
struct TraceOrigin {
  SimTime time{};            ///< time since 1970
  std::string_view clock{};  ///< clock of `time`: `UTC`, or `local time` if its offset is unknown

  /// `time 0 is the first submission, 2020-03-31 16:00:00 UTC`, one of the trace's assumptions.
  std::string describe() const;
};

/// The jobs of a trace, and other data that its reader kept.
struct Trace {
  Workload workload{};                     ///< jobs with the names that they refer to
  std::string format{};                    ///< name of the trace's format
  std::optional<std::int32_t> num_gpus{};  ///< cluster size according to the file (Batsim's `nb_res`)
  std::optional<TraceOrigin> origin{};     ///< empty if times are as written
  SkippedRows skipped{};                   ///< rows that are no jobs, by reason
  bool has_replaced_bytes = false;         ///< true if bytes that are no UTF-8 were read as U+FFFD
  /// Assumptions and computed values, one sentence each.
  std::vector<std::string> assumptions{};
  /// The files that were read; the format was recognised from the first.
  std::vector<std::string> files{};
};

/// The file `name` of a folder, or `name` with a suffix of a packed file; empty if neither exists.
std::filesystem::path find_table(const std::filesystem::path& folder, std::string_view name);

/// Another table of a format with several tables, read from the folder of the given file.
struct CompanionFile {
  std::string path;                 ///< path for errors
  std::string text;                 ///< whole text of the file
  bool has_replaced_bytes = false;  ///< see `Trace::has_replaced_bytes`
};

/// Reads the table `name` in the folder of `file`, with U+FFFD for bytes that are no UTF-8. Returns nothing
/// if the table does not exist.
Result<std::optional<CompanionFile>> read_companion(const std::string& file, std::string_view name);

}  // namespace vtrain
