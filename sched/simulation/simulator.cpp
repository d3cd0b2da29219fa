#include "sched/simulation/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "sched/accounting/placement_speed.hpp"
#include "sched/accounting/segment_accounting.hpp"
#include "sched/disruption/outage_schedule.hpp"
#include "sched/simulation/checks.hpp"
#include "sched/simulation/event_queue.hpp"
#include "sched/simulation/gangs.hpp"
#include "sched/simulation/gpus_by_type.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

/// What ends a replay early; `simulate` turns it into the error it carries.
class SimulationFault : public std::logic_error {
 public:
  explicit SimulationFault(Error error) : std::logic_error(error.message), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

const Disruptions kNoDisruptions;

/// One replay. Owns the truth about every job; the policy sees it through the `SchedulingPass` that this is.
class Simulation final : public SchedulingPass {
 public:
  Simulation(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
             const SimulationOptions& options)
      : workload_(workload),
        options_(options),
        policy_(policy),
        disruptions_(options.disruptions),
        gangs_(options.placement, cluster, workload, disruptions_ && disruptions_->takes_nodes_out()),
        progress_by_job_(workload.jobs.size()) {
    overcommits_ = repeats_log_ && gangs_.overcommit();
    total_gpus_ = usable_gpus_ = free_gpus_ = cluster.total_gpus();
    cluster_ = &cluster;
    if (GpusByType::matter(cluster, workload)) gpus_by_type_ = &by_type_.emplace(cluster, workload, gangs_);
    jobs_ = workload.jobs;
    shares_gpus_ = gangs_.placement().info().shares_gpus && std::ranges::any_of(jobs_, &Job::shares_gpus);
    curves_ = workload.curves;
    progress_ = progress_by_job_;
    result_.outcomes.resize(jobs_.size());
    result_.segments_recorded = options.record_segments;
    if (options.gang_speed_model != nullptr && policy.copes_with_disruptions())
      placement_speed_.emplace(cluster, workload, *options.gang_speed_model, gangs_.placement());
    if (disruptions_ || (placement_speed_ && placement_speed_->matter())) {
      accounting_.emplace(jobs_, disruptions_ ? *disruptions_ : kNoDisruptions, gangs_.placement(),
                          placement_speed_ ? &*placement_speed_ : nullptr);
      overheads_ = accounting_->overheads();
    }
    if (gangs_.service() && !jobs_.empty()) {
      outages_.emplace(disruptions_->outages, disruptions_->failures ? &*disruptions_->failures : nullptr,
                       static_cast<std::uint32_t>(cluster.total_nodes()), jobs_.front().submit,
                       disruptions_->seed);
    }
  }

  SimulationResult run() {
    while (advance()) {
      if (!collect_events()) continue;
      policy_.schedule(*this);
      account_pass();
      const GpuCount in_use = usable_gpus_ - gangs_.placement().idle_gpus();
      record_sample(result_, {now_, num_waiting_, in_use}, gangs_.placement());
    }
    stop_what_still_runs();
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      JobOutcome& outcome = result_.outcomes[i];
      outcome.attained = progress_by_job_[i].attained;
      outcome.state =
          progress_by_job_[i].state == JobState::Waiting ? JobState::Unfinished : progress_by_job_[i].state;
    }
    if (accounting_) result_.losses = accounting_->take_losses();
    if (outages_) result_.outages = outages_->take_history();
    result_.figures = policy_.figures();
    return std::move(result_);
  }

  std::span<const JobId> ended() const override { return ended_; }
  std::span<const JobId> arrived() const override { return arrived_; }

  bool try_start(JobId job) override { return start(job, jobs_[job.value].num_gpus); }

  bool try_start(JobId job, GpuCount num_gpus) override {
    require_level(job, num_gpus, "started");
    return start(job, num_gpus);
  }

  bool try_resize(JobId job, GpuCount num_gpus) override {
    require(job, JobState::Running, "resized", "running");
    require_level(job, num_gpus, "resized");
    const GpuCount before = progress_by_job_[job.value].num_gpus;
    if (num_gpus == before) return true;
    if (num_gpus > free_gpus_ + before) return false;
    ClosedSegment closed = closed_segment_of(job, SegmentEnd::Resized);
    if (!gangs_.resize(job, before, num_gpus)) return false;
    closed_.push_back(std::move(closed));
    add_progress(job, SegmentEnd::Resized);
    open_segment(job, num_gpus);
    sweep_stale_events();
    return true;
  }

  void reject(JobId job) override {
    require(job, JobState::Waiting, "rejected", "waiting");
    if (progress_by_job_[job.value].run > 0) {
      throw policy_fault(fmt::format("rejected job '{}', which had started", jobs_[job.value].name));
    }
    progress_by_job_[job.value].state = JobState::Rejected;
    result_.outcomes[job.value].turned_away = true;
    --num_waiting_;
    count_done();
  }

  void complete(JobId job, SimTime job_end, SimTime finished) override {
    require(job, JobState::Running, "completed", "running");
    if (rule_ != ProgressRule::Policy) throw policy_fault("ends jobs, which is not its part");
    if (job_end > now_) throw policy_fault("booked the end of a job that lies in the future");
    end(job, job_end, finished);
  }

  void preempt(JobId job) override {
    require(job, JobState::Running, "preempted", "running");
    closed_.push_back(closed_segment_of(job, SegmentEnd::Preempted));
    stop(job, SegmentEnd::Preempted);
    sweep_stale_events();
  }

  bool try_resume(JobId job) override {
    const auto closed = std::ranges::find(closed_, job, &ClosedSegment::job);
    if (closed == closed_.end() || !is_live(job)) return false;
    const EndedSegment& segment = closed->segment;
    JobProgress& progress = progress_by_job_[job.value];
    const bool runs = progress.state == JobState::Running;
    if (!gangs_.restore(job, runs ? progress.num_gpus : GpuCount(0), segment.progress.num_gpus, closed->gang))
      return false;
    if (!runs) {
      --num_waiting_;
      ++num_running_;
    }
    update_gpus();
    const std::uint32_t runs_so_far = progress.run;
    progress = segment.progress;
    progress.run = runs_so_far;
    if (accounting_) accounting_->restore(job, segment.state);
    std::erase_if(closed_, [job](const ClosedSegment& each) { return each.job() == job; });
    foresee_end(job);
    sweep_stale_events();
    return true;
  }

  void wake_at(SimTime time) override {
    if (time <= now_) throw policy_fault("asked for a timer that does not lie in the future");
    if (time == kNever) {
      throw SimulationFault(
          {.message = fmt::format("policy '{}' plans for later than the simulated clock can tell (292 years)",
                                  options_.policy_name)});
    }
    events_.push({time, EventKind::Timer, {}, ++timer_version_});
  }

 private:
  static constexpr SimTime kNever = SimTime::max();

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

  /// The end of a running job's segment.
  EndedSegment segment_of(JobId job, SegmentEnd how) const {
    const std::span<const NodeShare> shares = gangs_.shares(job);
    return {job,
            how,
            gangs_.gpu_share(job, shares),
            progress_by_job_[job.value],
            accounting_ ? accounting_->state(job) : SegmentAccounting::State{},
            options_.record_segments ? parts_of(shares) : std::vector<GangPart>{}};
  }

  /// The same with the gang, for a segment whose end may be taken back.
  ClosedSegment closed_segment_of(JobId job, SegmentEnd how) const {
    const std::span<const NodeShare> held = gangs_.held(job);
    return {segment_of(job, how), {held.begin(), held.end()}};
  }

  /// Counts a segment's time and work as the job's progress.
  void add_progress(JobId job, SegmentEnd how) {
    JobProgress& progress = progress_by_job_[job.value];
    const SimDuration held = now_ - progress.resumed;
    const SimDuration work = accounting_ ? accounting_->end(job, held, progress.attained, how) : held;
    progress.attained += held;
    progress.iterations += progress.speed * to_seconds(work);
  }

  /// Accounts for a segment that has ended now.
  void account(EndedSegment&& segment) {
    const SimDuration held = now_ - segment.progress.resumed;
    const GpuCount num_gpus = segment.progress.num_gpus;
    result_.outcomes[segment.job.value].gpu_time.add(held, num_gpus, segment.gpu_share);
    if (accounting_)
      accounting_->charge(segment.job, segment.state, num_gpus, segment.gpu_share, held, segment.how);
    if (held.count() == 0) return;
    result_.last_release = now_;
    if (options_.record_segments)
      result_.segments.push_back({segment.job, segment.progress.resumed, now_, num_gpus,
                                  std::move(segment.parts), segment.gpu_share});
  }

  /// Accounts for what the pass has ended and not taken back.
  void account_pass() {
    for (ClosedSegment& closed : closed_) {
      JobOutcome& outcome = result_.outcomes[closed.segment.job.value];
      outcome.preemptions += closed.segment.how == SegmentEnd::Preempted ? 1 : 0;
      outcome.resizes += closed.segment.how == SegmentEnd::Resized ? 1 : 0;
      account(std::move(closed.segment));
    }
    closed_.clear();
  }

  void require(JobId job, JobState state, std::string_view action, std::string_view state_name) const {
    if (job.value >= jobs_.size()) throw policy_fault(fmt::format("{} a job that does not exist", action));
    if (progress_by_job_[job.value].state != state) {
      throw policy_fault(
          fmt::format("{} job '{}', which is not {}", action, jobs_[job.value].name, state_name));
    }
  }

  SimulationFault policy_fault(const std::string& what) const {
    return SimulationFault(
        {.kind = ErrorKind::Failed, .message = fmt::format("policy '{}' {}", options_.policy_name, what)});
  }

  /// Whether what an event foresaw has been overtaken by a preemption or a later request.
  bool stale(const Event& event) const {
    if (event.kind == EventKind::Timer) return event.version != timer_version_;
    const JobProgress& progress = progress_by_job_[event.job.value];
    return progress.state != JobState::Running || progress.run != event.version;
  }

  /// Ends of segments that were cut short stay in the queue until their time; clears them out when they are
  /// the greater part of it.
  void sweep_stale_events() {
    constexpr std::size_t kFewEvents = 64;
    if (events_.size() <= 2 * num_running_ + kFewEvents) return;
    events_.remove_if([this](const Event& event) { return stale(event); });
  }

  /// Moves the clock to the next instant at which something happens; false if nothing does.
  bool advance() {
    while (!events_.empty() && stale(events_.top()))
      events_.pop();
    SimTime next = kNever;
    if (!events_.empty()) next = events_.top().time;
    if (next_arrival_ < jobs_.size()) next = std::min(next, jobs_[next_arrival_].submit);
    if (outages_) next = with_node_changes(next);
    if (outages_ && next != kNever && next - jobs_.back().submit > kLongestAfterLastSubmission) {
      result_.stopped_early = true;
      return false;
    }
    if (next == kNever) return false;
    now_ = next;
    return true;
  }

  /// The next change of a node, if it comes before `next` and can still matter to a job: jobs that only wait
  /// have nothing to hope for once all nodes are back.
  SimTime with_node_changes(SimTime next) const {
    const bool matters = next != kNever || (num_waiting_ > 0 && outages_->awaits_return());
    return matters ? std::min(next, outages_->next()) : next;
  }

  /// Takes in everything that happens now: ends, then changes of nodes, then arrivals, then a timer. False if
  /// there was nothing for the policy.
  bool collect_events() {
    ended_.clear();
    interrupted_.clear();
    arrived_.clear();
    capacity_changed_ = false;
    bool timer = false;
    for (; !events_.empty() && events_.top().time == now_; events_.pop()) {
      const Event event = events_.top();
      if (stale(event)) continue;
      ++result_.events;
      if (event.kind == EventKind::Timer) {
        timer = true;
      } else {
        end(event.job, now_, now_);
        ended_.push_back(event.job);
      }
    }
    if (outages_) change_nodes();
    if (outages_) gangs_.find_staying(staying_, kept_gpus_);
    for (; next_arrival_ < jobs_.size() && jobs_[next_arrival_].submit == now_; ++next_arrival_) {
      ++result_.events;
      arrive(JobId(next_arrival_));
    }
    if (!timer && ended_.empty() && interrupted_.empty() && !capacity_changed_ && arrived_.empty())
      return false;
    ++timer_version_;
    return true;
  }

  /// Takes in the nodes that come back now and those that go out of service, with the jobs that this stops.
  void change_nodes() {
    NodeService& service = *gangs_.service();
    while (outages_->next() == now_) {
      const NodeChange change = outages_->pop();
      ++result_.events;
      const bool before = service.in_service(change.node);
      if (change.kind == NodeChange::Kind::Return) {
        service.bring_back(change.node);
      } else {
        if (change.kind == NodeChange::Kind::Failure) stop_jobs_on(change.node);
        service.take_out(change.node);
      }
      capacity_changed_ |= service.in_service(change.node) != before;
    }
    std::sort(interrupted_.begin(), interrupted_.end());
    update_gpus();
  }

  void stop_jobs_on(NodeId node) {
    for (const JobId job : gangs_.service()->jobs_on(node)) {
      send_back(job, SegmentEnd::Failed);
      ++result_.outcomes[job.value].failures;
      interrupted_.push_back(job);
    }
  }

  /// Stops a running job, which then waits again, for good.
  void send_back(JobId job, SegmentEnd how) {
    account(segment_of(job, how));
    stop(job, how);
  }

  /// Stops a running job, which then waits again. Its segment is accounted for by the caller.
  void stop(JobId job, SegmentEnd how) {
    release_gpus(job, how);
    progress_by_job_[job.value].state = JobState::Waiting;
    --num_running_;
    ++num_waiting_;
  }

  /// Stops jobs that run when the replay ends before they do.
  void stop_what_still_runs() {
    if (!outages_ || num_running_ == 0) return;
    now_ = jobs_.back().submit + kLongestAfterLastSubmission;
    for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
      if (progress_by_job_[i].state == JobState::Running) send_back(JobId(i), SegmentEnd::Preempted);
    }
  }

  void end(JobId job, SimTime job_end, SimTime finished) {
    const Job& description = jobs_[job.value];
    account(segment_of(job, SegmentEnd::Done));
    release_gpus(job, SegmentEnd::Done);
    const bool by_duration = rule_ == ProgressRule::Duration || curve(job) == nullptr;
    const bool cut = by_duration && !repeats_log_ && description.duration > description.time_limit();
    progress_by_job_[job.value].state = cut ? JobState::Failed : JobState::Completed;
    --num_running_;
    result_.outcomes[job.value].end = job_end;
    result_.outcomes[job.value].finished = finished;
    count_done();
  }

  /// Tells of ends in batches: the counter is shared between threads.
  void count_done() {
    constexpr std::int64_t kBatch = 1024;
    if (options_.jobs_done == nullptr || ++num_done_ % kBatch != 0) return;
    options_.jobs_done->fetch_add(kBatch, std::memory_order_relaxed);
  }

  void arrive(JobId job) {
    const SpeedByGpus* const levels = rule_ == ProgressRule::Duration ? nullptr : curve(job);
    const GpuCount least = levels == nullptr ? jobs_[job.value].num_gpus : levels->levels().front().num_gpus;
    if (!gangs_.placement().fits_empty(request_of(jobs_[job.value], least))) {
      progress_by_job_[job.value].state = JobState::Rejected;
      count_done();
      return;
    }
    progress_by_job_[job.value].state = JobState::Waiting;
    ++num_waiting_;
    if (accounting_) accounting_->submit(job);
    arrived_.push_back(job);
  }

  bool start(JobId job, GpuCount num_gpus) {
    require(job, JobState::Waiting, "started", "waiting");
    if ((num_gpus > free_gpus_ && !overcommits_) || !gangs_.place(job, num_gpus)) return false;
    JobProgress& progress = progress_by_job_[job.value];
    if (progress.run == 0) result_.outcomes[job.value].start = now_;
    progress.state = JobState::Running;
    --num_waiting_;
    ++num_running_;
    open_segment(job, num_gpus);
    return true;
  }

  /// Begins a segment on a gang that has been placed, and foresees its end.
  void open_segment(JobId job, GpuCount num_gpus) {
    update_gpus();
    JobProgress& progress = progress_by_job_[job.value];
    progress.resumed = now_;
    progress.num_gpus = num_gpus;
    foresee_end(job);
  }

  /// Opens the accounts of a segment, and foresees its end.
  void foresee_end(JobId job) {
    JobProgress& progress = progress_by_job_[job.value];
    const SimTime begin = progress.resumed;
    ++progress.run;
    if (rule_ == ProgressRule::Policy) {
      if (accounting_)
        accounting_->begin(job, progress.num_gpus, gangs_.shares(job), begin, progress.attained);
      return;
    }
    const SimDuration left = time_left(job);
    if (left >= kNever - begin) {
      throw SimulationFault(job_error(workload_, jobs_[job.value], "duration",
                                      "ends later than the simulated clock can tell (292 years)"));
    }
    events_.push({begin + left, EventKind::End, job, progress.run});
  }

  /// Time from the beginning of a job's segment until its work is done.
  SimDuration time_left(JobId job) {
    JobProgress& progress = progress_by_job_[job.value];
    const SpeedByGpus* const levels = rule_ == ProgressRule::Iterations ? curve(job) : nullptr;
    if (levels != nullptr) progress.speed = levels->iterations_per_s(progress.num_gpus);
    const SimDuration work = levels != nullptr ? time_for_iterations_left(job) : time_for_duration(job);
    if (!accounting_) return work;
    return accounting_->begin(job, progress.num_gpus, gangs_.shares(job), progress.resumed, progress.attained)
        .time_for(work);
  }

  /// Work still to go at the current speed.
  SimDuration time_for_iterations_left(JobId job) const {
    const JobProgress& progress = progress_by_job_[job.value];
    const double left = static_cast<double>(jobs_[job.value].iterations) - progress.iterations;
    return time_for_iterations(left, progress.speed);
  }

  /// Work still to go of a rigid job.
  SimDuration time_for_duration(JobId job) const {
    const SimDuration attained = progress_by_job_[job.value].attained;
    const SimDuration done = accounting_ ? attained - overheads_[job.value].lost : attained;
    const Job& description = jobs_[job.value];
    return (repeats_log_ ? description.duration : time_on_gpus(description)) - done;
  }

  /// Takes a running job's GPUs back.
  void release_gpus(JobId job, SegmentEnd how) {
    add_progress(job, how);
    gangs_.release(job, progress_by_job_[job.value].num_gpus);
    update_gpus();
  }

  /// Reads the numbers of free and usable GPUs from the placement.
  void update_gpus() {
    free_gpus_ = gangs_.placement().free_gpus();
    if (const NodeService* service = gangs_.service()) usable_gpus_ = total_gpus_ - service->withheld_gpus();
  }

  /// The number of GPUs must be one that the job can use, and sizes must be the policy's to choose.
  void require_level(JobId job, GpuCount num_gpus, std::string_view action) const {
    const SpeedByGpus* const levels = curve(job);
    const bool free_choice = rule_ != ProgressRule::Duration && levels != nullptr;
    if (free_choice ? levels->iterations_per_s(num_gpus) > 0 : num_gpus == jobs_[job.value].num_gpus) return;
    throw policy_fault(fmt::format("{} job '{}' on {} GPUs, which is none of its sizes", action,
                                   jobs_[job.value].name, num_gpus.value));
  }

  const Workload& workload_;
  const SimulationOptions& options_;
  Policy& policy_;
  const ProgressRule rule_ = policy_.progress_rule();
  const bool repeats_log_ = policy_.repeats_log();
  const Disruptions* disruptions_;
  Gangs gangs_;
  std::optional<GpusByType> by_type_;              ///< if types matter
  std::optional<PlacementSpeed> placement_speed_;  ///< if something is known of the speed of gangs
  std::optional<SegmentAccounting> accounting_;    ///< if something costs jobs time
  std::optional<OutageSchedule> outages_;          ///< if nodes may go out of service
  EventQueue events_;
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

}  // namespace

Result<SimulationResult> simulate(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
                                  const SimulationOptions& options) {
  if (auto checked = check_simulation(workload, cluster, policy, options); !checked)
    return fail(checked.error());
  try {
    return Simulation(workload, cluster, policy, options).run();
  } catch (const SimulationFault& fault) {
    return fail(fault.error());
  }
}

}  // namespace vtrain
