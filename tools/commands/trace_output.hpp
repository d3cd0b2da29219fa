/// Writing the trace that a command made, and telling people what came out.
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

/// Where a trace goes, as given.
struct OutputArguments {
  std::string path;
  std::string format = "vtrain";
  bool json = false;
};

/// Adds `--out`, `--to` and `--json`.
void add_output_options(CLI::App& command, OutputArguments& arguments);

/// What a file holds that was written.
struct WrittenTrace {
  TraceStatistics statistics;
  /// The fields that the format cannot say; unknown where the file cannot be read back (a pipe, a device,
  /// standard output), of
  /// which `statistics` are those of the trace that was to be written.
  std::optional<std::vector<FieldDifference>> lost;
};

/// Writes the trace and reads it back, so that what the format cannot say is known.
Result<WrittenTrace> write_trace(const Trace& trace, const OutputArguments& arguments);

/// The line of what was lost, empty when nothing was.
std::string lost_line(const WrittenTrace& written);

/// Prints what was made of `source`: jobs, the load that they offer a cluster if there is one, what was
/// skipped and assumed, and what was lost.
void print_written_trace(const std::string& source, const Trace& trace,
                         const std::optional<ClusterSpec>& cluster, const WrittenTrace& written,
                         const OutputArguments& arguments);

}  // namespace vtrain
