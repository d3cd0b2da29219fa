/// The table of the metrics of a replay.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vtrain {

struct JobFigures;
struct Summary;

/// The better direction of a metric's values; the best value is marked.
enum class Better : std::uint8_t { Lower, Higher, Neither };

/// Quantity that a value counts; it decides the format for people.
enum class MetricUnit : std::uint8_t {
  Count,     ///< whole number
  Flag,      ///< 1 for yes, 0 for no
  Duration,  ///< seconds of a job's life
  Period,    ///< seconds of a whole replay, shown in days
  Share,     ///< part of a whole, in [0, 1], shown in percent
  Ratio,     ///< ratio of two values, from 1 without upper bound
  Index,     ///< index in [0, 1]
  GpuHours,  ///< GPUs x hours
  Dollars,   ///< US dollars
};

/// One number of a replay: a key in JSON, a column of tables. NaN means that the value does not exist.
struct Metric {
  std::string_view key{};               ///< key in `summary.json`; empty: not written there
  std::string_view title{};             ///< title in tables; empty: only in JSON
  std::string_view short_title{};       ///< title in the terminal, one or two lines; empty: only on the page
  std::string_view meaning{};           ///< explanation for people, given if there is a title
  MetricUnit unit = MetricUnit::Count;  ///< what a value counts
  Better better = Better::Neither;      ///< better direction of the values
  /// True for figures over completed jobs: a policy that completes fewer is not compared by them.
  bool depends_on_completed = false;
  double (*of_jobs)(const JobFigures&) = nullptr;  ///< value over a set of jobs; null: none
  double (*of_run)(const Summary&) = nullptr;      ///< value of a whole replay, without `of_jobs`
  bool hides_zero = false;                         ///< true if a column of zeros is left out
  /// Turn, from 1, in which its column is dropped if the terminal is too narrow; 0: never.
  int dropped_in_turn = 0;

  /// Value of a whole replay.
  double value(const Summary& summary) const;
};

/// The metrics of a replay, in the order of the keys of `summary.json` and of the columns of tables. A new
/// metric needs a member of `JobFigures` or `Summary`, its formula in `summarize`, and a row here.
std::span<const Metric> run_metrics();

/// Metrics of the costs of interruptions, checkpoints and failures, in the order of the columns. They are NaN
/// for a replay in which nothing could cost jobs time.
std::span<const Metric> loss_metrics();

}  // namespace vtrain
