/// One replay at work: what `simulate` and `Simulation` share.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "sched/accounting/placement_speed.hpp"
#include "sched/accounting/segment_accounting.hpp"
#include "sched/disruption/outage_schedule.hpp"
#include "sched/simulation/event_queue.hpp"
#include "sched/simulation/gangs.hpp"
#include "sched/simulation/gpus_by_type.hpp"
#include "sched/simulation/simulation.hpp"

namespace vtrain {

/// The end of a replay by an error, which `simulate` returns.
class SimulationFault : public std::logic_error {
 public:
  explicit SimulationFault(Error error) : std::logic_error(error.message), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

/// Owns the truth about every job; the policy sees it through the `SchedulingPass` that this is. All of its
/// functions throw `SimulationFault`.
class SimulationEngine final : public SchedulingPass {
 public:
  static constexpr SimTime kNever = SimTime::max();

  /// The references outlive the engine, as does what `options` refers to. `open`: the workload once more if
  /// jobs may be added to it and facts told; null if neither.
  SimulationEngine(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
                   const SimulationOptions& options, Workload* open);

  /// Puts the jobs of a state where they are. Before `begin`.
  void restore(const SimulationState& state);
  /// Tells the policy to begin, and makes the first pass if jobs are live already.
  void begin();
  /// The instant of the next event; `kNever` if there is none.
  SimTime next();
  /// Lets everything happen that happens at that instant, the next one.
  void step(SimTime time);
  /// Takes in that jobs have been added to the workload.
  void grow();
  /// Notes a fact; those of an instant stay in this order.
  void tell(SimTime time, const Fact& fact) { facts_.push_back({time, fact}); }
  /// The outcome of a job so far.
  JobOutcome outcome(JobId job) const;
  /// A job that runs or waits, as `restore` takes it.
  LiveJob live_job(JobId job) const;
  /// The nodes out of service, ascending.
  std::vector<NodeId> out_of_service() const;
  /// Gives the result once nothing is to happen any more.
  SimulationResult finish();
  const Placement& placement() const { return gangs_.placement(); }

  std::span<const JobId> ended() const override { return ended_; }
  std::span<const JobId> arrived() const override { return arrived_; }
  bool try_start(JobId job) override;
  bool try_start(JobId job, const Allocation& gpus) override;
  bool try_resize(JobId job, const Allocation& gpus) override;
  double speed(JobId job, const Allocation& gpus) const override;
  [[noreturn]] void refuse(JobId job, std::string_view rule) const override;
  void reject(JobId job) override;
  void complete(JobId job, SimTime job_end, SimTime finished) override;
  void preempt(JobId job) override;
  bool try_resume(JobId job) override;
  void wake_at(SimTime time) override;

 private:
  /// The end of a segment, now, with what was true before it.
  struct EndedSegment {
    JobId job;
    SegmentEnd how;
    std::int16_t gpu_share;
    JobProgress progress;
    SegmentAccounting::State state;  ///< if something costs jobs time
    std::vector<GangPart> parts;     ///< if segments are recorded
  };

  /// A segment that the policy has ended in this pass. What policies see of the job changes at once;
  /// outcomes, losses and records follow at the end of the pass, so that the policy can take the end back
  /// until then.
  struct ClosedSegment {
    EndedSegment segment;
    std::vector<NodeShare> gang;  ///< what placement gave it

    JobId job() const { return segment.job; }
  };

  struct TimedFact {
    SimTime time{};
    Fact fact;
  };

  // Private functions are of use to engine.cpp alone, where they are defined: inline, as most are called
  // once.

  /// Refuses a gang of a state that cannot be one.
  void check_gang(JobId job, const LiveJob& live) const;
  SimulationFault bad_gang(JobId job, std::string_view expected, const std::string& found) const;

  /// The end of a running job's segment.
  inline EndedSegment segment_of(JobId job, SegmentEnd how) const;
  /// The same with the gang, for a segment whose end may be taken back.
  inline ClosedSegment closed_segment_of(JobId job, SegmentEnd how) const;
  /// Counts a segment's time and work as the job's progress.
  inline void add_progress(JobId job, SegmentEnd how);
  /// Accounts for a segment that has ended now.
  inline void account(EndedSegment&& segment);
  /// Accounts for what the pass has ended and not taken back.
  inline void account_pass();
  /// Refuses what a policy says of a job that is not in the state for it.
  inline void require(JobId job, JobState state, std::string_view action, std::string_view state_name) const;
  /// The number of GPUs must be one that the job can use, as must be their type; both must be the policy's to
  /// choose.
  inline void require_allocation(JobId job, const Allocation& gpus, std::string_view action) const;
  SimulationFault policy_fault(const std::string& what) const;

  /// Whether what an event foresaw has been overtaken by a preemption or a later request.
  inline bool stale(const Event& event) const;
  /// Ends of segments that were cut short stay in the queue until their time; clears them out when they are
  /// the greater part of it.
  inline void sweep_stale_events();
  /// The next change of a node, if it comes before `next` and can still matter to a job: jobs that only wait
  /// have nothing to hope for once all nodes are back.
  inline SimTime with_node_changes(SimTime next) const;
  /// Takes in everything that happens now: ends, changes of nodes, facts, arrivals, a timer. False if there
  /// was nothing for the policy.
  inline bool collect_events();
  /// The policy's part of an instant, and what follows from it.
  inline void make_pass();
  /// Tells the policy to take in the live jobs as they are.
  void begin_policy();

  /// Takes in the nodes that come back now and those that go out of service, with the jobs that this stops.
  inline void change_nodes();
  void take_out(NodeId node, bool drains);
  void bring_back(NodeId node);
  void stop_jobs_on(NodeId node);
  /// Takes in the facts of this instant. Returns whether they changed what a policy remembers of jobs.
  bool take_facts();
  bool take(const JobEnded& fact);
  bool take(const JobCancelled& fact);
  bool take(const JobChanged& fact);
  bool take(const NodeDown& fact);
  bool take(const NodeUp& fact);
  /// The error for a fact about a job that is not in the state for it.
  SimulationFault contradiction(JobId job, std::string_view what) const;

  /// Stops a running job, which then waits again, for good.
  inline void send_back(JobId job, SegmentEnd how);
  /// Stops a running job, which then waits again. Its segment is accounted for by the caller.
  inline void stop(JobId job, SegmentEnd how);
  /// Stops jobs that run when the replay ends before they do.
  void stop_what_still_runs();
  inline void end(JobId job, SimTime job_end, SimTime finished);
  inline void leave(JobId job, JobState state, SimTime job_end, SimTime finished);
  /// Tells of ends in batches: the counter is shared between threads.
  inline void count_done();
  inline void arrive(JobId job);
  inline bool start(JobId job, const Allocation& gpus);
  /// Begins a segment on a gang that has been placed, and foresees its end.
  inline void open_segment(JobId job, GpuCount num_gpus);
  /// Opens the accounts of a segment, and foresees its end.
  inline void foresee_end(JobId job);
  /// Time from the beginning of a job's segment until its work is done.
  inline SimDuration time_left(JobId job);
  /// Work still to go at the current speed.
  inline SimDuration time_for_iterations_left(JobId job) const;
  /// Work still to go of a rigid job.
  inline SimDuration time_for_duration(JobId job) const;
  /// Takes a running job's GPUs back.
  inline void release_gpus(JobId job, SegmentEnd how);
  /// Reads the numbers of free and usable GPUs from the placement.
  inline void update_gpus();
  /// The jobs that have been submitted are those that policies may see.
  void show_submitted() {
    jobs_ = std::span(workload_.jobs).first(next_arrival_);
    more_to_come_ = next_arrival_ < workload_.jobs.size();
  }

  const Workload& workload_;
  Workload* const open_;
  const SimulationOptions options_;
  Policy& policy_;
  const ProgressRule rule_ = policy_.progress_rule();
  const bool repeats_log_ = policy_.repeats_log();
  const Disruptions* disruptions_;
  Gangs gangs_;
  std::optional<GpusByType> by_type_;              ///< if types matter
  std::optional<PlacementSpeed> placement_speed_;  ///< if something is known of the speed of gangs
  std::optional<SegmentAccounting> accounting_;    ///< if something costs jobs time
  std::optional<OutageSchedule> outages_;          ///< if outages are given or drawn
  EventQueue events_;
  std::deque<TimedFact> facts_;  ///< in order of time
  std::uint32_t timer_version_ = 0;
  std::uint32_t next_arrival_ = 0;
  std::uint32_t num_waiting_ = 0;
  std::size_t num_running_ = 0;
  std::int64_t num_done_ = 0;
  std::vector<JobId> ended_;
  std::vector<JobId> arrived_;
  std::vector<JobProgress> progress_by_job_;
  bool overcommits_ = false;           ///< gangs start though too few GPUs are free
  std::vector<ClosedSegment> closed_;  ///< of this pass, in the order in which they ended
  SimulationResult result_;
};

}  // namespace vtrain
