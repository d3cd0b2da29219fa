/// Scenarios: jobs, a cluster and rules, read once, under which policies run as often as wanted.
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
#include "sched/simulation/result.hpp"
#include "sched/tenants/tenant_tree.hpp"
#include "tools/experiment/notes.hpp"
#include "tools/experiment/spec.hpp"
#include "traces/reading/trace.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

struct ScenarioParts;

/// How runs of a scenario are done. Results do not depend on it.
struct RunOptions {
  bool record_segments = false;  ///< keep the intervals in which jobs held GPUs, for timelines and charts
  unsigned threads = 1;          ///< of `run_all`; 0: one per processor
  /// Counts the jobs that have come to their end, of all runs together, for whoever watches. May be null.
  std::atomic<std::int64_t>* jobs_done = nullptr;
};

/// One policy's schedule.
struct RunResult {
  Summary summary;
  SimulationResult result;
  double wall_s = 0;  ///< time for the simulation alone
};

/// What a spec says, read and complete. It does not change once it is prepared: threads may share it, and
/// what a run gives depends on the policy alone. No function throws.
class Scenario {
 public:
  /// Reads the files of the spec, or generates its jobs, and gives each job a run time, a deadline and its
  /// speeds. Adds to `warnings` the options that have no effect, also where it fails. Errors name options as
  /// users write them (`--cluster`), or file, line and field; `SpecDocument::in_file` translates them.
  /// `registry`, in which policies are looked up, outlives the scenario.
  static Result<Scenario> prepare(ScenarioSpec spec, std::vector<std::string>& warnings,
                                  const PolicyRegistry& registry = PolicyRegistry::built_in());
  Scenario(Scenario&&) noexcept;
  Scenario& operator=(Scenario&&) noexcept;
  ~Scenario();

  /// Replays the jobs under a policy, `NAME[:key=value,...]`. Errors: an unknown policy or a wrong parameter;
  /// an elastic policy where the spec names none, so that no speeds were prepared; those of `simulate`.
  Result<RunResult> run(const std::string& policy, const RunOptions& options = {}) const;
  /// Replays them under every policy of the spec; results come in their order.
  Result<std::vector<RunResult>> run_all(const RunOptions& options = {}) const;

  const ScenarioSpec& spec() const;
  const Workload& workload() const;
  const ClusterSpec& cluster() const;
  /// Tenants that share the cluster; empty where none are given.
  const TenantTree& tenants() const;
  PlacementKind placement() const;
  /// None: nothing happens to jobs beside what policies do.
  const std::optional<Disruptions>& disruptions() const;
  /// True if a rule made deadlines that no trace has.
  bool deadlines_are_made() const;
  /// What preemption and resizing cost jobs, as a sentence; empty where no policy of the spec and no failure
  /// interrupts jobs.
  const std::string& interruption_cost() const;
  /// The trace's file, or a description of the generated jobs.
  const std::string& trace_name() const;
  /// As read; empty for generated jobs.
  const std::string& trace_format() const;
  /// Rows of the trace that are no jobs.
  const SkippedRows& skipped() const;
  /// What is synthetic, assumed or extrapolated.
  const std::vector<Note>& notes() const;
  /// Label and value of each input, for people: file hashes, seeds, what priced the jobs.
  const std::vector<std::pair<std::string, std::string>>& provenance() const;
  /// Every file that was read, with its hash.
  const std::vector<SpecFile>& files() const;
  /// Paths of everything that was read, folders too.
  std::vector<std::string> input_paths() const;
  /// GPU profiles and software stacks that price jobs.
  std::string predictor() const;
  /// Number of damaged records of the cache of iteration times, as a sentence; empty for none.
  std::vector<std::string> cache_warnings() const;
  /// Seconds that `prepare` took.
  double preparation_s() const;

 private:
  struct State;
  explicit Scenario(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace vtrain
