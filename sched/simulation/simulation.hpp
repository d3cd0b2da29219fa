/// The discrete-event simulation of one cluster, one workload and one policy: in one go (`simulate`), or step
/// by step while jobs and facts come in (`Simulation`).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "sched/accounting/segment_accounting.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/disruption/disruptions.hpp"
#include "sched/placement/placement.hpp"
#include "sched/simulation/policy.hpp"
#include "sched/simulation/result.hpp"
#include "sched/tenants/tenant_tree.hpp"
#include "workloads/jobs/gang_speed_model.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// How a replay is done.
struct SimulationOptions {
  PlacementKind placement = PlacementKind::Count;
  /// A job larger than the cluster is an error instead of a rejection.
  bool strict = false;
  /// Keep every interval in which a job held GPUs, for the timeline. Costs memory per start.
  bool record_segments = false;
  std::string policy_name;  ///< for messages
  /// What interrupts jobs and what that costs; null: nothing. Outlives the simulation.
  const Disruptions* disruptions = nullptr;
  /// How fast jobs are where their gangs are, if anything is known of it; may be null. Outlives the
  /// simulation. Not used under placements without nodes and under policies that cannot be disrupted.
  GangSpeedModel* gang_speed_model = nullptr;
  /// Tenants that share the cluster, for policies; null: none are given. Outlives the simulation.
  const TenantTree* tenants = nullptr;
  /// Counts the jobs that have come to their end, for whoever watches from another thread. May be null.
  std::atomic<std::int64_t>* jobs_done = nullptr;
};

/// With outages a replay ends this long after the last submission, whatever still runs then: a job
/// that loses work faster than it makes progress would never end.
inline constexpr SimDuration kLongestAfterLastSubmission = std::chrono::hours(24 * 3652);

/// Replays `workload` under `policy`. Every job ends in exactly one state. Errors: a job larger than the
/// cluster under `strict`; a job without a duration; outages under a placement without nodes, or disruptions
/// under a policy that computes progress itself; a policy that says something impossible (kind `Failed`).
Result<SimulationResult> simulate(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
                                  const SimulationOptions& options);

/// A running job has done its work, whenever that was foreseen.
struct JobEnded {
  JobId job;
};

/// A live job is withdrawn: it ends as `Cancelled`.
struct JobCancelled {
  JobId job;
};

/// New values for a live job; members that are not set stay as they are.
struct JobChanged {
  JobId job;
  std::optional<SimDuration> duration{};        ///< run time in all, above 0
  std::optional<SimDuration> requested_time{};  ///< time limit in all; 0: none
  std::optional<SimTime> deadline{};
  std::optional<GpuCount> num_gpus{};  ///< at least 1; only while the job waits
};

/// A node goes out of service. Jobs on it stop, or keep it to their ends where it drains.
struct NodeDown {
  NodeId node;
  bool drains = false;
};

/// One reason less for a node to be out of service, of those that `NodeDown` or outages gave.
struct NodeUp {
  NodeId node;
};

/// Something that the world outside tells a simulation.
using Fact = std::variant<JobEnded, JobCancelled, JobChanged, NodeDown, NodeUp>;

/// A job that runs or waits, and what became of it so far.
struct LiveJob {
  JobOutcome outcome{};                   ///< with state `Running` or `Waiting`
  double iterations = 0;                  ///< done in earlier segments, under `ProgressRule::Iterations`
  SegmentAccounting::State accounting{};  ///< where something costs jobs time
  bool has_started = false;
  // Of a job that runs:
  SimTime resumed{};  ///< when it got its gang
  GpuCount num_gpus{0};
  std::vector<NodeShare> gang{};  ///< where the gang is, under placements that must know to take it back
};

/// A cluster at one instant, after the pass.
struct SimulationState {
  SimTime now{};
  /// The first jobs of the workload, in its order; those after them are submitted later than `now`.
  std::vector<LiveJob> jobs{};
  std::vector<NodeId> out_of_service{};  ///< ascending
};

/// A replay that goes on as jobs and facts come in. Its clock is simulated: nothing happens but in
/// `run_until` and `finish`. The same inputs in the same order give the same bytes, however the time between
/// them is divided into runs. So a log of the inputs is enough to restore it.
///
/// At one instant ends come first, then changes of nodes, then facts in the order in which they were told,
/// then arrivals, then one pass. A refused input leaves the simulation as it was. After an error of
/// `run_until` or `finish` it only tells what happened.
///
///     auto simulation = Simulation::begin(std::move(workload), cluster, *policy, {});
///     simulation->run_until(nine_o_clock);
///     auto job = simulation->submit("mine", my_job);
///     simulation->run_until(ten_o_clock);
///     simulation->outcome(*job).state
class Simulation {
 public:
  /// `workload` has the names and curves that jobs refer to, GPU types above all, and the jobs that are known
  /// already. `policy`, which is new, and what `options` refers to outlive the simulation. With a `state`,
  /// jobs run and wait already, and random failures are drawn from then on. Errors: those of `simulate`; a
  /// state whose jobs hold more than there is, or of a policy that must begin with an empty cluster.
  static Result<Simulation> begin(Workload workload, const ClusterSpec& cluster, Policy& policy,
                                  const SimulationOptions& options, const SimulationState& state = {});
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;
  ~Simulation();

  /// Adds a job, which is submitted at `job.submit`: not before the last job, nor before the time that
  /// `run_until` has reached. One that is submitted at that very time makes another pass of its instant.
  /// Errors: a job that `simulate` refuses, one that is submitted too early.
  Result<JobId> submit(std::string_view name, Job job);
  /// Tells what happens at `time`: not before the last fact, nor before the time that `run_until` has
  /// reached. Errors: a job or node that does not exist, nodes under a placement without nodes, a time that
  /// is too early. Whether the job is in a state for it shows when `run_until` comes to it.
  Result<void> tell(SimTime time, const Fact& fact);
  /// Lets everything happen up to and including `time`. Errors: a policy that says something impossible, a
  /// fact that does not hold (a job ended that does not run).
  Result<void> run_until(SimTime time);
  /// The instant of the next event, if there is one.
  std::optional<SimTime> next_event();
  /// The jobs, by `JobId`, and their names.
  const Workload& workload() const;
  /// The outcome of a job so far.
  JobOutcome outcome(JobId job) const;
  /// All that another simulation needs to go on from here, but the policy's memory and jobs that are no
  /// longer live: the ids are those of `live`.
  SimulationState state() const;
  /// The live jobs, ascending.
  std::vector<JobId> live() const;
  /// Lets everything happen that is still to happen. The simulation is over then. Errors: those of
  /// `run_until`.
  Result<SimulationResult> finish();

 private:
  struct Parts;
  explicit Simulation(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace vtrain
