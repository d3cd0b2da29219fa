/// The published trace formats: one table, with how to recognise and how to read each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "traces/reading/skipped_rows.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// How a trace is to be read.
struct ReadOptions {
  /// A row that would be skipped and counted is an error instead.
  bool strict = false;
  /// File or folder with the throughput tables of formats that state work in iterations (ElasticFlow, Gavel).
  /// Empty: those beside the trace, if any.
  std::string throughputs{};
  /// The GPU type whose throughputs give run times, where there are several (Gavel).
  std::string throughputs_gpu = "v100";
};

/// One trace file on its way into a reader.
struct TraceInput {
  std::string_view text;
  std::string file;  ///< its path, for errors; formats of several tables find the others beside it
  ReadOptions options{};
};

/// What time 0 of a trace is that was moved to the first of its submissions, which are dated.
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
  /// What had to be assumed or was computed, one sentence each.
  std::vector<std::string> assumptions{};
  /// The files that were read; the first is the one that was recognised.
  std::vector<std::string> files{};
};

/// One row of the table of formats.
struct TraceFormat {
  std::string_view name;
  std::string_view summary;
  /// Whether text that begins like this is of the format; `head` is the first few kilobytes. No text is of
  /// two formats, so the order of the table does not matter.
  bool (*recognise)(std::string_view head);
  /// Reads the whole text. Names are copied: `text` may go afterwards.
  Result<Trace> (*read)(const TraceInput& input);
  /// Writes jobs that are ordered by submission, so that `read` gives them back as far as the format can say
  /// them. The file appears when it is complete. Null: the format is only read.
  Result<void> (*write)(const Trace& trace, const std::filesystem::path& path) = nullptr;
  /// Of a format of several tables: the name under which the table with the jobs is published. A folder is of
  /// the format whose main file it holds.
  std::string_view main_file{};
  bool takes_throughputs = false;  ///< states work in iterations; see `ReadOptions::throughputs`
};

/// All formats; `auto` takes the one that recognises the file.
std::span<const TraceFormat> trace_formats();

/// The format of this name among those that are written; the error lists them.
Result<const TraceFormat*> find_written_format(std::string_view name);

/// Reads a trace that is in memory. `format` is a name of the table or `auto`; `file` is used in errors. Jobs
/// come out ordered by submission, ties in the order of the file.
Result<Trace> parse_trace(std::string_view text, const std::string& file, std::string_view format = "auto",
                          const ReadOptions& options = {});

/// Reads a trace file, plain, gzip or zstd; `-` is standard input. Of a folder, the main file of a format of
/// several tables is read, and the others beside it.
Result<Trace> read_trace(const std::string& path, std::string_view format = "auto",
                         const ReadOptions& options = {});

}  // namespace vtrain
