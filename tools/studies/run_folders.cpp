#include "tools/studies/run_folders.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/io/csv.hpp"
#include "core/io/input.hpp"
#include "tools/results/results.hpp"
#include "tools/sweep/result_columns.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
/// Version of `run.json` that is read.
constexpr int kReadVersion = 2;
/// Keys of a spec that change no run, or that each run has a value of its own for.
constexpr std::array<std::string_view, 13> kOfNoRun = {
    "spec_version",   "policies", "seeds", "seed",    "baseline",         "vary",
    "goal",           "timeline", "by",    "command", "spreadsheet_safe", "files",
    "throughputs_gpu"};
/// The value of an option that a spec leaves to its default.
constexpr const char* kDefault = "default";

using OptionValues = std::vector<std::pair<std::string, std::string>>;

/// A run with its place.
struct FoundRun {
  OptionValues options{};
  std::uint64_t seed = 0;
  std::string policy{};
  std::vector<double> metrics{};  ///< values of `metric_columns`
  fs::path file{};                ///< file that it was read from
};

Error wrong_file(const fs::path& file, std::string field, std::string message) {
  return {.file = file.string(), .field = std::move(field), .message = std::move(message)};
}

Result<ordered_json> read_object(const fs::path& file) {
  const auto text = read_file(file, InputKind::Provenance);
  if (!text) return fail(text.error());
  ordered_json document = ordered_json::parse(*text, nullptr, false);
  if (!document.is_object())
    return fail(wrong_file(file, "", "expected a JSON object as vtrain writes it, found another text"));
  return document;
}

std::string text_at(const ordered_json& document, const char* key) {
  return document.contains(key) && document[key].is_string() ? document[key].get<std::string>()
                                                             : std::string();
}

void set_option_value(OptionValues& values, const std::string& option, std::string value) {
  const auto found = std::ranges::find(values, option, &OptionValues::value_type::first);
  if (found != values.end())
    found->second = std::move(value);
  else
    values.emplace_back(option, std::move(value));
}

/// The values of a spec under the names of options.
void flatten(const ordered_json& spec, OptionValues& values) {
  for (const auto& [key, value] : spec.items()) {
    if (value.is_object() && key != "files") {
      if (key == "trace" && value.contains("files")) values.emplace_back("trace", value["files"].dump());
      flatten(value, values);
      continue;
    }
    if (std::ranges::find(kOfNoRun, key) != kOfNoRun.end()) continue;
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    std::string option = key;
    std::ranges::replace(option, '_', '-');
    values.emplace_back(std::move(option), text.empty() ? kDefault : std::move(text));
  }
}

/// Value of a metric in `summary.json`.
double value_in(const ordered_json& summary, const MetricColumn& column) {
  const auto number = [](const ordered_json& object, const std::string& key) {
    if (!object.is_object() || !object.contains(key)) return kAbsent;
    const ordered_json& value = object[key];
    return value.is_boolean()  ? (value.get<bool>() ? 1.0 : 0.0)
           : value.is_number() ? value.get<double>()
                               : kAbsent;
  };
  if (!column.metric->key.empty()) return number(summary, column.name);
  if (column.name == "not_completed") return number(summary, "jobs") - number(summary, "completed");
  const ordered_json none;
  const ordered_json& shares = summary.contains("shares") ? summary["shares"] : none;
  if (column.name == "jain_over_tenants") return number(shares, "jain_index");
  if (column.name == "p95_deficit_of_shares") return number(shares, "p95_deficit");
  return number(shares, column.name);
}

std::vector<double> metrics_in(const ordered_json& summary) {
  std::vector<double> values;
  for (const MetricColumn& column : metric_columns())
    values.push_back(value_in(summary, column));
  return values;
}

/// Runs of `seeds.csv` or `variations.csv`: columns before `seed` are options.
Result<void> read_table(const fs::path& file, const OptionValues& options, std::vector<FoundRun>& runs) {
  const auto text = read_file(file, InputKind::Trace);
  if (!text) return fail(text.error());
  auto reader = CsvReader::open(*text, file.string());
  if (!reader) return fail(std::move(reader.error()));
  const auto seed = reader->require_column("seed");
  if (!seed) return fail(seed.error());
  const auto policy = reader->require_column("policy");
  if (!policy) return fail(policy.error());
  std::vector<int> columns;
  for (const MetricColumn& column : metric_columns())
    columns.push_back(column.metric->key.empty() ? -1 : reader->find_column(column.name));
  for (;;) {
    const auto is_row = reader->next();
    if (!is_row) return fail(is_row.error());
    if (!*is_row) return {};
    const auto number = reader->integer(*seed, 0, std::numeric_limits<std::int64_t>::max());
    if (!number) return fail(number.error());
    FoundRun run{.options = options,
                 .seed = static_cast<std::uint64_t>(*number),
                 .policy = std::string(reader->field(*policy)),
                 .file = file};
    for (int i = 0; i < *seed; ++i)
      set_option_value(run.options, reader->columns()[static_cast<std::size_t>(i)],
                       std::string(reader->field(i)));
    ordered_json summary;  // the shape of summary.json
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] < 0 || reader->field(columns[i]).empty()) continue;
      constexpr double kMost = std::numeric_limits<double>::max();
      const auto value = reader->number(columns[i], -kMost, kMost);
      if (!value) return fail(value.error());
      summary[metric_columns()[i].name] = *value;
    }
    run.metrics = metrics_in(summary);
    runs.push_back(std::move(run));
  }
}

/// A `run.json` and the values of options in its spec.
struct RunFile {
  ordered_json document{};
  OptionValues options{};
};

Result<RunFile> read_run_file(const fs::path& folder) {
  const fs::path file = folder / "run.json";
  auto document = read_object(file);
  if (!document) return fail(std::move(document.error()));
  const auto version = document->contains("schema_version") ? (*document)["schema_version"] : ordered_json();
  if (version != kReadVersion)
    return fail(
        wrong_file(file, "schema_version",
                   expected_found(fmt::format("{}, the version that this program reads", kReadVersion),
                                  version.is_null() ? "none" : version.dump())));
  if (!document->contains("spec") || !(*document)["spec"].is_object())
    return fail(wrong_file(file, "spec", "expected the spec of a run, found none"));
  if (!text_at((*document)["spec"], "goal").empty())
    return fail(wrong_file(file, "spec.goal", "is the goal of `vtrain size`, whose tables are in size.csv"));
  RunFile read{*std::move(document), {}};
  flatten(read.document["spec"], read.options);
  return read;
}

Result<void> read_runs(const fs::path& folder, const RunFile& file, std::vector<FoundRun>& runs) {
  std::error_code ignored;
  for (const char* const table : {"variations.csv", "seeds.csv"}) {
    if (fs::exists(folder / table, ignored)) return read_table(folder / table, file.options, runs);
  }
  const ordered_json& spec = file.document["spec"];
  std::vector<std::string> policies;
  if (spec.contains("policies") && spec["policies"].is_array()) {
    for (const ordered_json& policy : spec["policies"])
      policies.push_back(policy.is_string() ? policy.get<std::string>() : "");
  }
  if (policies.empty())
    return fail(wrong_file(folder / "run.json", "spec.policies", "expected a list of policies, found none"));
  const bool is_alone = fs::exists(folder / "summary.json", ignored);
  const std::vector<std::string> places = is_alone ? std::vector<std::string>{""} : policy_folders(policies);
  const ordered_json changes =
      spec.contains("transformations") ? spec["transformations"] : ordered_json::object();
  const bool has_seed = changes.contains("seed") && changes["seed"].is_number_unsigned();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const fs::path place = folder / places[i] / "summary.json";
    const auto summary = read_object(place);
    if (!summary) return fail(summary.error());
    runs.push_back({.options = file.options,
                    .seed = has_seed ? changes["seed"].get<std::uint64_t>() : 0,
                    .policy = policies[i],
                    .metrics = metrics_in(*summary),
                    .file = place});
  }
  return {};
}

/// The folder itself, or the folders in it with runs, by name.
Result<std::vector<fs::path>> folders_with_runs(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "run.json", error)) return std::vector{folder};
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code ignored;
    if (fs::exists(entry.path() / "run.json", ignored)) folders.push_back(entry.path());
  }
  if (error) return fail(wrong_file(folder, "", error.message()));
  std::ranges::sort(folders);
  if (folders.empty())
    return fail(wrong_file(folder, "",
                           "expected the folder of `vtrain compare` or `vtrain replay`, or a folder of such "
                           "folders; found no run.json"));
  return folders;
}

std::string value_of_option(const FoundRun& run, const std::string& option) {
  const auto found = std::ranges::find(run.options, option, &OptionValues::value_type::first);
  return found == run.options.end() ? kDefault : found->second;
}

template <class Value>
void add_once(std::vector<Value>& values, const Value& value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

StudyGrid grid_of(const std::vector<FoundRun>& runs) {
  StudyGrid grid;
  std::vector<std::string> options;
  std::set<std::uint64_t> seeds;
  for (const FoundRun& run : runs) {
    for (const auto& [option, value] : run.options)
      add_once(options, option);
    seeds.insert(run.seed);
    add_once(grid.policies, run.policy);
  }
  grid.seeds.assign(seeds.begin(), seeds.end());
  for (const std::string& option : options) {
    Variation variation{.option = option};
    for (const FoundRun& run : runs)
      add_once(variation.values, value_of_option(run, option));
    if (variation.values.size() < 2) continue;
    constexpr double kMost = std::numeric_limits<double>::max();
    const auto number = [](const std::string& text) { return parse_number(text, -kMost, kMost); };
    if (std::ranges::all_of(variation.values,
                            [&](const std::string& text) { return number(text).has_value(); }))
      std::ranges::stable_sort(variation.values, {}, [&](const std::string& text) { return *number(text); });
    grid.variations.push_back(std::move(variation));
  }
  return grid;
}

/// Number of a run in the grid.
std::int64_t number_of(const StudyGrid& grid, const FoundRun& run) {
  std::int64_t variant = 0;
  for (const Variation& variation : grid.variations) {
    const auto value = std::ranges::find(variation.values, value_of_option(run, variation.option));
    variant = variant * std::ssize(variation.values) + (value - variation.values.begin());
  }
  const auto seed = std::ranges::find(grid.seeds, run.seed) - grid.seeds.begin();
  const auto policy = std::ranges::find(grid.policies, run.policy) - grid.policies.begin();
  return (variant * std::ssize(grid.seeds) + seed) * std::ssize(grid.policies) + policy + 1;
}

bool are_equal(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b,
                            [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

Result<Database> make_database(const StudyGrid& grid) {
  auto database = Database::open(":memory:", Database::Access::Write);
  if (!database) return database;
  std::string place = "run INTEGER PRIMARY KEY, policy TEXT NOT NULL, seed INTEGER NOT NULL";
  for (const Variation& variation : grid.variations)
    place += fmt::format(", {} NUMERIC NOT NULL", sql_name(option_column(variation.option)));
  std::string sql = fmt::format("CREATE TABLE runs ({}", place);
  for (const MetricColumn& column : metric_columns())
    sql += fmt::format(", {} {}", sql_name(column.name), is_whole(*column.metric) ? "INTEGER" : "REAL");
  sql += fmt::format("); CREATE TABLE errors ({}, message TEXT NOT NULL); BEGIN", place);
  if (auto made = database->run(sql); !made) return fail(std::move(made.error()));
  return database;
}

Result<Database> store(const StudyGrid& grid, const std::vector<FoundRun>& runs) {
  auto database = make_database(grid);
  if (!database) return database;
  std::string places = "?, ?, ?";
  for (std::size_t i = 0; i < grid.variations.size() + metric_columns().size(); ++i)
    places += ", ?";
  auto insert = database->prepare(fmt::format("INSERT INTO runs VALUES ({})", places));
  if (!insert) return fail(std::move(insert.error()));
  std::map<std::int64_t, const FoundRun*> known;
  for (const FoundRun& run : runs) {
    const std::int64_t number = number_of(grid, run);
    const auto [before, is_new] = known.emplace(number, &run);
    if (!is_new) {
      if (are_equal(before->second->metrics, run.metrics)) continue;
      return fail(
          wrong_file(run.file, "",
                     fmt::format("has other figures than {} for the same options, seed {} and policy {}",
                                 printable(before->second->file.string()), run.seed, printable(run.policy))));
    }
    int parameter = 0;
    insert->bind(parameter++, number);
    insert->bind(parameter++, std::string_view(run.policy));
    insert->bind(parameter++, static_cast<std::int64_t>(run.seed));
    std::vector<std::string> values;
    for (const Variation& variation : grid.variations)
      values.push_back(value_of_option(run, variation.option));
    for (const std::string& value : values)
      insert->bind(parameter++, std::string_view(value));
    for (const double value : run.metrics)
      insert->bind(parameter++, value);
    if (auto done = insert->run(); !done) return fail(std::move(done.error()));
  }
  if (auto done = database->run("COMMIT"); !done) return fail(std::move(done.error()));
  return database;
}

}  // namespace

Result<FolderRuns> read_run_folders(const fs::path& folder) {
  const auto folders = folders_with_runs(folder);
  if (!folders) return fail(folders.error());
  constexpr std::size_t kMostCommands = 10;
  StudySubject subject{.name = folder.string()};
  std::vector<FoundRun> runs;
  std::vector<std::string> traces;
  std::vector<std::string> clusters;
  for (const fs::path& each : *folders) {
    const auto file = read_run_file(each);
    if (!file) return fail(file.error());
    if (auto read = read_runs(each, *file, runs); !read) return fail(std::move(read.error()));
    add_once(traces, text_at(file->document, "trace"));
    add_once(clusters, text_at(file->document, "cluster"));
    subject.program = text_at(file->document, "version");
    if (subject.baseline.empty()) subject.baseline = text_at(file->document["spec"], "baseline");
    if (subject.provenance.size() < kMostCommands)
      subject.provenance.emplace_back(each.string(), text_at(file->document, "command"));
  }
  if (runs.empty()) return fail(wrong_file(folder, "", "its folders hold no run"));
  if (folders->size() > kMostCommands)
    subject.provenance.emplace_back("others", fmt::format("{} folders", folders->size() - kMostCommands));
  subject.trace = fmt::format("{}", fmt::join(traces, ", "));
  if (clusters.size() == 1) subject.cluster = clusters.front();
  StudyGrid grid = grid_of(runs);
  if (std::ranges::find(grid.policies, subject.baseline) == grid.policies.end()) subject.baseline.clear();
  auto database = store(grid, runs);
  if (!database) return fail(std::move(database.error()));
  return FolderRuns{*std::move(database), std::move(grid), std::move(subject)};
}

}  // namespace vtrain
