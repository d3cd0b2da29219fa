/// Metrics by which replays are compared, in the terminal and on the page.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vtrain {

struct Summary;

/// Which of a metric's values is the best.
enum class Better : std::uint8_t { Lower, Higher, Neither };

/// One number of a replay, the column of a table.
struct Metric {
  std::string_view title{};
  std::string_view short_title{};  ///< in the terminal; empty for what only the page shows
  std::string_view meaning{};
  Better better = Better::Neither;
  double (*value)(const Summary&) = nullptr;  ///< NaN if it does not exist
  std::string (*show)(double) = nullptr;
  bool hides_zero = false;  ///< a column of zeros is left out
};

/// What replays are compared by, in the order of the columns.
std::span<const Metric> replay_metrics();

/// What interruptions, checkpoints and failures cost, in the order of the columns: NaN for a replay in which
/// nothing could cost jobs time.
std::span<const Metric> loss_metrics();

/// Which of some replays of the same jobs have the best value of a metric, as it is shown. None has where
/// marking it says nothing: neither is better, all look alike, or none exists. What is better when it is
/// lower is compared only among the replays that completed the most jobs: who turns jobs away makes waits
/// short.
std::vector<bool> best_replays(const Metric& metric, std::span<const Summary* const> replays);

/// What a star beside such values says, for people; also among whom, where not all completed as many jobs.
std::string_view meaning_of_stars(std::span<const Summary* const> replays);

}  // namespace vtrain
