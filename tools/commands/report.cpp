/// `vtrain report`: tables and pictures of a sweep's results, or of folders of runs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/names.hpp"
#include "core/io/staged_folder.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/replay_runs.hpp"
#include "tools/format/table_format.hpp"
#include "tools/format/text_format.hpp"
#include "tools/studies/study_output.hpp"
#include "tools/studies/survey.hpp"

namespace vtrain {
namespace {

struct StudyArguments {
  std::string results;
  std::string metrics;
  std::string table = "means";
  std::string format;
  std::filesystem::path out;
  SurveyOptions options;
  bool json = false;
  std::string command;  ///< command line as typed
};

Result<void> write_study_folder(const StudyArguments& arguments, const StudyResults& results,
                                const Survey& survey, TableFormat format) {
  if (auto checked = check_study_folder(arguments.out, results, format); !checked) return checked;
  auto folder = begin_folder(arguments.out);
  if (!folder) return fail(std::move(folder.error()));
  return write_study(*folder, results, survey, format, arguments.options, arguments.command);
}

Result<void> report_study(StudyArguments arguments) {
  if (!arguments.metrics.empty()) {
    auto metrics = parse_metrics(arguments.metrics);
    if (!metrics) return fail(std::move(metrics.error()));
    arguments.options.metrics = *std::move(metrics);
  }
  if (arguments.json && !arguments.format.empty() && arguments.out.empty())
    return fail(
        {.field = "--format", .message = "has no effect on --json; with --out it is that of the files"});
  const auto format = parse_table_format(arguments.format.empty() ? "csv" : arguments.format);
  if (!format) return fail(format.error());
  const auto table = parse_name<VariedTable>("--table", study_tables(), arguments.table);
  if (!table) return fail(table.error());
  const auto results = StudyResults::open(arguments.results);
  if (!results) return fail(results.error());
  if (*table == VariedTable::Differences && results->grid().policies.size() < 2)
    return fail({.field = "--table", .message = "'differences' needs two policies or more, found one"});
  const auto survey = survey_of(*results, arguments.options);
  if (!survey) return fail(survey.error());
  if (!survey->is_complete() && (arguments.json || !arguments.format.empty()))
    log_warnings(gaps_in(*results, *survey));
  if (!arguments.out.empty()) {
    if (auto written = write_study_folder(arguments, *results, *survey, *format); !written) return written;
  }
  if (arguments.json) {
    const auto document = study_to_json(*results, *survey, arguments.options);
    if (!document) return fail(document.error());
    print_json(*document);
    return {};
  }
  if (arguments.out.empty() && !arguments.format.empty()) {
    const auto text = study_table(*results, *survey, *table, *format, arguments.options);
    if (!text) return fail(text.error());
    print_text(stdout, *text);
    return {};
  }
  print_text(stdout, "{}{}", survey_text(*results, *survey),
             arguments.out.empty() ? "" : written_lines(arguments.out, {}));
  return {};
}

}  // namespace

void add_report_command(CLI::App& app, Action& action, const std::string& command_line) {
  CLI::App* command =
      app.add_subcommand("report",
                         "Tables and pictures of a sweep's results, or of folders of runs.\n\n"
                         "  vtrain report results.sqlite --out report\n"
                         "  vtrain report runs --format latex --table differences");
  const auto arguments = std::make_shared<StudyArguments>();
  arguments->command = command_line;
  command
      ->add_option(
          "RESULTS", arguments->results,
          "SQLite file of `vtrain sweep`, folder of `vtrain compare` or `vtrain replay`, or a folder of "
          "such folders")
      ->required();
  command->add_option("--metrics", arguments->metrics,
                      "Metrics of the tables, separated by commas, such as avg_jct_s,preemptions "
                      "(docs/metrics.md); default: those that `vtrain compare` shows");
  command->add_option(
      "--baseline", arguments->options.baseline,
      "Policy that the others are compared with; default: that of the spec, or else the best one");
  CLI::Option* const format = command->add_option(
      "--format", arguments->format,
      "Print one table for other programs: csv (exact numbers), markdown or latex; with --out, the "
      "format of its tables");
  format->check(one_of({table_formats().begin(), table_formats().end()}));
  CLI::Option* const table =
      command->add_option("--table", arguments->table, "Table that --format prints: means or differences");
  table->check(one_of({study_tables().begin(), study_tables().end()}))->needs(format)->capture_default_str();
  command
      ->add_option("--out", arguments->out, "Folder for report.html, the tables and the SQL that gives them")
      ->excludes(table);
  command->add_flag("--json", arguments->json, "Print one JSON document")->excludes(table);
  command
      ->add_option("--threads", arguments->options.threads,
                   "Threads that read results; 0 = one per processor")
      ->transform(whole_number(0, 1024))
      ->capture_default_str();
  command->callback([=, &action] { action = [arguments] { return report_study(*arguments); }; });
}

}  // namespace vtrain
