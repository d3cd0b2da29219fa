#include "tests/unit/policies/decision_policies.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
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

/// Keeps what was said of live jobs when they were submitted.
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

/// Runs go on; the first waiting jobs start, in order of arrival, as long as they fit.
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

/// The jobs with the least left to do that fit, whoever runs now.
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

/// EASY, planned anew from nothing in every pass.
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

}  // namespace

std::unique_ptr<DecisionPolicy> make_decision_policy(std::string_view name) {
  if (name == "fifo") return std::make_unique<FifoByValues>();
  if (name == "srtf") return std::make_unique<ShortestRemainingByValues>();
  if (name == "easy") return std::make_unique<EasyByValues>();
  throw std::logic_error("make_decision_policy: unknown policy");
}

}  // namespace vtrain::testing
