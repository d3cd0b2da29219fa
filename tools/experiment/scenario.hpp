/// Scenarios: jobs, a cluster and rules, read once and replayed any number of times.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "policies/registry.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/disruption/disruptions.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/placement/placement.hpp"
#include "sched/simulation/reasons.hpp"
#include "sched/simulation/result.hpp"
#include "sched/tenants/tenant_tree.hpp"
#include "tools/experiment/notes.hpp"
#include "tools/experiment/spec.hpp"
#include "traces/reading/trace.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

class ExtrapolationList;
class PricingPool;

struct ScenarioParts;

/// Options of a run. Results do not depend on them.
struct RunOptions {
  bool record_segments = false;  ///< keep the segments of jobs, for timelines and charts
  unsigned threads = 1;          ///< threads of `run_all`; 0: one per processor
  /// Counter of ended jobs over all runs, for progress displays. May be null.
  std::atomic<std::int64_t>* jobs_done = nullptr;
  /// Receivers of the reasons for which jobs wait. For one run at a time: runs do not share them.
  ReasonOptions reasons{};
};

/// One policy's schedule.
struct RunResult {
  Summary summary;          ///< metrics of the schedule
  SimulationResult result;  ///< outcomes of the jobs, in the order of the workload
  double wall_s = 0;        ///< time for the simulation alone, seconds
};

/// A spec with its inputs read and completed. It does not change after preparation: threads may share it, and
/// a run's result depends on the policy alone. No function throws.
class Scenario {
 public:
  /// Reads the files of the spec, or generates its jobs, and gives each job a run time, a deadline and its
  /// speeds. Adds options without effect to `warnings`, also on failure. Errors name options as users write
  /// them (`--cluster`), or file, line and field; `SpecDocument::in_file` translates them. Policies are
  /// looked up in `registry`, which must outlive the scenario.
  static Result<Scenario> prepare(ScenarioSpec spec, std::vector<std::string>& warnings,
                                  const PolicyRegistry& registry = PolicyRegistry::built_in());
  /// Prepares a scenario with predictions of earlier ones.
  static Result<Scenario> prepare(ScenarioSpec spec, std::vector<std::string>& warnings, PricingPool& pool,
                                  const PolicyRegistry& registry = PolicyRegistry::built_in());
  /// Takes over the inputs of another, which may then only be destroyed or assigned to.
  Scenario(Scenario&&) noexcept;
  /// Takes over the inputs of another, which may then only be destroyed or assigned to.
  Scenario& operator=(Scenario&&) noexcept;
  ~Scenario();

  /// Replays the jobs under a policy, `NAME[:key=value,...]`. Errors: an unknown policy or a wrong parameter;
  /// an elastic policy if the spec names none, as speeds were not prepared; those of `simulate`.
  Result<RunResult> run(const std::string& policy, const RunOptions& options = {}) const;
  /// Replays the jobs under every policy of the spec. Results are in the order of the policies.
  Result<std::vector<RunResult>> run_all(const RunOptions& options = {}) const;

  /// Spec that `prepare` received.
  const ScenarioSpec& spec() const;
  /// Jobs after all changes.
  const Workload& workload() const;
  /// Cluster of the spec, or of the trace.
  const ClusterSpec& cluster() const;
  /// Cluster that jobs are generated for and that the load is stated for; none: that of the jobs' replay.
  const std::optional<ClusterSpec>& reference() const;
  /// Offered load of the jobs on the reference, 0 without one.
  double reference_load() const;
  /// Prices of the cluster's GPUs; empty if none is given.
  const GpuPrices& prices() const;
  /// Tenants that share the cluster; empty if none is given.
  const TenantTree& tenants() const;
  /// Placement of the spec, with `auto` resolved.
  PlacementKind placement() const;
  /// Disruptions of the jobs. None: only policies interrupt jobs.
  const std::optional<Disruptions>& disruptions() const;
  /// True if a rule made the deadlines, not the trace.
  bool deadlines_are_made() const;
  /// Sentence on the cost of preemption and resizing. Empty if no policy of the spec and no failure
  /// interrupts jobs.
  const std::string& interruption_cost() const;
  /// The trace's file, or a description of the generated jobs.
  const std::string& trace_name() const;
  /// Format of the trace; empty for generated jobs.
  const std::string& trace_format() const;
  /// Rows of the trace that are no jobs.
  const SkippedRows& skipped() const;
  /// Synthetic, assumed or extrapolated values.
  const std::vector<Note>& notes() const;
  /// Kernels and messages that predicted run times extrapolate, with the numbers of jobs.
  const ExtrapolationList& extrapolated() const;
  /// Label and value of each input, for people: file hashes, seeds, predictor.
  const std::vector<std::pair<std::string, std::string>>& provenance() const;
  /// Every file that was read, with its hash.
  const std::vector<SpecFile>& files() const;
  /// Paths of everything that was read, folders too.
  std::vector<std::string> input_paths() const;
  /// GPU profiles and software stacks that price jobs.
  std::string predictor() const;
  /// Sentence on the number of damaged records in the cache of iteration times; empty for none.
  std::vector<std::string> cache_warnings() const;
  /// Seconds that `prepare` took.
  double preparation_s() const;

 private:
  struct State;
  explicit Scenario(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace vtrain
