/// The discrete-event simulation of one cluster, one workload and one policy: all at once (`simulate`), or
/// step by step while jobs and facts come in (`Simulation`).
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
#include "sched/simulation/reasons.hpp"
#include "sched/simulation/result.hpp"
#include "sched/tenants/tenant_tree.hpp"
#include "workloads/jobs/gang_speed_model.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/jobs/run_time_errors.hpp"

namespace vtrain {

/// Options of a replay.
struct SimulationOptions {
  PlacementKind placement = PlacementKind::Count;  ///< rule that chooses the GPUs of a gang
  /// A job larger than the cluster is an error instead of a rejection.
  bool strict = false;
  /// Keeps every interval in which a job held GPUs, for the timeline. Costs memory per start.
  bool record_segments = false;
  /// Keeps GPU time by type. Without effect on a cluster of one type, and if placement does not tell types
  /// apart: under `count`, where no job requests a type and the policy chooses none.
  bool count_gpu_types = false;
  /// Keeps what jobs held and when, without places, for the shares of tenants. Costs memory per start.
  bool record_holdings = false;
  std::string policy_name;  ///< name in messages
  /// Interruptions of jobs and their costs; null: none. Outlives the simulation.
  const Disruptions* disruptions = nullptr;
  /// Speed of jobs by the place of their gangs; null: not known. Outlives the simulation. Not used under
  /// placements without nodes and under policies that cannot be disrupted.
  GangSpeedModel* gang_speed_model = nullptr;
  /// Errors of predicted run times, which policies do not know; null: jobs run as predicted. Outlives the
  /// simulation. Not used under policies that cannot be disrupted or that repeat a log.
  const RunTimeErrors* run_time_errors = nullptr;
  /// Tenants that share the cluster, for policies; null: none. Outlives the simulation.
  const TenantTree* tenants = nullptr;
  /// Jobs may be submitted until `Simulation::finish` is called. Policies see it as `more_to_come`.
  bool expects_more = false;
  /// Counter of jobs that have ended, for a reader in another thread. May be null.
  std::atomic<std::int64_t>* jobs_done = nullptr;
  /// Receivers of the reasons for which jobs wait. They outlive the simulation, and change no result. The
  /// segments of a watched job are recorded.
  ReasonOptions reasons{};
};

/// Time after the last submission at which a replay ends in which jobs lose work, by outages or because the
/// policy requeues them. A job that loses work faster than it makes progress would never end.
inline constexpr SimDuration kLongestAfterLastSubmission = std::chrono::hours(24 * 3652);

/// Replays `workload` under `policy`. Every job ends in exactly one state. Errors: a job larger than the
/// cluster under `strict`; a job without a duration; outages under a placement without nodes; disruptions
/// under a policy that computes progress itself; an impossible decision of the policy (kind `Failed`).
Result<SimulationResult> simulate(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
                                  const SimulationOptions& options);

/// A running job has done its work, even if its scheduled end was at another time.
struct JobEnded {
  JobId job;  ///< job that has ended
};

/// A live job is withdrawn and ends as `Cancelled`.
struct JobCancelled {
  JobId job;  ///< job that is withdrawn
};

/// New values for a live job; members that are not set stay as they are.
struct JobChanged {
  JobId job;                                    ///< job that changes
  std::optional<SimDuration> duration{};        ///< total run time, above 0
  std::optional<std::int64_t> iterations{};     ///< total work of an elastic job, above 0
  std::optional<SimDuration> requested_time{};  ///< total time limit; 0: none
  std::optional<SimTime> deadline{};            ///< new deadline
  std::optional<GpuCount> num_gpus{};           ///< minimum 1; only while the job waits
};

/// A node goes out of service. Jobs on it stop, or run to their ends if it drains.
struct NodeDown {
  NodeId node;          ///< node that goes out of service
  bool drains = false;  ///< true if its jobs run to their ends
};

/// Removes one reason for a node to be out of service, of those that `NodeDown` or outages gave.
struct NodeUp {
  NodeId node;  ///< node that comes back
};

/// Something that the world outside tells a simulation.
using Fact = std::variant<JobEnded, JobCancelled, JobChanged, NodeDown, NodeUp>;

/// A job that runs or waits, with its outcome so far.
struct LiveJob {
  JobOutcome outcome{};                   ///< outcome so far, with state `Running` or `Waiting`
  double iterations = 0;                  ///< iterations of earlier segments of an elastic job
  SegmentAccounting::State accounting{};  ///< state of its accounts, where something costs jobs time
  bool has_started = false;               ///< true if it ever held GPUs
  // Of a job that runs:
  SimTime resumed{};              ///< instant at which it got its gang
  GpuCount num_gpus{0};           ///< GPUs that it holds
  std::vector<NodeShare> gang{};  ///< the gang's place, under placements that need it to take the gang back
};

/// A cluster at one instant, after the pass.
struct SimulationState {
  SimTime now{};  ///< instant of the state
  /// The first jobs of the workload, in its order; those after them are submitted later than `now`.
  std::vector<LiveJob> jobs{};
  std::vector<NodeId> out_of_service{};  ///< ascending
  /// Memory of the policy, for another of equal parameters; null: it begins with what the jobs show.
  std::shared_ptr<const PolicyMemory> memory{};
};

/// A replay that continues as jobs and facts come in. Its clock is simulated: events happen only in
/// `run_until` and `finish`. The same inputs in the same order give the same bytes, even if `run_until` is
/// called at other times. So a log of the inputs is enough to restore it.
///
/// At one instant ends come first, then changes of nodes, then facts in the order of their `tell` calls, then
/// arrivals, then one pass. A refused input leaves the simulation unchanged. After an error of `run_until` or
/// `finish` only functions that read its state may be called.
///
///     auto simulation = Simulation::begin(std::move(workload), cluster, *policy, {});
///     simulation->run_until(nine_o_clock);
///     auto job = simulation->submit("mine", my_job);
///     simulation->run_until(ten_o_clock);
///     simulation->outcome(*job).state
class Simulation {
 public:
  /// `workload` has the names and curves that jobs refer to, GPU types above all, and the jobs already known.
  /// `policy`, which must be new, and all that `options` refers to outlive the simulation. With a `state`,
  /// jobs run and wait already, and random failures are drawn from its time on. Errors: those of `simulate`;
  /// a state whose jobs hold more than there is; a state for a policy that must begin with an empty cluster.
  static Result<Simulation> begin(Workload workload, const ClusterSpec& cluster, Policy& policy,
                                  const SimulationOptions& options, const SimulationState& state = {});
  /// Takes over the state of another, which may then only be destroyed or assigned to.
  Simulation(Simulation&&) noexcept;
  /// Takes over the state of another, which may then only be destroyed or assigned to.
  Simulation& operator=(Simulation&&) noexcept;
  ~Simulation();

  /// Adds a job, submitted at `job.submit`: not before the last job, nor before the time that `run_until` has
  /// reached. A job submitted at exactly that time causes another pass at that instant. Errors: a job that
  /// `simulate` refuses, a submission that is too early.
  Result<JobId> submit(std::string_view name, Job job);
  /// The job of another workload as one that `submit` takes: names and curves that are new become known.
  /// Policies that divide the cluster by tenants know only the tenants that `begin` was given.
  Job adopt(const Workload& from, const Job& job);
  /// Adds a fact that happens at `time`: not before the last fact, nor before the time that `run_until` has
  /// reached. Errors: a job or node that does not exist, nodes under a placement without nodes, a time that
  /// is too early. The state of the job is checked later, by `run_until`.
  Result<void> tell(SimTime time, const Fact& fact);
  /// Handles all events up to and including `time`. Errors: an impossible decision of the policy, a fact that
  /// contradicts the state (the end of a job that does not run).
  Result<void> run_until(SimTime time);
  /// Instant of the next event, if there is one.
  std::optional<SimTime> next_event();
  /// All jobs, by `JobId`, and their names.
  const Workload& workload() const;
  /// Outcome of a job so far.
  JobOutcome outcome(JobId job) const;
  /// A job that runs or waits.
  LiveJob live_job(JobId job) const;
  /// Part of the work of a live job that is done and not lost at `time`, if nothing happens until then. Range
  /// [0, 1].
  double part_done(JobId job, SimTime time) const;
  /// All that another simulation with a policy of equal parameters needs to continue from here, except jobs
  /// that are no longer live. The ids are those of `live`.
  SimulationState state() const;
  /// Ids of the live jobs, ascending.
  std::vector<JobId> live() const;
  /// Handles all remaining events and ends the simulation. Errors: those of `run_until`.
  Result<SimulationResult> finish();

 private:
  struct Parts;
  explicit Simulation(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace vtrain
