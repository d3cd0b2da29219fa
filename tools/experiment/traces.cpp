#include "tools/experiment/traces.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/io/file.hpp"
#include "core/io/input.hpp"
#include "sched/cluster/cluster.hpp"
#include "tools/experiment/file_hash.hpp"
#include "traces/editing/join.hpp"
#include "traces/editing/statistics.hpp"

namespace vtrain {
namespace {

/// Reads a trace, and hashes inputs that can be read only once at the same time.
Result<Trace> read_one(const std::string& path, const TraceArguments& arguments,
                       std::map<std::string, std::string>& hashes) {
  const ReadOptions options{.strict = arguments.strict,
                            .throughputs = arguments.throughputs,
                            .throughputs_gpu = arguments.throughputs_gpu};
  if (!is_read_once(path)) return read_trace(path, arguments.format, options);
  Sha256 hash;
  const auto text = read_file(path, InputKind::Trace,
                              {.take_packed = [&hash](std::string_view bytes) { hash.add(bytes); }});
  if (!text) return fail(text.error());
  hashes[path] = hash.finish();
  auto trace = parse_trace(*text, path, arguments.format, options);
  if (trace) trace->files.insert(trace->files.begin(), path);
  return trace;
}

/// Error if throughput tables are given that nothing reads.
Result<void> check_throughputs(const TraceArguments& arguments, const std::vector<TraceFile>& files) {
  std::vector<std::string_view> able;
  for (const TraceFormat& format : trace_formats()) {
    if (format.takes_throughputs) able.push_back(format.name);
  }
  const bool used = std::any_of(files.begin(), files.end(), [&able](const TraceFile& file) {
    return std::find(able.begin(), able.end(), file.format) != able.end();
  });
  if (arguments.throughputs.empty() || used) return {};
  return fail(
      {.field = "--throughputs",
       .message = fmt::format("expected a trace of the format {}, which have throughput tables, found {}",
                              fmt::join(able, " or "), files.front().format)});
}

}  // namespace

std::string TraceFiles::name() const {
  return files.size() == 1 ? files.front().path
                           : fmt::format("{} and {} more", files.front().path, files.size() - 1);
}

Result<std::string> TraceFiles::hash_of(const std::string& path) const {
  const auto known = hashes.find(path);
  return known == hashes.end() ? hash_of_input(path) : known->second;
}

Result<ClusterSpec> cluster_of_trace(std::int32_t num_gpus) {
  if (num_gpus > kMaxClusterGpus)
    return fail(
        {.field = "--cluster",
         .message = fmt::format("the trace names a cluster of {} GPUs, and one may have at most {}: say "
                                "which it is",
                                with_thousands(num_gpus), with_thousands(kMaxClusterGpus))});
  return ClusterSpec{.groups = {{.num_nodes = num_gpus, .gpus_per_node = GpuCount(1)}}};
}

Result<TraceFiles> read_traces(const TraceArguments& arguments, bool files_as_tenants) {
  if (auto checked = check_files_differ("trace", arguments.files); !checked)
    return fail(std::move(checked.error()));
  TraceFiles read;
  std::vector<NamedTrace> traces;
  const std::vector<std::string> names = trace_names(arguments.files);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& path = arguments.files[i];
    auto trace = read_one(path, arguments, read.hashes);
    if (!trace) return fail(std::move(trace.error()));
    const TraceStatistics statistics = trace_statistics(trace->workload);
    read.files.push_back({path, trace->format, statistics.jobs, statistics.gpu_hours, trace->skipped});
    traces.push_back({names[i], *std::move(trace)});
  }
  if (auto checked = check_throughputs(arguments, read.files); !checked)
    return fail(std::move(checked.error()));
  read.trace = join_traces(std::move(traces), files_as_tenants);
  return read;
}

}  // namespace vtrain
