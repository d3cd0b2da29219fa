/// What a trace holds, for people and for programs: shared by the commands that read or make traces.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/reading/trace.hpp"

namespace vtrain {

/// The first lines for people: what there is, the load that it offers, and what jobs say of themselves.
std::string describe_jobs(const std::string& name, const TraceStatistics& statistics,
                          const std::optional<ClusterSpec>& cluster);
/// How many rows were skipped, of how many if that is known (not 0), with their reasons and first lines;
/// empty when there are none.
std::string skipped_rows_text(const SkippedRows& skipped, std::int64_t num_rows = 0);
/// The same as a line for people.
std::string skipped_line(const SkippedRows& skipped, std::int64_t num_rows = 0);
/// Parts of one description behind a label of at most nine letters, in lines of `text_columns()`, broken
/// between parts where that is possible; empty without any.
std::string labelled_lines(std::string_view label, const std::vector<std::string>& parts,
                           std::string_view separator = "   ");
/// The lines of what is assumed or synthetic.
std::string assumed_lines(const std::vector<std::string>& assumptions);
/// Durations, gaps between submissions and recorded waits: one row each, with percentiles.
std::string distribution_table(const TraceStatistics& statistics);
/// Jobs and GPU-hours by number of GPUs.
std::string size_table(const TraceStatistics& statistics);
/// A table of tenants, models or the like; all beyond the first twenty are added up in one row. With an empty
/// line before it; nothing when there are no shares.
std::string share_table(const std::string& title, const std::vector<NamedShare>& shares,
                        const TraceStatistics& statistics);

/// All of the statistics; `cluster` is what the offered load refers to.
nlohmann::ordered_json statistics_to_json(const TraceStatistics& statistics,
                                          const std::optional<GpuCount>& cluster);
/// `[{"reason", "rows", "first_lines": [...]}]`.
nlohmann::ordered_json skipped_to_json(const SkippedRows& skipped);

}  // namespace vtrain
