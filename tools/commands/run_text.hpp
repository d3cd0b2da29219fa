/// Finished runs as text for a terminal: the lines above the table, the table, and notes below it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/experiment/scenario.hpp"

namespace vtrain {

/// The answer of these runs, in lines.
std::string answer_lines(const Scenario& scenario, const std::vector<RunResult>& runs);

/// The lines above the table: trace, cluster, assumptions.
std::string describe_scenario(const Scenario& scenario);

/// A table with a row for each policy. Its columns are the informative metrics that have room.
struct Comparison {
  std::string table{};
  std::string marks{};     ///< line that explains the table's marks; empty without marks
  std::string left_out{};  ///< line that names the columns without room; empty for none
};

/// The table of these runs.
Comparison comparison_of(const std::vector<RunResult>& runs);

/// Table of lost GPU time, with a row for each policy under which jobs could lose any. Empty if no job lost
/// any and no node failed. Columns that hold only 0 are left out.
std::string lost_gpu_hours(const std::vector<RunResult>& runs);

/// Table of figures grouped by a property of jobs; empty without a grouping.
std::string figures_by_group(const std::vector<RunResult>& runs);

/// Lines below the table: hints on these runs, fragmentation, jobs that did not complete, figures that
/// policies report.
std::string notes_on_runs(const Scenario& scenario, const std::vector<RunResult>& runs);

}  // namespace vtrain
