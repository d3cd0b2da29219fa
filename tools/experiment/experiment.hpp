/// An experiment: jobs, a cluster and policies, read and complete, ready to be replayed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "policies/registry.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/disruption/disruptions.hpp"
#include "sched/placement/placement.hpp"
#include "sched/simulation/policy.hpp"
#include "tools/experiment/arguments.hpp"
#include "tools/experiment/pricing.hpp"
#include "traces/reading/trace.hpp"
#include "workloads/jobs/gang_speed_model.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// A policy that has been made, once, so that a file that it reads may be a pipe. It remembers the passes
/// that it was given: it is for one run.
struct PreparedPolicy {
  std::string spec;  ///< as given
  PolicyArguments arguments;
  std::unique_ptr<Policy> policy;
  /// The files that it has read, each with its description for provenance (`path_and_hash`).
  std::vector<std::pair<std::string, std::string>> files{};

  /// True if the policy may give jobs other numbers of GPUs than they ask for.
  bool is_elastic() const { return policy->progress_rule() != ProgressRule::Duration; }
};

/// The jobs, the cluster on which they will run and the policies, and where all came from.
struct Experiment {
  Workload workload;
  ClusterSpec cluster;
  PlacementKind placement = PlacementKind::Count;
  std::vector<PreparedPolicy> policies{};     ///< until they run, which takes them
  std::unique_ptr<ClusterPricing> pricing{};  ///< prices jobs given by model and iterations
  /// Speeds of the jobs that the predictor can price; refers to `pricing`.
  std::unique_ptr<GangSpeedModel> gang_speed_model{};
  std::optional<Disruptions> disruptions{};  ///< none: nothing happens to jobs beside what policies do
  std::string trace_name;                    ///< the file, or a description of the generated jobs
  std::string trace_format;                  ///< as read; empty for generated jobs
  SkippedRows skipped;                       ///< rows of the trace that are no jobs
  std::vector<std::string> assumptions;      ///< what is synthetic or assumed, one sentence each
  /// Label and value of each input: file hashes, seeds, what priced the jobs.
  std::vector<std::pair<std::string, std::string>> provenance;
  std::vector<std::string> input_files;  ///< that were read
  double read_s = 0;                     ///< time that reading, pricing and deadlines took
};

/// Makes the policies, reads or generates the jobs, gives each a duration and a deadline, and reads the
/// cluster. Adds to `warnings` the options that have no effect, also where it fails.
Result<Experiment> prepare_experiment(const ExperimentArguments& arguments,
                                      std::vector<std::string>& warnings);

}  // namespace vtrain
