/// Checks after arbitrary bytes were read as a trace.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/utf8.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/formats/formats.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Checks that a trace is an error that can be shown, or has jobs within their limits. Our own CSV must
/// return these jobs unchanged.
inline int check_trace(const Result<Trace>& trace) {
  if (!trace) {
    require(!trace.error().message.empty());
    require(is_printable(trace.error().describe()));
    return 0;
  }
  // The only format without durations and iterations; our CSV cannot hold such jobs.
  const bool without_work = trace->format == "sia";
  SimTime previous{};
  for (const Job& job : trace->workload.jobs) {
    require(job.submit >= previous && job.num_gpus.value >= 1 && is_plain_text(job.name));
    require(without_work || job.duration.count() > 0 ||
            (job.model && job.global_batch > 0 && job.iterations > 0));
    require(job.duration.count() >= 0 && job.requested_time.count() >= 0);
    require(job.gpu_share >= 1 && job.gpu_share <= 1000 && job.max_gpus.value >= 0);
    previous = job.submit;
  }
  require(trace_statistics(trace->workload).jobs == static_cast<std::int64_t>(trace->workload.jobs.size()));
  if (without_work) return 0;
  const std::string written = to_vtrain_csv(trace->workload);
  const auto again = parse_trace(written, "written");
  require(again.has_value() && again->format == "vtrain" && to_vtrain_csv(again->workload) == written);
  return 0;
}

/// Reads the bytes as `format` and checks the result.
inline int check_trace(const std::uint8_t* data, std::size_t size, std::string_view format) {
  return check_trace(parse_trace({reinterpret_cast<const char*>(data), size}, "input", format));
}

/// Checks a trace from joined tables, whose jobs, if any, are in the order of the file.
inline int check_joined(Result<Trace> trace) {
  if (trace && trace->workload.jobs.empty()) return 0;
  if (trace) trace->workload.sort_by_submission();
  return check_trace(trace);
}

/// The tables of one input, separated by lines `---`; missing tables are empty.
template <std::size_t kCount>
std::array<std::string_view, kCount> split_tables(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kSeparator = "---\n";
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::array<std::string_view, kCount> tables{};
  for (std::string_view& table : tables) {
    const std::size_t end = rest.find(kSeparator);
    table = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + kSeparator.size());
  }
  return tables;
}

}  // namespace vtrain
