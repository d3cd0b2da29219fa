/// The columns of our own trace formats, CSV and JSON lines, and what each says of a job.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// One column of the CSV, which is one key of the JSON lines.
struct TraceColumn {
  std::string_view name;
  /// Whether the job says it; the others are not to be asked where it does not.
  bool (*is_given)(const Job& job);
  /// What the job says in a column of text; null in one of numbers.
  std::string_view (*text)(const Job& job, const Workload& workload);
  /// Appends what it says in a column of numbers; null in one of text.
  void (*append_number)(std::string& out, const Job& job);
  /// Lets the job say what stands in a file, which is not empty. The error carries only the message.
  Result<void> (*take)(std::string_view text, Job& job, Workload& workload);
};

/// All of them, in the order in which they are written.
const std::array<TraceColumn, 16>& trace_columns();

}  // namespace vtrain
