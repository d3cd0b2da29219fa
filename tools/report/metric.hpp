/// Comparison of replays by their metrics, in the terminal and on the page.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sched/metrics/metric_table.hpp"

namespace vtrain {

struct Summary;

/// A value as people read it, by the unit of the metric.
std::string metric_text(const Metric& metric, double value);

/// True if a column with the values of these replays says something: not if none exists, or all are 0 and the
/// metric hides that.
bool is_shown(const Metric& metric, std::span<const Summary* const> replays);

/// Which of some replays of the same jobs have the best value of a metric, as it is shown. None has where
/// marking it says nothing: neither is better, all look alike, or none exists. What is better when it is
/// lower is compared only among the replays that completed the most jobs: who turns jobs away makes waits
/// short.
std::vector<bool> best_replays(const Metric& metric, std::span<const Summary* const> replays);

/// What a star beside such values says, for people; also among whom, where not all completed as many jobs.
std::string_view meaning_of_stars(std::span<const Summary* const> replays);

}  // namespace vtrain
