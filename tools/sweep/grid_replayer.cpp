#include "tools/sweep/grid_replayer.hpp"

#include <chrono>
#include <utility>

#include "core/base/units.hpp"
#include "tools/experiment/seeds.hpp"
#include "tools/sweep/result_columns.hpp"

namespace vtrain {

struct GridReplayer::Shared {
  std::once_flag once;
  std::optional<Result<Scenario>> scenario;
};

GridReplayer::GridReplayer(const Grid& grid, const PolicyRegistry& registry)
    : grid_(grid), registry_(registry) {}
GridReplayer::~GridReplayer() = default;

Result<std::string> GridReplayer::blocks_of(std::int64_t variant, const ScenarioSpec& spec) {
  const std::string& wanted = spec.transformations.resample;
  if (wanted != "auto" || grid_.seeds().size() == 1) return wanted;
  if (spec.trace.files.empty()) return "none";
  {
    const std::lock_guard lock(mutex_);
    const auto known = blocks_.find(variant);
    if (known != blocks_.end()) return known->second;
  }
  std::vector<std::string> warnings;  // those of the first scenario have been shown
  const auto base = Scenario::prepare(spec, warnings, pool_, registry_);
  if (!base) return fail(base.error());
  std::string blocks = resampling_of(*base);
  const std::lock_guard lock(mutex_);
  blocks_.emplace(variant, blocks);
  return blocks;
}

Result<ScenarioSpec> GridReplayer::spec_of(const GridPlace& place) {
  auto spec = grid_.variant_spec(place.variant);
  if (!spec) return spec;
  auto blocks = blocks_of(place.variant, *spec);
  if (!blocks) return fail(std::move(blocks.error()));
  spec->transformations.resample = *std::move(blocks);
  spec->transformations.seed = grid_.seeds()[place.seed];
  return spec;
}

Result<Scenario> GridReplayer::prepare(const GridPlace& place, std::vector<std::string>& warnings) {
  auto spec = spec_of(place);
  if (!spec) return fail(std::move(spec.error()));
  auto scenario = Scenario::prepare(*std::move(spec), warnings, pool_, registry_);
  if (!scenario || grid_.num_scenarios() == 1) return scenario;
  if (auto checked = check_can_repeat(*scenario); !checked) return fail(std::move(checked.error()));
  return scenario;
}

std::shared_ptr<GridReplayer::Shared> GridReplayer::share(std::int64_t scenario) {
  const std::lock_guard lock(mutex_);
  std::erase_if(shared_, [](const auto& entry) { return entry.second.expired(); });
  auto known = shared_[scenario].lock();
  if (known == nullptr) {
    known = std::make_shared<Shared>();
    shared_[scenario] = known;
  }
  return known;
}

ReplayedRun GridReplayer::Worker::replay(std::int64_t run) {
  const auto start = std::chrono::steady_clock::now();
  const GridPlace place = replayer_.grid_.place(run);
  ReplayedRun replayed{.finished = {.run = run}};
  if (place.scenario != scenario_) {
    shared_.reset();  // first, so that a thread never has two
    shared_ = replayer_.share(place.scenario);
    scenario_ = place.scenario;
  }
  bool prepared_here = false;
  std::call_once(shared_->once, [&] {
    shared_->scenario = replayer_.prepare(place, replayed.warnings);
    prepared_here = true;
  });
  const auto fail_with = [&replayed](const Error& error) {
    replayed.finished.error = error.describe();
    replayed.error = error;
  };
  const Result<Scenario>& scenario = *shared_->scenario;
  if (!scenario) {
    fail_with(scenario.error());
  } else {
    if (prepared_here) replayed.inputs = scenario->files();
    const auto result = scenario->run(replayer_.grid_.policies()[place.policy]);
    if (result)
      replayed.finished.metrics = metric_values(result->summary);
    else
      fail_with(result.error());
  }
  replayed.seconds = Seconds(std::chrono::steady_clock::now() - start).count();
  return replayed;
}

}  // namespace vtrain
