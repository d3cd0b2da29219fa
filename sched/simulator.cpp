#include "sched/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "sched/event_queue.hpp"
#include "sched/gpu_types.hpp"

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

Error job_error(const Job& job, Error error) {
  return job_error(job, std::move(error.field), std::move(error.message));
}

/// What a job asks of the cluster when it is to have `num_gpus` GPUs.
GangRequest request_of(const Job& job, GpuCount num_gpus) {
  return {.num_gpus = num_gpus, .gpu_type = job.gpu_type, .gpu_share = job.gpu_share};
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
        placement_(make_placement(options.placement, cluster, workload)),
        needs_shares_(placement_->needs_shares()),
        progress_by_job_(workload.jobs.size()),
        shares_(needs_shares_ ? workload.jobs.size() : 0) {
    total_gpus_ = free_gpus_ = cluster.total_gpus();
    cluster_ = &cluster;
    jobs_ = workload.jobs;
    curves_ = workload.curves;
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
    close_run(job);
    const bool placed = place(job, num_gpus);
    if (!placed && !place(job, before)) {
      throw std::logic_error("simulate: a gang does not fit where it has just been");
    }
    open_run(job, placed ? num_gpus : before);
    sweep_stale_events();
    if (placed) ++result_.outcomes[job.value].resizes;
    return placed;
  }

  void reject(JobId job) override {
    require(job, JobState::Waiting, "rejected", "waiting");
    if (progress_by_job_[job.value].run > 0) {
      throw policy_fault(fmt::format("rejected job '{}', which had started", jobs_[job.value].name));
    }
    progress_by_job_[job.value].state = JobState::Rejected;
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
    close_run(job);
    progress_by_job_[job.value].state = JobState::Waiting;
    --num_running_;
    ++num_waiting_;
    ++result_.outcomes[job.value].preemptions;
    sweep_stale_events();
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

  /// Ends of runs that were cut short stay in the queue until their time; clears them out when they are the
  /// greater part of it.
  void sweep_stale_events() {
    constexpr std::size_t kFewEvents = 64;
    if (events_.size() <= 2 * num_running_ + kFewEvents) return;
    events_.remove_if([this](const Event& event) { return stale(event); });
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
        end(event.job, now_, now_);
        ended_.push_back(event.job);
      }
    }
    ++timer_version_;
    for (; next_arrival_ < jobs_.size() && jobs_[next_arrival_].submit == now_; ++next_arrival_) {
      ++result_.events;
      arrive(JobId(next_arrival_));
    }
    return timer || !ended_.empty() || !arrived_.empty();
  }

  void end(JobId job, SimTime booked, SimTime finished) {
    const Job& description = jobs_[job.value];
    close_run(job);
    const bool cut = rule_ == ProgressRule::Duration && description.duration > description.walltime();
    progress_by_job_[job.value].state = cut ? JobState::Failed : JobState::Completed;
    --num_running_;
    result_.outcomes[job.value].end = booked;
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
    const ThroughputLevels* const levels = rule_ == ProgressRule::Duration ? nullptr : curve(job);
    const GpuCount least = levels == nullptr ? jobs_[job.value].num_gpus : levels->levels().front().num_gpus;
    if (!placement_->fits_empty(request_of(jobs_[job.value], least))) {
      progress_by_job_[job.value].state = JobState::Rejected;
      return;
    }
    progress_by_job_[job.value].state = JobState::Waiting;
    ++num_waiting_;
    arrived_.push_back(job);
  }

  bool place(JobId job, GpuCount num_gpus) {
    const GangRequest request = request_of(jobs_[job.value], num_gpus);
    if (!needs_shares_) return placement_->place(request, no_shares_);
    const bool placed = placement_->place(request, shares_.open(job));
    if (!placed) shares_.close(job);
    return placed;
  }

  bool start(JobId job, GpuCount num_gpus) {
    require(job, JobState::Waiting, "started", "waiting");
    if (num_gpus > free_gpus_ || !place(job, num_gpus)) return false;
    JobProgress& progress = progress_by_job_[job.value];
    if (progress.run == 0) result_.outcomes[job.value].start = now_;
    progress.state = JobState::Running;
    --num_waiting_;
    ++num_running_;
    open_run(job, num_gpus);
    return true;
  }

  /// Books a gang that has been placed, from now on, and foresees the job's end.
  void open_run(JobId job, GpuCount num_gpus) {
    free_gpus_ = placement_->free_gpus();
    JobProgress& progress = progress_by_job_[job.value];
    progress.resumed = now_;
    progress.num_gpus = num_gpus;
    ++progress.run;
    if (rule_ == ProgressRule::Policy) return;
    const SimDuration left = time_left(job);
    if (left > SimTime::max() - now_) {
      throw SimulationFault(job_error(jobs_[job.value], "duration",
                                      "ends later than the simulated clock can tell (292 years)"));
    }
    events_.push({now_ + left, EventKind::End, job, progress.run});
  }

  /// Time until the job's work is done on the GPUs that it has been given now.
  SimDuration time_left(JobId job) {
    const Job& description = jobs_[job.value];
    JobProgress& progress = progress_by_job_[job.value];
    const ThroughputLevels* const levels = rule_ == ProgressRule::Iterations ? curve(job) : nullptr;
    if (levels == nullptr) return time_on_gpus(description) - progress.attained;
    progress.speed = levels->iterations_per_s(progress.num_gpus);
    const double left = static_cast<double>(description.iterations) - progress.iterations;
    const double nanoseconds = std::ceil(std::max(left, 0.0) / progress.speed * 1e9);
    constexpr double kLongest = 9.2e18;
    return nanoseconds < kLongest ? SimDuration(static_cast<std::int64_t>(nanoseconds)) : SimDuration::max();
  }

  /// Takes a running job's GPUs back and books what it did with them.
  void close_run(JobId job) {
    JobProgress& progress = progress_by_job_[job.value];
    const SimDuration held = now_ - progress.resumed;
    progress.attained += held;
    progress.iterations += progress.speed * to_seconds(held);
    const Job& description = jobs_[job.value];
    result_.outcomes[job.value].gpu_time.add(
        held, progress.num_gpus, placement_->shares_gpus() ? description.gpu_share : Job{}.gpu_share);
    if (options_.record_runs && held.count() > 0) record_run(job, progress.resumed);
    const GangRequest request = request_of(jobs_[job.value], progress.num_gpus);
    if (needs_shares_) {
      placement_->release(request, shares_.of(job));
      shares_.close(job);
    } else {
      placement_->release(request, no_shares_);
    }
    free_gpus_ = placement_->free_gpus();
  }

  void record_run(JobId job, SimTime begin) {
    JobRun run{job, begin, now_, progress_by_job_[job.value].num_gpus, {}};
    if (placement_->knows_nodes()) {
      for (const NodeShare& share : shares_.of(job))
        run.nodes.push_back(share.node);
    }
    result_.runs.push_back(std::move(run));
  }

  void sample() {
    if (const auto rate = placement_->fragmentation()) result_.fragmentation.push_back({now_, *rate});
    const GpuCount in_use = total_gpus_ - placement_->idle_gpus();
    if (!result_.samples.empty()) {
      const ClusterSample& last = result_.samples.back();
      if (last.waiting_jobs == num_waiting_ && last.gpus_in_use == in_use) return;
    }
    result_.samples.push_back({now_, num_waiting_, in_use});
  }

  /// The number of GPUs must be one that the job can use, and sizes must be the policy's to choose.
  void require_level(JobId job, GpuCount num_gpus, std::string_view deed) const {
    const ThroughputLevels* const levels = curve(job);
    const bool free_choice = rule_ != ProgressRule::Duration && levels != nullptr;
    if (free_choice ? levels->iterations_per_s(num_gpus) > 0 : num_gpus == jobs_[job.value].num_gpus) return;
    throw policy_fault(fmt::format("{} job '{}' on {} GPUs, which is none of its sizes", deed,
                                   jobs_[job.value].name, num_gpus.value));
  }

  const SimulationOptions& options_;
  Policy& policy_;
  const ProgressRule rule_ = policy_.progress_rule();
  std::unique_ptr<Placement> placement_;
  const bool needs_shares_;
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
  std::vector<NodeShare> no_shares_;  ///< stays empty: for placements that need none
  SimulationResult result_;
};

/// Why a job does not fit on the empty cluster.
Error misfit(const Job& job, const Workload& workload, const ClusterSpec& cluster) {
  const GpuTypes types(cluster, workload.gpu_types);
  if (types.allowed(job.gpu_type).empty())
    return {.field = "gpu_type", .message = types.complaint(workload.gpu_types[job.gpu_type.value])};
  const std::string found = std::to_string(job.num_gpus.value);
  if (job.num_gpus > cluster.total_gpus()) {
    const std::string room = fmt::format("at most {}, the GPUs of the cluster", cluster.total_gpus().value);
    return {.field = "num_gpus", .message = expected_found(room, found)};
  }
  const std::string type = job.gpu_type && types.named()
                               ? fmt::format(" on GPUs of type '{}'", workload.gpu_types[job.gpu_type.value])
                               : "";
  return {.field = "num_gpus",
          .message =
              expected_found("a gang for which the placement has room on the empty cluster" + type, found)};
}

/// What must hold of every job before a replay can begin.
Result<void> check_jobs(const Workload& workload, const ClusterSpec& cluster, ProgressRule rule,
                        const SimulationOptions& options) {
  const auto placement = make_placement(options.placement, cluster, workload);
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
    if (rule == ProgressRule::Iterations && job.curve &&
        workload.curves[job.curve.value].iterations_per_s(job.num_gpus) <= 0) {
      return fail(job_error(job, "num_gpus",
                            expected_found("a number of GPUs that its throughput table has a speed for",
                                           std::to_string(job.num_gpus.value))));
    }
    if (options.strict && !placement->fits_empty(request_of(job, job.num_gpus)))
      return fail(job_error(job, misfit(job, workload, cluster)));
    if (job.submit < last_submission) throw std::logic_error("simulate: jobs are not ordered by submission");
    last_submission = job.submit;
  }
  return {};
}

}  // namespace

Result<SimulationResult> simulate(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
                                  const SimulationOptions& options) {
  if (auto checked = check_jobs(workload, cluster, policy.progress_rule(), options); !checked)
    return fail(checked.error());
  try {
    return Simulation(workload, cluster, policy, options).run();
  } catch (const SimulationFault& fault) {
    return fail(fault.error());
  }
}

}  // namespace vtrain
