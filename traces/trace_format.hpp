/// The published trace formats: one table with the functions that recognise, read and write each.
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
  std::string_view name;     ///< name for `--format`
  std::string_view summary;  ///< a phrase for people
  /// True if a text with this beginning has the format; `head` is the first few kilobytes. No text has two
  /// formats, so the order of the table does not matter.
  bool (*recognise)(std::string_view head);
  /// Reads the whole text. Names are copied, so `text` need not outlive the result.
  Result<Trace> (*read)(const TraceInput& input);
  /// Writes jobs that are ordered by submission. `read` returns them again, without the fields that the
  /// format lacks. The file appears when it is complete. Null: the format cannot be written.
  Result<void> (*write)(const Trace& trace, const std::filesystem::path& path) = nullptr;
  /// Published file name of the table with the jobs, for a format with several tables. A folder has the
  /// format whose main file it contains.
  std::string_view main_file{};
  bool takes_throughputs = false;  ///< the work is in iterations; see `ReadOptions::throughputs`
};

/// All formats; `auto` selects the one that recognises the file.
std::span<const TraceFormat> trace_formats();

/// The writable format with this name; the error lists the writable formats.
Result<const TraceFormat*> find_written_format(std::string_view name);

/// Reads a trace that is in memory. `format` is a name of the table or `auto`; `file` is used in errors. The
/// jobs are ordered by submission, ties in the order of the file.
Result<Trace> parse_trace(std::string_view text, const std::string& file, std::string_view format = "auto",
                          const ReadOptions& options = {});

/// Reads a trace file, plain, gzip or zstd; `-` is standard input. In a folder, it reads the main file of a
/// format with several tables, and then the other tables.
Result<Trace> read_trace(const std::string& path, std::string_view format = "auto",
                         const ReadOptions& options = {});

}  // namespace vtrain
