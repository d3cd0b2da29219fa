/// The interface between the simulator and a scheduling policy.
#pragma once

#include <span>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "workloads/job.hpp"

namespace vtrain {

/// Where a job is in its life.
enum class JobState : std::uint8_t {
  NotSubmitted,  ///< its submission lies in the future
  Waiting,       ///< submitted (or preempted) and without GPUs
  Running,
  Completed,
  Failed,      ///< ended at its requested time before its work was done
  Rejected,    ///< larger than the cluster, or turned away by admission
  Unfinished,  ///< still waiting when nothing more could happen
};

/// One scheduling pass, at one instant: what a policy may see and what it may say. It lives for one call of
/// `Policy::schedule`. At an instant all ends come first, then all arrivals, then one pass.
///
/// A saying takes effect at once, so a policy sees the cluster it has made so far. The simulator owns
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
  /// Takes a running job's GPUs away. It waits again and has lost nothing of its work.
  virtual void preempt(JobId job) = 0;
  /// Asks for a pass at `time` (later than now) even if nothing arrives or ends then. Only the last request
  /// counts, and only until the next pass, whatever caused it.
  virtual void wake_at(SimTime time) = 0;

  /// This instant.
  SimTime now() const { return now_; }
  /// GPUs that no job holds now.
  GpuCount free_gpus() const { return free_gpus_; }
  /// GPUs of the whole cluster.
  GpuCount total_gpus() const { return total_gpus_; }
  /// What the trace says of a job.
  const Job& job(JobId job) const { return jobs_[job.value]; }
  /// All jobs of the workload, by `JobId`. Policies must not look at those not yet submitted.
  std::span<const Job> jobs() const { return jobs_; }
  JobState state(JobId job) const { return progress_[job.value].state; }
  /// Time for which the job has held its GPUs so far.
  SimDuration attained(JobId job) const {
    const JobProgress& progress = progress_[job.value];
    return progress.state == JobState::Running ? progress.attained + (now_ - progress.resumed)
                                               : progress.attained;
  }
  /// Run time still to go. Only clairvoyant policies ask.
  SimDuration remaining(JobId job) const { return jobs_[job.value].duration - attained(job); }
  /// When the job last started or resumed; meaningful while it runs.
  SimTime resumed_at(JobId job) const { return progress_[job.value].resumed; }

 protected:
  /// The moving part of a job.
  struct JobProgress {
    SimTime resumed{};        ///< start of the current run
    SimDuration attained{0};  ///< time on GPUs in earlier runs
    std::uint32_t run = 0;    ///< number of starts so far; tells a stale end event from a live one
    JobState state = JobState::NotSubmitted;
  };

  SimTime now_{};
  GpuCount free_gpus_{0};
  GpuCount total_gpus_{0};
  std::span<const Job> jobs_;
  std::span<const JobProgress> progress_;
};

/// Decides which jobs hold GPUs. A policy is a pure decision: it has no clock, does no I/O and uses no global
/// state; what it remembers between passes follows from the passes it was given, so the same trace gives the
/// same schedule.
class Policy {
 public:
  virtual ~Policy() = default;
  /// Called once at every instant at which something arrived or ended, or for which `wake_at` asked.
  virtual void schedule(SchedulingPass& pass) = 0;
};

}  // namespace vtrain
