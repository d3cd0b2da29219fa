/// Policies as a function of values: what has happened goes in (`PassEvents`), which jobs shall hold GPUs
/// comes out (`Decision`). This header is all that the author of a policy needs.
///
/// A policy derives from `DecisionPolicy` and writes `decide`, which is called at every instant at which
/// something happened, or from `RoundPolicy`, which asks at the boundaries of rounds alone. It names the jobs
/// that shall hold GPUs; the adapter compares that with what they hold, and preempts, resizes and starts.
/// Nothing refers to anything in the simulator, so that the same values can be logged, replayed, or sent to
/// another process as JSON (`decision_json.hpp`).
///
///     class ShortestFirst : public vtrain::DecisionPolicy {
///       vtrain::Decision decide(const vtrain::PassEvents& events) override { … }
///     };
///
/// Times are instants and lengths in integer nanoseconds. A job keeps its `JobId` for the whole replay; a job
/// that has not been submitted yet is never seen. `docs/example_policy.cpp` is one in full.
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

/// The version of these values. It grows when a member changes its meaning or goes; new members may come.
inline constexpr int kDecisionVersion = 1;

/// The GPUs of one type in the cluster. `Allocation::type` is its place in `ClusterView::types`.
struct TypeView {
  std::string name{};  ///< empty where the cluster names none
  std::int64_t gpus = 0;

  friend bool operator==(const TypeView&, const TypeView&) = default;
};

/// A tenant's quota of GPUs of one type.
struct QuotaView {
  std::string gpu_type{};                         ///< empty: of any type
  std::int64_t gpus = 0;                          ///< GPUs that are the tenant's own
  std::optional<std::int64_t> borrowing_limit{};  ///< the most beyond them; none: what others lend
  std::optional<std::int64_t> lending_limit{};    ///< the most of them that others may use; none: all

  friend bool operator==(const QuotaView&, const QuotaView&) = default;
};

/// A tenant, at its place in the tree.
struct TenantView {
  std::string name{};
  std::string parent{};  ///< empty: none
  double weight = 1;     ///< share among the tenants of one parent
  std::vector<QuotaView> quotas{};

  friend bool operator==(const TenantView&, const TenantView&) = default;
};

/// The cluster, as it is when all nodes are in service, and who shares it.
struct ClusterView {
  std::vector<TypeView> types{};
  /// Tenants of the tree, parents first, and behind them others whose jobs are known so far.
  std::vector<TenantView> tenants{};

  friend bool operator==(const ClusterView&, const ClusterView&) = default;
};

/// One point of T(gpus, type): how fast a job is on a gang that is on as few nodes as can be.
struct SpeedPoint {
  Allocation gpus{};
  double speed = 0;  ///< iterations a second; for a rigid job a multiple of the speed that its time tells of

  friend bool operator==(const SpeedPoint&, const SpeedPoint&) = default;
};

/// A job as it is submitted.
struct JobView {
  JobId id{};
  std::string name{};
  std::string tenant{};   ///< empty: none
  std::string user{};     ///< empty: none, or the trace does not tell users from tenants
  std::string account{};  ///< who pays for it; empty: none, as of the next two
  std::string queue{};
  std::string qos{};
  std::optional<std::int64_t> priority{};  ///< as the trace has it; more goes first
  SimTime submit{};
  std::optional<SimTime> deadline{};
  SimDuration time_limit{};  ///< after which it is ended; its run time where none was asked for
  /// Its run time on the GPUs that it asks for: only for a policy that says it `is_clairvoyant`.
  std::optional<SimDuration> run_time{};
  GpuCount num_gpus{1};                ///< that it asks for
  GpuCount max_gpus{0};                ///< the most that an elastic job may be given; 0: no limit is said
  std::vector<std::uint32_t> types{};  ///< that it may use, ascending
  std::int32_t num_nodes = 0;          ///< on which its gang must be; 0: any number
  GpuCount gpus_per_node{0};           ///< that each of them must give; 0: any number
  std::string node_features{};         ///< that its nodes must have, in the trace's words
  /// Jobs that come first, as `afterok:NAME,afterany:NAME`; see `parse_dependencies`.
  std::string dependencies{};
  std::int16_t gpu_share = kWholeGpu;  ///< part of each GPU that it uses, in thousandths
  std::int64_t iterations = 0;         ///< work of an elastic job; 0: it is rigid
  /// The GPUs on which it can run: a point for each type, and for each size of an elastic job.
  std::vector<SpeedPoint> speeds{};

  friend bool operator==(const JobView&, const JobView&) = default;
};

/// A job that runs or waits, now.
struct LiveView {
  JobId id{};
  Allocation holds{};       ///< 0 GPUs: it waits
  SimTime holds_since{};    ///< when it got what it holds
  bool must_keep = false;   ///< it runs on a node that drains, and may neither be stopped nor resized
  SimDuration work_done{};  ///< time on GPUs, without what it has lost
  /// The longest that it holds GPUs from now on, by its time limit: if it runs on, or if it is started now.
  SimDuration planned{};
  double iterations_left = 0;  ///< work still to go of an elastic job

  friend bool operator==(const LiveView&, const LiveView&) = default;
};

/// The input of a decision: events since the last one, and the state now.
struct PassEvents {
  int version = kDecisionVersion;
  SimTime now{};
  bool more_to_come = false;  ///< whether a trace is replayed that has jobs yet to come
  /// True if failures, checkpoints or costs of interruption may take time from jobs in this replay.
  bool disrupted = false;
  bool capacity_changed = false;       ///< true if nodes went out of service or came back since
  std::vector<JobView> arrived{};      ///< submitted since, in this order; at first all that are live
  std::vector<JobId> ended{};          ///< jobs that ended since, for any reason
  std::vector<JobId> interrupted{};    ///< stopped by a failing node; they wait again
  std::vector<JobId> refused{};        ///< jobs of the last decision for which placement had no room
  std::vector<std::int64_t> usable{};  ///< GPUs of each type that are in service, or held
  std::vector<LiveView> live{};        ///< all that run or wait, in the order of their ids

  friend bool operator==(const PassEvents&, const PassEvents&) = default;
};

/// A job that shall hold GPUs.
struct Assignment {
  JobId job{};
  Allocation gpus{};

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

/// A job that ends now, under `ProgressRule::Policy` alone.
struct Completion {
  JobId job{};
  SimTime end{};       ///< not later than now
  SimTime finished{};  ///< when its work was done, which decides on its deadline

  friend bool operator==(const Completion&, const Completion&) = default;
};

/// The output of a decision. A live job that is not in `run` waits: it is preempted if it runs.
struct Decision {
  std::vector<Completion> complete{};
  std::vector<JobId> reject{};       ///< waiting jobs that never started, turned away for good
  std::vector<Assignment> run{};     ///< most important first: placement finds room in this order
  std::optional<SimTime> wake_at{};  ///< decide again then, even if nothing happens before

  friend bool operator==(const Decision&, const Decision&) = default;
};

/// A policy that decides on values. The replay ends with an error that names policy, time, job and rule if a
/// decision over-commits GPUs, names a job that is not live or a type that is not there, names a job twice,
/// gives a job GPUs on which it cannot run, or takes them from one that `must_keep` them.
///
/// Placement may have no room for a job although there are GPUs enough (`PassEvents::refused`). Then jobs
/// that were preempted go on where they were, if their GPUs are still free. A decision costs O(live jobs).
class DecisionPolicy : public Policy {
 public:
  /// Called before the first decision, and when facts have changed live jobs: forget them. The next decision
  /// has all live jobs among its `arrived`.
  virtual void begin_on(const ClusterView& /*cluster*/) {}
  /// Decides who holds GPUs from now on.
  virtual Decision decide(const PassEvents& events) = 0;
  /// True if it is to know run times.
  virtual bool is_clairvoyant() const { return false; }

  bool begins_anywhere() const override { return true; }
  void begin(const SchedulingPass& view) final;
  void schedule(SchedulingPass& pass) override;

 protected:
  /// Brings `events` up to this pass.
  void gather(const SchedulingPass& pass);
  /// Carries a decision out.
  void carry_out(SchedulingPass& pass, const Decision& decision);

  PassEvents events_;  ///< since the last decision

 private:
  JobView view_of(const SchedulingPass& pass, JobId job) const;
  LiveView live_view(const SchedulingPass& pass, JobId job) const;
  /// Refuses a decision that breaks a rule.
  void check(const SchedulingPass& pass, const Decision& decision);

  std::vector<JobId> live_;  ///< ascending
  std::vector<JobId> preempted_;
  std::vector<std::int64_t> given_;   ///< [types]: by the decision that is checked
  std::vector<std::uint64_t> named_;  ///< by `JobId`: the last decision that named it
  std::uint64_t num_decisions_ = 0;
};

/// A policy that decides once a round, at whole multiples of its length since time 0, as long as jobs are
/// live. What happened in between it sees together. GPUs that come free within a round stay free.
class RoundPolicy : public DecisionPolicy {
 public:
  explicit RoundPolicy(SimDuration round) : round_(round) {}
  void schedule(SchedulingPass& pass) final;
  SimDuration round() const { return round_; }

 private:
  SimDuration round_;
};

}  // namespace vtrain
