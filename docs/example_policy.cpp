// A policy from outside: waiting jobs, in order of arrival, start on the fastest type of GPUs that has room for them; a job
// for which none has is passed over. Nothing is preempted. Compared with `fifo` on a generated day on two types of GPUs.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include <vtrain/decision.hpp>
#include <vtrain/scenario.hpp>

class FastestType final : public vtrain::DecisionPolicy {
 public:
  bool chooses_types() const override { return true; }
  void begin_on(const vtrain::ClusterView&) override { jobs_.clear(); }

  vtrain::Decision decide(const vtrain::PassEvents& events) override {
    for (const vtrain::JobView& job : events.arrived)
      jobs_[job.id] = job;
    vtrain::Decision decision;
    std::vector<std::int64_t> free = events.usable;
    for (const vtrain::LiveView& live : events.live) {
      if (live.holds.gpus.value == 0) continue;
      free[live.holds.type.value_or(0)] -= live.holds.gpus.value;
      decision.run.push_back({live.id, live.holds});  // it goes on
    }
    for (const vtrain::LiveView& live : events.live) {
      if (live.holds.gpus.value > 0) continue;
      const vtrain::SpeedPoint* best = nullptr;
      for (const vtrain::SpeedPoint& point : jobs_[live.id].speeds) {
        const bool fits = point.gpus.gpus.value <= free[point.gpus.type.value_or(0)];
        if (fits && (best == nullptr || point.speed > best->speed)) best = &point;
      }
      if (best == nullptr) continue;
      free[best->gpus.type.value_or(0)] -= best->gpus.gpus.value;
      decision.run.push_back({live.id, best->gpus});
    }
    return decision;
  }

 private:
  std::map<vtrain::JobId, vtrain::JobView> jobs_;
};

int main() {
  vtrain::PolicyRegistry registry;
  const auto make = [](const auto&) { return std::make_unique<FastestType>(); };
  if (!registry.add({.name = "fastest-type", .summary = "each job on its fastest type", .make = make})) return 1;
  vtrain::ScenarioSpec spec;
  spec.cluster = "8x8:a100+8x8:h100";
  spec.placement = "consolidate";  // one that knows nodes, so that types have their speeds
  std::vector<std::string> warnings;
  const auto scenario = vtrain::Scenario::prepare(spec, warnings, registry);
  for (const char* policy : {"fifo", "fit-first", "fastest-type"}) {
    const auto run = scenario ? scenario->run(policy) : vtrain::fail(scenario.error());
    if (!run) return std::printf("error: %s\n", run.error().describe().c_str()), 1;
    std::printf("%-13s average JCT %.0f s\n", policy, run->summary.avg_jct_s);
  }
}
