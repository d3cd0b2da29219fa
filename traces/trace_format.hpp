/// The published trace formats: one table, with how to recognise and how to read each.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "traces/reading/trace.hpp"

namespace vtrain {

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
