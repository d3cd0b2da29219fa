/// Reads and completes the parts of a scenario: private to `Scenario`.
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
#include "sched/metrics/job_groups.hpp"
#include "sched/placement/placement.hpp"
#include "sched/simulation/policy.hpp"
#include "sched/tenants/tenant_tree.hpp"
#include "tools/experiment/notes.hpp"
#include "tools/experiment/pricing.hpp"
#include "tools/experiment/spec.hpp"
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
  std::vector<SpecFile> files{};  ///< that it has read

  /// True if the policy may give jobs other numbers of GPUs than they ask for.
  bool is_elastic() const { return policy->progress_rule() != ProgressRule::Duration; }
};

/// Makes the policy of a spec. Errors: those of its arguments, and a file that cannot be hashed.
Result<PreparedPolicy> prepare_policy(const std::string& spec, const SpecFiles& files,
                                      const PolicyRegistry& registry);

/// The jobs, the cluster on which they will run and the policies, and where all came from.
struct ScenarioParts {
  ScenarioSpec spec;
  Workload workload;
  ClusterSpec cluster;
  TenantTree tenants;
  PlacementKind placement = PlacementKind::Count;
  std::optional<JobGrouping> by{};            ///< property of jobs by which figures are split
  std::vector<PreparedPolicy> policies{};     ///< of the spec, each for its first run
  bool has_curves = false;                    ///< jobs have curves, for elastic policies
  std::unique_ptr<ClusterPricing> pricing{};  ///< prices jobs given by model and iterations
  /// Speeds of the jobs that the predictor can price; refers to `pricing`.
  std::unique_ptr<GangSpeedModel> gang_speed_model{};
  std::optional<Disruptions> disruptions{};  ///< none: nothing happens to jobs beside what policies do
  /// The only disruption is the cost of interruptions that nobody asked for: policies that cannot be
  /// disrupted run without it.
  bool only_default_cost = false;
  bool deadlines_are_made = false;  ///< by a rule, for jobs of which the trace says none
  std::string
      interruption_cost{};   ///< a sentence on it; empty where no policy and no failure interrupts jobs
  std::string trace_name;    ///< the file, or a description of the generated jobs
  std::string trace_format;  ///< as read; empty for generated jobs
  SkippedRows skipped;       ///< rows of the trace that are no jobs
  std::vector<Note> notes;   ///< what is synthetic or assumed
  /// Label and value of each input: file hashes, seeds, what priced the jobs.
  std::vector<std::pair<std::string, std::string>> provenance;
  std::vector<SpecFile> files;         ///< that were read
  std::vector<std::string> also_read;  ///< paths of folders whose files were
  double read_s = 0;                   ///< time that reading, pricing and deadlines took
};

/// Makes the policies, reads or generates the jobs, gives each a duration and a deadline, and reads the
/// cluster. Adds to `warnings` the options that have no effect, also where it fails.
Result<ScenarioParts> prepare_parts(ScenarioSpec spec, const PolicyRegistry& registry,
                                    std::vector<std::string>& warnings);

}  // namespace vtrain
