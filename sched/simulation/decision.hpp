/// Policies as functions of values: the input is what has happened (`PassEvents`), the output the jobs that
/// shall hold GPUs (`Decision`). The author of a policy needs only this header.
///
/// A policy derives from `DecisionPolicy` and writes `decide`, which is called at every instant at which
/// something happened. A `RoundPolicy` is called only at the boundaries of rounds. A decision names the jobs
/// that shall hold GPUs; the adapter compares them with the jobs that do, and preempts, resizes and starts.
/// The values refer to nothing in the simulator. So they can be logged, replayed, or sent to another process
/// as JSON (`decision_json.hpp`).
///
///     class ShortestFirst : public vtrain::DecisionPolicy {
///       vtrain::Decision decide(const vtrain::PassEvents& events) override { … }
///     };
///
/// Times are instants and lengths in integer nanoseconds. A job keeps its `JobId` for the whole replay; a job
/// that has not been submitted yet is never seen. `docs/example_policy.cpp` is a complete policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// Version of these values. It grows when a member changes its meaning or is removed, not when one is added.
inline constexpr int kDecisionVersion = 1;

/// The GPUs of one type in the cluster. `Allocation::type` is its place in `ClusterView::types`.
struct TypeView {
  std::string name{};     ///< empty where the cluster names none
  std::int64_t gpus = 0;  ///< GPUs of the type, in service or not

  friend bool operator==(const TypeView&, const TypeView&) = default;
};

/// A tenant's quota of GPUs of one type.
struct QuotaView {
  std::string gpu_type{};  ///< empty: any type
  std::int64_t gpus = 0;   ///< GPUs of the tenant's own
  /// Most GPUs that it may borrow; none: all that others lend.
  std::optional<std::int64_t> borrowing_limit{};
  std::optional<std::int64_t> lending_limit{};  ///< most own GPUs that others may use; none: all

  friend bool operator==(const QuotaView&, const QuotaView&) = default;
};

/// A tenant, at its place in the tree.
struct TenantView {
  std::string name{};               ///< tenant's name, unique in the tree
  std::string parent{};             ///< empty: none
  double weight = 1;                ///< share among the tenants of one parent
  std::vector<QuotaView> quotas{};  ///< quotas by GPU type

  friend bool operator==(const TenantView&, const TenantView&) = default;
};

/// The cluster with all nodes in service, and the tenants that share it.
struct ClusterView {
  std::vector<TypeView> types{};  ///< GPUs by type, in the order of the cluster
  /// Tenants of the tree, parents first, followed by other tenants whose jobs are known so far.
  std::vector<TenantView> tenants{};

  friend bool operator==(const ClusterView&, const ClusterView&) = default;
};

/// One point of T(gpus, type): the speed of a job on a gang on as few nodes as possible.
struct SpeedPoint {
  Allocation gpus{};  ///< size and type of the gang
  /// Iterations a second; for a rigid job a multiple of the speed that its run time implies.
  double speed = 0;

  friend bool operator==(const SpeedPoint&, const SpeedPoint&) = default;
};

/// A job as it is submitted.
struct JobView {
  JobId id{};             ///< job's number, equal for the whole replay
  std::string name{};     ///< job's name in the trace
  std::string tenant{};   ///< empty: none
  std::string user{};     ///< empty: none, or the trace does not distinguish users from tenants
  std::string account{};  ///< account that pays for it; empty: none, as for the next two
  std::string queue{};    ///< queue where it was submitted
  std::string qos{};      ///< quality of service
  std::optional<std::int64_t> priority{};  ///< priority in the trace; higher goes first
  SimTime submit{};                        ///< instant of submission
  std::optional<SimTime> deadline{};       ///< instant by which it should complete; none: best effort
  /// Run time after which it is ended; its actual run time where none was requested.
  SimDuration time_limit{};
  /// Run time on the GPUs that it requests; only for a policy that `is_clairvoyant`.
  std::optional<SimDuration> run_time{};
  GpuCount num_gpus{1};                ///< GPUs that it requests
  GpuCount max_gpus{0};                ///< most GPUs of an elastic job; 0: no limit
  std::vector<std::uint32_t> types{};  ///< types that it may use, ascending
  std::int32_t num_nodes = 0;          ///< nodes of its gang; 0: any number
  GpuCount gpus_per_node{0};           ///< GPUs on each of these nodes; 0: any number
  std::string node_features{};         ///< features that its nodes must have, in the trace's words
  /// Jobs that must end first, as `afterok:NAME,afterany:NAME`; see `parse_dependencies`.
  std::string dependencies{};
  std::int16_t gpu_share = kWholeGpu;  ///< part of each GPU that it uses, in thousandths
  std::int64_t iterations = 0;         ///< work of an elastic job; 0: it is rigid
  /// GPUs on which it can run: a point for each type, and for each size of an elastic job.
  std::vector<SpeedPoint> speeds{};

  friend bool operator==(const JobView&, const JobView&) = default;
};

/// A job that runs or waits, now.
struct LiveView {
  JobId id{};               ///< job's number
  Allocation holds{};       ///< GPUs that it holds; 0: it waits
  SimTime holds_since{};    ///< instant at which it got these GPUs
  bool must_keep = false;   ///< true if it runs on a draining node: it may not be stopped or resized
  SimDuration work_done{};  ///< time on GPUs, without lost work
  /// Longest time for which it holds GPUs from now on, by its time limit, if it runs on or starts now.
  SimDuration planned{};
  double iterations_left = 0;  ///< remaining work of an elastic job

  friend bool operator==(const LiveView&, const LiveView&) = default;
};

/// The input of a decision: events since the last one, and the state now.
struct PassEvents {
  int version = kDecisionVersion;  ///< version of these values
  SimTime now{};                   ///< instant of the decision
  bool more_to_come = false;       ///< true if a trace is replayed that has more jobs
  /// True if failures, checkpoints or costs of interruption may take time from jobs in this replay.
  bool disrupted = false;
  bool capacity_changed = false;  ///< true if nodes went out of service or came back since
  /// Jobs submitted since, in this order; in the first decision all live jobs.
  std::vector<JobView> arrived{};
  std::vector<JobId> ended{};          ///< jobs that ended since, for any reason
  std::vector<JobId> interrupted{};    ///< jobs stopped by a failing node; they wait again
  std::vector<JobId> refused{};        ///< jobs of the last decision for which placement had no room
  std::vector<std::int64_t> usable{};  ///< GPUs of each type that are in service or held
  std::vector<LiveView> live{};        ///< all jobs that run or wait, in the order of their ids

  friend bool operator==(const PassEvents&, const PassEvents&) = default;
};

/// A job that shall hold GPUs.
struct Assignment {
  JobId job{};        ///< job that gets the GPUs
  Allocation gpus{};  ///< GPUs that it shall hold

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

/// A job that ends now, only under `ProgressRule::Policy`.
struct Completion {
  JobId job{};         ///< job that ends
  SimTime end{};       ///< not later than now
  SimTime finished{};  ///< end of its work, which decides on its deadline

  friend bool operator==(const Completion&, const Completion&) = default;
};

/// The output of a decision. A live job that is not in `run` waits: it is preempted if it runs.
struct Decision {
  std::vector<Completion> complete{};  ///< running jobs that end
  std::vector<JobId> reject{};         ///< waiting jobs that never started, rejected for good
  std::vector<Assignment> run{};  ///< jobs to run, most important first: placement finds room in this order
  std::optional<SimTime> wake_at{};  ///< time of another decision, even if nothing happens before

  friend bool operator==(const Decision&, const Decision&) = default;
};

/// A policy that decides on values. Invalid decisions end the replay with an error that names policy, time,
/// job and rule. A decision is invalid if it over-commits GPUs, or names a job that is not live, a job twice
/// or a type that does not exist. It must not give a job GPUs on which it cannot run, or take them from one
/// that `must_keep` them.
///
/// Placement may have no room for a job although enough GPUs are free (`PassEvents::refused`). Then preempted
/// jobs continue in their places if their GPUs are still free. A decision costs O(live jobs).
class DecisionPolicy : public Policy {
 public:
  /// Called before the first decision, and after facts have changed live jobs: forget all jobs. The next
  /// decision has all live jobs in `arrived`.
  virtual void begin_on(const ClusterView& /*cluster*/) {}
  /// Decides which jobs hold GPUs from now on.
  virtual Decision decide(const PassEvents& events) = 0;
  /// True if it needs run times.
  virtual bool is_clairvoyant() const { return false; }

  bool can_begin_with_jobs() const override { return true; }
  void begin(const SchedulingPass& view) final;
  void schedule(SchedulingPass& pass) override;

 protected:
  /// Updates `events` to this pass.
  void gather(const SchedulingPass& pass);
  /// Carries out a decision.
  void carry_out(SchedulingPass& pass, const Decision& decision);

  PassEvents events_;  ///< events since the last decision

 private:
  JobView view_of(const SchedulingPass& pass, JobId job) const;
  LiveView live_view(const SchedulingPass& pass, JobId job) const;
  /// Refuses a decision that breaks a rule.
  void check_decision(const SchedulingPass& pass, const Decision& decision);

  std::vector<JobId> live_;  ///< ascending
  std::vector<JobId> preempted_;
  std::vector<std::int64_t> given_;   ///< [types], GPUs that the checked decision gives
  std::vector<std::uint64_t> named_;  ///< last decision that named the job, by `JobId`
  std::uint64_t num_decisions_ = 0;
};

/// A policy that decides once a round while jobs are live, at whole multiples of the round's length since
/// time 0. A decision receives all events of the round together. GPUs that become free within a round stay
/// free.
class RoundPolicy : public DecisionPolicy {
 public:
  /// Takes the length of a round, above 0.
  explicit RoundPolicy(SimDuration round) : round_(round) {}
  void schedule(SchedulingPass& pass) final;
  std::optional<SimTime> considers_at(const SchedulingPass& pass, JobId job) const final;
  WaitCause holds_back(const SchedulingPass& pass, JobId job) const final;
  /// Length of a round.
  SimDuration round() const { return round_; }

 private:
  /// Begin of the next round; none if one begins now.
  std::optional<SimTime> next_round(const SchedulingPass& pass) const;

  SimDuration round_;
};

}  // namespace vtrain
