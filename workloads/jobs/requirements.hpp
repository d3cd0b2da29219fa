/// Requirements of a job apart from GPUs and time: other jobs that come first, nodes of a kind, CPUs and
/// memory, and what Slurm's `sbatch` asks for besides.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Conditions on another job before a job may start, in Slurm's words.
enum class DependencyKind : std::uint8_t {
  After,       ///< `after`: it has started
  AfterAny,    ///< `afterany`: it has ended in any way
  AfterOk,     ///< `afterok`: it has completed
  AfterNotOk,  ///< `afternotok`: it has ended without completing
};

/// Another job that a job waits for.
struct JobDependency {
  DependencyKind kind = DependencyKind::AfterAny;  ///< condition on the other job's end
  std::string job{};                               ///< its name; no comma is in it

  friend bool operator==(const JobDependency&, const JobDependency&) = default;
};

/// Requirements of one job. Members without a requirement are empty or 0.
struct JobRequirements {
  std::vector<JobDependency> dependencies{};  ///< all must hold
  std::string
      node_features{};  ///< features that its nodes must have, in the trace's words (Slurm's `--constraint`)
  std::int32_t num_nodes = 0;      ///< number of nodes of its gang
  GpuCount gpus_per_node{0};       ///< GPUs that each of these nodes must give
  std::int64_t cpu_milli = 0;      ///< CPU cores of the whole gang, in thousandths
  std::int64_t memory_mib = 0;     ///< memory of the whole gang, MiB
  std::int32_t cpus_per_node = 0;  ///< CPUs that each of these nodes must give
  std::string array{};             ///< name of the array of which it is a task; dependencies may name it
  std::int32_t array_limit = 0;    ///< most tasks of the array that run at once
  SimTime begin{};                 ///< earliest start, if later than the submission
  std::vector<std::string> held_nodes{};  ///< names of its nodes, where it runs when a simulation begins
  std::string reservation{};              ///< reservation of nodes that it must use
  std::int64_t nice = 0;                  ///< subtracted from its priority (Slurm's `--nice`)

  friend bool operator==(const JobRequirements&, const JobRequirements&) = default;
};

/// Reads `afterok:12,afterany:7`: each entry is one job. The error carries only the message.
Result<std::vector<JobDependency>> parse_dependencies(std::string_view text);
/// Appends dependencies in the form that `parse_dependencies` reads.
void append_dependencies(std::string& out, const std::vector<JobDependency>& dependencies);

}  // namespace vtrain
