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
#include "sched/metrics/gpu_prices.hpp"
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
#include "workloads/jobs/run_time_errors.hpp"
#include "workloads/physical/extrapolation_list.hpp"

namespace vtrain {

/// A policy, made once so that its files may be pipes. It remembers its passes: use it for one run.
struct PreparedPolicy {
  std::string spec;  ///< the spec, as given
  PolicyArguments arguments;
  std::unique_ptr<Policy> policy;
  std::vector<SpecFile> files{};  ///< files that the policy has read

  /// True if the policy may give jobs other numbers of GPUs than they ask for.
  bool is_elastic() const { return policy->progress_rule() != ProgressRule::Duration; }
};

/// Makes the policy of a spec. Errors: those of its arguments, and a file that cannot be hashed.
Result<PreparedPolicy> prepare_policy(const std::string& spec, const SpecFiles& files,
                                      const PolicyRegistry& registry);

struct ScenarioParts;

/// True if jobs run longer or shorter than a policy knows: not under policies that compute progress
/// themselves or that repeat a log.
bool has_run_time_errors(const PreparedPolicy& policy, const ScenarioParts& parts);

/// The jobs, their cluster, the policies, and the sources of all of them.
struct ScenarioParts {
  ScenarioSpec spec;
  Workload workload;
  ClusterSpec cluster;
  GpuPrices prices{};
  TenantTree tenants;
  PlacementKind placement = PlacementKind::Count;
  std::optional<JobGrouping> by{};         ///< property of jobs that groups figures
  std::vector<PreparedPolicy> policies{};  ///< policies of the spec, each for its first run
  bool has_curves = false;                 ///< jobs have curves, for elastic policies
  PricingHandle pricing{};                 ///< prices jobs given by model and iterations
  /// Cluster that jobs are generated for and that a load is stated for; none: `cluster`.
  std::optional<ClusterSpec> reference{};
  double reference_load = 0;          ///< offered load on the reference, if there is one
  PricingHandle reference_pricing{};  ///< prices generated jobs where there is a reference
  /// Speeds of the jobs that the predictor can price; refers to `pricing`.
  std::unique_ptr<GangSpeedModel> gang_speed_model{};
  /// Errors of predicted run times, which policies do not know; null: none.
  std::unique_ptr<RunTimeErrors> run_time_errors{};
  std::vector<double> time_factors{};        ///< true over predicted time on the GPUs requested, by `JobId`
  std::optional<Disruptions> disruptions{};  ///< none: only policies interrupt jobs
  /// True if the only disruption is the default cost of interruptions. Policies that do not support
  /// disruptions then run without it.
  bool only_default_cost = false;
  bool deadlines_are_made = false;  ///< a rule made the deadlines; the trace has none
  std::string
      interruption_cost{};   ///< sentence on the cost; empty if no policy and no failure interrupts jobs
  std::string trace_name;    ///< the file, or a description of the generated jobs
  std::string trace_format;  ///< format that was read; empty for generated jobs
  SkippedRows skipped;       ///< rows of the trace that are no jobs
  std::vector<Note> notes;   ///< synthetic or assumed values
  ExtrapolationList extrapolated{};  ///< extrapolated kernels of predicted run times
  /// Label and value of each input: file hashes, seeds, predictor.
  std::vector<std::pair<std::string, std::string>> provenance;
  std::vector<SpecFile> files;         ///< files that were read
  std::vector<std::string> also_read;  ///< paths of folders whose files were read
  double read_s = 0;                   ///< time that reading, pricing and deadlines took
};

/// Makes the policies, reads or generates the jobs, gives each a duration and a deadline, and reads the
/// cluster. Adds options without effect to `warnings`, also on failure. Prices come from `pool`.
Result<ScenarioParts> prepare_parts(ScenarioSpec spec, const PolicyRegistry& registry,
                                    std::vector<std::string>& warnings, PricingPool& pool);

}  // namespace vtrain
