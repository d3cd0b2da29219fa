#include "sched/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "sched/event_queue.hpp"

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

Error job_error(const Job& job, std::string field, std::string message) {
  return {.field = std::move(field), .message = fmt::format("job '{}': {}", job.name, message)};
}

/// Where the gangs that run now are. A gang's list is kept in a slot that the next gang reuses, so that
/// starts stop allocating once the slots are as many as jobs ever run together.
class GangShares {
 public:
  explicit GangShares(std::size_t num_jobs) : slot_of_(num_jobs) {}

  /// An empty list for a job that starts.
  std::vector<NodeShare>& open(JobId job) {
    if (free_slots_.empty()) {
      free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    slot_of_[job.value] = free_slots_.back();
    free_slots_.pop_back();
    return slots_[slot_of_[job.value]];
  }
  std::vector<NodeShare>& of(JobId job) { return slots_[slot_of_[job.value]]; }
  void close(JobId job) {
    of(job).clear();
    free_slots_.push_back(slot_of_[job.value]);
  }

 private:
  std::vector<std::uint32_t> slot_of_;
  std::vector<std::vector<NodeShare>> slots_;
  std::vector<std::uint32_t> free_slots_;
};

/// One replay. Owns the truth about every job; the policy sees it through the `SchedulingPass` that this is.
class Simulation final : public SchedulingPass {
 public:
  Simulation(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
             const SimulationOptions& options)
      : options_(options),
        policy_(policy),
        placement_(make_placement(options.placement, cluster)),
        progress_by_job_(workload.jobs.size()),
        shares_(options.placement == PlacementKind::Count ? 0 : workload.jobs.size()) {
    total_gpus_ = free_gpus_ = cluster.total_gpus();
    jobs_ = workload.jobs;
    progress_ = progress_by_job_;
    result_.outcomes.resize(jobs_.size());
  }

  SimulationResult run() {
    while (const auto instant = next_instant()) {
      now_ = *instant;
      if (!collect_events()) continue;
      policy_.schedule(*this);
      sample();
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      JobOutcome& outcome = result_.outcomes[i];
      outcome.attained = progress_by_job_[i].attained;
      outcome.state =
          progress_by_job_[i].state == JobState::Waiting ? JobState::Unfinished : progress_by_job_[i].state;
    }
    return std::move(result_);
  }

  std::span<const JobId> ended() const override { return ended_; }
  std::span<const JobId> arrived() const override { return arrived_; }

  bool try_start(JobId job) override {
    require(job, JobState::Waiting, "started", "waiting");
    const GpuCount num_gpus = jobs_[job.value].num_gpus;
    if (num_gpus > free_gpus_ || !place(job, num_gpus)) return false;
    free_gpus_ -= num_gpus;
    JobProgress& progress = progress_by_job_[job.value];
    if (progress.run == 0) result_.outcomes[job.value].start = now_;
    progress.state = JobState::Running;
    progress.resumed = now_;
    ++progress.run;
    --num_waiting_;
    ++num_running_;
    const SimDuration left = time_on_gpus(jobs_[job.value]) - progress.attained;
    if (left > SimTime::max() - now_) {
      throw SimulationFault(job_error(jobs_[job.value], "duration",
                                      "ends later than the simulated clock can tell (292 years)"));
    }
    events_.push({now_ + left, EventKind::End, job, progress.run});
    return true;
  }

  void preempt(JobId job) override {
    require(job, JobState::Running, "preempted", "running");
    stop(job, JobState::Waiting);
    ++num_waiting_;
    ++result_.outcomes[job.value].preemptions;
    // Ends of preempted runs stay in the queue until their time; clear them out when they are the greater
    // part of it.
    constexpr std::size_t kFewEvents = 64;
    if (events_.size() > 2 * num_running_ + kFewEvents) {
      events_.remove_if([this](const Event& event) { return stale(event); });
    }
  }

  void wake_at(SimTime time) override {
    if (time <= now_) throw policy_fault("asked for a timer that does not lie in the future");
    events_.push({time, EventKind::Timer, {}, ++timer_version_});
  }

 private:
  /// Time for which a job holds its GPUs in all: its duration, cut at the time limit.
  static SimDuration time_on_gpus(const Job& job) { return std::min(job.duration, job.walltime()); }

  void require(JobId job, JobState state, std::string_view deed, std::string_view state_name) const {
    if (job.value >= jobs_.size()) throw policy_fault(fmt::format("{} a job that does not exist", deed));
    if (progress_by_job_[job.value].state != state) {
      throw policy_fault(
          fmt::format("{} job '{}', which is not {}", deed, jobs_[job.value].name, state_name));
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

  std::optional<SimTime> next_instant() {
    while (!events_.empty() && stale(events_.top()))
      events_.pop();
    std::optional<SimTime> next;
    if (!events_.empty()) next = events_.top().time;
    if (next_arrival_ < jobs_.size() && (!next || jobs_[next_arrival_].submit < *next)) {
      next = jobs_[next_arrival_].submit;
    }
    return next;
  }

  /// Takes in everything that happens now: ends, then arrivals, then a timer. False if there was nothing for
  /// the policy.
  bool collect_events() {
    ended_.clear();
    arrived_.clear();
    bool timer = false;
    for (; !events_.empty() && events_.top().time == now_; events_.pop()) {
      const Event event = events_.top();
      if (stale(event)) continue;
      ++result_.events;
      if (event.kind == EventKind::Timer) {
        timer = true;
      } else {
        end(event.job);
      }
    }
    ++timer_version_;
    for (; next_arrival_ < jobs_.size() && jobs_[next_arrival_].submit == now_; ++next_arrival_) {
      ++result_.events;
      arrive(JobId(next_arrival_));
    }
    return timer || !ended_.empty() || !arrived_.empty();
  }

  void end(JobId job) {
    const Job& description = jobs_[job.value];
    stop(job, description.duration > description.walltime() ? JobState::Failed : JobState::Completed);
    result_.outcomes[job.value].end = now_;
    ended_.push_back(job);
    count_done();
  }

  /// Tells of ends in batches: the counter is shared between threads.
  void count_done() {
    constexpr std::int64_t kBatch = 1024;
    if (options_.jobs_done == nullptr || ++num_done_ % kBatch != 0) return;
    options_.jobs_done->fetch_add(kBatch, std::memory_order_relaxed);
  }

  void arrive(JobId job) {
    if (!placement_->fits_empty(jobs_[job.value].num_gpus)) {
      progress_by_job_[job.value].state = JobState::Rejected;
      return;
    }
    progress_by_job_[job.value].state = JobState::Waiting;
    ++num_waiting_;
    arrived_.push_back(job);
  }

  bool place(JobId job, GpuCount num_gpus) {
    if (options_.placement == PlacementKind::Count) return placement_->place(num_gpus, no_shares_);
    const bool placed = placement_->place(num_gpus, shares_.open(job));
    if (!placed) shares_.close(job);
    return placed;
  }

  /// Takes a running job's GPUs back and books the time for which it held them.
  void stop(JobId job, JobState state) {
    JobProgress& progress = progress_by_job_[job.value];
    progress.attained += now_ - progress.resumed;
    progress.state = state;
    if (options_.record_runs && now_ > progress.resumed) record_run(job, progress.resumed);
    const GpuCount num_gpus = jobs_[job.value].num_gpus;
    if (options_.placement == PlacementKind::Count) {
      placement_->release(num_gpus, no_shares_);
    } else {
      placement_->release(num_gpus, shares_.of(job));
      shares_.close(job);
    }
    free_gpus_ += num_gpus;
    --num_running_;
  }

  void record_run(JobId job, SimTime begin) {
    JobRun run{job, begin, now_, {}};
    if (options_.placement != PlacementKind::Count) {
      for (const NodeShare& share : shares_.of(job))
        run.nodes.push_back(share.node);
    }
    result_.runs.push_back(std::move(run));
  }

  void sample() {
    const GpuCount in_use = total_gpus_ - free_gpus_;
    if (!result_.samples.empty()) {
      const ClusterSample& last = result_.samples.back();
      if (last.waiting_jobs == num_waiting_ && last.gpus_in_use == in_use) return;
    }
    result_.samples.push_back({now_, num_waiting_, in_use});
  }

  const SimulationOptions& options_;
  Policy& policy_;
  std::unique_ptr<Placement> placement_;
  EventQueue events_;
  std::uint32_t timer_version_ = 0;
  std::uint32_t next_arrival_ = 0;
  std::uint32_t num_waiting_ = 0;
  std::size_t num_running_ = 0;
  std::int64_t num_done_ = 0;
  std::vector<JobId> ended_;
  std::vector<JobId> arrived_;
  std::vector<JobProgress> progress_by_job_;
  GangShares shares_;
  std::vector<NodeShare> no_shares_;  ///< stays empty: `count` has no nodes
  SimulationResult result_;
};

/// What must hold of every job before a replay can begin.
Result<void> check_jobs(const Workload& workload, const ClusterSpec& cluster,
                        const SimulationOptions& options) {
  const auto placement = make_placement(options.placement, cluster);
  const std::int32_t total_gpus = cluster.total_gpus().value;
  SimTime last_submission = SimTime::min();
  for (const Job& job : workload.jobs) {
    if (job.duration.count() <= 0) {
      return fail(job_error(job, "duration",
                            expected_found("more than 0 s", fmt::format("{} ns", job.duration.count()))));
    }
    if (job.num_gpus.value <= 0) {
      return fail(
          job_error(job, "num_gpus", expected_found("at least 1", std::to_string(job.num_gpus.value))));
    }
    if (options.strict && !placement->fits_empty(job.num_gpus)) {
      const std::string room = fmt::format("at most {}, the GPUs of the cluster", total_gpus);
      return fail(job_error(job, "num_gpus", expected_found(room, std::to_string(job.num_gpus.value))));
    }
    if (job.submit < last_submission) throw std::logic_error("simulate: jobs are not ordered by submission");
    last_submission = job.submit;
  }
  return {};
}

}  // namespace

Result<SimulationResult> simulate(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
                                  const SimulationOptions& options) {
  if (auto checked = check_jobs(workload, cluster, options); !checked) return fail(checked.error());
  try {
    return Simulation(workload, cluster, policy, options).run();
  } catch (const SimulationFault& fault) {
    return fail(fault.error());
  }
}

}  // namespace vtrain
