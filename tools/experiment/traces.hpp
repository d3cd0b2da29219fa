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

/// What was read.
struct TraceFiles {
  Trace trace;  ///< the jobs of all files
  std::vector<TraceFile> files;
  /// SHA-256 of what can be read only once (standard input, pipes), by path.
  std::map<std::string, std::string> hashes;

  /// For people: the file, or the first one and how many more.
  std::string name() const;
  /// The SHA-256 of one of `trace.files`; empty of what is gone (`hash_of_input`).
  Result<std::string> hash_of(const std::string& path) const;
};

/// The cluster of generated jobs where none is given: 128 A100.
inline constexpr const char* kDefaultCluster = "16x8:a100";

/// The cluster of a trace that names nothing but its number of GPUs: any GPUs, each a node. Error: more than
/// a cluster may have.
Result<ClusterSpec> cluster_of_trace(std::int32_t num_gpus);

/// Reads the files and joins them (`join_traces`) under their names (`trace_names`).
Result<TraceFiles> read_traces(const TraceArguments& arguments, bool files_as_tenants = false);

}  // namespace vtrain
