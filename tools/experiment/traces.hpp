/// Reads the traces of a command, with their hashes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "tools/experiment/arguments.hpp"
#include "traces/reading/trace.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// One of the files that were read.
struct TraceFile {
  std::string path;
  std::string format;
  std::int64_t jobs = 0;
  double gpu_hours = 0;
  SkippedRows skipped;
};

/// Result of reading traces.
struct TraceFiles {
  Trace trace;  ///< the jobs of all files
  std::vector<TraceFile> files;
  /// SHA-256 of inputs that can be read only once (standard input, pipes), by path.
  std::map<std::string, std::string> hashes;

  /// Name for people: the file, or the first file and the number of others.
  std::string name() const;
  /// SHA-256 of one of `trace.files`; empty if it can no longer be read (`hash_of_input`).
  Result<std::string> hash_of(const std::string& path) const;
};

/// Default cluster of generated jobs: 128 A100.
inline constexpr const char* kDefaultCluster = "16x8:a100";

/// The cluster of a trace that gives only a number of GPUs: nodes of one GPU of any type. Error: more than a
/// cluster may have.
Result<ClusterSpec> cluster_of_trace(std::int32_t num_gpus);

/// Reads the files and joins them (`join_traces`) under their names (`trace_names`).
Result<TraceFiles> read_traces(const TraceArguments& arguments, bool files_as_tenants = false);

}  // namespace vtrain
