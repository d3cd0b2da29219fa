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

/// A value as text, in the unit of the metric.
std::string metric_text(const Metric& metric, double value);

/// True if a column with the values of these replays is informative. False if no value exists, or all are 0
/// and the metric hides zeros.
bool is_shown(const Metric& metric, std::span<const Summary* const> replays);

/// Mark next to a value in a table.
enum class Mark : std::uint8_t {
  None,
  Best,
  NotCompared,  ///< fewer jobs completed than under others: rejecting jobs shortens times
};

/// Smallest difference between policies, in jobs, that counts as significant.
inline constexpr std::int64_t kHandful = 5;

/// The marks of a metric's values for some replays of the same jobs. The best values, as shown, are starred.
/// There is no star if neither direction is better, if over half of the compared values are best, or if an
/// uncompared value is better. Metrics of completed jobs are compared among the replays that completed the
/// most jobs. These may lack fewer than `kHandful` jobs, or up to a hundredth.
std::vector<Mark> marks_of(const Metric& metric, std::span<const Summary* const> replays);

/// Text after a value: ` *`, ` †` or two blanks.
std::string_view sign_of(Mark mark);

/// Explanation of these marks for people; empty without any.
std::string meaning_of_marks(std::span<const std::vector<Mark>> columns);

}  // namespace vtrain
