#include "tools/commands/trace_output.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/io/file.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

}  // namespace

std::string lost_line(const WrittenTrace& written) {
  if (!written.lost) return "not kept  unknown: the written file cannot be read back\n";
  std::string text;
  for (const FieldDifference& difference : *written.lost) {
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", difference.field,
                        count_of(difference.jobs, "job"));
  }
  return text.empty() ? "" : fmt::format("not kept  {}\n", text);
}

void add_output_options(CLI::App& command, OutputArguments& arguments) {
  std::string formats;
  for (const TraceFormat& format : trace_formats()) {
    if (format.write != nullptr) formats += fmt::format("{}{}", formats.empty() ? "" : ", ", format.name);
  }
  command.add_option("--out", arguments.path, "File to write")->check(plain_file())->required();
  command.add_option("--to", arguments.format, "Format of the file: " + formats)->capture_default_str();
  command.add_flag("--json", arguments.json, "Print one JSON document");
}

Result<WrittenTrace> write_trace(const Trace& trace, const OutputArguments& arguments) {
  const auto format = find_written_format(arguments.format);
  if (!format) return fail({.field = "--to", .message = format.error().message});
  const std::vector<Job>& jobs = trace.workload.jobs;
  const auto endless = std::find_if(jobs.begin(), jobs.end(), [](const Job& job) {
    return job.duration.count() == 0 && job.iterations == 0;
  });
  if (endless != jobs.end()) {
    return fail(
        job_error(trace.workload, *endless, "duration",
                  "expected a run time, or a model and iterations, found neither: it cannot be replayed"));
  }
  if (auto written = (*format)->write(trace, arguments.path); !written) return fail(written.error());
  std::error_code ignored;
  if (standard_stream(arguments.path) || !std::filesystem::is_regular_file(arguments.path, ignored))
    return WrittenTrace{trace_statistics(trace.workload), std::nullopt};
  const auto again = read_trace(arguments.path, arguments.format);
  if (!again) return fail(again.error());
  return WrittenTrace{trace_statistics(again->workload), compare_workloads(trace.workload, again->workload)};
}

void print_written_trace(const std::string& source, const Trace& trace,
                         const std::optional<ClusterSpec>& cluster, const WrittenTrace& written,
                         const OutputArguments& arguments) {
  std::FILE* const stream = summary_stream(arguments.path);
  if (arguments.json) {
    ordered_json not_kept;
    if (written.lost) not_kept = ordered_json::array();
    for (const FieldDifference& difference : written.lost.value_or(std::vector<FieldDifference>()))
      not_kept.push_back({{"field", difference.field}, {"jobs", difference.jobs}});
    ordered_json json = {{"source", source}, {"trace", arguments.path}, {"format", arguments.format}};
    std::optional<GpuCount> num_gpus;
    if (cluster) num_gpus = cluster->total_gpus();
    json.update(statistics_to_json(written.statistics, num_gpus));
    json["skipped_rows"] = trace.skipped.total();
    json["skipped"] = skipped_to_json(trace.skipped);
    json["assumptions"] = trace.assumptions;
    json["not_kept"] = std::move(not_kept);
    print_json(json, stream);
    return;
  }
  print_text(
      stream, "from      {}\n{}{}{}{}", source,
      describe_jobs(fmt::format("{} ({})", arguments.path, arguments.format), written.statistics, cluster),
      skipped_line(trace.skipped), assumed_lines(trace.assumptions), lost_line(written));
}

}  // namespace vtrain
