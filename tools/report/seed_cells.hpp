/// What the tables, the answer and the page of several seeds share: metrics in order of rank, and estimates
/// as text.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sched/metrics/seed_study.hpp"

namespace vtrain {

/// The metric of a key that exists.
const Metric& metric_named(std::string_view key);

/// The metric by which policies are ranked: deadlines if there are any, else the average JCT.
const Metric& main_metric(const SeedStudy& study);

/// `91.2 ± 0.8 %`, `2 h 15 m ± 12 m 04 s`. Differences have a sign, those of shares are in points: `−3.1 ±
/// 0.4`. Without an interval, or with one of width 0, only the mean; `-` for NaN.
std::string estimate_text(const Metric& metric, const Estimate& estimate, bool is_difference);

/// For each policy, true if it completes as many jobs as the others, but for a handful. Times of the others
/// are over fewer jobs and not compared.
std::vector<bool> policies_that_complete(const SeedStudy& study);

/// The policies that have the metric and may be compared by it, the best first.
std::vector<std::size_t> ranked_policies(const SeedStudy& study, const Metric& metric);

/// Columns of the terminal, or of the page: those that the table of one replay may have there.
std::vector<const Metric*> shown_metrics(const SeedStudy& study, bool on_page);

/// A row for each policy with its name and a cell for each metric, which ends with its mark or two blanks.
/// `from`: the policy whose differences are shown; none: means.
std::vector<std::vector<std::string>> table_rows(const SeedStudy& study,
                                                 std::span<const Metric* const> metrics,
                                                 std::optional<std::size_t> from);

/// Title of a column: that of the metric, or its key.
std::string_view column_title(const Metric& metric);

/// A title for a table whose cells end with marks, which has room for one at the end of each line.
std::string title_with_room(const Metric& metric);

/// Drops metrics while a table of them is too wide: by their turns, then from the end, but for one.
void drop_columns(std::vector<const Metric*>& metrics, const std::function<bool()>& is_too_wide);

/// The sentence on the mark of values over fewer completed jobs, if a table has it; else empty.
std::string_view fewer_jobs_note(const SeedStudy& study, std::span<const Metric* const> metrics);

/// `seeds 1 to 20`.
std::string seeds_label(const SeedStudy& study);
/// The meaning of `±`, and the seeds.
std::string interval_note(const SeedStudy& study);
/// The meaning of the differences.
std::string_view difference_note(const SeedStudy& study);

}  // namespace vtrain
