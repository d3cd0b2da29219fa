#include "tests/unit/policies/decision_policies.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace vtrain::testing {
namespace {

std::int64_t total(const std::vector<std::int64_t>& gpus) {
  std::int64_t sum = 0;
  for (const std::int64_t each : gpus)
    sum += each;
  return sum;
}

/// Keeps the submitted data of live jobs.
class Remembers : public DecisionPolicy {
 public:
  void begin_on(const ClusterView&) override { jobs_.clear(); }

 protected:
  void remember(const PassEvents& events) {
    for (const JobView& job : events.arrived)
      jobs_.insert_or_assign(job.id, job);
  }
  const JobView& job(JobId id) const { return jobs_.at(id); }

 private:
  std::map<JobId, JobView> jobs_;
};

/// FIFO: running jobs continue; waiting jobs start in order of arrival, up to the first that does not fit.
class FifoByValues final : public Remembers {
  Decision decide(const PassEvents& events) override {
    remember(events);
    Decision decision;
    std::int64_t left = total(events.usable);
    for (const LiveView& live : events.live) {
      if (live.holds.gpus.value == 0) continue;
      left -= live.holds.gpus.value;
      decision.run.push_back({live.id, live.holds});
    }
    for (const LiveView& live : events.live) {
      if (live.holds.gpus.value > 0) continue;
      const GpuCount gpus = job(live.id).num_gpus;
      if (gpus.value > left) break;
      left -= gpus.value;
      decision.run.push_back({live.id, {gpus}});
    }
    return decision;
  }
};

/// SRTF: runs the jobs with the least remaining work that fit; running jobs have no priority.
class ShortestRemainingByValues final : public Remembers {
 public:
  bool is_clairvoyant() const override { return true; }

 private:
  Decision decide(const PassEvents& events) override {
    remember(events);
    Decision decision;
    std::int64_t left = total(events.usable);
    std::vector<std::pair<SimDuration, const LiveView*>> order;
    for (const LiveView& live : events.live) {
      if (live.must_keep) {
        left -= live.holds.gpus.value;
        decision.run.push_back({live.id, live.holds});
      } else {
        order.emplace_back(*job(live.id).run_time - live.work_done, &live);
      }
    }
    std::ranges::stable_sort(order, {}, [](const auto& each) { return each.first; });
    for (const auto& [remaining, live] : order) {
      const GpuCount gpus = job(live->id).num_gpus;
      if (gpus.value > left) continue;
      left -= gpus.value;
      decision.run.push_back({live->id, {gpus}});
    }
    return decision;
  }
};

/// EASY, planned from the beginning in every pass.
class EasyByValues final : public Remembers {
  Decision decide(const PassEvents& events) override {
    remember(events);
    Decision decision;
    std::int64_t free = total(events.usable);
    // (when they end at the latest, GPUs) of those that run
    std::vector<std::pair<SimTime, std::int64_t>> ends;
    std::vector<const LiveView*> waiting;
    for (const LiveView& live : events.live) {
      if (live.holds.gpus.value == 0) {
        waiting.push_back(&live);
        continue;
      }
      free -= live.holds.gpus.value;
      ends.emplace_back(saturating_sum(events.now, live.planned), live.holds.gpus.value);
      decision.run.push_back({live.id, live.holds});
    }
    const auto start = [&](const LiveView& live) {
      const GpuCount gpus = job(live.id).num_gpus;
      free -= gpus.value;
      ends.emplace_back(saturating_sum(events.now, live.planned), gpus.value);
      decision.run.push_back({live.id, {gpus}});
    };
    std::size_t head = 0;
    for (; head < waiting.size() && job(waiting[head]->id).num_gpus.value <= free; ++head)
      start(*waiting[head]);
    if (head == waiting.size()) return decision;
    // The first job that does not fit has a reservation: when enough GPUs will have come free.
    std::ranges::sort(ends);
    const std::int64_t needed = job(waiting[head]->id).num_gpus.value;
    std::int64_t then = free;
    SimTime shadow = SimTime::max();
    for (std::size_t i = 0; i < ends.size();) {
      const SimTime time = ends[i].first;
      for (; i < ends.size() && ends[i].first == time; ++i)
        then += ends[i].second;
      if (then < needed) continue;
      shadow = time;
      break;
    }
    std::int64_t spare = shadow == SimTime::max() ? free : then - needed;
    for (std::size_t i = head + 1; i < waiting.size(); ++i) {
      const std::int64_t gpus = job(waiting[i]->id).num_gpus.value;
      if (gpus > free) continue;
      const bool ends_before = saturating_sum(events.now, waiting[i]->planned) <= shadow;
      if (!ends_before && gpus > spare) continue;
      if (!ends_before) spare -= gpus;
      start(*waiting[i]);
    }
    return decision;
  }
};

/// A scheduling pass built from values.
class PassOfValues final : public SchedulingPass {
 public:
  void begin(const ClusterView& cluster) {
    names_ = &known_names_;
    for (const TypeView& type : cluster.types)
      total_gpus_ += GpuCount(static_cast<std::int32_t>(type.gpus));
  }

  void show(const PassEvents& events) {
    decision = {};
    given_.clear();
    now_ = events.now;
    more_to_come_ = events.more_to_come;
    capacity_changed_ = events.capacity_changed;
    interrupted_ = events.interrupted;
    ended_ = events.ended;
    arrived_.clear();
    for (const JobView& view : events.arrived)
      add(view);
    for (JobProgress& progress : progress_by_job_)
      progress.state = JobState::Completed;
    free_gpus_ = usable_gpus_ = GpuCount(static_cast<std::int32_t>(total(events.usable)));
    for (const LiveView& live : events.live) {
      // Time on GPUs is work: nothing but failures takes it away.
      const bool runs = live.holds.gpus.value > 0;
      progress_by_job_[live.id.value] = {
          .resumed = runs ? live.holds_since : events.now,
          .attained = live.work_done - (runs ? events.now - live.holds_since : SimDuration(0)),
          .num_gpus = live.holds.gpus,
          .state = live.holds.gpus.value > 0 ? JobState::Running : JobState::Waiting};
      free_gpus_ -= live.holds.gpus;
    }
    jobs_ = known_;
    progress_ = progress_by_job_;
    if (events.disrupted) no_overheads_.resize(known_.size());
    overheads_ = no_overheads_;
  }

  /// The decision from the commands: first jobs that keep their GPUs, then others in the order of the
  /// commands. Placement finds room for them in this order.
  Decision take_decision(const PassEvents& events) {
    std::vector<JobId> order;
    for (const LiveView& live : events.live) {
      if (std::ranges::find(given_, live.id) == given_.end()) order.push_back(live.id);
    }
    order.insert(order.end(), given_.begin(), given_.end());
    for (const JobId job : order) {
      const JobProgress& progress = progress_by_job_[job.value];
      if (progress.state == JobState::Running) decision.run.push_back({job, {progress.num_gpus}});
    }
    return std::move(decision);
  }

  std::span<const JobId> ended() const override { return ended_; }
  std::span<const JobId> arrived() const override { return arrived_; }
  bool try_start(JobId job) override { return try_start(job, Allocation{jobs_[job.value].num_gpus}); }
  bool try_start(JobId job, const Allocation& gpus) override { return give(job, gpus.gpus); }
  bool try_resize(JobId job, const Allocation& gpus) override { return give(job, gpus.gpus); }
  void preempt(JobId job) override { take(job, JobState::Waiting); }
  void requeue(JobId job) override { take(job, JobState::Waiting); }
  void cancel(JobId job) override { take(job, JobState::Cancelled); }
  bool try_resume(JobId) override { return false; }
  void reject(JobId job, std::optional<SimTime>) override {
    progress_by_job_[job.value].state = JobState::Rejected;
    decision.reject.push_back(job);
  }
  void promise(JobId) override {}
  void complete(JobId job, SimTime end, SimTime finished) override {
    take(job, JobState::Completed);
    decision.complete.push_back({job, end, finished});
  }
  void wake_at(SimTime time) override { decision.wake_at = time; }
  double speed(JobId, const Allocation&) const override { throw std::logic_error("PassOfValues::speed"); }
  [[noreturn]] void refuse(JobId, std::string_view rule) const override {
    throw std::logic_error(std::string(rule));
  }

  Decision decision;

 private:
  void add(const JobView& view) {
    Job job;
    job.submit = view.submit;
    job.deadline = view.deadline.value_or(Job::kNoDeadline);
    job.duration = view.run_time.value();
    job.requested_time = view.time_limit;
    job.num_gpus = view.num_gpus;
    job.max_gpus = view.max_gpus;
    job.iterations = view.iterations;
    if (view.iterations > 0) {
      std::vector<SpeedByGpus::Level> levels;
      for (const SpeedPoint& point : view.speeds)
        levels.push_back({point.gpus.gpus, point.speed});
      job.curve = CurveId(static_cast<std::uint32_t>(known_names_.curves.size()));
      known_names_.curves.emplace_back(std::move(levels));
    }
    known_.resize(view.id.value + std::size_t{1});
    known_[view.id.value] = job;
    progress_by_job_.resize(known_.size());
    arrived_.push_back(view.id);
  }
  bool give(JobId job, GpuCount gpus) {
    JobProgress& progress = progress_by_job_[job.value];
    const GpuCount held = progress.state == JobState::Running ? progress.num_gpus : GpuCount(0);
    if (gpus - held > free_gpus_) return false;
    free_gpus_ -= gpus - held;
    progress.num_gpus = gpus;
    progress.state = JobState::Running;
    given_.push_back(job);
    return true;
  }
  void take(JobId job, JobState state) {
    free_gpus_ += progress_by_job_[job.value].num_gpus;
    progress_by_job_[job.value].state = state;
  }

  std::vector<JobId> ended_;
  std::vector<JobId> arrived_;
  std::vector<Job> known_;
  Workload known_names_;  ///< curves of the jobs
  std::vector<JobProgress> progress_by_job_;
  std::vector<JobId> given_;               ///< jobs that get GPUs by commands of this pass
  std::vector<JobOverhead> no_overheads_;  ///< overheads of jobs; empty if jobs cannot be disrupted
};

class PolicyOnValues final : public DecisionPolicy {
 public:
  explicit PolicyOnValues(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {}
  void begin_on(const ClusterView& cluster) override { pass_.begin(cluster); }
  Decision decide(const PassEvents& events) override {
    pass_.show(events);
    policy_->schedule(pass_);
    return pass_.take_decision(events);
  }
  bool is_clairvoyant() const override { return true; }
  ProgressRule progress_rule() const override { return policy_->progress_rule(); }
  bool supports_disruptions() const override { return policy_->supports_disruptions(); }

 private:
  std::unique_ptr<Policy> policy_;
  PassOfValues pass_;
};

}  // namespace

std::unique_ptr<DecisionPolicy> on_values(std::unique_ptr<Policy> policy) {
  return std::make_unique<PolicyOnValues>(std::move(policy));
}

std::unique_ptr<DecisionPolicy> make_decision_policy(std::string_view name) {
  if (name == "fifo") return std::make_unique<FifoByValues>();
  if (name == "srtf") return std::make_unique<ShortestRemainingByValues>();
  if (name == "easy") return std::make_unique<EasyByValues>();
  throw std::logic_error("make_decision_policy: unknown policy");
}

}  // namespace vtrain::testing
