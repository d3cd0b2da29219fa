/// How commands that price jobs are told what with.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "sched/cluster.hpp"
#include "tools/curve_cache.hpp"
#include "workloads/job.hpp"
#include "workloads/throughput_curve.hpp"

namespace CLI {
class App;
}

namespace vtrain {

/// The arguments as given.
struct CurveArguments {
  std::string profile;  ///< empty: that of the cluster's GPUs
  std::string stack;    ///< empty: the default one
  std::string kind = "best-plan";
  bool no_cache = false;
};

/// Adds `--profile`, `--stack`, `--curves` and `--no-cache`.
void add_curve_options(CLI::App& command, CurveArguments& arguments);

/// Curves with the cache that they are kept in.
class CachedCurves {
 public:
  /// Without a named profile it is that of the cluster's GPUs, if they have one, and `a100` otherwise.
  /// Errors: an unknown profile or kind, a profile that cannot be read.
  static Result<CachedCurves> open(const CurveArguments& arguments,
                                   const std::optional<ClusterSpec>& cluster);

  ThroughputCurves& curves() { return *curves_; }
  /// Whether jobs may hold other numbers of GPUs than they ask for: all but `--curves none`.
  bool elastic() const { return elastic_; }
  /// `the best plan` or `replicas of the smallest plan that fits`.
  std::string plans() const;
  /// Where run times come from: `iterations x the iteration time of the best plan, profile a100, ...`.
  std::string describe() const;
  /// What had to be assumed about the profile; empty when nothing.
  const std::string& assumption() const { return assumption_; }

 private:
  CachedCurves() = default;

  std::unique_ptr<CurveCache> cache_;         ///< none: nothing is kept
  std::unique_ptr<ThroughputCurves> curves_;  ///< saves to the cache when it goes
  bool elastic_ = true;
  std::string assumption_;
};

/// Gives the jobs curves up to `largest` GPUs (`make_elastic`), unless `--curves none`. Returns sentences
/// that say which jobs are elastic, also by curves that came with their trace, and what was assumed.
Result<std::vector<std::string>> add_curves(Workload& workload, CachedCurves& curves, GpuCount largest,
                                            bool strict);

}  // namespace vtrain
