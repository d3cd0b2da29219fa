#include "tools/studies/study_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "tools/format/text_format.hpp"
#include "tools/report/seed_cells.hpp"
#include "tools/studies/each_variant.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::array<std::string_view, 2> kTableNames = {"means", "differences"};
constexpr std::string_view kPage = "report.html";
constexpr std::string_view kQueries = "tables.sql";
constexpr std::string_view kDatabase = "runs.sqlite";

/// Largest values of metrics over runs with numbers from `first` to `last`; NaN without one.
Result<std::vector<double>> largest_values(const Database& results, std::span<const Metric* const> metrics,
                                           std::int64_t first, std::int64_t last) {
  std::string columns;
  for (const Metric* const metric : metrics)
    columns += fmt::format("{}max({})", columns.empty() ? "" : ", ", sql_name(column_of(*metric)));
  auto query = results.prepare(fmt::format("SELECT {} FROM runs WHERE run BETWEEN ? AND ?", columns));
  if (!query) return fail(std::move(query.error()));
  query->bind(0, first);
  query->bind(1, last);
  if (const auto stepped = query->step(); !stepped) return fail(stepped.error());
  std::vector<double> values;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    values.push_back(query->real(static_cast<int>(i)));
  return values;
}

/// Metrics with a title that have a value in some run, as `shown_metrics` chooses them.
Result<std::vector<const Metric*>> metrics_with_values(const StudyResults& results, unsigned threads) {
  std::vector<const Metric*> titled;
  for (const Metric& metric : run_metrics()) {
    if (!metric.title.empty() && metric.unit != MetricUnit::Flag) titled.push_back(&metric);
  }
  const bool is_file = results.subject().is_sweep;
  const std::size_t parts = is_file ? std::max(1U, std::thread::hardware_concurrency()) : 1;
  const std::int64_t size = results.grid().num_runs() / static_cast<std::int64_t>(parts) + 1;
  std::vector<std::optional<Result<std::vector<double>>>> largest(parts);
  do_in_parallel(threads, parts, [&](std::size_t i) {
    auto own = is_file ? open_results(results.database().file()) : Result<Database>(results.database());
    const std::int64_t first = static_cast<std::int64_t>(i) * size + 1;
    if (own)
      largest[i] = largest_values(*own, titled, first, first + size - 1);
    else
      largest[i] = fail(std::move(own.error()));
    return true;
  });
  std::vector<bool> has_values(titled.size());
  for (const auto& part : largest) {
    if (!*part) return fail(part->error());
    for (std::size_t i = 0; i < titled.size(); ++i) {
      const double most = (**part)[i];
      if (titled[i]->hides_zero ? most > 0 : !std::isnan(most)) has_values[i] = true;
    }
  }
  std::vector<const Metric*> shown;
  for (std::size_t i = 0; i < titled.size(); ++i) {
    if (has_values[i]) shown.push_back(titled[i]);
  }
  return shown;
}

Result<std::vector<const Metric*>> columns_of(const StudyResults& results, const SurveyOptions& options) {
  if (!options.metrics.empty()) return options.metrics;
  return metrics_with_values(results, options.threads);
}

/// The metrics of a table, and those that choose the policy that others are compared with.
std::vector<const Metric*> metrics_to_read(std::vector<const Metric*> metrics) {
  for (const std::string_view key : {"deadline_satisfactory_ratio", "avg_jct_s", "completed"}) {
    const Metric* const metric = &metric_named(key);
    if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(metric);
  }
  return metrics;
}

/// A comparison of one combination.
VariedComparison alone(const Survey& survey, const StudyGrid& grid, std::int64_t variant, SeedStudy study) {
  VariedComparison comparison{.options = survey.shown.options, .baseline = survey.shown.baseline};
  comparison.studies.push_back({grid.values(variant), std::move(study)});
  return comparison;
}

std::string exact(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}

/// Rows of a combination with exact numbers: values of the options, policies, seeds, means with halves of
/// their intervals.
std::vector<std::vector<std::string>> exact_rows(const VariedComparison& comparison,
                                                 std::span<const Metric* const> metrics, VariedTable table) {
  const VariedStudy& varied = comparison.studies.front();
  const SeedStudy& study = varied.study;
  const bool of_differences = table == VariedTable::Differences;
  const std::size_t from = of_differences ? compared_with({&study, comparison.baseline}) : 0;
  std::vector<std::vector<std::string>> rows;
  for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
    const bool has_runs = !std::isnan(study.mean(metric_named("completed"), policy).mean);
    if (!has_runs || (of_differences && policy == from)) continue;
    std::vector<std::string> row = varied.values;
    row.push_back(study.policies[policy]);
    if (of_differences) row.push_back(study.policies[from]);
    row.push_back(std::to_string(study.seeds.size()));
    for (const Metric* const metric : metrics) {
      const Estimate estimate =
          of_differences ? study.difference(*metric, policy, from) : study.mean(*metric, policy);
      row.push_back(exact(estimate.mean));
      row.push_back(std::isnan(estimate.mean) ? "" : exact(estimate.half_width));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> titles_of(const VariedComparison& comparison, std::span<const Metric* const> metrics,
                                   VariedTable table, TableFormat format) {
  std::vector<std::string> titles = row_titles(comparison, table);
  if (format == TableFormat::Csv) titles.emplace_back("seeds");
  for (const Metric* const metric : metrics) {
    titles.push_back(format == TableFormat::Csv ? column_of(*metric) : std::string(column_title(*metric)));
    if (format == TableFormat::Csv) titles.push_back(column_of(*metric) + "_half");
  }
  return titles;
}

/// The meaning of the cells, for tables of text.
std::string note_of(const Survey& survey, VariedTable table, TableFormat format) {
  if (format == TableFormat::Csv) return {};
  const SeedStudy& study = survey.shown.studies.front().study;
  const std::string note =
      table == VariedTable::Means ? interval_note(study) : std::string(difference_note(study));
  return format == TableFormat::Latex ? fmt::format("% {}\n", note) : fmt::format("\n{}\n", note);
}

}  // namespace

std::span<const std::string_view> study_tables() {
  return kTableNames;
}

namespace {

/// Some tables in one pass over the results.
Result<std::vector<std::string>> tables_in_one_pass(const StudyResults& results, const Survey& survey,
                                                    std::span<const VariedTable> tables, TableFormat format,
                                                    std::span<const Metric* const> metrics,
                                                    unsigned threads) {
  const StudyGrid& grid = results.grid();
  std::vector<TableWriter> writers;
  for (const VariedTable table : tables)
    writers.emplace_back(format, titles_of(survey.shown, metrics, table, format),
                         row_titles(survey.shown, table).size());
  using Rows = std::vector<std::vector<std::string>>;
  const auto rows_of_block = [&](std::int64_t first, std::vector<VariantRuns> block) {
    std::vector<Rows> rows(tables.size());
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (block[i].study.seeds.empty()) continue;
      const VariedComparison comparison =
          alone(survey, grid, first + static_cast<std::int64_t>(i), std::move(block[i].study));
      for (std::size_t table = 0; table < tables.size(); ++table) {
        Rows more = format == TableFormat::Csv
                        ? exact_rows(comparison, metrics, tables[table])
                        : varied_rows(comparison, comparison.studies.front(), metrics, tables[table]);
        std::ranges::move(more, std::back_inserter(rows[table]));
      }
    }
    return rows;
  };
  auto done =
      for_each_block(results, metrics_to_read({metrics.begin(), metrics.end()}), {0, grid.num_variants()},
                     threads, rows_of_block, [&](const std::vector<Rows>& rows) {
                       for (std::size_t table = 0; table < tables.size(); ++table) {
                         for (const std::vector<std::string>& row : rows[table])
                           writers[table].add_row(row);
                       }
                     });
  if (!done) return fail(std::move(done.error()));
  std::vector<std::string> texts;
  for (std::size_t table = 0; table < tables.size(); ++table)
    texts.push_back(std::move(writers[table]).finish() + note_of(survey, tables[table], format));
  return texts;
}

}  // namespace

Result<std::string> study_table(const StudyResults& results, const Survey& survey, VariedTable table,
                                TableFormat format, const SurveyOptions& options) {
  const auto columns = columns_of(results, options);
  if (!columns) return fail(columns.error());
  auto texts = tables_in_one_pass(results, survey, {&table, 1}, format, *columns, options.threads);
  if (!texts) return fail(std::move(texts.error()));
  return std::move(texts->front());
}

Result<ordered_json> study_to_json(const StudyResults& results, const Survey& survey,
                                   const SurveyOptions& options) {
  const auto columns = columns_of(results, options);
  if (!columns) return fail(columns.error());
  const StudySubject& subject = results.subject();
  const StudyGrid& grid = results.grid();
  std::vector<const Metric*> metrics;
  for (const Metric& metric : run_metrics())
    metrics.push_back(&metric);
  ordered_json combinations = ordered_json::array();
  auto done = for_each_block(
      results, metrics, {0, grid.num_variants()}, options.threads,
      [&](std::int64_t first, std::vector<VariantRuns> block) {
        ordered_json list = ordered_json::array();
        for (std::size_t i = 0; i < block.size(); ++i) {
          if (block[i].study.seeds.empty()) continue;
          for (ordered_json& each : varied_to_json(
                   alone(survey, grid, first + static_cast<std::int64_t>(i), std::move(block[i].study))))
            list.push_back(std::move(each));
        }
        return list;
      },
      [&](ordered_json list) {
        for (ordered_json& each : list)
          combinations.push_back(std::move(each));
      });
  if (!done) return fail(std::move(done.error()));
  ordered_json failures = ordered_json::array();
  for (const Failure& failure : survey.failures)
    failures.push_back({{"message", failure.message}, {"runs", failure.runs}, {"first", failure.first}});
  ordered_json vary = ordered_json::object();
  for (const Variation& variation : grid.variations)
    vary[variation.option] = variation.values;
  const TableQueries queries = queries_of(results, survey, *columns);
  return ordered_json{{"results", subject.name},
                      {"program", subject.program},
                      {"trace", subject.trace},
                      {"cluster", subject.cluster.empty() ? ordered_json() : ordered_json(subject.cluster)},
                      {"vary", std::move(vary)},
                      {"seeds", grid.seeds},
                      {"policies", grid.policies},
                      {"runs",
                       {{"expected", survey.expected},
                        {"finished", survey.finished},
                        {"failed", survey.failed},
                        {"missing", survey.expected - survey.finished - survey.failed},
                        {"unpaired", survey.unpaired}}},
                      {"gaps", gaps_in(results, survey)},
                      {"failures", std::move(failures)},
                      {"answer", survey.answer},
                      {"queries", {{"means", queries.means}, {"differences", queries.differences}}},
                      {"combinations", std::move(combinations)}};
}

Result<void> check_study_folder(const fs::path& folder, const StudyResults& results, TableFormat format) {
  std::error_code ignored;
  const fs::path source = results.subject().name;
  const bool holds_results =
      fs::equivalent(folder, source, ignored) ||
      fs::equivalent(folder, source.has_parent_path() ? source.parent_path() : fs::path("."), ignored);
  if (holds_results || fs::exists(folder / "run.json", ignored))
    return fail({.field = "--out",
                 .message = fmt::format("'{}' holds {}; name another folder", folder.string(),
                                        holds_results ? "the results themselves" : "a run")});
  std::vector<fs::path> names = {kPage, kQueries, kDatabase};
  for (const std::string_view table : kTableNames)
    names.emplace_back(fmt::format("{}{}", table, file_ending(format)));
  return StagedFolder::check(folder, names);
}

Result<void> write_study(StagedFolder& folder, const StudyResults& results, const Survey& survey,
                         TableFormat format, const SurveyOptions& options, const std::string& command) {
  const auto columns = columns_of(results, options);
  if (!columns) return fail(columns.error());
  const TableQueries queries = queries_of(results, survey, *columns);
  std::vector<VariedTable> tables = {VariedTable::Means};
  if (!queries.differences.empty()) tables.push_back(VariedTable::Differences);
  const auto texts = tables_in_one_pass(results, survey, tables, format, *columns, options.threads);
  if (!texts) return fail(texts.error());
  std::string sql;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::string name =
        fmt::format("{}{}", kTableNames[static_cast<std::size_t>(tables[i])], file_ending(format));
    if (auto added = folder.add(name, (*texts)[i]); !added) return added;
    sql += fmt::format("{}-- {}\n{}", sql.empty() ? "" : "\n", name,
                       tables[i] == VariedTable::Means ? queries.means : queries.differences);
  }
  if (auto added = folder.add(kQueries, sql); !added) return added;
  if (!results.subject().is_sweep) {
    const auto image = results.database().image();
    if (!image) return fail(image.error());
    if (auto added = folder.add(kDatabase, *image); !added) return added;
  }
  if (auto added = folder.add(kPage, survey_page(results, survey, command)); !added) return added;
  return folder.commit();
}

}  // namespace vtrain
