#include "tools/trace_output.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/json_output.hpp"
#include "tools/output_format.hpp"
#include "tools/trace_description.hpp"
#include "traces/trace_statistics.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

}  // namespace

std::string lost_line(const std::vector<FieldDifference>& lost) {
  std::string text;
  for (const FieldDifference& difference : lost) {
    text += fmt::format("{}{} of {} jobs", text.empty() ? "" : ", ", difference.field,
                        with_thousands(difference.jobs));
  }
  return text.empty() ? "" : fmt::format("not kept  {}\n", text);
}

void add_output_options(CLI::App& command, OutputArguments& arguments) {
  std::string formats;
  for (const TraceFormat& format : trace_formats()) {
    if (format.write != nullptr) formats += fmt::format("{}{}", formats.empty() ? "" : ", ", format.name);
  }
  command.add_option("--out", arguments.path, "File to write")->required();
  command.add_option("--to", arguments.format, "Format of the file: " + formats)->capture_default_str();
  command.add_flag("--json", arguments.json, "Print one JSON document");
}

Result<std::vector<FieldDifference>> write_trace(const Trace& trace, const OutputArguments& arguments) {
  const auto format = find_written_format(arguments.format);
  if (!format) return fail({.field = "--to", .message = format.error().message});
  if (auto written = (*format)->write(trace, arguments.path); !written) return fail(written.error());
  const auto again = read_trace(arguments.path, arguments.format);
  if (!again) return fail(again.error());
  return compare_workloads(trace.workload, again->workload);
}

void print_written_trace(const std::string& source, const Trace& trace,
                         const std::vector<FieldDifference>& lost, const OutputArguments& arguments) {
  const TraceStatistics statistics = trace_statistics(trace.workload);
  if (arguments.json) {
    ordered_json not_kept = ordered_json::array();
    for (const FieldDifference& difference : lost)
      not_kept.push_back({{"field", difference.field}, {"jobs", difference.jobs}});
    ordered_json json = {{"source", source}, {"trace", arguments.path}, {"format", arguments.format}};
    json.update(statistics_to_json(statistics, std::nullopt));
    json["skipped_rows"] = trace.skipped.total();
    json["skipped"] = skipped_to_json(trace.skipped);
    json["assumptions"] = trace.assumptions;
    json["not_kept"] = std::move(not_kept);
    print_json(json);
    return;
  }
  fmt::print(
      "from      {}\n{}{}{}{}", source,
      describe_jobs(fmt::format("{} ({})", arguments.path, arguments.format), statistics, std::nullopt),
      skipped_line(trace.skipped), assumed_lines(trace.assumptions), lost_line(lost));
}

}  // namespace vtrain
