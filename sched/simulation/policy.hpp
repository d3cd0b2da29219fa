/// The interface between the simulator and a scheduling policy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "sched/disruption/segment_timing.hpp"
#include "sched/placement/placement.hpp"
#include "sched/simulation/reasons.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

struct ClusterSpec;
struct NodeCalendar;
struct SimulationState;
struct TenantTree;
class GpusByType;

/// Stage of a job's life.
enum class JobState : std::uint8_t {
  NotSubmitted,  ///< submission lies in the future
  Waiting,       ///< submitted (or preempted) and without GPUs
  Running,       ///< holds GPUs
  Completed,     ///< ended with its work done
  Failed,        ///< ended at its time limit before its work was done, see `ProgressRule`
  Rejected,      ///< larger than the cluster, or rejected by admission control
  Unfinished,    ///< still waiting when no event was left
  Cancelled,     ///< withdrawn by a fact, see `JobCancelled`
};

/// A number of GPUs for a job, all of one type if a type is named.
struct Allocation {
  GpuCount gpus{0};  ///< number of GPUs
  /// Number of the type in `GpuTypes`; none: any type that the job may use.
  std::optional<std::uint32_t> type{};

  friend bool operator==(const Allocation&, const Allocation&) = default;
};

/// Total time on GPUs of a rigid job where jobs are ended at their time limits.
inline SimDuration time_on_gpus(const Job& job) {
  return std::min(job.duration, job.time_limit());
}

/// Knowledge of a policy beyond what jobs show, as a value. Each policy has a type of its own.
class PolicyMemory {
 public:
  virtual ~PolicyMemory() = default;
  /// The memory as JSON, which `Policy::read_memory` reads.
  virtual nlohmann::json to_json() const = 0;
};

/// One scheduling pass, at one instant: the state that a policy sees and its calls that change it. It is
/// valid during one call of `Policy::schedule`. At an instant all ends come first, then changes of nodes,
/// then all arrivals, then one pass.
///
/// Each call takes effect immediately, so a policy sees the cluster with its own changes. The simulator owns
/// progress, placement and accounting. It refuses to start a job that is not waiting and to preempt one that
/// is not running; the error names the policy and the job.
class SchedulingPass {
 public:
  virtual ~SchedulingPass() = default;

  /// Jobs that ended at this instant, in the order in which their ends were scheduled.
  virtual std::span<const JobId> ended() const = 0;
  /// Jobs that were submitted at this instant, in trace order.
  virtual std::span<const JobId> arrived() const = 0;

  /// Places the gang and starts the job. False, with nothing changed, if the cluster has no room for the gang
  /// under the placement in use. The job must be waiting.
  virtual bool try_start(JobId job) = 0;
  /// Starts the job on the GPUs given. A number other than the requested one must be a level of the job's
  /// curve, only under `ProgressRule::Iterations` and `Policy`. A type is only for a policy that
  /// `chooses_types`.
  virtual bool try_start(JobId job, const Allocation& gpus) = 0;
  /// Starts the job on this number of GPUs, of any type that it may use.
  bool try_start(JobId job, GpuCount num_gpus) { return try_start(job, Allocation{num_gpus}); }
  /// Gives a running job other GPUs, as in `try_start`. False, with nothing changed, if the cluster has no
  /// room for the gang.
  virtual bool try_resize(JobId job, const Allocation& gpus) = 0;
  /// Gives a running job this number of GPUs, of any type that it may use.
  bool try_resize(JobId job, GpuCount num_gpus) { return try_resize(job, Allocation{num_gpus}); }
  /// Takes a running job's GPUs away. The job waits again and keeps its work.
  virtual void preempt(JobId job) = 0;
  /// Takes a running job's GPUs away, as a node that fails does: the job waits again, and has lost the work
  /// since its last checkpoint. Only for a policy that `may_requeue`.
  virtual void requeue(JobId job) = 0;
  /// Ends a job that runs or waits, now and for good, as `Cancelled`.
  virtual void cancel(JobId job) = 0;
  /// Takes back a preemption or a resize of this pass, the first if there were several. The job runs on with
  /// the GPUs that it had, as if it had never been stopped. False, with nothing changed, if there is nothing
  /// to take back, or if some of these GPUs have been taken since or are out of service.
  virtual bool try_resume(JobId job) = 0;
  /// Rejects a waiting job for good. `earliest_deadline`: with that deadline it would have been admitted;
  /// none if the policy knows no such deadline.
  virtual void reject(JobId job, std::optional<SimTime> earliest_deadline) = 0;
  /// Rejects a waiting job for good, without more to say.
  void reject(JobId job) { reject(job, std::nullopt); }
  /// Promises that a live job will be done by its deadline. A policy with admission calls it once when it
  /// admits a job; metrics count the promises kept and broken. Without effect for a job without a deadline.
  virtual void promise(JobId job) = 0;
  /// Ends a running job now and records `end`, not later than now, as the time of its end. It meets its
  /// deadline if `finished`, the end of its work, is not later. Only under `ProgressRule::Policy`.
  virtual void complete(JobId job, SimTime end, SimTime finished) = 0;
  /// Requests a pass at `time` (later than now) even if nothing arrives or ends then. The last request
  /// replaces earlier ones, and any pass cancels it. `SimTime::max()` ends the replay with the error that the
  /// clock cannot represent the time for which the policy waits.
  virtual void wake_at(SimTime time) = 0;

  /// Jobs that a failing node stopped at this instant, in the order of their ids. They wait again, as after a
  /// preemption, but have lost the work since their last checkpoint.
  std::span<const JobId> interrupted() const { return interrupted_; }
  /// True if anything other than the policy may stop jobs or cost them time in this replay.
  bool disrupted() const { return !overheads_.empty(); }
  /// True if jobs may be faster or slower than predicted (`RunTimeErrors`). Work is then measured in
  /// predicted time: `work_done` and `remaining_iterations` tell how fast a job really is. Jobs end by
  /// themselves under every `ProgressRule`, and `complete` must not be called.
  bool run_times_differ() const { return run_times_differ_; }
  /// True if nodes went out of service or came back at this instant.
  bool capacity_changed() const { return capacity_changed_; }

  /// The instant of the pass.
  SimTime now() const { return now_; }
  /// GPUs in service that no job holds now.
  GpuCount free_gpus() const { return free_gpus_; }
  /// GPUs that jobs hold plus free ones: all of the cluster except those out of service. GPUs of a node that
  /// takes no new jobs count until the jobs on them release them.
  GpuCount usable_gpus() const { return usable_gpus_; }
  /// Jobs on draining nodes, as the pass begins, in the order of their ids. Do not preempt them: their nodes
  /// are out of service, so the GPUs cannot be reused.
  std::span<const JobId> staying() const { return staying_; }
  /// GPUs that the `staying` jobs hold, each GPU once, also those on other nodes.
  std::span<const NodeShare> kept_gpus() const { return kept_gpus_; }
  /// True if jobs use parts of GPUs and share GPUs with others. Then numbers of GPUs say little about the
  /// jobs that fit.
  bool shares_gpus() const { return shares_gpus_; }
  /// GPUs of the whole cluster.
  GpuCount total_gpus() const { return total_gpus_; }
  /// GPUs of the cluster by type; null where all GPUs are alike to jobs.
  const GpusByType* gpus_by_type() const { return gpus_by_type_; }
  /// Node groups of the cluster.
  const ClusterSpec& cluster() const { return *cluster_; }
  /// Tenants with weights and quotas, partitions and QoS; jobs may name others.
  const TenantTree& tenants() const { return *tenants_; }
  /// Names of tenants by `TenantId`.
  const NameTable& tenant_names() const { return names_->tenants; }
  /// Names of users by `UserId`.
  const NameTable& user_names() const { return names_->users; }
  /// Names of accounts by `AccountId`.
  const NameTable& account_names() const { return names_->accounts; }
  /// Names of queues by `QueueId`.
  const NameTable& queue_names() const { return names_->queues; }
  /// Names of GPU types by `GpuTypeId`, as jobs request them.
  const NameTable& gpu_type_names() const { return names_->gpu_types; }
  /// Names of qualities of service by `QosId`.
  const NameTable& qos_names() const { return names_->qos_names; }
  /// Requirements of a job other than GPUs and time; null: none.
  const JobRequirements* requirements(JobId job) const { return names_->requirements_of(jobs_[job.value]); }
  /// The job's entry in the trace.
  const Job& job(JobId job) const { return jobs_[job.value]; }
  /// All jobs submitted so far, by `JobId`.
  std::span<const Job> jobs() const { return jobs_; }
  /// True if later jobs are known or expected (`SimulationOptions::expects_more`). For policies that
  /// reproduce a simulator which looks ahead at the trace.
  bool more_to_come() const { return more_to_come_ || expects_more_; }
  /// Jobs that hold GPUs when `Policy::begin` is called, in the order of their ids. Valid only there.
  std::span<const JobId> running() const { return running_; }
  /// Jobs that wait when `Policy::begin` is called, in the order of their ids. Valid only there.
  std::span<const JobId> waiting() const { return waiting_; }
  /// Memory of the policy whose simulation the state comes from, when `Policy::begin` is called; null if
  /// there is none. Its jobs are numbered as here. Valid only there.
  const PolicyMemory* memory() const { return memory_; }
  /// True if a policy promised to meet the job's deadline.
  virtual bool has_promise(JobId /*job*/) const { return false; }
  /// True if the job ever held GPUs.
  bool has_started(JobId job) const { return progress_[job.value].run > 0; }
  /// State of a job now.
  JobState state(JobId job) const { return progress_[job.value].state; }
  /// True if the job waits or runs.
  bool is_live(JobId job) const { return state(job) == JobState::Running || state(job) == JobState::Waiting; }
  /// Time for which the job has held its GPUs so far.
  SimDuration attained(JobId job) const {
    const JobProgress& progress = progress_[job.value];
    return progress.state == JobState::Running ? progress.attained + (now_ - progress.resumed)
                                               : progress.attained;
  }
  /// Instant at which a running job got its current gang.
  SimTime holds_since(JobId job) const { return progress_[job.value].resumed; }
  /// Work that the job has done and not lost, as time on its GPUs: `attained` without the time that
  /// interruptions, checkpoints and failures cost.
  SimDuration work_done(JobId job) const {
    if (overheads_.empty()) return attained(job);
    const JobProgress& progress = progress_[job.value];
    const JobOverhead& overhead = overheads_[job.value];
    const SimDuration before = progress.attained - overhead.lost;
    return progress.state == JobState::Running ? before + overhead.plan.work(now_ - progress.resumed)
                                               : before;
  }
  /// Instant of a running job's current segment at which its `work_done` reached `work`. The job must have
  /// reached it by now. If it had before this segment, the result is the end of the segment's setup.
  SimTime when_done(JobId job, SimDuration work) const {
    const JobProgress& progress = progress_[job.value];
    const JobOverhead overhead = overheads_.empty() ? JobOverhead{} : overheads_[job.value];
    const SimDuration before = progress.attained - overhead.lost;
    return std::min(progress.resumed + overhead.plan.time_for(std::max(work - before, SimDuration(0))), now_);
  }
  /// Work still to do, as time on its GPUs. Only for clairvoyant policies.
  SimDuration remaining(JobId job) const { return jobs_[job.value].duration - work_done(job); }
  /// Longest segment of a waiting job that starts now: its time limit minus the work done, plus the time of
  /// restart and checkpoints.
  SimDuration planned_time(JobId job) const {
    return overheads_.empty() ? jobs_[job.value].time_limit() : overheads_[job.value].planned_time;
  }
  /// Latest end of the job's current segment, or of its last one if it does not run.
  SimTime planned_end(JobId job) const {
    if (!overheads_.empty()) return overheads_[job.value].planned_end;
    return saturating_sum(progress_[job.value].resumed, jobs_[job.value].time_limit());
  }
  /// Longest time for which the job holds GPUs from now on. It runs on without a stop or, if it waits, starts
  /// now.
  SimDuration planned_remaining(JobId job) const {
    if (overheads_.empty()) return jobs_[job.value].time_limit() - attained(job);
    const JobOverhead& overhead = overheads_[job.value];
    return state(job) == JobState::Running ? overhead.planned_end - now_ : overhead.planned_time;
  }
  /// GPUs that the job holds now.
  GpuCount held_gpus(JobId job) const {
    const JobProgress& progress = progress_[job.value];
    return progress.state == JobState::Running ? progress.num_gpus : GpuCount(0);
  }
  /// Speed of the job by number of GPUs; null if it is rigid.
  const SpeedByGpus* curve(JobId job) const {
    const CurveId curve = jobs_[job.value].curve;
    return curve ? &names_->curves[curve.value] : nullptr;
  }
  /// T(gpus, type) on a packed gang of these GPUs, 0 where the job cannot run there. Iterations a second for
  /// an elastic job; for a rigid one a multiple of the speed that its `duration` implies. Types differ where
  /// the predictor knows the job and placement knows nodes. Without a type: the type used to price the job.
  virtual double speed(JobId job, const Allocation& gpus) const = 0;
  /// Predicted timing of a running job's current segment, or of its last one.
  SegmentTiming segment(JobId job) const {
    return overheads_.empty() ? SegmentTiming{} : overheads_[job.value].predicted;
  }
  /// Timing of a segment that begins after an interruption, on the slowest gang of these GPUs that placement
  /// may choose.
  virtual SegmentTiming slowest_segment(JobId /*job*/, const Allocation& /*gpus*/) const { return {}; }
  /// Timing of the segment that would begin if a waiting job started now. None if it finds no room.
  virtual std::optional<SegmentTiming> segment_if_started(JobId /*job*/, const Allocation& /*gpus*/) {
    return SegmentTiming{};
  }
  /// True if a gang finds room wherever enough GPUs (of its type) are free.
  bool takes_any_gpus() const { return takes_any_gpus_; }
  /// True if interruptions, checkpoints or the places of gangs may cost jobs time.
  bool has_costs() const { return has_costs_; }
  /// Allocation that the job holds now; without a type where types do not matter.
  Allocation held(JobId job) const;
  /// True if somebody reads why this job waits or is rejected, so that a policy may take time to find out.
  bool explains(JobId job) const { return job == explained_; }
  /// Ends the replay because the decision on a job breaks a rule. `rule` names it, as part of a sentence.
  [[noreturn]] virtual void refuse(JobId job, std::string_view rule) const = 0;
  /// Iterations that an elastic job has still to do, under `ProgressRule::Iterations` and `Policy`.
  double remaining_iterations(JobId job) const {
    const JobProgress& progress = progress_[job.value];
    const double left = static_cast<double>(jobs_[job.value].iterations) - progress.iterations;
    if (progress.state != JobState::Running) return left;
    const SimDuration held = now_ - progress.resumed;
    const SimDuration work = overheads_.empty() ? held : overheads_[job.value].plan.work(held);
    return left - progress.speed * to_seconds(work);
  }

 protected:
  /// The changing part of a job's state.
  struct JobProgress {
    SimTime resumed{};        ///< start of the current segment
    SimDuration attained{0};  ///< time on GPUs in earlier segments
    double iterations = 0;    ///< iterations of earlier segments of an elastic job
    double speed = 0;         ///< iterations a second in this segment
    GpuCount num_gpus{0};     ///< GPUs held in this segment
    std::uint32_t run = 0;    ///< number of starts so far; tells a stale end event from a live one
    JobState state = JobState::NotSubmitted;  ///< state now
  };

  SimTime now_{};                             ///< value of `now()`
  GpuCount free_gpus_{0};                     ///< value of `free_gpus()`
  GpuCount usable_gpus_{0};                   ///< value of `usable_gpus()`
  GpuCount total_gpus_{0};                    ///< value of `total_gpus()`
  bool run_times_differ_ = false;             ///< value of `run_times_differ()`
  bool capacity_changed_ = false;             ///< value of `capacity_changed()`
  bool takes_any_gpus_ = true;                ///< value of `takes_any_gpus()`
  bool has_costs_ = false;                    ///< value of `has_costs()`
  bool shares_gpus_ = false;                  ///< value of `shares_gpus()`
  bool more_to_come_ = false;                 ///< later jobs are known
  bool expects_more_ = false;                 ///< value of `SimulationOptions::expects_more`, until the end
  const PolicyMemory* memory_ = nullptr;      ///< value of `memory()`
  JobId explained_{};                         ///< job that `explains` names, if any
  std::vector<JobId> running_;                ///< value of `running()`
  std::vector<JobId> waiting_;                ///< value of `waiting()`
  std::vector<JobId> staying_;                ///< value of `staying()`
  std::vector<NodeShare> kept_gpus_;          ///< value of `kept_gpus()`
  std::vector<JobId> interrupted_;            ///< value of `interrupted()`
  const ClusterSpec* cluster_ = nullptr;      ///< value of `cluster()`, never null in a pass
  const GpusByType* gpus_by_type_ = nullptr;  ///< value of `gpus_by_type()`
  const TenantTree* tenants_ = nullptr;       ///< value of `tenants()`, never null in a pass
  const Workload* names_ = nullptr;           ///< also has jobs that policies must not see yet
  std::span<const Job> jobs_;                 ///< value of `jobs()`
  std::span<const JobProgress> progress_;     ///< progress by `JobId`
  std::span<const JobOverhead> overheads_;    ///< empty unless something costs jobs time
};

/// Rule by which jobs progress and end under a policy. A rigid job is ended at its time limit under every
/// rule (except see `Policy::repeats_log`). An elastic one is ended there only under `Duration`, because the
/// limit was set for other GPUs than it may get.
enum class ProgressRule : std::uint8_t {
  Duration,  ///< gangs have the requested size; a job ends when it has run for its duration
  /// Gangs may have any size of the job's curve; a job ends when its iterations are done. Rigid jobs are as
  /// under `Duration`.
  Iterations,
  Policy,  ///< the policy ends jobs, unless `SchedulingPass::run_times_differ`: for reproducing simulators
           ///< with an arithmetic of their own
};

/// A number that a policy reports about its own work, for `summary.json` and for people.
struct PolicyFigure {
  std::string_view name;  ///< a key with its unit, such as `largest_gap_percent`
  double value = 0;       ///< value in the unit of `name`
};

/// Decides which jobs hold GPUs. A policy is a pure decision: it has no clock, does no I/O and uses no global
/// state. Its memory follows only from the passes it was given, so the same trace gives the same schedule.
class Policy {
 public:
  virtual ~Policy() = default;
  /// Called before the first pass, and again before a pass if a `Fact` has changed the jobs. Forgets all jobs
  /// and takes in those that run and wait now (`running`, `waiting`). A replay of a trace begins with none.
  virtual void begin(const SchedulingPass& /*view*/) {}
  /// True if `begin` takes in jobs that run and wait. Otherwise the policy can only begin with none.
  virtual bool can_begin_with_jobs() const { return false; }
  /// Memory with which a new policy of equal parameters goes on exactly as this one would. Jobs are numbered
  /// by their places in `live`, the live jobs in the order of their ids. Null: what jobs show suffices.
  virtual std::shared_ptr<const PolicyMemory> memory(const SchedulingPass& /*view*/,
                                                     std::span<const JobId> /*live*/) const {
    return {};
  }
  /// Reads the memory of a policy of equal parameters. `state` is the rest of the state that it belongs to.
  /// Errors: a policy without memory, the memory of another policy, damaged JSON, values that contradict each
  /// other or the state.
  virtual Result<std::shared_ptr<const PolicyMemory>> read_memory(const nlohmann::json& memory,
                                                                  const SimulationState& state) const;
  /// True if it promises to meet deadlines (`SchedulingPass::promise`). Only a promise then counts as a yes.
  virtual bool gives_promises() const { return false; }
  /// True if a job is decided in the pass of its submission, whatever has come before. Known after `begin`.
  virtual bool decides_at_once() const { return true; }
  /// Called once at every instant at which something arrived or ended, nodes changed, or a pass was requested
  /// with `wake_at`.
  virtual void schedule(SchedulingPass& pass) = 0;

  // Reasons for which jobs wait. These functions are called after a pass, only where reasons are recorded.

  /// Time of the decision for which a waiting job is due. None if the policy has considered the job and now
  /// starts it as soon as it finds room.
  virtual std::optional<SimTime> considers_at(const SchedulingPass&, JobId) const { return {}; }
  /// `Dependency` or `Limit` if the policy would not start the job now on an empty cluster either.
  virtual std::optional<WaitReason> forbids(const SchedulingPass&, JobId) const { return {}; }
  /// Cause for which the policy leaves a job waiting although placement has room for it.
  virtual WaitCause holds_back(const SchedulingPass&, JobId) const { return {}; }
  /// Reason for which a waiting job has not started in the last pass, in the scheduler's own words.
  virtual PolicyWords words_on(JobId) const { return {}; }
  /// Appends the waiting jobs that no other job holds back by its place in the queue or by a reservation. For
  /// policies whose `holds_back` names other jobs.
  virtual void append_heads(std::vector<JobId>&) const {}

  /// Rule by which jobs progress and end.
  virtual ProgressRule progress_rule() const { return ProgressRule::Duration; }
  /// True if it repeats the schedule of a log. Then jobs are not ended at their time limits, and under
  /// `count` placement they start even if fewer GPUs are free than they need.
  virtual bool repeats_log() const { return false; }
  /// Figures about the passes so far beyond the outcomes of jobs: always the same names in the same order.
  virtual std::vector<PolicyFigure> figures() const { return {}; }
  /// True if it chooses the type of a gang (`Allocation::type`). Then GPUs are counted by type
  /// (`SchedulingPass::gpus_by_type`) if the cluster has several types, whatever jobs request.
  virtual bool chooses_types() const { return false; }
  /// True if it may call `SchedulingPass::requeue`. Then lost work is accounted for in every replay.
  virtual bool may_requeue() const { return false; }
  /// Checks before a replay that it can decide on these jobs, on a cluster that these tenants share: that
  /// jobs name accounts, queues and partitions that it knows. Returns sentences for people on what it
  /// assumes, and on what it leaves out of the files that it was made of. Errors name the job.
  virtual Result<std::vector<std::string>> check(const Workload&, const ClusterSpec&,
                                                 const TenantTree&) const {
    return std::vector<std::string>{};
  }
  /// Takes in, before the first pass, nodes that are kept for some users or that take no jobs. False if the
  /// policy knows no nodes by name, so that none are kept. Error: a node that it does not know.
  virtual Result<bool> follow(const NodeCalendar&) { return false; }
  /// A new policy of the same arguments and calendar, which reads no file again. Null if it must be made of
  /// its arguments. Threads may call it together.
  virtual std::unique_ptr<Policy> fresh() const { return nullptr; }
  /// Returns paths of files that it was made of and that no parameter of its own names: those of a folder.
  virtual std::vector<std::string> files() const { return {}; }
  /// True if failures, checkpoints and costs of interruption may disrupt its jobs. Under
  /// `ProgressRule::Policy` such a policy must measure progress by `SchedulingPass::work_done` in passes that
  /// are `disrupted`.
  virtual bool supports_disruptions() const { return progress_rule() != ProgressRule::Policy; }
};

}  // namespace vtrain
