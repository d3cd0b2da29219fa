#include "tools/sweep/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "tools/experiment/file_hash.hpp"
#include "tools/experiment/seeds.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// Options that the grid has in fields of its own.
constexpr std::array<std::string_view, 2> kOfTheGrid = {"seed", "seeds"};
/// Options of commands and of their output, which change no run.
constexpr std::array<std::string_view, 4> kWithoutEffect = {"baseline", "goal", "timeline", "by"};

/// The spec as JSON, without what changes no result.
ordered_json without_files(ScenarioSpec spec) {
  spec.command.clear();
  ordered_json document = spec_to_json(spec, {}, {});
  document.erase("files");
  return document;
}

std::string to_text(const ordered_json& document) {
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Result<void> check_variation(const Variation& variation) {
  if (std::ranges::find(kOfTheGrid, variation.option) != kOfTheGrid.end())
    return fail({.field = "--vary",
                 .message = fmt::format("'{}' cannot vary in a sweep: list seeds under `seeds`, as in 1-20",
                                        variation.option)});
  if (std::ranges::find(kWithoutEffect, variation.option) != kWithoutEffect.end())
    return fail({.field = "--vary",
                 .message = fmt::format("'{}' cannot vary in a sweep: it changes no run", variation.option)});
  return {};
}

Result<SweepSpec> with_grid(Result<SpecDocument<ScenarioSpec>> read) {
  if (!read) return fail(std::move(read.error()));
  auto grid = Grid::make(read->spec);
  if (!grid) return fail(read->in_file(std::move(grid.error())));
  return SweepSpec{*std::move(read), *std::move(grid)};
}

}  // namespace

Result<Grid> Grid::make(ScenarioSpec spec) {
  Grid grid;
  std::set<std::string> seen;
  for (const std::string& policy : spec.policies) {
    if (policy.empty() || !seen.insert(policy).second)
      return fail({.field = "--policies",
                   .message = policy.empty() ? "expected names, found an empty one"
                                             : fmt::format("'{}' is named twice", printable(policy))});
  }
  if (spec.policies.empty())
    return fail({.field = "--policies", .message = expected_found("at least one policy", "none")});
  if (auto checked = check_spec(spec); !checked) return fail(std::move(checked.error()));
  grid.seeds_ = {spec.transformations.seed};
  if (!spec.seeds.empty()) {
    auto seeds = parse_seeds(spec.seeds);
    if (!seeds) return fail({.field = "--seeds", .message = std::move(seeds.error().message)});
    grid.seeds_ = *std::move(seeds);
  }
  auto variations = parse_variations(spec.vary);
  if (!variations) return fail(std::move(variations.error()));
  for (const Variation& variation : *variations) {
    if (auto checked = check_variation(variation); !checked) return fail(std::move(checked.error()));
  }
  const auto most = static_cast<std::size_t>(kMostRuns);
  const std::size_t variants = count_variants(*variations);
  if (variants > most || variants * grid.seeds_.size() * spec.policies.size() > most)
    return fail({.field = "--vary",
                 .message = fmt::format("expected up to {} runs, found more", with_thousands(kMostRuns))});
  grid.num_variants_ = static_cast<std::int64_t>(variants);
  grid.variations_ = *std::move(variations);
  grid.spec_ = std::move(spec);
  // Each value once, so that a wrong one is found before any run.
  for (std::size_t i = 0; i < grid.variations_.size(); ++i) {
    for (const std::string& value : grid.variations_[i].values) {
      ScenarioSpec varied = grid.spec_;
      auto set = set_option(varied, grid.variations_[i].option, value);
      if (set) set = check_spec(varied);
      if (!set) {
        if (set.error().field != "--vary")
          set.error().message = fmt::format("{}: {}", grid.variations_[i].option, set.error().message);
        set.error().field = "--vary";
        return fail(std::move(set.error()));
      }
    }
  }
  return grid;
}

std::int64_t Grid::num_scenarios() const {
  return num_variants_ * std::ssize(seeds_);
}

std::int64_t Grid::num_runs() const {
  return num_scenarios() * std::ssize(spec_.policies);
}

GridPlace Grid::place(std::int64_t run) const {
  const std::int64_t position = run - 1;
  const std::int64_t scenario = position / std::ssize(spec_.policies);
  return {.scenario = scenario,
          .variant = scenario / std::ssize(seeds_),
          .seed = static_cast<std::size_t>(scenario % std::ssize(seeds_)),
          .policy = static_cast<std::size_t>(position % std::ssize(spec_.policies))};
}

std::int64_t Grid::first_run(std::int64_t scenario) const {
  return scenario * std::ssize(spec_.policies) + 1;
}

std::vector<std::string> Grid::values(std::int64_t variant) const {
  std::vector<std::string> values(variations_.size());
  auto rest = static_cast<std::size_t>(variant);
  for (std::size_t i = variations_.size(); i-- > 0;) {
    const std::vector<std::string>& all = variations_[i].values;
    values[i] = all[rest % all.size()];
    rest /= all.size();
  }
  return values;
}

Result<ScenarioSpec> Grid::variant_spec(std::int64_t variant) const {
  auto made = variant_at(spec_, variations_, static_cast<std::size_t>(variant));
  if (!made) return fail(std::move(made.error()));
  made->spec.transformations.seed = seeds_.front();
  return std::move(made->spec);
}

std::string Grid::text() const {
  return to_text(without_files(spec_));
}

std::int64_t RunKeys::of(std::int64_t run) {
  const GridPlace place = grid_.place(run);
  if (place.variant != variant_) {
    ScenarioSpec spec = grid_.variant_spec(place.variant).value_or(grid_.spec());
    const bool draws_anew = grid_.seeds().size() > 1 && !spec.trace.files.empty();
    if (spec.transformations.resample == "auto" && !draws_anew) spec.transformations.resample = "none";
    spec.transformations.seed = 0;
    spec.policies.clear();
    spec.vary.clear();
    spec.by.clear();
    spec.timeline = "auto";
    spec.spreadsheet_safe = false;
    for (std::string* const text : {&spec.seeds, &spec.baseline, &spec.goal})
      text->clear();
    fingerprint_ = to_text(without_files(std::move(spec)));
    variant_ = place.variant;
  }
  const std::string hash = sha256_of_text(
      fmt::format("{}\n{}\n{}", fingerprint_, grid_.seeds()[place.seed], grid_.policies()[place.policy]));
  constexpr std::size_t kDigits = 16;  // of 64 bits
  constexpr int kHexadecimal = 16;
  return static_cast<std::int64_t>(std::stoull(hash.substr(0, kDigits), nullptr, kHexadecimal));
}

Result<SweepSpec> read_sweep_spec(const std::filesystem::path& file) {
  return with_grid(read_scenario_spec(file));
}

Result<SweepSpec> parse_sweep_spec(std::string text, const std::filesystem::path& file) {
  return with_grid(parse_scenario_spec(std::move(text), file));
}

}  // namespace vtrain
