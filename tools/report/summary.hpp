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

/// Table with a row for each policy and a column for each metric. The best values of a column are bold and
/// starred (`marks_of`). Columns without information are left out, for example deadlines if no job has one.
std::string summary_table(std::span<const ReportRun> runs);

/// Costs of interruptions, checkpoints and failures under each policy, with a heading; empty if there are
/// none.
std::string loss_table(std::span<const ReportRun> runs);

/// Percentiles of durations, one row for each policy; readable on paper, too.
std::string percentile_table(std::span<const ReportRun> runs, const SortedSamples& samples,
                             std::string_view what);

}  // namespace vtrain::report
