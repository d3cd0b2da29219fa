/// Comparison of replays by their metrics, in the terminal and on the page.
#pragma once

#include <cstdint>
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

/// What stands beside a value in a table.
enum class Mark : std::uint8_t {
  None,
  Best,
  NotCompared,  ///< over fewer completed jobs than others: times of who turns jobs away are short
};

/// Jobs by which two policies may differ without a reader making anything of it.
inline constexpr std::int64_t kHandful = 5;

/// The marks of a metric's values for some replays of the same jobs. The best ones, as shown, are starred
/// unless that says nothing: neither is better, more than half of those compared are alike, or one that is
/// not compared has a better value. What depends on the completed jobs is compared among the replays that
/// completed as many, but for a handful or a hundredth.
std::vector<Mark> marks_of(const Metric& metric, std::span<const Summary* const> replays);

/// What is shown behind a value: ` *`, ` †` or two blanks.
std::string_view sign_of(Mark mark);

/// What these marks say, for people; empty without any.
std::string meaning_of_marks(std::span<const std::vector<Mark>> columns);

}  // namespace vtrain
