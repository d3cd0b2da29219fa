/// The smallest cluster that meets a goal under each policy.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "sched/metrics/seed_study.hpp"
#include "tools/experiment/scenario.hpp"

namespace vtrain {

/// A number of a replay that a goal bounds.
struct SizeMeasure {
  std::string_view key;                 ///< name in `--goal`
  std::string_view title;               ///< title in tables
  MetricUnit unit = MetricUnit::Share;  ///< unit of the value
  bool at_least = true;                 ///< more is better: the goal is a lower bound
  /// Value under one schedule. Percentiles are over all jobs: a job that never ended waits forever.
  double (*value)(const Workload& workload, const RunResult& run) = nullptr;
};

/// All measures.
std::span<const SizeMeasure> size_measures();

/// A measure and its bound.
struct SizeGoal {
  const SizeMeasure* measure = nullptr;  ///< never null
  double bound = 0;                      ///< share of 1, or seconds
  std::string text{};                    ///< text as given

  /// Reads `deadlines=95%` or `p95-wait=1h`. The error names `--goal`.
  static Result<SizeGoal> parse(std::string_view text);
  /// True if a value is within the bound.
  bool is_met_by(double value) const { return measure->at_least ? value >= bound : value <= bound; }
};

/// Clusters to choose from: `4-64x8:h100`, with other types beside it as in `4-64x8:h100+0,8,16x8:a100`.
class ClusterRange {
 public:
  /// Reads the range of nodes of the first group, and all numbers of nodes of the others. Errors name
  /// `--cluster`: a range that is none, a group without nodes in the first place, more than 64 mixes.
  static Result<ClusterRange> parse(const std::string& text);

  /// Fewest nodes of the first group.
  std::int64_t low() const { return low_; }
  /// Most nodes of the first group.
  std::int64_t high() const { return high_; }
  /// Number of mixes: combinations of the numbers of nodes of all groups but the first.
  std::size_t num_mixes() const { return mixes_.size(); }
  /// Short form of the cluster with some nodes of the first group: `22x8:h100+8x8:a100`.
  std::string at(std::size_t mix, std::int64_t nodes) const;
  /// `8 H100`: a node of the first group.
  std::string node() const;
  /// Other groups of a mix: `8 x 8 A100`; empty for none.
  std::string beside(std::size_t mix) const;

 private:
  std::int64_t low_ = 1;
  std::int64_t high_ = 1;
  std::vector<std::string> nodes_{};                  ///< `8:h100`, by group
  std::vector<std::vector<std::int64_t>> mixes_{{}};  ///< numbers of nodes of the other groups
};

/// One size under one policy.
struct SizePoint {
  std::string cluster{};          ///< short form
  std::int64_t gpus = 0;          ///< all of its GPUs
  std::optional<double> price{};  ///< dollars for an hour of the whole cluster; none: not known
  std::vector<double> values{};   ///< measure by seed
  Estimate estimate{};            ///< mean of the values
  bool meets = false;             ///< the 95 % interval meets the goal, or the value of one seed
  bool mean_meets = false;        ///< the mean meets the goal
};

/// Two sizes, the larger of which is worse.
struct SizeStep {
  std::int64_t smaller = 0;  ///< nodes of the smaller one
  std::int64_t larger = 0;   ///< nodes of the larger one
  bool misses_goal = false;  ///< true: only the smaller one meets the goal; false: the mean is clearly worse
};

/// The sizes that were tried with one mix under one policy.
struct SizeCurve {
  std::size_t mix = 0;                          ///< number of the mix in the range
  std::size_t policy = 0;                       ///< position in `SizeStudy::policies`
  std::map<std::int64_t, SizePoint> points{};   ///< by nodes of the first group
  std::optional<std::int64_t> nodes{};          ///< smallest number whose interval meets the goal
  std::optional<std::int64_t> nodes_by_mean{};  ///< smallest number whose mean meets it
  std::vector<SizeStep> worse{};                ///< steps up at which the curve gets worse
};

/// Answers for all mixes and policies.
struct SizeStudy {
  SizeGoal goal{};                      ///< goal of the search
  std::vector<std::string> policies{};  ///< specs of the policies
  std::vector<std::uint64_t> seeds{};   ///< seeds of each size
  std::string resampled = "none";       ///< what each seed draws anew of a trace
  std::int64_t low = 1;                 ///< fewest nodes of the first group
  std::int64_t high = 1;                ///< most nodes
  std::string node{};                   ///< `8 H100`
  std::vector<std::string> mixes{};     ///< other groups by mix; empty for none
  std::vector<SizeCurve> curves{};      ///< [mixes][policies]
  /// Metrics of every replay, by cluster, in the order of mixes and sizes.
  std::vector<std::pair<std::string, SeedStudy>> replays{};
  std::int64_t num_replays = 0;  ///< number of replays in all

  /// The curve of a policy with the cheapest answer, or where prices are not known the fewest GPUs; null if
  /// no mix meets the goal.
  const SizeCurve* best_of(std::size_t policy) const;
};

/// Options of `find_sizes`. Results do not depend on them.
struct SizeOptions {
  unsigned threads = 0;                               ///< threads; 0: one per processor
  std::atomic<std::int64_t>* replays_done = nullptr;  ///< counter for progress displays; may be null
};

/// Sizes to try next where the results of some are known: the ends of a bisection for the goal by interval
/// and by mean, then two neighbours on each side of the answer. Empty: nothing is left to try.
std::vector<std::int64_t> sizes_to_try(const std::map<std::int64_t, SizePoint>& known, std::int64_t low,
                                       std::int64_t high);

/// Finds the smallest clusters of a range that meet the goal of a spec, under all its policies and these
/// seeds. `largest` is the scenario of the largest cluster. All clusters have the jobs of its reference.
/// Errors: those of `Scenario::prepare` and `Scenario::run`; a goal that no job has; an input that can be
/// read only once.
Result<SizeStudy> find_sizes(const Scenario& largest, const ClusterRange& range, const SizeGoal& goal,
                             std::span<const std::uint64_t> seeds, const SizeOptions& options = {});

}  // namespace vtrain
