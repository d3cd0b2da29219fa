/// The grid of a sweep: every combination of options, seeds and policies, as numbered runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/experiment/spec.hpp"
#include "tools/experiment/variation.hpp"

namespace vtrain {

/// Largest number of runs of a sweep.
inline constexpr std::int64_t kMostRuns = 10'000'000;

/// Position of a run in the grid.
struct GridPlace {
  std::int64_t scenario = 0;  ///< combination and seed, from 0
  std::int64_t variant = 0;   ///< combination of the options that vary, from 0
  std::size_t seed = 0;       ///< position in `Grid::seeds`
  std::size_t policy = 0;     ///< position in `Grid::policies`
};

/// The runs of a sweep. Runs have numbers from 1: policies vary fastest, then seeds, then the options that
/// vary. It does not change, so threads may share it.
class Grid {
 public:
  /// Makes the grid of a spec. Errors name options: no policy or one that is named twice, a wrong list of
  /// seeds, an option that changes no run or has a field of its own, more than `kMostRuns` runs.
  static Result<Grid> make(ScenarioSpec spec);

  const std::vector<std::string>& policies() const { return spec_.policies; }
  /// Seeds, ascending.
  const std::vector<std::uint64_t>& seeds() const { return seeds_; }
  const std::vector<Variation>& variations() const { return variations_; }
  /// The spec with its values, without those that vary.
  const ScenarioSpec& spec() const { return spec_; }

  std::int64_t num_variants() const { return num_variants_; }
  std::int64_t num_scenarios() const;
  std::int64_t num_runs() const;

  /// Place of a run, by its number.
  GridPlace place(std::int64_t run) const;
  /// Number of the first run of a scenario; those of its other policies follow.
  std::int64_t first_run(std::int64_t scenario) const;
  /// Values of the options that vary in a combination, in the order of `variations`.
  std::vector<std::string> values(std::int64_t variant) const;
  /// Spec of a combination, with the first seed and all policies. Errors: those of `set_option`.
  Result<ScenarioSpec> variant_spec(std::int64_t variant) const;
  /// The spec as JSON, which tells sweeps apart: without the command and the hashes of files.
  std::string text() const;

 private:
  ScenarioSpec spec_;
  std::vector<std::uint64_t> seeds_;
  std::vector<Variation> variations_;
  std::int64_t num_variants_ = 1;
};

/// A key of each run: the first 64 bits of the SHA-256 of its spec, seed and policy. It does not depend on
/// other runs, unless several seeds resample the blocks of a trace.
class RunKeys {
 public:
  /// `grid` must outlive the keys.
  explicit RunKeys(const Grid& grid) : grid_(grid) {}
  /// Key of a run. Fast for runs in the order of their combinations.
  std::int64_t of(std::int64_t run);

 private:
  const Grid& grid_;
  std::int64_t variant_ = -1;  ///< combination that `fingerprint_` is of
  std::string fingerprint_;
};

/// A sweep's spec as a file: the spec of a comparison, with its grid.
struct SweepSpec {
  SpecDocument<ScenarioSpec> document;
  Grid grid;
};

/// Reads the spec of a sweep. Errors: those of `read_scenario_spec` and of `Grid::make`, with file and line.
Result<SweepSpec> read_sweep_spec(const std::filesystem::path& file);
/// Parses the text of `file` as `read_sweep_spec` does.
Result<SweepSpec> parse_sweep_spec(std::string text, const std::filesystem::path& file);

}  // namespace vtrain
