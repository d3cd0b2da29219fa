/// Finished runs as text for a terminal: the lines above the table, the table, and notes below it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/experiment/scenario.hpp"

namespace vtrain {

/// The answer of these runs, in lines.
std::string answer_lines(const Scenario& scenario, const std::vector<RunResult>& runs);

/// The lines above the table: trace, cluster, what was assumed.
std::string describe_scenario(const Scenario& scenario);

/// A row for each policy, and a column for each metric that says something and has room.
struct Comparison {
  std::string table{};
  std::string marks{};     ///< the meaning of the marks in it, a line; empty without any
  std::string left_out{};  ///< which columns have no room, a line; empty for none
};

/// The table of these runs.
Comparison comparison_of(const std::vector<RunResult>& runs);

/// The table of GPU time that brought no lasting work, a row for each policy under which anything could cost
/// jobs any; empty if nothing did. Columns without a value other than 0 are left out.
std::string lost_gpu_hours(const std::vector<RunResult>& runs);

/// The table of figures by a property of jobs, if one was asked for; else empty.
std::string figures_by_group(const std::vector<RunResult>& runs);

/// Lines on what the table does not show: hints on these runs, fragmentation, jobs that did not
/// complete, figures that policies report of their own work.
std::string notes_on_runs(const Scenario& scenario, const std::vector<RunResult>& runs);

}  // namespace vtrain
