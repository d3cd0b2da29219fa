/// Gangs that are slow because they are spread.
#include <doctest/doctest.h>

#include "core/base/rng.hpp"
#include "sched/disruption/disruptions.hpp"
#include "sched/disruption/segment_timing.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/unit/sched/scripted_policy.hpp"

namespace vtrain {
namespace {

using std::chrono::seconds;
using testing::job_of;
using testing::Script;

/// Replays on 4 nodes of 4 GPUs in 2 racks. Each pass runs `before`, then starts all jobs that fit.
SimulationResult run(const Workload& workload, double factor, const Script& before = {},
                     ProgressRule rule = ProgressRule::Duration) {
  ClusterSpec cluster;
  cluster.groups = {{.num_nodes = 4, .gpus_per_node = GpuCount(4), .nodes_per_rack = 2}};
  Disruptions disruptions;
  disruptions.spread_factor = factor;
  SimulationOptions options;
  options.placement = PlacementKind::Consolidate;
  options.disruptions = &disruptions;
  const auto script = [&before](SchedulingPass& pass) {
    if (before) before(pass);
    testing::start_all(pass);
  };
  testing::Scripted policy(script, rule);
  auto result = simulate(workload, cluster, policy, options);
  if (!result) FAIL(result.error().describe());
  return *std::move(result);
}

}  // namespace

TEST_CASE("spread: a job slows by the factor for nodes and again for racks, and the time is booked as lost") {
  Workload workload;
  workload.jobs = {job_of(0, 16, 4), job_of(100, 16, 8), job_of(200, 16, 12)};
  const SimulationResult result = run(workload, 0.8);
  CHECK(result.outcomes[0].end == at(16));
  CHECK(result.outcomes[1].end == at(120));  // 16 / 0.8
  CHECK(result.outcomes[2].end == at(225));  // 16 / 0.64
  CHECK(result.losses[0][LossCause::Spread].seconds() == 0);
  CHECK(result.losses[1][LossCause::Spread].seconds() == 4 * 8);
  CHECK(result.losses[2][LossCause::Spread].seconds() == 9 * 12);
}

TEST_CASE("spread: a preempted job keeps its work, however fast it was done") {
  Workload workload;
  // Over both racks at a quarter of its speed from 0 to 20: 5 s of work. Then 5 s more at 30.
  workload.jobs = {job_of(0, 10, 16), job_of(20, 10, 16)};
  const SimulationResult result = run(workload, 0.5, [](SchedulingPass& pass) {
    if (pass.now() != at(20)) return;
    CHECK(pass.work_done(JobId(0)) == seconds(5));
    CHECK(pass.remaining(JobId(0)) == seconds(5));
    CHECK(pass.planned_end(JobId(0)) == at(40));
    pass.preempt(JobId(0));
    CHECK(pass.planned_time(JobId(0)) == seconds(20));
    pass.try_start(JobId(1));
  });
  CHECK(result.outcomes[1].end == at(60));
  CHECK(result.outcomes[0].end == at(80));
  CHECK(result.outcomes[0].attained == seconds(40));
  CHECK(result.losses[0][LossCause::Spread].seconds() == 30 * 16);
  CHECK(result.losses[0].total() == result.losses[0][LossCause::Spread]);
}

TEST_CASE("spread: a job with a measured curve slows as others do, under whatever rule it progresses") {
  Workload workload;
  workload.curves.emplace_back(std::vector<SpeedByGpus::Level>{{GpuCount(16), 10.0}});
  workload.jobs = {job_of(0, 10, 16)};
  workload.jobs[0].iterations = 100;
  workload.jobs[0].curve = CurveId(0);
  for (const ProgressRule rule : {ProgressRule::Duration, ProgressRule::Iterations}) {
    const SimulationResult result = run(workload, 0.5, {}, rule);
    CHECK(result.outcomes[0].end == at(40));
    CHECK(result.losses[0][LossCause::Spread].seconds() == 30 * 16);
  }
}

TEST_CASE("spread: work at any speed is the inverse of the time that it takes, to the nanosecond") {
  RandomStream random(1, "speeds");
  for (int i = 0; i < 5000; ++i) {
    // Up to twice as fast as the duration tells of, and slowed by spreading.
    const auto packed = static_cast<std::int64_t>(1 + random.below(2 * SegmentSpeed::kFull));
    const auto speed = static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(packed)));
    const SegmentTiming plan{
        .interval = SimDuration(1 + static_cast<std::int64_t>(random.below(1'000'000'000))),
        .checkpoint = SimDuration(static_cast<std::int64_t>(random.below(1000))),
        .speed = {speed, packed}};
    const SimDuration work(1 + static_cast<std::int64_t>(random.below(1'000'000'000'000)));
    CAPTURE(speed);
    CAPTURE(work.count());
    const SimDuration time = plan.time_for(work);
    if (time == SimDuration::max()) continue;
    REQUIRE(plan.work(time) >= work);
    REQUIRE(plan.work(time) - work < SimDuration(1 + speed / SegmentSpeed::kFull));
    REQUIRE(plan.work(time - SimDuration(1)) < work);
    REQUIRE(plan.useful(time) + plan.slowed(time) + plan.writing(time) == time);
    REQUIRE(plan.slowed(time) >= SimDuration(0));
    REQUIRE(plan.saved_useful(time) <= plan.useful(time));
  }
}

}  // namespace vtrain
