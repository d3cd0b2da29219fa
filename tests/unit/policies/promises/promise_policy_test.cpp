#include "policies/promises/promise_policy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/elastic_support.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

/// Speeds at which gangs that are spread have between a tenth and all of their speed.
class SlowWhenSpread final : public GangSpeedModel {
 public:
  bool knows(JobId job) const override { return job.value % 5 != 0; }
  GangSpeed at(JobId job, GpuCount, const GangSite& site) override {
    if (site.ranks_together == 0) return {};
    return {.here = slowest_of(job) + (1 - slowest_of(job)) * (1 - 1.0 / site.ranks_together)};
  }
  double slowest(JobId job, GpuCount num_gpus, bool may_spread) override {
    return may_spread && num_gpus > GpuCount(1) ? slowest_of(job) : 1;
  }

 private:
  static double slowest_of(JobId job) { return 0.1 * (1 + job.value % 10); }
};

Disruptions costs(const std::string& cost, bool checkpoints = false) {
  Disruptions disruptions;
  disruptions.interruption_cost = InterruptionCost(*InterruptionRule::parse(cost), GpuCount(16));
  if (checkpoints) {
    disruptions.checkpoints = *CheckpointRule::parse("3m");
    disruptions.checkpoint_times = CheckpointTimes(std::chrono::seconds(7));
  }
  return disruptions;
}

const std::vector<ElasticShape> kShapes = {
    {.num_jobs = 80, .gap_s = 60},
    {.num_jobs = 80, .gap_s = 100, .best_effort_of_4 = 0, .rigid_of_4 = 4},
    {.num_jobs = 80, .gap_s = 40, .rigid_of_4 = 2},
    {.num_jobs = 80, .gap_s = 60, .best_effort_of_4 = 0, .rigid_of_4 = 2, .short_of_4 = 3},
    {.num_jobs = 80, .gap_s = 60, .rigid_of_4 = 1, .round = true}};

/// Time in which a job alone does its work at best, over all plans of up to `depth` segments whose lengths
/// are whole ticks. Each segment but the first begins with the setup.
SimDuration best_time(const std::vector<SpeedByGpus::Level>& levels, double left, SimDuration setup,
                      SimDuration tick, int depth, bool first = true) {
  SimDuration best = SimDuration::max();
  for (const SpeedByGpus::Level& level : levels) {
    const SimDuration before = first ? SimDuration(0) : setup;
    best = std::min(best, before + time_for_iterations(left, level.iterations_per_s));
    for (int ticks = 1; depth > 1 && ticks <= 4; ++ticks) {
      const double rest = left - level.iterations_per_s * to_seconds(ticks * tick);
      if (rest <= 0) break;
      best = std::min(best, before + ticks * tick + best_time(levels, rest, setup, tick, depth - 1, false));
    }
  }
  return best;
}

/// All jobs take longer than predicted.
class TakesLonger final : public RunTimeErrors {
 public:
  explicit TakesLonger(double factor) : factor_(factor) {}
  bool knows(JobId /*job*/) const override { return true; }
  double time_factor(JobId /*job*/, GpuCount /*num_gpus*/, std::uint32_t /*gpu_type*/) const override {
    return factor_;
  }

 private:
  double factor_;
};

}  // namespace

TEST_CASE("promises: no promised job is late, whatever interruptions, checkpoints and placement cost") {
  std::int64_t promises = 0;
  std::int64_t interruptions = 0;
  for (const char* const spec : {"deadline", "deadline:late=run", "deadline:margin=0.5", "elasticflow"}) {
    for (const PlacementInfo& placement : placements()) {
      for (const char* const cost : {"none", "0.7s", "30s", "5m", "elasticflow"}) {
        for (std::size_t shape = 0; shape < kShapes.size(); ++shape) {
          for (std::uint64_t seed = 1; seed <= rounds(2); ++seed) {
            CAPTURE(spec);
            CAPTURE(placement.name);
            CAPTURE(cost);
            CAPTURE(shape);
            CAPTURE(seed);
            const Workload workload = random_elastic_workload(seed, kShapes[shape]);
            const Disruptions disruptions = costs(cost, seed % 2 == 0);
            SlowWhenSpread speeds;
            const ReplayOptions options{.placement = placement.kind,
                                        .record_segments = true,
                                        .disruptions = &disruptions,
                                        .gang_speed_model = &speeds};
            const SimulationResult result = replay(workload, "4x4:a100", spec, options);
            for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
              CAPTURE(i);
              const JobOutcome& outcome = result.outcomes[i];
              interruptions += outcome.preemptions + outcome.resizes;
              if (outcome.state != JobState::Rejected) REQUIRE(outcome.state == JobState::Completed);
              if (!outcome.has_promise()) continue;
              ++promises;
              REQUIRE(outcome.state == JobState::Completed);
              REQUIRE(outcome.finished <= workload.jobs[i].deadline);
            }
            check_gpus_in_use(result, 16);
            if (seed == 1) check_same(result, replay(workload, "4x4:a100", spec, options));
          }
        }
      }
    }
  }
  CHECK(promises > enough(10'000));
  CHECK(interruptions > enough(1'000));
}

TEST_CASE("promises: none is broken on several GPU types, where few jobs request one") {
  std::int64_t promises = 0;
  std::int64_t moves = 0;
  for (const char* const spec : {"deadline", "elasticflow"}) {
    for (const PlacementInfo& placement : placements()) {
      for (const char* const cost : {"0.7s", "30s"}) {
        for (std::size_t shape = 0; shape < kShapes.size(); ++shape) {
          for (std::uint64_t seed = 1; seed <= rounds(6); ++seed) {
            CAPTURE(spec);
            CAPTURE(placement.name);
            CAPTURE(cost);
            CAPTURE(shape);
            CAPTURE(seed);
            Workload workload = random_elastic_workload(seed, kShapes[shape]);
            for (std::size_t i = 0; i < workload.jobs.size(); i += 7)
              workload.jobs[i].gpu_type = GpuTypeId(workload.gpu_types.add(i % 2 == 0 ? "a" : "b"));
            const Disruptions disruptions = costs(cost, seed % 2 == 0);
            const SimulationResult result =
                replay(workload, "2x4:a+1x8:b+2x2:c", spec,
                       {.placement = placement.kind, .record_segments = true, .disruptions = &disruptions});
            for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
              CAPTURE(i);
              const JobOutcome& outcome = result.outcomes[i];
              moves += outcome.preemptions + outcome.resizes;
              if (!outcome.has_promise()) continue;
              ++promises;
              REQUIRE(outcome.state == JobState::Completed);
              REQUIRE(outcome.finished <= workload.jobs[i].deadline);
            }
            check_gpus_in_use(result, 20);
          }
        }
      }
    }
  }
  CHECK(promises > enough(5'000));
  CHECK(moves > enough(1'000));
}

TEST_CASE("promises: elasticflow rejects jobs with a deadline or keeps a promise to them") {
  for (const PlacementInfo& placement : placements()) {
    for (std::uint64_t seed = 1; seed <= rounds(4); ++seed) {
      CAPTURE(placement.name);
      CAPTURE(seed);
      const Workload workload = random_elastic_workload(seed, kShapes[seed % kShapes.size()]);
      const Disruptions disruptions = costs("20s");
      SlowWhenSpread speeds;
      const SimulationResult result =
          replay(workload, "4x4:a100", "elasticflow",
                 {.placement = placement.kind, .disruptions = &disruptions, .gang_speed_model = &speeds});
      for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        const JobOutcome& outcome = result.outcomes[i];
        if (!workload.jobs[i].has_deadline() || outcome.state == JobState::Rejected) continue;
        CAPTURE(i);
        REQUIRE(outcome.has_promise());
      }
    }
  }
}

TEST_CASE("promises: without costs elasticflow that knows them has the schedule of the one that does not") {
  for (std::size_t shape = 0; shape < kShapes.size(); ++shape) {
    for (std::uint64_t seed = 1; seed <= rounds(3); ++seed) {
      CAPTURE(shape);
      CAPTURE(seed);
      const Workload workload = random_elastic_workload(seed, kShapes[shape]);
      const Disruptions nothing = costs("0s");
      for (const Disruptions* const disruptions : {static_cast<const Disruptions*>(nullptr), &nothing}) {
        for (const PlacementKind placement : {PlacementKind::Count, PlacementKind::Consolidate}) {
          const ReplayOptions options{.placement = placement, .disruptions = disruptions};
          check_same(replay(workload, "4x4:a100", "elasticflow:slot=7s", options),
                     replay(workload, "4x4:a100", "elasticflow:slot=7s,costs=free", options));
        }
      }
    }
  }
}

TEST_CASE("promises: every job ends or is turned away, also where placement refuses gangs") {
  for (const char* const spec : {"deadline", "elasticflow"}) {
    for (const PlacementInfo& placement : placements()) {
      for (std::uint64_t seed = 1; seed <= rounds(20); ++seed) {
        CAPTURE(placement.name);
        CAPTURE(seed);
        const Workload workload = random_workload(seed, 120, 20, std::chrono::seconds(1));
        SlowWhenSpread speeds;
        const SimulationResult result = replay(workload, "2x8:a100+1x4:a100", spec,
                                               {.placement = placement.kind, .gang_speed_model = &speeds});
        for (const JobOutcome& outcome : result.outcomes)
          REQUIRE(outcome.state != JobState::Unfinished);
      }
    }
  }
}

TEST_CASE("promises: a job that would be late on its gang leaves the GPUs to others") {
  // At 10 s job 1 needs 10 s of its 15 s on two nodes, but many more on the three that `yarn` has for it.
  const Workload workload = make_workload({{0, 10, 20, 100}, {1, 10, 13, 25}, {2, 5, 8, -1}});
  SlowWhenSpread speeds;
  const SimulationResult result = replay(workload, "2x8:a100+1x4:a100", "elasticflow",
                                         {.placement = PlacementKind::Yarn, .gang_speed_model = &speeds});
  CHECK(result.outcomes[1].state == JobState::Rejected);
  CHECK(to_seconds(result.outcomes[2].start) == 10);
  CHECK(to_seconds(result.outcomes[2].finished) == 15);
}

TEST_CASE("promises: a job alone is rejected only if no plan is in time") {
  int rejected = 0;
  int in_time = 0;
  for (std::uint64_t seed = 0; seed < rounds(300); ++seed) {
    RandomStream random(seed, "job alone");
    std::vector<SpeedByGpus::Level> levels;
    for (int level = 0; level < 3; ++level)
      levels.push_back({GpuCount(1 << level), 0.5 * static_cast<double>(1 + random.below(6))});
    const auto seconds = static_cast<std::int64_t>(2 + random.below(30));
    Workload workload = make_workload({{0, 30, 1, seconds}});
    workload.jobs[0].iterations = 30;
    workload.jobs[0].curve = CurveId(0);
    workload.curves.emplace_back(levels);
    const bool possible = best_time(levels, 30, std::chrono::seconds(2), std::chrono::seconds(3), 3) <=
                          std::chrono::seconds(seconds);
    const Disruptions disruptions = costs("2s");
    SlowWhenSpread speeds;
    for (const char* const spec : {"deadline", "elasticflow"}) {
      for (const PlacementInfo& placement : placements()) {
        CAPTURE(spec);
        CAPTURE(placement.name);
        CAPTURE(seed);
        const SimulationResult result =
            replay(workload, "2x4:a100", spec,
                   {.placement = placement.kind, .disruptions = &disruptions, .gang_speed_model = &speeds});
        const JobOutcome& outcome = result.outcomes[0];
        REQUIRE((outcome.state == JobState::Rejected) == !possible);
        if (possible) REQUIRE(outcome.finished <= workload.jobs[0].deadline);
        ++(possible ? in_time : rejected);
      }
    }
  }
  CHECK(rejected > enough(300));
  CHECK(in_time > enough(300));
}

TEST_CASE("promises: a short job gets the GPUs of a long one that has time, and both are in time") {
  // Job 0 needs 100 s of its 200 s. It gives its GPUs to job 1 for 20 s, and starts again with 10 s of setup.
  const Workload workload = make_workload({{0, 100, 8, 200}, {30, 20, 8, 55}});
  const Disruptions disruptions = costs("10s");
  for (const char* const spec : {"deadline", "elasticflow"}) {
    CAPTURE(spec);
    const SimulationResult result = replay(workload, "1x8:a100", spec, {.disruptions = &disruptions});
    CHECK(to_seconds(result.outcomes[1].finished) == 50);
    CHECK(to_seconds(result.outcomes[0].finished) == 130);
    CHECK(result.outcomes[0].preemptions == 1);
  }
  // Without that time job 1 is turned away.
  const Workload tight = make_workload({{0, 100, 8, 129}, {30, 20, 8, 55}});
  const SimulationResult result = replay(tight, "1x8:a100", "deadline", {.disruptions = &disruptions});
  CHECK(to_seconds(result.outcomes[0].finished) == 100);
  CHECK(result.outcomes[1].state == JobState::Rejected);
}

TEST_CASE("promises: a job that turns out to be late holds up no other job's promise") {
  // Job 0 takes 150 s where 100 s were predicted, and cannot be in time from 110 s on. Job 1 has time enough.
  const Workload workload = make_workload({{0, 100, 8, 110}, {115, 20, 8, 600}});
  const TakesLonger errors(1.5);
  const Disruptions disruptions = costs("1s");
  for (const char* const spec : {"deadline", "elasticflow"}) {
    for (const Disruptions* const each : {static_cast<const Disruptions*>(nullptr), &disruptions}) {
      CAPTURE(spec);
      CAPTURE((each == nullptr));
      const SimulationResult result =
          replay(workload, "1x8:a100", spec, {.disruptions = each, .run_time_errors = &errors});
      CHECK(result.outcomes[0].state == JobState::Completed);
      CHECK(result.outcomes[1].has_promise());
      CHECK(result.outcomes[1].finished <= workload.jobs[1].deadline);
    }
  }
}

TEST_CASE("promises: a margin lies between the planned end and the deadline") {
  // The job takes 100 s of its 130.
  const Workload workload = make_workload({{0, 100, 8, 130}});
  const auto outcome_of = [&](const char* spec, double factor) {
    const TakesLonger errors(factor);
    const SimulationResult result = replay(workload, "1x8:a100", spec, {.run_time_errors = &errors});
    return result.outcomes[0];
  };
  CHECK(outcome_of("deadline:margin=0.3", 1.0).has_promise());
  CHECK(!outcome_of("deadline:margin=0.31", 1.0).has_promise());
  // It runs all the same, and what it takes longer uses the margin up.
  CHECK(to_seconds(outcome_of("deadline:margin=0.31", 1.0).finished) == 100);
  CHECK(to_seconds(outcome_of("deadline:margin=0.3", 1.25).finished) == 125);
}

TEST_CASE(
    "promises: deadlines before the submission and costs beyond every deadline turn nothing else away") {
  Workload workload =
      make_workload({{0, 50, 4, 60}, {10, 5, 4, 5}, {10, 5, 4, 10}, {20, 30, 4, 90}, {30, 5, 4, -1}});
  workload.jobs[3].deadline = Job::kNoDeadline - SimDuration(1);
  const Disruptions disruptions = costs("1000h");
  for (const char* const spec : {"deadline", "elasticflow"}) {
    CAPTURE(spec);
    const SimulationResult result = replay(workload, "1x4:a100", spec, {.disruptions = &disruptions});
    CHECK(to_seconds(result.outcomes[0].finished) == 50);
    CHECK(result.outcomes[1].state == JobState::Rejected);
    CHECK(result.outcomes[2].state == JobState::Rejected);
    CHECK(result.outcomes[3].state == JobState::Completed);
    CHECK(result.outcomes[4].state == JobState::Completed);
  }
}

}  // namespace vtrain::testing
