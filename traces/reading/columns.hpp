/// The columns of our own trace formats, CSV and JSON lines, and what each says of a job.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Number of columns.
inline constexpr std::size_t kNumTraceColumns = 24;

/// One column of the CSV, which is one key of the JSON lines.
struct TraceColumn {
  std::string_view name;
  bool is_text;  ///< and no number: quoted where the format has quotes
  /// Whether the job says it; the others are not to be asked where it does not.
  bool (*is_given)(const Job& job, const Workload& workload);
  /// Appends what the job says.
  void (*append)(std::string& out, const Job& job, const Workload& workload);
  /// Lets the job say what stands in a file, which is not empty. The error carries only the message.
  Result<void> (*take)(std::string_view text, Job& job, Workload& workload);
};

/// All of them, in the order in which they are written.
const std::array<TraceColumn, kNumTraceColumns>& trace_columns();

}  // namespace vtrain
