/// The columns of our own trace formats, CSV and JSON lines, with access to the job's values.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Number of columns.
inline constexpr std::size_t kNumTraceColumns = 26;

/// One column of the CSV, and one key of the JSON lines.
struct TraceColumn {
  std::string_view name;
  bool is_text;  ///< true for text, which is quoted if the format has quotes; false for numbers
  /// True if the job has a value; otherwise `append` must not be called.
  bool (*is_given)(const Job& job, const Workload& workload);
  /// Appends the job's value.
  void (*append)(std::string& out, const Job& job, const Workload& workload);
  /// Sets the job's value from text of a file, which is not empty. The error has only a message.
  Result<void> (*take)(std::string_view text, Job& job, Workload& workload);
};

/// All columns, in the order in which they are written.
const std::array<TraceColumn, kNumTraceColumns>& trace_columns();

}  // namespace vtrain
