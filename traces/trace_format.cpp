#include "traces/trace_format.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/text.hpp"
#include "traces/batsim_reader.hpp"
#include "traces/itp_reader.hpp"
#include "traces/philly_reader.hpp"
#include "traces/tiresias_reader.hpp"
#include "traces/vtrain_csv.hpp"

namespace vtrain {
namespace {

constexpr std::array kFormats = {
    TraceFormat{"vtrain", "our own CSV: job_id, submit_s, num_gpus and a duration or a model with its work",
                recognise_vtrain_csv, read_vtrain_csv, write_vtrain_csv},
    TraceFormat{"tiresias", "CSV of the Tiresias simulator (60_job.csv)", recognise_tiresias, read_tiresias},
    TraceFormat{"batsim", "JSON workload of Batsim with delay profiles", recognise_batsim, read_batsim},
    TraceFormat{"itp", "CSV of Microsoft's ITP clusters (ElasticFlow's raw traces)", recognise_itp, read_itp},
    TraceFormat{"philly",
                "CSV of Microsoft's Philly cluster, rebuilt from derived lists; virtual clusters are tenants",
                recognise_philly, read_philly},
};

Error unknown_format(std::string_view name, const std::vector<std::string_view>& known) {
  const std::string_view nearest = nearest_name(name, known);
  return {.field = "format",
          .message = nearest.empty()
                         ? fmt::format("unknown trace format '{}'; known are {}", name, list_names(known))
                         : fmt::format("unknown trace format '{}'; did you mean '{}'?", name, nearest)};
}

Result<const TraceFormat*> find_format(std::string_view text, const std::string& file,
                                       std::string_view name) {
  constexpr std::size_t kHeadBytes = 8192;
  const std::string_view head = text.substr(0, kHeadBytes);
  std::vector<std::string_view> names;
  for (const TraceFormat& format : kFormats) {
    if (name == "auto" ? format.recognise(head) : format.name == name) return &format;
    names.push_back(format.name);
  }
  if (name == "auto") {
    const std::string_view first_line = head.substr(0, head.find('\n'));
    return fail({.file = file,
                 .line = 1,
                 .message = expected_found(fmt::format("a trace in one of the formats {}", list_names(names)),
                                           first_line)});
  }
  return fail(unknown_format(name, names));
}

}  // namespace

std::span<const TraceFormat> trace_formats() {
  return kFormats;
}

Result<const TraceFormat*> find_written_format(std::string_view name) {
  std::vector<std::string_view> names;
  for (const TraceFormat& format : kFormats) {
    if (format.write == nullptr) continue;
    if (format.name == name) return &format;
    names.push_back(format.name);
  }
  return fail(unknown_format(name, names));
}

Result<Trace> parse_trace(std::string_view text, const std::string& file, std::string_view format,
                          const ReadOptions& options) {
  const auto found = find_format(text, file, format);
  if (!found) return fail(found.error());
  auto trace = (*found)->read({.text = text, .file = file, .options = options});
  if (!trace) return trace;
  trace->format = (*found)->name;
  std::vector<Job>& jobs = trace->workload.jobs;
  if (jobs.empty()) return fail({.file = file, .message = "no jobs in the trace"});
  const auto by_submission = [](const Job& a, const Job& b) { return a.submit < b.submit; };
  if (!std::is_sorted(jobs.begin(), jobs.end(), by_submission)) trace->workload.sort_by_submission();
  return trace;
}

Result<Trace> read_trace(const std::string& path, std::string_view format, const ReadOptions& options) {
  const auto text = read_file(path);
  if (!text) return fail(text.error());
  return parse_trace(*text, path, format, options);
}

}  // namespace vtrain
