/// Replays single runs of a grid. Runs of one scenario share its preparation, and all share predictions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "policies/registry.hpp"
#include "tools/experiment/pricing.hpp"
#include "tools/experiment/scenario.hpp"
#include "tools/sweep/grid.hpp"
#include "tools/sweep/result_store.hpp"

namespace vtrain {

/// A run with what the sweep learns from it.
struct ReplayedRun {
  FinishedRun finished;
  double seconds = 0;              ///< time of this run, with that of preparing its scenario if it did so
  std::optional<Error> error{};    ///< reason of a failure
  std::vector<SpecFile> inputs{};  ///< files that were read; only with the run that prepared the scenario
  std::vector<std::string> warnings{};  ///< warnings of the preparation
};

/// Prepares scenarios and replays their runs, for several threads. Results do not depend on the order.
class GridReplayer {
 public:
  /// `grid` and `registry` must outlive it.
  explicit GridReplayer(const Grid& grid, const PolicyRegistry& registry = PolicyRegistry::built_in());
  ~GridReplayer();

  /// A scenario that one or several threads use at a time.
  struct Shared;

  /// Replays of one thread. It keeps its last scenario.
  class Worker {
   public:
    /// `replayer` must outlive it.
    explicit Worker(GridReplayer& replayer) : replayer_(replayer) {}
    /// Replays a run. A failure is part of the result.
    ReplayedRun replay(std::int64_t run);

   private:
    GridReplayer& replayer_;
    std::int64_t scenario_ = -1;
    std::shared_ptr<Shared> shared_{};
  };

 private:
  /// The scenario with this number if a thread has it, or a new one that is not prepared.
  std::shared_ptr<Shared> share(std::int64_t scenario);
  /// Spec of a scenario, with the blocks of a trace that its seed resamples.
  Result<ScenarioSpec> spec_of(const GridPlace& place);
  /// Prepares a scenario. Errors: those of `Scenario::prepare`; an input that can be read only once.
  Result<Scenario> prepare(const GridPlace& place, std::vector<std::string>& warnings);
  /// Blocks of a trace that several seeds resample, found once for each combination.
  Result<std::string> blocks_of(std::int64_t variant, const ScenarioSpec& spec);

  const Grid& grid_;
  const PolicyRegistry& registry_;
  PricingPool pool_;
  std::mutex mutex_;  ///< guards the members below
  std::map<std::int64_t, std::weak_ptr<Shared>> shared_;
  std::map<std::int64_t, std::string> blocks_;  ///< by combination
};

}  // namespace vtrain
