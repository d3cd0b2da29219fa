/// The published trace formats: one table, with how to recognise and how to read each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "workloads/job.hpp"

namespace vtrain {

/// What a reader kept besides the jobs.
struct Trace {
  Workload workload;
  std::string format;                      ///< the name of the format it was read as
  std::optional<std::int32_t> num_gpus{};  ///< cluster size that the file itself names (Batsim's `nb_res`)
};

/// One row of the table of formats.
struct TraceFormat {
  std::string_view name;
  std::string_view summary;
  /// Whether text that begins like this is of the format; `head` is the first few kilobytes. No text is of
  /// two formats, so the order of the table does not matter.
  bool (*recognise)(std::string_view head);
  /// Reads the whole text; `file` is used in errors. Names are copied: `text` may go afterwards.
  Result<Trace> (*read)(std::string_view text, const std::string& file);
};

/// All formats; `auto` takes the one that recognises the file.
std::span<const TraceFormat> trace_formats();

/// Reads a trace that is in memory. `format` is a name of the table or `auto`; `file` is used in errors. Jobs
/// come out ordered by submission, ties in the order of the file.
Result<Trace> parse_trace(std::string_view text, const std::string& file, std::string_view format = "auto");

/// Reads a trace file, plain or gzip; `-` is standard input.
Result<Trace> read_trace(const std::string& path, std::string_view format = "auto");

}  // namespace vtrain
