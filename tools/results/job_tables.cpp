/// Tables of jobs that a run writes: `jobs.csv` and `interruptions.csv`.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/io/csv.hpp"
#include "sched/metrics/job_columns.hpp"
#include "tools/results/results.hpp"

namespace vtrain {
namespace {

/// Appends a value as `jobs.csv` shows it; a missing value is an empty cell.
void append_value(std::string& out, const JobValue& value, CellText cells) {
  const auto append = [&out, cells](const auto& known) {
    using Value = std::decay_t<decltype(known)>;
    if constexpr (std::is_same_v<Value, std::string_view>) append_csv_field(out, known, cells);
    if constexpr (std::is_same_v<Value, std::int64_t>) out += std::to_string(known);
    if constexpr (std::is_same_v<Value, bool>) out += known ? "true" : "false";
    if constexpr (std::is_same_v<Value, SimDuration>) append_ns_as_seconds(out, known.count());
    if constexpr (std::is_same_v<Value, GpuTime>) known.append_to(out);
    if constexpr (std::is_same_v<Value, double>) out += fmt::format("{}", known);
  };
  std::visit(append, value);
}

}  // namespace

void write_jobs_csv(OutputFile& file, const Workload& workload, const SimulationResult& result,
                    const GpuPrices& prices, CellText cells) {
  std::string row;
  std::vector<JobColumn> columns;
  for (const JobColumn& column : job_columns()) {
    if (column.only_with_errors && result.time_factors.empty()) continue;
    columns.push_back(column);
    row += row.empty() ? "" : ",";
    row += column.name;
  }
  file.write(row + "\n");
  // Written row by row: a million rows need no second copy in memory.
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    row.clear();
    JobRow job{workload, workload.jobs[i], result.outcomes[i],
               prices.cost(result, JobId(static_cast<std::uint32_t>(i)))};
    if (!result.time_factors.empty()) job.time_factor = result.time_factors[i];
    for (const JobColumn& column : columns) {
      append_value(row, column.value(job), cells);
      row += ',';
    }
    row.back() = '\n';
    file.write(row);
  }
}

std::string interruptions_to_csv(const Workload& workload, const SimulationResult& result, CellText cells) {
  std::string rows = "job_id,failures,preemptions,resizes,gpu_seconds";
  for (const LossCauseInfo& cause : kLossCauses)
    rows += fmt::format(",{}_gpu_seconds", cause.name);
  rows += '\n';
  for (std::size_t i = 0; i < result.losses.size(); ++i) {
    const JobOutcome& outcome = result.outcomes[i];
    const LostGpuTime& lost = result.losses[i];
    if (outcome.failures + outcome.preemptions + outcome.resizes == 0 && lost.none()) continue;
    append_csv_field(rows, workload.jobs[i].name, cells);
    rows += fmt::format(",{},{},{},", outcome.failures, outcome.preemptions, outcome.resizes);
    outcome.gpu_time.append_to(rows);
    for (std::size_t cause = 0; cause < kNumLossCauses; ++cause) {
      rows += ',';
      lost[static_cast<LossCause>(cause)].append_to(rows);
    }
    rows += '\n';
  }
  return rows;
}

}  // namespace vtrain
