// First come, first served: policies that start waiting jobs in an order of time, preempt none and reserve
// nothing.
//
//  * `fifo`: jobs start in order of arrival; no job overtakes the one at the head. It is the `fcfs` of
//    Batsim and the `fifo` of Tiresias. O(1) per start.
//  * `fit-first`: every pass walks the waiting jobs in order of arrival and starts those that fit. Large
//    gangs can starve. It is the `filler` of Batsim and the `fjf` (fit-job-first) of Tiresias. O(log n) per
//    start.
//  * `recorded`: a job starts at its start in the recorded log (`Job::original_start`). Under `count` it does
//    so even if the log holds more GPUs than there are: the clocks of logs are coarse. Under other placements
//    it starts as soon after as its gang has room. Waiting jobs are walked as by `fit-first`, in the order of
//    their recorded starts; jobs that a failing node stopped come last. A job without a recorded start starts
//    when it is submitted. Jobs run for their recorded times, even beyond their time limits. O(log n) per
//    start.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "policies/base/policies.hpp"
#include "policies/fcfs/waiting_queue.hpp"

namespace vtrain {
namespace {

class Fifo final : public Policy {
 public:
  void begin(const SchedulingPass& view) override {
    waiting_.assign(view.waiting().begin(), view.waiting().end());
  }
  bool can_begin_with_jobs() const override { return true; }

  void schedule(SchedulingPass& pass) override {
    for (const JobId job : pass.interrupted())
      waiting_.insert(std::ranges::lower_bound(waiting_, job), job);
    while (!waiting_.empty() && pass.try_start(waiting_.front()))
      waiting_.pop_front();
    for (const JobId job : pass.arrived()) {
      if (!waiting_.empty() || !pass.try_start(job)) waiting_.push_back(job);
    }
  }

  WaitCause holds_back(const SchedulingPass&, JobId job) const override {
    return job == waiting_.front() ? WaitCause{} : WaitCause{WaitReason::Order, waiting_.front()};
  }
  void append_heads(std::vector<JobId>& heads) const override {
    if (!waiting_.empty()) heads.push_back(waiting_.front());
  }

 private:
  std::deque<JobId> waiting_;  ///< waiting jobs in order of arrival, which is that of the ids
};

/// Walks a queue and starts the jobs that fit.
void start_fitting(SchedulingPass& pass, WaitingQueue& waiting) {
  auto position = waiting.first_fitting(0, pass.free_gpus());
  while (position) {
    // Enough free GPUs may not be enough room: under `yarn` they may lie on too many nodes.
    if (pass.try_start(waiting.job(*position))) waiting.remove(*position);
    position = waiting.first_fitting(*position + 1, pass.free_gpus());
  }
}

class FitFirst final : public Policy {
 public:
  void begin(const SchedulingPass& view) override {
    waiting_ = {};
    for (const JobId job : view.waiting())
      waiting_.push_back(job, view.job(job).num_gpus);
  }
  bool can_begin_with_jobs() const override { return true; }

  void schedule(SchedulingPass& pass) override {
    for (const JobId job : pass.interrupted())
      waiting_.insert(job, pass.job(job).num_gpus);
    for (const JobId job : pass.arrived())
      waiting_.push_back(job, pass.job(job).num_gpus);
    start_fitting(pass, waiting_);
  }

 private:
  WaitingQueue waiting_;
};

class Recorded final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    for (const JobId job : pass.interrupted())
      waiting_.push_back(job, pass.job(job).num_gpus);
    for (const JobId job : pass.arrived())
      upcoming_.emplace(start_of(pass.job(job)), job);
    start_fitting(pass, waiting_);
    for (; !upcoming_.empty() && upcoming_.top().first <= pass.now(); upcoming_.pop()) {
      const JobId id = upcoming_.top().second;
      const Job& job = pass.job(id);
      const bool started = pass.try_start(id);
      if (!started) waiting_.push_back(id, job.num_gpus);
      if (job.original_start != Job::kNoStart && !(started && job.original_start == pass.now())) ++late_;
    }
    excess_ = std::min(excess_, pass.free_gpus());
    if (!upcoming_.empty()) pass.wake_at(upcoming_.top().first);
  }

  bool repeats_log() const override { return true; }
  std::optional<SimTime> considers_at(const SchedulingPass& pass, JobId job) const override {
    const SimTime start = start_of(pass.job(job));
    return start > pass.now() ? std::optional(start) : std::nullopt;
  }

  std::vector<PolicyFigure> figures() const override {
    return {{"jobs_started_later_than_recorded", static_cast<double>(late_)},
            {"gpus_held_beyond_cluster", static_cast<double>(-excess_.value)}};
  }

 private:
  using Start = std::pair<SimTime, JobId>;

  static SimTime start_of(const Job& job) {
    return job.original_start == Job::kNoStart ? job.submit : job.original_start;
  }

  /// Submitted jobs with later starts.
  std::priority_queue<Start, std::vector<Start>, std::greater<>> upcoming_;
  WaitingQueue waiting_;   ///< jobs that should have started by now, in that order
  std::int64_t late_ = 0;  ///< number of jobs that start later than recorded
  GpuCount excess_{0};     ///< least number of free GPUs, if below 0
};

}  // namespace

MadePolicy make_fifo(const PolicyArguments&) {
  return std::make_unique<Fifo>();
}

MadePolicy make_fit_first(const PolicyArguments&) {
  return std::make_unique<FitFirst>();
}

MadePolicy make_recorded(const PolicyArguments&) {
  return std::make_unique<Recorded>();
}

}  // namespace vtrain
