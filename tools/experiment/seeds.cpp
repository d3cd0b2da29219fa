#include "tools/experiment/seeds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/input.hpp"
#include "tools/experiment/in_parallel.hpp"
#include "tools/experiment/pricing.hpp"
#include "traces/editing/resample.hpp"

namespace vtrain {
namespace {

constexpr std::int64_t kMostSeeds = 10'000;
constexpr std::int64_t kLargestSeed = 1'000'000'000'000;

/// The spec of a scenario under a seed.
ScenarioSpec with_seed(const Scenario& scenario, std::uint64_t seed, std::string_view resample) {
  ScenarioSpec spec = scenario.spec();
  spec.transformations.seed = seed;
  spec.transformations.resample = resample;
  return spec;
}

Result<SeededRuns> replay_seed(const Scenario& scenario, std::uint64_t seed, std::string_view resample,
                               PricingPool& pool, std::atomic<std::int64_t>* done) {
  std::vector<std::string> warnings;  // those of the scenario have been shown
  const auto prepared = Scenario::prepare(with_seed(scenario, seed, resample), warnings, pool);
  if (!prepared) return fail(prepared.error());
  SeededRuns runs{.seed = seed};
  for (const std::string& policy : prepared->spec().policies) {
    auto run = prepared->run(policy);
    if (!run) return fail(std::move(run.error()));
    runs.values.emplace_back(run->summary);
    if (done != nullptr) ++*done;
  }
  return runs;
}

/// The runs of the scenario itself as those of its seed.
SeededRuns take_finished(std::uint64_t seed, const SeedOptions& options) {
  SeededRuns runs{.seed = seed};
  for (const RunResult& run : options.finished)
    runs.values.emplace_back(run.summary);
  if (options.replays_done != nullptr) *options.replays_done += std::ssize(runs.values);
  return runs;
}

}  // namespace

Result<std::vector<std::uint64_t>> parse_seeds(std::string_view text) {
  std::vector<std::uint64_t> seeds;
  for (const std::string_view part : split(text, ',')) {
    const auto range = parse_integer_range(part, 0, kLargestSeed);
    if (!range || range->last - range->first >= kMostSeeds)
      return fail({.message = fmt::format("expected seeds such as 1-20 or 1,4,9 (up to {}), found '{}'",
                                          with_thousands(kMostSeeds), text)});
    for (std::int64_t seed = range->first; seed <= range->last; ++seed)
      seeds.push_back(static_cast<std::uint64_t>(seed));
  }
  std::ranges::sort(seeds);
  if (const auto twice = std::ranges::adjacent_find(seeds); twice != seeds.end())
    return fail({.message = fmt::format("seed {} is named twice", *twice)});
  if (std::ssize(seeds) > kMostSeeds)
    return fail({.message = fmt::format("expected up to {} seeds, found {}", with_thousands(kMostSeeds),
                                        with_thousands(std::ssize(seeds)))});
  return seeds;
}

Result<void> check_can_repeat(const Scenario& scenario) {
  for (const std::string& path : scenario.input_paths()) {
    if (is_read_once(path))
      return fail({.field = "--seeds",
                   .message = fmt::format(
                       "'{}' can be read only once, and every seed reads it; name a file, or one seed "
                       "(--seed)",
                       path)});
  }
  return {};
}

std::string resampling_of(const Scenario& scenario) {
  const std::string& wanted = scenario.spec().transformations.resample;
  if (wanted != "auto") return wanted;
  const bool is_generated = scenario.spec().trace.files.empty();
  return is_generated ? "none" : std::string(fitting_blocks(scenario.workload()));
}

Result<SeedStudy> replay_seeds(const Scenario& scenario, std::span<const std::uint64_t> seeds,
                               const SeedOptions& options) {
  if (auto checked = check_can_repeat(scenario); !checked) return fail(std::move(checked.error()));
  SeedStudy study{.policies = scenario.spec().policies, .resampled = resampling_of(scenario)};
  std::vector<std::optional<Result<SeededRuns>>> results(seeds.size());
  PricingPool pool;
  do_in_parallel(options.threads, seeds.size(), [&](std::size_t i) {
    const bool is_finished = !options.finished.empty() && study.resampled == "none" &&
                             seeds[i] == scenario.spec().transformations.seed;
    results[i] = is_finished ? take_finished(seeds[i], options)
                             : replay_seed(scenario, seeds[i], study.resampled, pool, options.replays_done);
    return results[i]->has_value();
  });
  for (auto& result : results) {
    if (result && !*result) return fail(std::move(result->error()));
  }
  for (auto& result : results)
    study.seeds.push_back(**std::move(result));
  return study;
}

}  // namespace vtrain
