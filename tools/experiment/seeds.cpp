#include "tools/experiment/seeds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/input.hpp"
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
                               std::atomic<std::int64_t>* done) {
  std::vector<std::string> warnings;  // those of the scenario have been shown
  const auto prepared = Scenario::prepare(with_seed(scenario, seed, resample), warnings);
  if (!prepared) return fail(prepared.error());
  SeededRuns runs{.seed = seed};
  for (const std::string& policy : prepared->spec().policies) {
    auto run = prepared->run(policy);
    if (!run) return fail(std::move(run.error()));
    runs.summaries.push_back(std::move(run->summary));
    if (done != nullptr) ++*done;
  }
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

Result<SeedStudy> replay_seeds(const Scenario& scenario, std::span<const std::uint64_t> seeds,
                               const SeedOptions& options) {
  for (const std::string& path : scenario.input_paths()) {
    if (is_read_once(path))
      return fail({.field = "--seeds",
                   .message = fmt::format(
                       "'{}' can be read only once, and every seed reads it; name a file, or one seed "
                       "(--seed)",
                       path)});
  }
  SeedStudy study{.policies = scenario.spec().policies};
  const std::string& wanted = scenario.spec().transformations.resample;
  const bool is_generated = scenario.spec().trace.files.empty();
  study.resampled = wanted != "auto" ? wanted : is_generated ? "none" : fitting_blocks(scenario.workload());
  std::vector<std::optional<Result<SeededRuns>>> results(seeds.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> has_failed = false;
  const auto work = [&] {
    for (std::size_t i = next++; i < seeds.size() && !has_failed; i = next++) {
      results[i] = replay_seed(scenario, seeds[i], study.resampled, options.replays_done);
      if (!*results[i]) has_failed = true;
    }
  };
  {
    const unsigned threads =
        options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < std::min<std::size_t>(threads, seeds.size()); ++i)
      workers.emplace_back(work);
    work();
  }
  for (auto& result : results) {
    if (result && !*result) return fail(std::move(result->error()));
  }
  for (auto& result : results)
    study.seeds.push_back(**std::move(result));
  return study;
}

}  // namespace vtrain
