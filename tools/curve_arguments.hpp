/// How commands that price jobs are told what with.
#pragma once

#include <memory>
#include <string>

#include "core/result.hpp"
#include "tools/curve_cache.hpp"
#include "workloads/throughput_curve.hpp"

namespace CLI {
class App;
}

namespace vtrain {

/// The arguments as given.
struct CurveArguments {
  std::string profile = "a100";
  std::string stack;  ///< empty: the default one
  std::string kind = "best-plan";
  bool no_cache = false;
};

/// Adds `--profile`, `--stack`, `--curves` and `--no-cache`.
void add_curve_options(CLI::App& command, CurveArguments& arguments);

/// Curves with the cache that they are kept in.
class CachedCurves {
 public:
  /// Errors: an unknown profile or kind, a profile that cannot be read.
  static Result<CachedCurves> open(const CurveArguments& arguments);

  ThroughputCurves& curves() { return *curves_; }
  /// Where run times come from: `iterations x the best plan's iteration time, profile a100`.
  std::string describe() const;

 private:
  CachedCurves() = default;

  std::unique_ptr<CurveCache> cache_;         ///< none: nothing is kept
  std::unique_ptr<ThroughputCurves> curves_;  ///< saves to the cache when it goes
};

}  // namespace vtrain
