/// Contents of a trace, for people and programs. Shared by the commands that read or make traces.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/reading/trace.hpp"

namespace vtrain {

/// The first lines for people: amount of jobs, load, and properties that jobs give.
std::string describe_jobs(const std::string& name, const TraceStatistics& statistics,
                          const std::optional<ClusterSpec>& cluster);
/// Number of skipped rows, with reasons and first lines; empty for none. `num_rows` is the number of all
/// rows, 0 if unknown.
std::string skipped_rows_text(const SkippedRows& skipped, std::int64_t num_rows = 0);
/// `skipped_rows_text` as a line for people.
std::string skipped_line(const SkippedRows& skipped, std::int64_t num_rows = 0);
/// Parts of one description after a label of at most nine letters; empty without parts. Lines of
/// `text_columns()` columns, broken between parts if possible.
std::string labelled_lines(std::string_view label, const std::vector<std::string>& parts,
                           std::string_view separator = "   ");
/// Lines on assumed or synthetic values.
std::string assumed_lines(const std::vector<std::string>& assumptions);
/// Table of durations, gaps between submissions and recorded waits: one row each, with percentiles.
std::string distribution_table(const TraceStatistics& statistics);
/// Table of jobs and GPU-hours by number of GPUs.
std::string size_table(const TraceStatistics& statistics);
/// Table of tenants, models or the like, after an empty line. One row sums up all beyond the first twenty.
/// Empty without shares.
std::string share_table(const std::string& title, const std::vector<NamedShare>& shares,
                        const TraceStatistics& statistics);

/// All of the statistics. `cluster` is the size that the offered load refers to.
nlohmann::ordered_json statistics_to_json(const TraceStatistics& statistics,
                                          const std::optional<GpuCount>& cluster);
/// Skipped rows as `[{"reason", "rows", "first_lines": [...]}]`.
nlohmann::ordered_json skipped_to_json(const SkippedRows& skipped);

}  // namespace vtrain
