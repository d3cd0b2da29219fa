#include "tools/sweep/collector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/units.hpp"

namespace vtrain {
namespace {

/// Warnings that are kept: one combination has a few, a thousand would hide them all.
constexpr std::size_t kMostWarnings = 20;

/// Options of a run for people: `load=0.7, placement=count, seed 3, policy easy`.
std::string describe_run(const Grid& grid, std::int64_t run) {
  const GridPlace place = grid.place(run);
  const std::vector<std::string> values = grid.values(place.variant);
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i)
    text += fmt::format("{}={}, ", grid.variations()[i].option, values[i]);
  return text + fmt::format("seed {}, policy {}", grid.seeds()[place.seed], grid.policies()[place.policy]);
}

}  // namespace

Result<void> Collector::take(const ReplayedRun& run, bool is_pilot) {
  const FinishedRun& finished = run.finished;
  if (is_pilot && run.error && run.error->kind != ErrorKind::Failed) {
    Error error = *run.error;
    error.message += fmt::format(" (in run {}: {})", finished.run, describe_run(grid_, finished.run));
    return fail(std::move(error));
  }
  for (const std::string& warning : run.warnings) {
    if (std::ranges::find(outcome_.warnings, warning) == outcome_.warnings.end() &&
        outcome_.warnings.size() < kMostWarnings)
      outcome_.warnings.push_back(warning);
  }
  for (const SpecFile& input : run.inputs) {
    if (auto added = store_.add_input(input); !added) return added;
  }
  if (auto added = store_.add(finished); !added) return added;
  ++outcome_.done;
  if (!finished.error.empty()) ++outcome_.failed;
  outcome_.replay_s += run.seconds;
  if (options_.runs_done != nullptr) ++*options_.runs_done;
  return commit_in_time();
}

Result<void> Collector::commit_in_time() {
  constexpr auto kLongest = std::chrono::milliseconds(500);
  const auto now = std::chrono::steady_clock::now();
  if (now - committed_ < kLongest) return {};
  committed_ = now;
  return store_.commit();
}

Result<SweepOutcome> Collector::finish(Result<void> so_far, std::size_t workers) {
  auto committed = store_.commit();
  if (!so_far) return fail(std::move(so_far.error()));
  if (!committed) return fail(std::move(committed.error()));
  outcome_.wall_s = Seconds(std::chrono::steady_clock::now() - start_).count();
  outcome_.workers = workers;
  return outcome_;
}

}  // namespace vtrain
