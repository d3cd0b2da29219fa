/// Writes the trace that a command made, and reports the result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "traces/editing/difference.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/trace_format.hpp"

namespace CLI {
class App;
}

namespace vtrain {

/// Destination of a trace, as given.
struct OutputArguments {
  std::string path;
  std::string format = "vtrain";
  bool json = false;
};

/// Adds `--out`, `--to` and `--json`.
void add_output_options(CLI::App& command, OutputArguments& arguments);

/// Contents of a written file.
struct WrittenTrace {
  TraceStatistics statistics;
  /// Fields that the format cannot store. None if the file cannot be read back (a pipe, a device, standard
  /// output); then `statistics` describe the trace before it was written.
  std::optional<std::vector<FieldDifference>> lost;
};

/// Writes the trace and reads it back, to find the fields that the format cannot store.
Result<WrittenTrace> write_trace(const Trace& trace, const OutputArguments& arguments);

/// Line that names the lost fields; empty if none was lost.
std::string lost_line(const WrittenTrace& written);

/// Prints the trace made from `source`: jobs, their load on a cluster (if given), skipped rows, assumptions
/// and lost fields.
void print_written_trace(const std::string& source, const Trace& trace,
                         const std::optional<ClusterSpec>& cluster, const WrittenTrace& written,
                         const OutputArguments& arguments);

}  // namespace vtrain
