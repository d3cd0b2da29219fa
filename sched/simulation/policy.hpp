/// The interface between the simulator and a scheduling policy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sched/disruption/segment_timing.hpp"
#include "sched/placement/placement.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

struct ClusterSpec;
struct TenantTree;
class GpusByType;

/// Where a job is in its life.
enum class JobState : std::uint8_t {
  NotSubmitted,  ///< its submission lies in the future
  Waiting,       ///< submitted (or preempted) and without GPUs
  Running,
  Completed,
  Failed,      ///< ended at its requested time before its work was done, see `ProgressRule`
  Rejected,    ///< larger than the cluster, or turned away by admission
  Unfinished,  ///< still waiting when nothing more could happen
  Cancelled,   ///< withdrawn from outside, see `JobCancelled`
};

/// GPUs for a job: so many, all of one type unless none is named.
struct Allocation {
  GpuCount gpus{0};
  /// By its number in `GpuTypes`; none: any that the job may use.
  std::optional<std::uint32_t> type{};

  friend bool operator==(const Allocation&, const Allocation&) = default;
};

/// Time for which a rigid job holds its GPUs in all where jobs are ended at their time limits.
inline SimDuration time_on_gpus(const Job& job) {
  return std::min(job.duration, job.time_limit());
}

/// One scheduling pass, at one instant: what a policy may see and what it may say. It is valid during one
/// call of `Policy::schedule`. At an instant all ends come first, then changes of nodes, then all arrivals,
/// then one pass.
///
/// Each call takes effect immediately, so a policy sees the cluster it has made so far. The simulator owns
/// progress, placement and accounting; it refuses, with the policy's name and the job, to start what is not
/// waiting or preempt what is not running.
class SchedulingPass {
 public:
  virtual ~SchedulingPass() = default;

  /// Jobs that ended at this instant, in the order in which their ends were foreseen.
  virtual std::span<const JobId> ended() const = 0;
  /// Jobs that were submitted at this instant, in trace order.
  virtual std::span<const JobId> arrived() const = 0;

  /// Places the gang and starts it; false, with nothing changed, when the cluster has no room for it under
  /// the placement in force. The job must be waiting.
  virtual bool try_start(JobId job) = 0;
  /// The same on these GPUs: another number, a level of the job's curve, only under
  /// `ProgressRule::Iterations` and `Policy`; a type only for a policy that `chooses_types`.
  virtual bool try_start(JobId job, const Allocation& gpus) = 0;
  bool try_start(JobId job, GpuCount num_gpus) { return try_start(job, Allocation{num_gpus}); }
  /// Gives a running job other GPUs, as in `try_start`; false, with nothing changed, when the cluster has no
  /// room for the gang.
  virtual bool try_resize(JobId job, const Allocation& gpus) = 0;
  bool try_resize(JobId job, GpuCount num_gpus) { return try_resize(job, Allocation{num_gpus}); }
  /// Takes a running job's GPUs away. It waits again and has lost nothing of its work.
  virtual void preempt(JobId job) = 0;
  /// Takes a preemption or a resizing back that was said in this pass, the first if there were several: the
  /// job runs on with the GPUs that it had, as if nothing had been said. False, with nothing changed, if
  /// nothing was, or some of these GPUs have been taken since, or are out of service.
  virtual bool try_resume(JobId job) = 0;
  /// Turns a waiting job away for good.
  virtual void reject(JobId job) = 0;
  /// Ends a running job now with `end`, not later than now, as the time of its end. Its deadline is met if
  /// its work was `finished` by then. Only under `ProgressRule::Policy`.
  virtual void complete(JobId job, SimTime end, SimTime finished) = 0;
  /// Asks for a pass at `time` (later than now) even if nothing arrives or ends then. Only the last request
  /// counts, and only until the next pass, whatever caused it. `SimTime::max()` ends the replay with the
  /// error that the clock cannot tell what the policy waits for.
  virtual void wake_at(SimTime time) = 0;

  /// Jobs that a failing node stopped at this instant, in the order of their ids. They wait again, as if they
  /// had been preempted, and have lost the work since their last checkpoint.
  std::span<const JobId> interrupted() const { return interrupted_; }
  /// Whether anything may cost jobs time in this replay, or stop them, beside the policy.
  bool disrupted() const { return !overheads_.empty(); }
  /// Whether nodes went out of service or came back at this instant.
  bool capacity_changed() const { return capacity_changed_; }

  /// This instant.
  SimTime now() const { return now_; }
  /// GPUs that no job holds now and that are in service.
  GpuCount free_gpus() const { return free_gpus_; }
  /// GPUs that jobs hold and those that are free: all of the cluster but what is out of service. GPUs of a
  /// node that takes no new jobs count until the jobs on them give them back.
  GpuCount usable_gpus() const { return usable_gpus_; }
  /// Jobs that run on nodes that have gone out of service since (drained ones), as the pass begins, in the
  /// order of their ids. They are to keep what they hold: the GPUs there are of use to nobody else.
  std::span<const JobId> staying() const { return staying_; }
  /// What these jobs hold, each GPU once: also those on other nodes.
  std::span<const NodeShare> kept_gpus() const { return kept_gpus_; }
  /// Whether jobs use parts of GPUs, and leave the rest of them to others: then numbers of GPUs say little of
  /// what fits.
  bool shares_gpus() const { return shares_gpus_; }
  /// GPUs of the whole cluster.
  GpuCount total_gpus() const { return total_gpus_; }
  /// The same by type; null where all GPUs are alike to jobs.
  const GpusByType* gpus_by_type() const { return gpus_by_type_; }
  /// What the cluster is made of.
  const ClusterSpec& cluster() const { return *cluster_; }
  /// Tenants with weights and quotas, partitions and QoS; jobs may name others.
  const TenantTree& tenants() const { return *tenants_; }
  /// Names by `TenantId`, `UserId`, `AccountId`, `QueueId` and `QosId`.
  const NameTable& tenant_names() const { return names_->tenants; }
  const NameTable& user_names() const { return names_->users; }
  const NameTable& account_names() const { return names_->accounts; }
  const NameTable& queue_names() const { return names_->queues; }
  const NameTable& qos_names() const { return names_->qos_names; }
  /// Requirements of a job apart from GPUs and time; null: none.
  const JobRequirements* requirements(JobId job) const { return names_->requirements_of(jobs_[job.value]); }
  /// What the trace says of a job.
  const Job& job(JobId job) const { return jobs_[job.value]; }
  /// All jobs submitted so far, by `JobId`.
  std::span<const Job> jobs() const { return jobs_; }
  /// Whether jobs are known to come later. For policies that repeat a simulator which looks ahead that far.
  bool more_to_come() const { return more_to_come_; }
  /// In `Policy::begin`: the jobs that hold GPUs, and those that wait, in the order of their ids.
  std::span<const JobId> running() const { return running_; }
  std::span<const JobId> waiting() const { return waiting_; }
  JobState state(JobId job) const { return progress_[job.value].state; }
  /// Whether the job waits or runs.
  bool is_live(JobId job) const { return state(job) == JobState::Running || state(job) == JobState::Waiting; }
  /// Time for which the job has held its GPUs so far.
  SimDuration attained(JobId job) const {
    const JobProgress& progress = progress_[job.value];
    return progress.state == JobState::Running ? progress.attained + (now_ - progress.resumed)
                                               : progress.attained;
  }
  /// Instant at which a running job got the GPUs that it holds.
  SimTime holds_since(JobId job) const { return progress_[job.value].resumed; }
  /// Work that the job has done and not lost, as time on its GPUs: what it has attained, without the time
  /// that interruptions, checkpoints and failures cost it.
  SimDuration work_done(JobId job) const {
    if (overheads_.empty()) return attained(job);
    const JobProgress& progress = progress_[job.value];
    const JobOverhead& overhead = overheads_[job.value];
    const SimDuration before = progress.attained - overhead.lost;
    return progress.state == JobState::Running ? before + overhead.plan.work(now_ - progress.resumed)
                                               : before;
  }
  /// The instant of a running job's current run at which its `work_done` came to `work`, which it has by now;
  /// the first at which it could work if it was that much before.
  SimTime when_done(JobId job, SimDuration work) const {
    const JobProgress& progress = progress_[job.value];
    const JobOverhead overhead = overheads_.empty() ? JobOverhead{} : overheads_[job.value];
    const SimDuration before = progress.attained - overhead.lost;
    return std::min(progress.resumed + overhead.plan.time_for(std::max(work - before, SimDuration(0))), now_);
  }
  /// Work still to go, as time on its GPUs. Only clairvoyant policies ask.
  SimDuration remaining(JobId job) const { return jobs_[job.value].duration - work_done(job); }
  /// The longest that a run takes which a waiting job begins now: its time limit, less what it has done of
  /// it, plus what starting again and checkpoints cost.
  SimDuration planned_time(JobId job) const {
    return overheads_.empty() ? jobs_[job.value].time_limit() : overheads_[job.value].planned_time;
  }
  /// When the job's current run, or its last one if it does not run, is or was to end at the latest.
  SimTime planned_end(JobId job) const {
    if (!overheads_.empty()) return overheads_[job.value].planned_end;
    return saturating_sum(progress_[job.value].resumed, jobs_[job.value].time_limit());
  }
  /// Time for which the job holds its GPUs from now on at the longest, if it runs on without a stop or, when
  /// it waits, starts now.
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
  /// How fast the job is on other numbers of GPUs; null when it is rigid.
  const SpeedByGpus* curve(JobId job) const {
    const CurveId curve = jobs_[job.value].curve;
    return curve ? &curves_[curve.value] : nullptr;
  }
  /// T(gpus, type): iterations a second of an elastic job, or the speed of a rigid one as a multiple of that
  /// which its `duration` tells of, on these GPUs of a packed gang. 0 where it cannot run. Types differ where
  /// the predictor knows the job and placement knows nodes. Without a type: that by which it is priced.
  virtual double speed(JobId job, const Allocation& gpus) const = 0;
  /// What the job holds now; without a type where GPUs are not told apart.
  Allocation held(JobId job) const;
  /// Ends the replay as the decision on a job breaks a rule: `rule` says which, as part of a sentence.
  [[noreturn]] virtual void refuse(JobId job, std::string_view rule) const = 0;
  /// Iterations still to go under `ProgressRule::Iterations`.
  double remaining_iterations(JobId job) const {
    const JobProgress& progress = progress_[job.value];
    const double left = static_cast<double>(jobs_[job.value].iterations) - progress.iterations;
    if (progress.state != JobState::Running) return left;
    const SimDuration held = now_ - progress.resumed;
    const SimDuration work = overheads_.empty() ? held : overheads_[job.value].plan.work(held);
    return left - progress.speed * to_seconds(work);
  }

 protected:
  /// The moving part of a job.
  struct JobProgress {
    SimTime resumed{};        ///< start of the current run
    SimDuration attained{0};  ///< time on GPUs in earlier runs
    double iterations = 0;    ///< done in earlier runs, under `ProgressRule::Iterations`
    double speed = 0;         ///< iterations a second in this run
    GpuCount num_gpus{0};     ///< held in this run
    std::uint32_t run = 0;    ///< number of starts so far; tells a stale end event from a live one
    JobState state = JobState::NotSubmitted;
  };

  SimTime now_{};
  GpuCount free_gpus_{0};
  GpuCount usable_gpus_{0};
  GpuCount total_gpus_{0};
  bool capacity_changed_ = false;
  bool shares_gpus_ = false;
  bool more_to_come_ = false;
  std::vector<JobId> running_;
  std::vector<JobId> waiting_;
  std::vector<JobId> staying_;
  std::vector<NodeShare> kept_gpus_;
  std::vector<JobId> interrupted_;
  const ClusterSpec* cluster_ = nullptr;
  const GpusByType* gpus_by_type_ = nullptr;
  const TenantTree* tenants_ = nullptr;
  const Workload* names_ = nullptr;  ///< jobs that are not to be seen yet are in it, too
  std::span<const Job> jobs_;
  std::span<const SpeedByGpus> curves_;
  std::span<const JobProgress> progress_;
  std::span<const JobOverhead> overheads_;  ///< empty unless something costs jobs time
};

/// What makes jobs progress and end under a policy. A rigid job is ended at its requested time under all of
/// them (but see `Policy::repeats_log`), an elastic one only under `Duration`: the time was asked for with
/// other GPUs than it may get.
enum class ProgressRule : std::uint8_t {
  Duration,    ///< gangs have the size that was asked for; a job ends when it has run for its duration
  Iterations,  ///< gangs may have any size of the job's curve; a job ends when its iterations are done. Rigid
               ///< jobs are as under `Duration`
  Policy,  ///< the policy says when a job ends: for reproducing simulators with an arithmetic of their own
};

/// A number that a policy tells of its own work, for `summary.json` and for people.
struct PolicyFigure {
  std::string_view name;  ///< in the form of a key, with its unit: `largest_gap_percent`
  double value = 0;
};

/// Decides which jobs hold GPUs. A policy is a pure decision: it has no clock, does no I/O and uses no global
/// state; what it remembers between passes follows from the passes it was given, so the same trace gives the
/// same schedule.
class Policy {
 public:
  virtual ~Policy() = default;
  /// Called before the first pass, and again before a pass if something from outside has changed the jobs
  /// (`Fact`): forgets what it remembers of jobs and takes in those that run and wait now (`running`,
  /// `waiting`). A replay of a trace begins with none.
  virtual void begin(const SchedulingPass& /*view*/) {}
  /// Whether `begin` takes in jobs that run and wait. If not, the policy can only begin with none.
  virtual bool begins_anywhere() const { return false; }
  /// Called once at every instant at which something arrived or ended or nodes changed, or for which
  /// `wake_at` asked.
  virtual void schedule(SchedulingPass& pass) = 0;
  virtual ProgressRule progress_rule() const { return ProgressRule::Duration; }
  /// Whether it repeats the schedule of a log. Then jobs are not ended at their time limits, and under
  /// `count` placement they start although fewer GPUs are free than they need.
  virtual bool repeats_log() const { return false; }
  /// What is worth telling of the passes so far beyond what became of the jobs, always the same names in the
  /// same order.
  virtual std::vector<PolicyFigure> figures() const { return {}; }
  /// Whether it says of which type a gang is to be (`Allocation::type`). Then all GPUs are told apart by type
  /// (`SchedulingPass::gpus_by_type`) where the cluster has several, whatever jobs ask for.
  virtual bool chooses_types() const { return false; }
  /// Whether failures, checkpoints and costs of interruption may disrupt its jobs. Under
  /// `ProgressRule::Policy` that takes a policy that measures progress by `SchedulingPass::work_done` in
  /// passes that are `disrupted`.
  virtual bool copes_with_disruptions() const { return progress_rule() != ProgressRule::Policy; }
};

}  // namespace vtrain
