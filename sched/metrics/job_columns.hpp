/// The table of the columns of `jobs.csv`: results of one job.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "core/base/units.hpp"
#include "sched/accounting/gpu_time.hpp"
#include "sched/simulation/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// A job of a replay.
struct JobRow {
  const Workload& workload;
  const Job& job;
  const JobOutcome& outcome;
  std::optional<double> cost{};         ///< cost, dollars; none: not known
  std::optional<double> time_factor{};  ///< true over predicted time; none: jobs run as predicted
};

/// A value of a column. Empty if the job never had it, for instance a start or a deadline.
using JobValue =
    std::variant<std::monostate, std::string_view, std::int64_t, bool, SimDuration, GpuTime, double>;

/// One column.
struct JobColumn {
  std::string_view name;     ///< names of times end in `_s`, for seconds
  std::string_view meaning;  ///< one line
  JobValue (*value)(const JobRow& row);
  bool only_with_errors = false;  ///< left out where jobs run as predicted
};

/// All columns, in order. Times of day count from the trace's origin.
std::span<const JobColumn> job_columns();

}  // namespace vtrain
