/// The table of the metrics of a replay.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vtrain {

struct JobFigures;
struct Summary;

/// Values of a metric of which the best is marked.
enum class Better : std::uint8_t { Lower, Higher, Neither };

/// What a value counts; how people read it follows from that.
enum class MetricUnit : std::uint8_t {
  Count,     ///< a whole number
  Flag,      ///< 1 for yes, 0 for no
  Duration,  ///< seconds of the life of a job
  Period,    ///< seconds of a whole replay, shown in days
  Share,     ///< of a whole, in [0, 1], shown in percent
  Ratio,     ///< of two values, from 1 to beyond all bounds
  Index,     ///< in [0, 1]
  GpuHours,  ///< GPUs x hours
};

/// One number of a replay: a key in JSON, a column of tables. NaN stands for a value that does not exist.
struct Metric {
  std::string_view key{};          ///< in `summary.json`; empty: it is not there
  std::string_view title{};        ///< in tables; empty: only JSON has it
  std::string_view short_title{};  ///< in the terminal, in one or two lines; empty: only the page shows it
  std::string_view meaning{};      ///< for people, of those with a title
  MetricUnit unit = MetricUnit::Count;
  Better better = Better::Neither;
  /// Over completed jobs: a policy that completes fewer is not compared by it.
  bool depends_on_completed = false;
  double (*of_jobs)(const JobFigures&) = nullptr;  ///< its value over a set of jobs; null: it has none
  double (*of_run)(const Summary&) = nullptr;      ///< its value of a whole replay, without `of_jobs`
  bool hides_zero = false;                         ///< a column of zeros is left out
  /// Turn in which its column is left out where a terminal is too narrow, from 1; 0: never.
  int dropped_in_turn = 0;

  /// Its value of a whole replay.
  double value(const Summary& summary) const;
};

/// The metrics of a replay, in the order of the keys of `summary.json` and of the columns of tables. A new
/// metric needs a member of `JobFigures` or `Summary`, its formula in `summarize`, and a row here.
std::span<const Metric> run_metrics();

/// What interruptions, checkpoints and failures cost, in the order of the columns: NaN for a replay in which
/// nothing could cost jobs time.
std::span<const Metric> loss_metrics();

}  // namespace vtrain
