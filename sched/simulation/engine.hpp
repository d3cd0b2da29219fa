/// One replay in progress: the common part of `simulate` and `Simulation`.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
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
#include "sched/simulation/reason_recorder.hpp"
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

/// Owns the state of every job. The policy sees it through the base class `SchedulingPass`. All functions
/// throw `SimulationFault`.
class SimulationEngine final : public SchedulingPass {
 public:
  static constexpr SimTime kNever = SimTime::max();

  /// The references outlive the engine, as does everything that `options` refers to. `open`: `workload` again
  /// if jobs and facts may be added; otherwise null.
  SimulationEngine(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
                   const SimulationOptions& options, Workload* open);

  /// Puts the jobs of a state in their places. Call it before `begin`.
  void restore(const SimulationState& state);
  /// Tells the policy to begin, and makes the first pass if jobs are live already.
  void begin();
  /// Instant of the next event; `kNever` if there is none.
  SimTime next();
  /// Handles all events at that instant, which must be the next one.
  void step(SimTime time);
  /// Makes room for jobs that have been added to the workload.
  void grow();
  /// Notes a fact. Facts of one instant keep this order.
  void tell(SimTime time, const Fact& fact) { facts_.push_back({time, fact}); }
  /// The outcome of a job so far.
  JobOutcome outcome(JobId job) const;
  /// A job that runs or waits, in the form that `restore` takes.
  LiveJob live_job(JobId job) const;
  /// See `Simulation::part_done`.
  double part_done(JobId job, SimTime time) const;
  /// Memory of the policy, with jobs numbered by their places in `live`.
  std::shared_ptr<const PolicyMemory> policy_memory(std::span<const JobId> live) const {
    return policy_.memory(*this, live);
  }
  /// Tells policies that no job comes after those of the workload.
  void expect_no_more() { expects_more_ = false; }
  /// Nodes out of service, ascending.
  std::vector<NodeId> out_of_service() const;
  /// Returns the result. No event may be left.
  SimulationResult finish();
  const Placement& placement() const { return gangs_.placement(); }

  std::span<const JobId> ended() const override { return ended_; }
  std::span<const JobId> arrived() const override { return arrived_; }
  bool try_start(JobId job) override;
  bool try_start(JobId job, const Allocation& gpus) override;
  bool try_resize(JobId job, const Allocation& gpus) override;
  double speed(JobId job, const Allocation& gpus) const override;
  SegmentTiming slowest_segment(JobId job, const Allocation& gpus) const override;
  std::optional<SegmentTiming> segment_if_started(JobId job, const Allocation& gpus) override;
  [[noreturn]] void refuse(JobId job, std::string_view rule) const override;
  void reject(JobId job, std::optional<SimTime> earliest_deadline) override;
  void promise(JobId job) override;
  bool has_promise(JobId job) const override { return result_.outcomes[job.value].has_promise(); }
  void complete(JobId job, SimTime job_end, SimTime finished) override;
  void preempt(JobId job) override;
  void requeue(JobId job) override;
  void cancel(JobId job) override;
  bool try_resume(JobId job) override;
  void wake_at(SimTime time) override;

 private:
  /// The end of a segment, now, with the state before it.
  struct EndedSegment {
    JobId job;
    SegmentEnd how;
    std::int16_t gpu_share;
    JobProgress progress;
    SegmentAccounting::State state;  ///< accounts before the end, if something costs jobs time
    std::vector<GangPart> parts;     ///< the gang by node, if segments are recorded
    std::vector<GpuCount> by_type;   ///< the gang by type, if types are counted
  };

  /// A segment that the policy has ended in this pass. The job's state as policies see it changes at once.
  /// Outcomes, losses and records follow at the end of the pass, so that the policy can take the end back
  /// until then.
  struct ClosedSegment {
    EndedSegment segment;
    std::vector<NodeShare> gang;  ///< shares that placement gave it

    JobId job() const { return segment.job; }
  };

  /// True if the segments of a job are kept.
  bool records_segments(JobId job) const { return options_.record_segments || job == explained_; }

  struct TimedFact {
    SimTime time{};
    Fact fact;
  };

  // Only engine.cpp uses the private functions. It defines them: inline, as most are called once.

  /// Refuses a gang of a state that is impossible.
  void check_gang(JobId job, const LiveJob& live) const;
  SimulationFault bad_gang(JobId job, std::string_view expected, const std::string& found) const;

  /// The end of a running job's segment.
  inline EndedSegment segment_of(JobId job, SegmentEnd how) const;
  /// GPUs that a running job holds, by type; empty unless types are counted.
  std::vector<GpuCount> held_by_type(JobId job) const;
  /// The end of a segment with its gang, for an end that may be taken back.
  inline ClosedSegment closed_segment_of(JobId job, SegmentEnd how) const;
  /// Adds a segment's time and work to the job's progress.
  inline void add_progress(JobId job, SegmentEnd how);
  /// Accounts for a segment that has ended now.
  inline void account(EndedSegment&& segment);
  /// Keeps what a segment that has ended now held, by type.
  void record_holding(const EndedSegment& segment);
  /// Accounts for the segments that the pass has ended and not taken back.
  inline void account_pass();
  /// Refuses an action of the policy on a job that is not in the state for it.
  inline void require(JobId job, JobState state, std::string_view action, std::string_view state_name) const;
  /// Refuses a number of GPUs or a type that the job cannot use or that the policy may not choose.
  inline void require_allocation(JobId job, const Allocation& gpus, std::string_view action) const;
  SimulationFault policy_fault(const std::string& what) const;

  /// True if a preemption or a later request has made an event invalid.
  inline bool stale(const Event& event) const;
  /// Removes stale ends once they are the greater part of the queue. Ends of segments that were cut short
  /// stay in the queue until their time.
  inline void sweep_stale_events();
  /// Time of the next change of a node, if it comes before `next` and can still affect a job. Once all nodes
  /// are back, no change can help jobs that only wait.
  inline SimTime with_node_changes(SimTime next) const;
  /// Takes in all events of this instant: ends, changes of nodes, facts, arrivals, a timer. False if the
  /// policy needs no pass.
  inline bool collect_events();
  /// Calls the policy and handles the results of its pass.
  inline void make_pass();
  /// Lets the policy take in the live jobs in their present state.
  void begin_policy();

  /// Takes in the nodes that come back now and those that go out of service, and stops jobs on failed ones.
  inline void change_nodes();
  void take_out(NodeId node, bool drains);
  void return_to_service(NodeId node);
  void stop_jobs_on(NodeId node);
  /// Takes in the facts of this instant. Returns true if they changed what a policy remembers of jobs.
  bool take_facts();
  bool take(const JobEnded& fact);
  bool take(const JobCancelled& fact);
  bool take(const JobChanged& fact);
  bool take(const NodeDown& fact);
  bool take(const NodeUp& fact);
  /// The error for a fact about a job that is not in the state for it.
  SimulationFault contradiction(JobId job, std::string_view what) const;

  /// Stops a running job, which then waits again, and accounts for its segment; it cannot be taken back.
  inline void send_back(JobId job, SegmentEnd how);
  /// Stops a running job, which then waits again. The caller accounts for its segment.
  inline void stop(JobId job, SegmentEnd how);
  /// Stops the jobs that still run at the end of the replay.
  void stop_running_jobs();
  inline void end(JobId job, SimTime job_end, SimTime finished);
  inline void leave(JobId job, JobState state, SimTime job_end, SimTime finished);
  /// Adds to the counter of ended jobs in batches, because threads share it.
  inline void count_done();
  inline void arrive(JobId job);
  inline bool start(JobId job, const Allocation& gpus);
  /// Begins a segment on a gang that has been placed, and schedules its end.
  inline void open_segment(JobId job, GpuCount num_gpus);
  /// Opens the accounts of a segment, and schedules its end.
  inline void schedule_end(JobId job);
  /// Time from the beginning of a job's segment to the end of its work.
  inline SimDuration time_left(JobId job);
  /// Time for the remaining iterations at the current speed.
  inline SimDuration time_for_iterations_left(JobId job) const;
  /// True if the engine computes when a job ends, not the policy.
  bool ends_jobs() const { return rule_ != ProgressRule::Policy || run_times_differ_; }
  /// Work of a rigid job up to its time limit, on the gang that it holds.
  SimDuration work_to_do(JobId job) const;
  /// Time for the remaining work of a rigid job.
  inline SimDuration time_for_duration(JobId job) const;
  /// Takes a running job's GPUs back.
  inline void release_gpus(JobId job, SegmentEnd how);
  /// Reads the numbers of free and usable GPUs from the placement.
  inline void update_gpus();
  /// Shows policies the jobs that have been submitted.
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
  std::optional<GpusByType> by_type_;              ///< set if types matter
  std::optional<GpusByType> counted_types_;        ///< set if GPU time is counted by type
  std::optional<PlacementSpeed> placement_speed_;  ///< set if the speed of gangs is known
  std::optional<NodeTable> nodes_;                 ///< set if run times differ from predictions
  std::optional<SegmentAccounting> accounting_;    ///< set if something costs jobs time
  std::optional<OutageSchedule> outages_;          ///< set if outages are given or drawn
  EventQueue events_;
  std::deque<TimedFact> facts_;  ///< sorted by time
  std::uint32_t timer_version_ = 0;
  std::uint32_t next_arrival_ = 0;
  std::uint32_t num_waiting_ = 0;
  std::size_t num_running_ = 0;
  std::int64_t num_done_ = 0;
  std::vector<JobId> ended_;
  std::vector<JobId> arrived_;
  std::vector<JobProgress> progress_by_job_;
  bool overcommits_ = false;               ///< gangs start even if too few GPUs are free
  std::vector<ClosedSegment> closed_;      ///< segments that ended in this pass, in that order
  std::optional<ReasonRecorder> reasons_;  ///< set if reasons are recorded
  SimulationResult result_;
};

}  // namespace vtrain
