#include "tools/studies/study_results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/base/utf8.hpp"
#include "tools/experiment/traces.hpp"
#include "tools/studies/run_folders.hpp"
#include "tools/sweep/grid.hpp"
#include "tools/sweep/result_columns.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;

/// Name of the jobs of a spec.
std::string trace_of(const ScenarioSpec& spec) {
  if (spec.trace.files.empty()) return "a generated day of LLM jobs";
  return fmt::format("{}", fmt::join(spec.trace.files, ", "));
}

std::string cluster_of(const ScenarioSpec& spec) {
  if (!spec.cluster.empty()) return spec.cluster;
  return spec.trace.files.empty() ? std::string(kDefaultCluster) : "the trace's";
}

/// Notes on the jobs of several seeds, as far as the spec says.
std::vector<std::string> notes_on(const Grid& grid) {
  const ScenarioSpec& spec = grid.spec();
  if (grid.seeds().size() < 2) return {};
  if (spec.trace.files.empty()) return {"each seed has generated jobs of its own"};
  if (spec.transformations.resample == "auto")
    return {
        "each seed draws weeks of the trace if it has four or more, else days if it has four or more; else "
        "the "
        "jobs stay the same"};
  return {};
}

Result<StudySubject> subject_of(const Database& results, const StoredSweep& sweep, const Grid& grid) {
  const ScenarioSpec& spec = grid.spec();
  StudySubject subject{.name = results.file().string(), .is_sweep = true, .trace = trace_of(spec)};
  const bool varies =
      std::ranges::find(grid.variations(), "cluster", &Variation::option) != grid.variations().end();
  if (!varies) subject.cluster = cluster_of(spec);
  subject.program = sweep.program;
  subject.baseline = spec.baseline;
  subject.shard = sweep.shard;
  subject.notes = notes_on(grid);
  auto inputs = results.prepare("SELECT name, sha256 FROM inputs ORDER BY name");
  if (!inputs) return fail(std::move(inputs.error()));
  for (;;) {
    const auto stepped = inputs->step();
    if (!stepped) return fail(stepped.error());
    if (!*stepped) break;
    subject.provenance.emplace_back(inputs->text(0), "sha256 " + inputs->text(1));
  }
  subject.provenance.emplace_back("spec", sweep.spec);
  return subject;
}

}  // namespace

std::int64_t StudyGrid::num_variants() const {
  return static_cast<std::int64_t>(count_variants(variations));
}

std::int64_t StudyGrid::runs_of_variant() const {
  return std::ssize(seeds) * std::ssize(policies);
}

std::int64_t StudyGrid::num_runs() const {
  return num_variants() * runs_of_variant();
}

std::vector<std::string> StudyGrid::values(std::int64_t variant) const {
  std::vector<std::string> values(variations.size());
  auto rest = static_cast<std::size_t>(variant);
  for (std::size_t i = variations.size(); i-- > 0;) {
    const std::vector<std::string>& all = variations[i].values;
    values[i] = all[rest % all.size()];
    rest /= all.size();
  }
  return values;
}

Result<StudyResults> StudyResults::open(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    auto folders = read_run_folders(path);
    if (!folders) return fail(std::move(folders.error()));
    return StudyResults(std::move(folders->database), std::move(folders->grid), std::move(folders->subject));
  }
  auto database = open_results(path);
  if (!database) return fail(std::move(database.error()));
  const auto sweep = read_stored_sweep(*database);
  if (!sweep) return fail(sweep.error());
  auto spec = parse_sweep_spec(sweep->spec, path);
  if (!spec) return fail(std::move(spec.error()));
  const Grid& grid = spec->grid;
  auto subject = subject_of(*database, *sweep, grid);
  if (!subject) return fail(std::move(subject.error()));
  const auto any = database->number("SELECT EXISTS (SELECT 1 FROM runs) + EXISTS (SELECT 1 FROM errors)");
  if (!any) return fail(any.error());
  if (*any == 0)
    return fail({.file = path.string(),
                 .field = "runs",
                 .message = fmt::format("none of the {} runs of this sweep has finished", grid.num_runs())});
  return StudyResults(*std::move(database), {grid.variations(), grid.seeds(), grid.policies()},
                      *std::move(subject));
}

std::int64_t StudyResults::num_expected() const {
  const std::int64_t scenarios = grid_.num_variants() * std::ssize(grid_.seeds);
  const Shard& shard = subject_.shard;
  // Scenarios below `scenarios` that leave `index - 1` when divided by `count`.
  return (scenarios + shard.count - shard.index) / shard.count * std::ssize(grid_.policies);
}

Result<std::int64_t> StudyResults::num_failed() const {
  return database_.number("SELECT count(*) FROM errors");
}

Result<std::vector<Failure>> StudyResults::failures() const {
  auto query = database_.prepare(
      "SELECT message, count(*), min(run), policy, seed FROM errors GROUP BY message ORDER BY count(*) DESC, "
      "min(run)");
  if (!query) return fail(std::move(query.error()));
  std::vector<Failure> failures;
  for (;;) {
    const auto stepped = query->step();
    if (!stepped) return fail(stepped.error());
    if (!*stepped) return failures;
    std::string first = fmt::format("{}, seed {}", query->text(3), query->integer(4));
    const std::vector<std::string> values = grid_.values((query->integer(2) - 1) / grid_.runs_of_variant());
    for (std::size_t i = 0; i < values.size(); ++i)
      first += fmt::format(", {} {}", grid_.variations[i].option, values[i]);
    failures.push_back({query->text(0), query->integer(1), std::move(first)});
  }
}

const std::string& column_of(const Metric& metric) {
  const auto found = std::ranges::find(metric_columns(), &metric, &MetricColumn::metric);
  if (found == metric_columns().end()) throw std::logic_error("a metric without a column");
  return found->name;
}

Result<VariantReader> VariantReader::make(const StudyResults& results,
                                          std::span<const Metric* const> metrics) {
  std::string columns;
  for (const Metric* const metric : metrics)
    columns += fmt::format(", {}", sql_name(column_of(*metric)));
  const std::string sql =
      fmt::format("SELECT run{} FROM runs WHERE run BETWEEN ? AND ? ORDER BY run", columns);
  // A connection is for one thread; a database in memory has only one.
  const bool is_file = results.subject_.is_sweep;
  auto own = is_file ? open_results(results.database_.file()) : Result<Database>(results.database_);
  if (!own) return fail(std::move(own.error()));
  auto query = own->prepare(sql);
  if (!query) return fail(std::move(query.error()));
  return VariantReader(results.grid_, *std::move(query), {metrics.begin(), metrics.end()});
}

Result<VariantRuns> VariantReader::read(std::int64_t variant) {
  const std::int64_t first = variant * grid_->runs_of_variant() + 1;
  query_.reset();
  query_.bind(0, first);
  query_.bind(1, first + grid_->runs_of_variant() - 1);
  const std::size_t num_policies = grid_->policies.size();
  std::vector<SeededRuns> seeds;
  std::vector<std::size_t> runs_of_seed;
  std::vector<bool> has_runs(num_policies);
  VariantRuns runs;
  for (;;) {
    const auto stepped = query_.step();
    if (!stepped) return fail(stepped.error());
    if (!*stepped) break;
    const auto position = static_cast<std::size_t>(query_.integer(0) - first);
    const std::uint64_t seed = grid_->seeds[position / num_policies];
    if (seeds.empty() || seeds.back().seed != seed) {
      seeds.push_back({.seed = seed, .values = std::vector<RunValues>(num_policies)});
      runs_of_seed.push_back(0);
    }
    RunValues& values = seeds.back().values[position % num_policies];
    int column = 0;
    for (const Metric* const metric : metrics_)
      values.set(*metric, query_.real(++column));
    has_runs[position % num_policies] = true;
    ++runs_of_seed.back();
    ++runs.finished;
  }
  const auto wanted = static_cast<std::size_t>(std::ranges::count(has_runs, true));
  runs.study.policies = grid_->policies;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    if (runs_of_seed[i] == wanted)
      runs.study.seeds.push_back(std::move(seeds[i]));
    else
      runs.unpaired += static_cast<std::int64_t>(runs_of_seed[i]);
  }
  return runs;
}

}  // namespace vtrain
