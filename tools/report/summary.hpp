/// The tables at the top of the page: static HTML that is readable without JavaScript.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/report/chart_data.hpp"

namespace vtrain {
struct ReportRun;
struct Summary;
}  // namespace vtrain

namespace vtrain::report {

/// Summaries of the runs, in their order.
std::vector<const Summary*> summaries_of(std::span<const ReportRun> runs);

/// The line sample of the `index`-th policy, in the colour and dashes that it has in every picture. Hidden
/// from screen readers.
std::string line_key(std::size_t index);

/// One row a policy, one column a metric. The best value of a column (the best ones, if equal; none, if all
/// are) is bold and starred, as `marks_of` says. Columns that say nothing (deadlines without deadlines, jobs
/// not completed when all were) are left out.
std::string summary_table(std::span<const ReportRun> runs);

/// What interruptions, checkpoints and failures cost under each policy, with a heading; empty where they cost
/// nothing.
std::string loss_table(std::span<const ReportRun> runs);

/// Percentiles of durations, one row a policy, for readers of paper and of screens alike.
std::string percentile_table(std::span<const ReportRun> runs, const SortedSamples& samples,
                             std::string_view what);

}  // namespace vtrain::report
