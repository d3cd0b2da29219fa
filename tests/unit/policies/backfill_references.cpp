#include "tests/unit/policies/backfill_references.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "policies/backfill/gpu_set_timeline.hpp"
#include "tests/unit/policies/replay_checks.hpp"

namespace vtrain::testing {
namespace {

class ReferenceEasyFast final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    for (const JobId id : pass.ended())
      std::erase(running_, id);
    if (!pass.ended().empty() && priority_) {
      if (start(pass, *priority_)) {
        priority_.reset();
        while (!waiting_.empty() && !priority_) {
          const JobId id = waiting_.front();
          waiting_.pop_front();
          if (!start(pass, id)) prioritize(pass, id);
        }
      }
      for (auto job = waiting_.begin(); job != waiting_.end();) {
        const bool in_time = pass.now() + pass.job(*job).time_limit() <= shadow_;
        job = in_time && start(pass, *job) ? waiting_.erase(job) : std::next(job);
      }
    }
    for (const JobId id : pass.arrived()) {
      const bool fits = pass.job(id).num_gpus <= pass.free_gpus();
      const bool in_time = !priority_ || pass.now() + pass.job(id).time_limit() <= shadow_;
      if (fits && in_time && start(pass, id)) continue;
      if (!priority_) {
        prioritize(pass, id);
      } else {
        waiting_.push_back(id);
      }
    }
  }

 private:
  bool start(SchedulingPass& pass, JobId id) {
    if (!pass.try_start(id)) return false;
    running_.push_back(id);
    return true;
  }
  void prioritize(const SchedulingPass& pass, JobId id) {
    priority_ = id;
    const auto end = [&](JobId job) { return pass.planned_end(job); };
    std::vector<JobId> by_end = running_;
    std::stable_sort(by_end.begin(), by_end.end(), [&](JobId a, JobId b) { return end(a) < end(b); });
    GpuCount free = pass.free_gpus();
    for (const JobId running : by_end) {
      free += pass.job(running).num_gpus;
      shadow_ = end(running);
      if (free >= pass.job(id).num_gpus) break;
    }
  }

  std::list<JobId> waiting_;
  std::optional<JobId> priority_;
  SimTime shadow_{};
  std::vector<JobId> running_;
};

/// Base of the two policies with a profile. Under `count` placement, a slot that begins now always starts.
class ProfilePolicy : public Policy {
 protected:
  void update(SchedulingPass& pass) {
    if (!profile_) profile_.emplace(pass.total_gpus(), pass.now());
    profile_->advance(pass.now());
    for (const JobId id : pass.ended())
      unplace(id);
  }
  /// Places a job and starts it if its slot is now.
  bool place(SchedulingPass& pass, JobId id) {
    const auto slot = profile_->earliest_slot(pass.job(id).num_gpus, pass.job(id).time_limit());
    profile_->reserve(*slot);
    slots_[id] = *slot;
    return slot->begin == pass.now() && pass.try_start(id);
  }
  void unplace(JobId id) {
    if (const auto slot = slots_.find(id); slot != slots_.end()) {
      profile_->release(slot->second);
      slots_.erase(slot);
    }
  }
  GpuCount free_now() const { return profile_->free_gpus().size(); }
  const Slot& slot(JobId id) const { return slots_.at(id); }

  std::list<JobId> waiting_;

 private:
  std::optional<GpuSetTimeline> profile_;
  std::map<JobId, Slot> slots_;
};

class ReferenceEasy final : public ProfilePolicy {
 public:
  explicit ReferenceEasy(bool ascending_walltime) : ascending_walltime_(ascending_walltime) {}

  void schedule(SchedulingPass& pass) override {
    update(pass);
    waiting_.insert(waiting_.end(), pass.arrived().begin(), pass.arrived().end());
    if (ascending_walltime_) {
      waiting_.sort([&](JobId a, JobId b) { return pass.job(a).time_limit() < pass.job(b).time_limit(); });
    }
    if (first() != head_) {
      if (head_) unplace(*head_);
      while ((head_ = first()) && place(pass, *head_))
        waiting_.pop_front();
    }
    if (pass.ended().empty()) {
      try_arrivals(pass);
    } else {
      // batsched looks first whether any GPU is free. There a job never ends exactly at its time limit;
      // where one does, the head's own reservation may begin now, and its GPUs are as good as free.
      try_all(pass);
    }
  }

 private:
  std::optional<JobId> first() const {
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.front());
  }
  void try_all(SchedulingPass& pass) {
    for (auto job = waiting_.begin(); job != waiting_.end();) {
      unplace(*job);
      if (place(pass, *job)) {
        const bool was_head = *job == head_;
        job = waiting_.erase(job);
        if (was_head) head_ = first();
      } else {
        if (*job != head_) unplace(*job);
        ++job;
      }
    }
  }
  void try_arrivals(SchedulingPass& pass) {
    for (const JobId id : pass.arrived()) {
      if (id == head_ || pass.state(id) != JobState::Waiting || pass.job(id).num_gpus > free_now()) continue;
      if (place(pass, id)) {
        waiting_.remove(id);
      } else {
        unplace(id);
      }
    }
  }

  bool ascending_walltime_;
  std::optional<JobId> head_;
};

class ReferenceConservative final : public ProfilePolicy {
 public:
  explicit ReferenceConservative(std::vector<SimTime>& first_promises) : first_promises_(first_promises) {}

  void schedule(SchedulingPass& pass) override {
    update(pass);
    if (!pass.ended().empty()) {
      for (auto job = waiting_.begin(); job != waiting_.end();) {
        unplace(*job);
        job = place(pass, *job) ? waiting_.erase(job) : std::next(job);
      }
    }
    for (const JobId id : pass.arrived()) {
      if (!place(pass, id)) waiting_.push_back(id);
      first_promises_.push_back(slot(id).begin);
    }
  }

 private:
  std::vector<SimTime>& first_promises_;
};

/// Free GPUs from now on, in the textbook's form: steps of a time and a count, the last without end.
class CountProfile {
 public:
  CountProfile(SimTime now, std::int64_t free) : steps_{{now, free}} {}
  void take(std::int64_t gpus, SimTime begin, SimTime end) {
    if (end <= begin) return;
    cut(begin);
    if (end != SimTime::max()) cut(end);
    for (auto& [time, free] : steps_)
      free -= time >= begin && time < end ? gpus : 0;
  }
  SimTime earliest(std::int64_t gpus, SimDuration length) const {
    for (auto begin = steps_.begin(); begin != steps_.end(); ++begin) {
      const SimTime end = saturating_sum(begin->first, length);
      auto step = begin;
      while (step != steps_.end() && step->first < end && step->second >= gpus)
        ++step;
      if (step != begin && (step == steps_.end() || step->first >= end)) return begin->first;
    }
    return SimTime::max();
  }
  std::int64_t free_now() const { return steps_.front().second; }

 private:
  void cut(SimTime time) {
    if (time <= steps_.front().first ||
        std::ranges::any_of(steps_, [&](const auto& s) { return s.first == time; }))
      return;
    const auto later = std::ranges::find_if(steps_, [&](const auto& step) { return step.first > time; });
    steps_.insert(later, {time, std::prev(later)->second});
  }
  std::list<std::pair<SimTime, std::int64_t>> steps_;
};

/// Base of the two textbook policies.
class TextbookPolicy : public Policy {
 protected:
  void update(const SchedulingPass& pass) {
    for (const JobId id : pass.ended())
      std::erase(running_, id);
    waiting_.insert(waiting_.end(), pass.arrived().begin(), pass.arrived().end());
  }
  CountProfile profile(const SchedulingPass& pass) const {
    CountProfile free(pass.now(), pass.total_gpus().value);
    for (const JobId id : running_)
      free.take(pass.job(id).num_gpus.value, pass.now(), pass.planned_end(id));
    return free;
  }
  void start(SchedulingPass& pass, JobId id) {
    if (!pass.try_start(id)) throw std::logic_error("the textbook's job does not fit");
    running_.push_back(id);
  }
  static void take(CountProfile& free, const SchedulingPass& pass, JobId id, SimTime begin) {
    free.take(pass.job(id).num_gpus.value, begin, saturating_sum(begin, pass.job(id).time_limit()));
  }
  static SimTime earliest(const CountProfile& free, const SchedulingPass& pass, JobId id) {
    return free.earliest(pass.job(id).num_gpus.value, pass.job(id).time_limit());
  }

  std::vector<JobId> running_;
  std::list<JobId> waiting_;  ///< waiting jobs in order of arrival
};

class TextbookEasy final : public TextbookPolicy {
 public:
  explicit TextbookEasy(bool ascending_walltime) : ascending_walltime_(ascending_walltime) {}

  void schedule(SchedulingPass& pass) override {
    update(pass);
    if (ascending_walltime_) {
      waiting_.sort([&](JobId a, JobId b) {
        return std::pair(pass.job(a).time_limit(), a) < std::pair(pass.job(b).time_limit(), b);
      });
    }
    CountProfile free = profile(pass);
    while (!waiting_.empty() && free.free_now() >= pass.job(waiting_.front()).num_gpus.value) {
      take(free, pass, waiting_.front(), pass.now());
      start(pass, waiting_.front());
      waiting_.pop_front();
    }
    if (waiting_.empty()) return;
    take(free, pass, waiting_.front(), earliest(free, pass, waiting_.front()));
    for (auto job = std::next(waiting_.begin()); job != waiting_.end();) {
      if (earliest(free, pass, *job) != pass.now()) {
        ++job;
        continue;
      }
      take(free, pass, *job, pass.now());
      start(pass, *job);
      job = waiting_.erase(job);
    }
  }

 private:
  bool ascending_walltime_;
};

class TextbookConservative final : public TextbookPolicy {
 public:
  explicit TextbookConservative(std::vector<SimTime>& first_promises) : first_promises_(first_promises) {}

  void schedule(SchedulingPass& pass) override {
    const bool early =
        std::ranges::any_of(pass.ended(), [&](JobId id) { return pass.planned_end(id) > pass.now(); });
    update(pass);
    for (const JobId id : waiting_) {
      const auto reserved = reserved_.find(id);
      if (reserved != reserved_.end() && (!early || reserved->second <= pass.now())) continue;
      CountProfile free = profile(pass);
      for (const auto& [other, begin] : reserved_) {
        if (other != id) take(free, pass, other, begin);
      }
      if (reserved == reserved_.end()) first_promises_.push_back(earliest(free, pass, id));
      reserved_[id] = earliest(free, pass, id);
    }
    SimTime next = SimTime::max();
    for (auto job = waiting_.begin(); job != waiting_.end();) {
      const SimTime begin = reserved_.at(*job);
      if (begin == pass.now()) {
        start(pass, *job);
        reserved_.erase(*job);
        job = waiting_.erase(job);
      } else {
        next = std::min(next, begin);
        ++job;
      }
    }
    if (next != SimTime::max()) pass.wake_at(next);
  }

 private:
  std::vector<SimTime>& first_promises_;
  std::map<JobId, SimTime> reserved_;
};

}  // namespace

std::unique_ptr<Policy> textbook_easy(bool ascending_walltime) {
  return std::make_unique<TextbookEasy>(ascending_walltime);
}

std::unique_ptr<Policy> textbook_conservative(std::vector<SimTime>& first_promises) {
  return std::make_unique<TextbookConservative>(first_promises);
}

std::unique_ptr<Policy> reference_easy_fast() {
  return std::make_unique<ReferenceEasyFast>();
}

std::unique_ptr<Policy> reference_easy(bool ascending_walltime) {
  return std::make_unique<ReferenceEasy>(ascending_walltime);
}

std::unique_ptr<Policy> reference_conservative(std::vector<SimTime>& first_promises) {
  return std::make_unique<ReferenceConservative>(first_promises);
}

void check_against_reference(const std::string& policy,
                             const std::function<std::unique_ptr<Policy>()>& make_reference, int num_jobs) {
  std::uint64_t seed = 1;
  for (const Walltimes walltimes : {Walltimes::Exact, Walltimes::Tight, Walltimes::Over, Walltimes::Short}) {
    for (const int num_gpus : {8, 32, 136}) {
      for (int round = 0; round < 5; ++round, ++seed) {
        CAPTURE(seed);
        const Workload workload = random_workload(seed, num_jobs, num_gpus, walltimes);
        const ClusterSpec cluster = ClusterSpec::parse(std::to_string(num_gpus / 8) + "x8").value();
        const SimulationResult result = replay(workload, cluster, policy);
        check_same_outcomes(result, replay(workload, cluster, *make_reference()));
        CHECK(all_ended(result));
      }
    }
  }
}

bool all_ended(const SimulationResult& result) {
  return std::all_of(result.outcomes.begin(), result.outcomes.end(), [](const JobOutcome& outcome) {
    return outcome.state == JobState::Completed || outcome.state == JobState::Failed;
  });
}

void check_all_end_under_yarn(const std::string& policy) {
  std::uint64_t seed = 1;
  for (const Walltimes walltimes : {Walltimes::Exact, Walltimes::Tight, Walltimes::Over, Walltimes::Short}) {
    for (int round = 0; round < 10; ++round, ++seed) {
      CAPTURE(seed);
      const Workload workload = random_workload(seed, 300, 32, walltimes);
      CHECK(all_ended(replay(workload, "4x8", policy, {.placement = PlacementKind::Yarn})));
    }
  }
}

std::vector<double> start_times_s(const std::vector<JobLine>& jobs, const std::string& policy) {
  std::vector<double> starts;
  for (const JobOutcome& outcome : replay(make_workload(jobs), "1x8", policy).outcomes)
    starts.push_back(to_seconds(outcome.start));
  return starts;
}

Workload random_workload(std::uint64_t seed, int num_jobs, int max_gpus, Walltimes walltimes) {
  RandomStream random(seed);
  Workload workload;
  std::int64_t submit_s = 0;
  for (int i = 0; i < num_jobs; ++i) {
    Job job;
    job.name = workload.keep(std::to_string(i));
    submit_s += static_cast<std::int64_t>(random.below(8));
    job.submit = SimTime(std::chrono::seconds(submit_s));
    // Small gangs more often than large ones.
    job.num_gpus = GpuCount(
        1 + static_cast<std::int32_t>(random.below(1 + random.below(static_cast<std::uint64_t>(max_gpus)))));
    const auto seconds = static_cast<std::int64_t>(2 + random.below(random.below(4) == 0 ? 100 : 15));
    job.duration = std::chrono::seconds(seconds);
    switch (walltimes) {
      case Walltimes::Exact:
        break;
      case Walltimes::Tight:
        job.requested_time = std::chrono::seconds(seconds + 1);
        break;
      case Walltimes::Over:
        job.requested_time = job.duration * (1 + random.below(10));
        break;
      case Walltimes::Short:
        job.requested_time = job.duration * (1 + random.below(4)) / 2;
        break;
    }
    workload.jobs.push_back(job);
  }
  return workload;
}

}  // namespace vtrain::testing
