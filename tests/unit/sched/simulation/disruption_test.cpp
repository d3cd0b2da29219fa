/// The simulator when nodes fail, jobs write checkpoints and interruptions cost time.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/unit/sched/scripted_policy.hpp"

namespace vtrain {
namespace {

using std::chrono::seconds;
using testing::add_job;
using testing::Script;
using testing::Scripted;
using testing::start_all;

Result<std::int64_t> parameters_of_gpt3(std::string_view) {
  return 175'000'000'000;
}

struct Setting {
  Workload workload{};
  Disruptions disruptions{};
  std::string cluster = "1x8";
  ProgressRule rule = ProgressRule::Duration;
  PlacementKind placement = PlacementKind::Yarn;

  void fail_node(std::uint32_t node, double begin_s, double end_s, OutageKind kind = OutageKind::Failure) {
    disruptions.outages.push_back({NodeId(node), kind, at(begin_s), at(end_s)});
  }
  void checkpoint_every(const char* interval, SimDuration cost) {
    disruptions.checkpoints = *CheckpointRule::parse(interval);
    disruptions.checkpoint_times = CheckpointTimes(cost);
  }
  void interruptions_cost(const char* cost) {
    disruptions.interruption_cost =
        InterruptionCost(*InterruptionRule::parse(cost), ClusterSpec::parse(cluster)->total_gpus());
  }
  Result<SimulationResult> try_run(Script script) const {
    Scripted policy(std::move(script), rule);
    SimulationOptions options;
    options.placement = placement;
    options.policy_name = "scripted";
    options.disruptions = &disruptions;
    options.record_segments = true;
    return simulate(workload, *ClusterSpec::parse(cluster), policy, options);
  }
  SimulationResult run(Script script) const {
    auto result = try_run(std::move(script));
    if (!result) FAIL(result.error().describe());
    return *std::move(result);
  }
};

double lost(const SimulationResult& result, std::size_t job, LossCause cause) {
  return result.losses[job][cause].seconds();
}

}  // namespace

TEST_CASE("disruption: a failing node stops its job, which waits, starts anew and has lost what it did") {
  Setting setting;
  add_job(setting.workload, 0, 100, 8);
  setting.fail_node(0, 40, 50);
  int passes = 0;
  const SimulationResult result = setting.run([&](SchedulingPass& pass) {
    ++passes;
    if (pass.now() == at(40)) {
      REQUIRE(pass.interrupted().size() == 1);
      CHECK(pass.interrupted()[0] == JobId(0));
      CHECK(pass.capacity_changed());
      CHECK(pass.state(JobId(0)) == JobState::Waiting);
      CHECK(pass.attained(JobId(0)) == seconds(40));
      CHECK(pass.work_done(JobId(0)) == seconds(0));
      CHECK(pass.remaining(JobId(0)) == seconds(100));
      CHECK(pass.planned_time(JobId(0)) == seconds(100));
      CHECK(pass.free_gpus() == GpuCount(0));
      CHECK(pass.usable_gpus() == GpuCount(0));
      CHECK(pass.total_gpus() == GpuCount(8));
      CHECK_FALSE(pass.try_start(JobId(0)));
    }
    if (pass.now() == at(50)) {
      CHECK(pass.interrupted().empty());
      CHECK(pass.capacity_changed());
      CHECK(pass.usable_gpus() == GpuCount(8));
    }
    start_all(pass);
  });
  CHECK(passes == 4);  // arrival, failure, return, end
  CHECK(result.outcomes[0].end == at(150));
  CHECK(result.outcomes[0].attained == seconds(140));
  CHECK(result.outcomes[0].failures == 1);
  CHECK(result.outcomes[0].preemptions == 0);
  CHECK(lost(result, 0, LossCause::LostWork) == 40 * 8);
  REQUIRE(result.outages.size() == 1);
  CHECK(result.outages[0] == setting.disruptions.outages[0]);
}

TEST_CASE("disruption: a gang of parts of GPUs on several nodes loses the time of whole ones") {
  Setting setting;
  setting.cluster = "2x4";
  setting.placement = PlacementKind::BestFit;
  add_job(setting.workload, 0, 100, 8);
  setting.workload.jobs[0].gpu_share = 500;
  setting.fail_node(1, 40, 50);
  const SimulationResult result = setting.run(start_all);
  CHECK(result.outcomes[0].gpu_time.seconds() == 140 * 8);
  CHECK(lost(result, 0, LossCause::LostWork) == 40 * 8);
}

TEST_CASE("disruption: work up to the last complete checkpoint stays") {
  Setting setting;
  add_job(setting.workload, 0, 25, 4);
  setting.checkpoint_every("10s", seconds(1));
  SUBCASE("nothing fails: two checkpoints, none at the end") {
    CHECK(setting.run(start_all).outcomes[0].end == at(27));
  }
  SUBCASE("a failure in the middle of the second checkpoint") {
    // 0-10 work, 10-11 checkpoint, 11-21 work, 21-21.5 writing. 10 s are saved and 15 s to go:
    // 30-40 work, 40-41 checkpoint, 41-46 work.
    setting.fail_node(0, 21.5, 30);
    const SimulationResult result = setting.run([](SchedulingPass& pass) {
      if (pass.now() == at(21.5)) {
        CHECK(pass.remaining(JobId(0)) == seconds(15));
        CHECK(pass.planned_time(JobId(0)) == seconds(16));
      }
      start_all(pass);
      if (pass.now() == at(30)) CHECK(pass.planned_end(JobId(0)) == at(46));
    });
    CHECK(result.outcomes[0].end == at(46));
    CHECK(lost(result, 0, LossCause::LostWork) == 4 * 10);
    CHECK(lost(result, 0, LossCause::Checkpoint) == 4 * 2.5);
    CHECK(result.outcomes[0].gpu_time.seconds() == 4 * (25 + 10 + 2.5));
  }
  SUBCASE("a failure right when a checkpoint is complete") {
    setting.fail_node(0, 22, 30);
    const SimulationResult result = setting.run(start_all);
    CHECK(result.outcomes[0].end == at(35));  // 20 of 25 s are saved
    CHECK(lost(result, 0, LossCause::LostWork) == 0);
  }
}

TEST_CASE("disruption: preemption saves first; starting again costs time on the GPUs") {
  Setting setting;
  add_job(setting.workload, 0, 10, 8);
  add_job(setting.workload, 4, 3, 8);
  setting.interruptions_cost("5s");
  const Script swap = [](SchedulingPass& pass) {
    if (pass.now() == at(4)) {
      pass.preempt(JobId(0));
      CHECK(pass.remaining(JobId(0)) == seconds(6));
      CHECK(pass.planned_time(JobId(0)) == seconds(11));
      CHECK(pass.try_start(JobId(1)));
    } else {
      start_all(pass);
    }
  };
  SUBCASE("once") {
    // 4 s of work, then 7-12 starting again, 12-18 work. The other job starts for the first time: no cost.
    const SimulationResult result = setting.run(swap);
    CHECK(result.outcomes[1].end == at(7));
    CHECK(result.outcomes[0].end == at(18));
    CHECK(lost(result, 0, LossCause::Preemption) == 5 * 8);
    CHECK(lost(result, 1, LossCause::Preemption) == 0);
  }
  SUBCASE("a failure while it starts again: nothing was done, and it has to start again once more") {
    setting.fail_node(0, 9, 20);
    // 7-9 starting, then 20-25 starting, 25-31 work: the 4 s from before the preemption are saved.
    const SimulationResult result = setting.run(swap);
    CHECK(result.outcomes[0].end == at(31));
    CHECK(lost(result, 0, LossCause::Preemption) == 2 * 8);
    CHECK(lost(result, 0, LossCause::FailureRestart) == 5 * 8);
    CHECK(lost(result, 0, LossCause::LostWork) == 0);
  }
  SUBCASE("no placement with nodes is needed") {
    setting.placement = PlacementKind::Count;
    CHECK(setting.run(swap).outcomes[0].end == at(18));
  }
}

TEST_CASE("disruption: a preemption and a start at one instant cost nothing if nothing was done before") {
  Setting setting;
  add_job(setting.workload, 0, 10, 8);
  setting.interruptions_cost("5s");
  const SimulationResult result = setting.run([](SchedulingPass& pass) {
    if (pass.now() != at(0)) return;
    CHECK(pass.try_start(JobId(0)));
    pass.preempt(JobId(0));
    CHECK(pass.try_start(JobId(0)));
  });
  CHECK(result.outcomes[0].end == at(10));
}

TEST_CASE("disruption: a failure is noticed late, and the state is only loaded, not saved") {
  Setting setting;
  add_job(setting.workload, 0, 100, 8);
  setting.workload.jobs[0].model = setting.workload.model("gpt3-175b");
  const auto times = CheckpointTimes::from_models(setting.workload, parameters_of_gpt3, BytesPerSecond(1e9));
  REQUIRE(times);
  const SimDuration one_way = times->state_transfer_time(setting.workload.jobs[0]);
  CHECK(one_way == seconds(2450));  // 175e9 parameters x 14 bytes at 1 GB/s
  setting.interruptions_cost("checkpoint");
  setting.disruptions.checkpoint_times = *times;
  setting.disruptions.failures = *FailureRates::parse("mtbf=100d,detect=7s", *ClusterSpec::parse("1x8"));
  SUBCASE("failure") {
    setting.fail_node(0, 40, 50);
    CHECK(setting.run(start_all).outcomes[0].end == at(50 + 7 + 100) + one_way);
  }
  SUBCASE("preemption") {
    add_job(setting.workload, 40, 10, 8);
    setting.workload.jobs[1].model = setting.workload.jobs[0].model;
    const SimulationResult result = setting.run([](SchedulingPass& pass) {
      if (pass.now() == at(40)) {
        pass.preempt(JobId(0));
        CHECK(pass.try_start(JobId(1)));
      }
      start_all(pass);
    });
    CHECK(result.outcomes[0].end == at(50 + 60) + 2 * one_way);
  }
}

TEST_CASE("disruption: a cost of interruption is any duration with its unit") {
  const auto fixed = [](const char* text) {
    const auto rule = InterruptionRule::parse(text);
    REQUIRE_MESSAGE(rule, text);
    CHECK(rule->kind == InterruptionRule::Kind::Fixed);
    return rule->fixed;
  };
  CHECK(fixed("0.5s") == std::chrono::milliseconds(500));
  CHECK(fixed("5m") == seconds(300));
  CHECK(fixed("2w") == seconds(2 * 604800));
  for (const char* text : {"", "30", "-1s", "5 minutes", "200w years"})
    CHECK_FALSE(InterruptionRule::parse(text));
}

TEST_CASE("disruption: what periodic checkpoints take may be given beside the time of the whole state") {
  Setting setting;
  add_job(setting.workload, 0, 100, 8);
  Job& job = setting.workload.jobs[0];
  job.model = setting.workload.model("gpt3-175b");
  const BytesPerSecond bandwidth(1e9);
  const auto computed = CheckpointTimes::from_models(setting.workload, parameters_of_gpt3, bandwidth);
  const auto given =
      CheckpointTimes::from_models(setting.workload, parameters_of_gpt3, bandwidth, seconds(3));
  REQUIRE(computed);
  REQUIRE(given);
  CHECK(computed->state_transfer_time(job) > seconds(100));
  CHECK(computed->periodic_checkpoint_time(job) == computed->state_transfer_time(job));
  CHECK(given->state_transfer_time(job) == computed->state_transfer_time(job));
  CHECK(given->periodic_checkpoint_time(job) == seconds(3));
  CHECK(CheckpointTimes(seconds(3)).periodic_checkpoint_time(job) == seconds(3));
}

TEST_CASE("disruption: a checkpoint that takes longer than a century names its job") {
  Setting setting;
  add_job(setting.workload, 0, 100, 8);
  setting.workload.jobs[0].model = setting.workload.model("gpt3-175b");
  const auto error_at = [&](double bytes_per_second) {
    const auto times =
        CheckpointTimes::from_models(setting.workload, parameters_of_gpt3, BytesPerSecond(bytes_per_second));
    return times ? "no error" : times.error().describe();
  };
  // 175e9 parameters of 14 bytes are 2.45e12 bytes; saving and loading them takes a century at 1,554 B/s.
  CHECK(error_at(1600) == "no error");
  CHECK(error_at(1500).find("model: job 'j0': expected a model whose state is saved and loaded within 100 "
                            "years, found 'gpt3-175b'") != std::string::npos);
  CHECK(error_at(1e-3) != "no error");  // beyond what the clock can tell
}

TEST_CASE("disruption: resizing saves, costs time, and its checkpoints begin anew") {
  Setting setting;
  setting.rule = ProgressRule::Iterations;
  add_job(setting.workload, 0, 100, 2);
  // 1 iteration a second on 2 GPUs, 2 on 4.
  setting.workload.curves.emplace_back(std::vector<SpeedByGpus::Level>{{GpuCount(2), 1}, {GpuCount(4), 2}});
  setting.workload.jobs[0].curve = CurveId(0);
  setting.workload.jobs[0].iterations = 100;
  setting.interruptions_cost("10s");
  const Script grow = [](SchedulingPass& pass) {
    if (pass.now() == at(0)) {
      CHECK(pass.try_start(JobId(0), GpuCount(2)));
      pass.wake_at(at(40));
    } else if (pass.now() == at(40)) {
      CHECK(pass.remaining_iterations(JobId(0)) == 60);
      CHECK(pass.try_resize(JobId(0), GpuCount(2)));  // its size already: nothing happens
      CHECK(pass.try_resize(JobId(0), GpuCount(4)));
      pass.wake_at(at(50));
    } else if (pass.now() == at(50)) {
      CHECK(pass.remaining_iterations(JobId(0)) == 60);
    }
  };
  // 40 iterations by 40, nothing until 50, 60 more at 2 a second.
  const SimulationResult result = setting.run(grow);
  CHECK(result.outcomes[0].end == at(80));
  CHECK(result.outcomes[0].resizes == 1);
  CHECK(lost(result, 0, LossCause::Resize) == 10 * 4);
  // With checkpoints of 1 s every 25 s of work: 25 work, 1, 14 work = 39 iterations at 40; resizing to 50; 61
  // iterations are 30.5 s of work with one checkpoint in it.
  setting.checkpoint_every("25s", seconds(1));
  const SimulationResult saving = setting.run([](SchedulingPass& pass) {
    if (pass.now() == at(0)) {
      pass.try_start(JobId(0), GpuCount(2));
      pass.wake_at(at(40));
    } else if (pass.now() == at(40)) {
      CHECK(pass.remaining_iterations(JobId(0)) == doctest::Approx(61));
      pass.try_resize(JobId(0), GpuCount(4));
    }
  });
  CHECK(saving.outcomes[0].end == at(50 + 30.5 + 1));
}

TEST_CASE("disruption: a drained node finishes its jobs and takes no new ones") {
  Setting setting;
  setting.cluster = "2x4";
  add_job(setting.workload, 0, 20, 4);
  add_job(setting.workload, 0, 5, 4);
  add_job(setting.workload, 6, 10, 4);
  add_job(setting.workload, 6, 10, 4);
  setting.fail_node(0, 2, 50, OutageKind::Drain);
  const SimulationResult result = setting.run([](SchedulingPass& pass) {
    if (pass.now() == at(2)) {
      CHECK(pass.usable_gpus() == GpuCount(8));  // the job on the drained node still counts
      CHECK(pass.interrupted().empty());
    }
    if (pass.now() == at(20)) CHECK(pass.usable_gpus() == GpuCount(4));
    start_all(pass);
  });
  CHECK(result.outcomes[0].end == at(20));
  CHECK(result.outcomes[0].failures == 0);
  CHECK(result.outcomes[2].end == at(16));
  CHECK(result.outcomes[3].end == at(26));  // on node 1 after the other: node 0 is out until 50
}

TEST_CASE(
    "disruption: a GPU of a drained node that jobs share is out of service once when the last has ended") {
  Setting setting;
  setting.cluster = "2x1";
  setting.placement = PlacementKind::BestFit;
  add_job(setting.workload, 0, 10, 1);
  add_job(setting.workload, 0, 20, 1);
  for (Job& job : setting.workload.jobs)
    job.gpu_share = 500;
  setting.fail_node(0, 2, 50, OutageKind::Drain);
  std::vector<std::int32_t> usable;
  setting.run([&](SchedulingPass& pass) {
    usable.push_back(pass.usable_gpus().value);
    start_all(pass);
  });
  // At the arrivals, at the drain, at both ends; nobody is left to see the return.
  CHECK(usable == std::vector<std::int32_t>{2, 2, 2, 1});
}

TEST_CASE("disruption: overlapping outages of one node are over when the last is") {
  Setting setting;
  add_job(setting.workload, 5, 10, 8);
  setting.fail_node(0, 1, 30);
  setting.fail_node(0, 2, 20, OutageKind::Drain);
  setting.fail_node(0, 25, 40);
  const SimulationResult result = setting.run(start_all);
  CHECK(result.outcomes[0].start == at(40));
  const Summary summary = summarize(setting.workload, *ClusterSpec::parse("1x8"), result, "scripted");
  REQUIRE(summary.disruptions);
  CHECK(summary.disruptions->outages == 3);
  // Out from 1 to 40, but counted from the first submission at 5: 35 s x 8 GPUs.
  CHECK(summary.disruptions->out_of_service_gpu_hours == doctest::Approx(35 * 8 / 3600.0));
  // 10 s x 8 GPUs of work in a makespan of 45 s.
  CHECK(summary.disruptions->goodput == doctest::Approx(10.0 / 45));
}

TEST_CASE("disruption: what a job held that never ended counts, and so does the time for which it did") {
  Setting setting;
  setting.cluster = "2x4";
  add_job(setting.workload, 0, 10, 4);
  add_job(setting.workload, 0, 1000, 8);
  setting.fail_node(0, 410, 460);
  setting.fail_node(1, 510, 1e9);
  const SimulationResult result = setting.run(start_all);
  CHECK(result.outcomes[1].state == JobState::Unfinished);
  CHECK(result.last_release == at(510));
  const Summary summary = summarize(setting.workload, *ClusterSpec::parse("2x4"), result, "scripted");
  CHECK(summary.makespan_s == 10);
  // 4 GPUs for 10 s, then 8 for 400 s and, when node 0 is back, for 50 s, of 8 GPUs for 510 s. Only the first
  // job's work lasts.
  CHECK(summary.gpu_utilization == doctest::Approx((40 + 8 * 450) / 4080.0));
  REQUIRE(summary.disruptions);
  CHECK(summary.disruptions->goodput == doctest::Approx(40 / 4080.0));
  CHECK(summary.disruptions->out_of_service_gpu_hours == doctest::Approx(50 * 4 / 3600.0));
}

TEST_CASE("disruption: a job that nothing can run any more is unfinished, and the replay ends") {
  Setting setting;
  add_job(setting.workload, 0, 10, 8);
  setting.disruptions.outages.push_back({NodeId(0), OutageKind::Failure, at(3), Outage::kNeverEnds});
  const SimulationResult without_hope = setting.run(start_all);
  CHECK(without_hope.outcomes[0].state == JobState::Unfinished);
  CHECK_FALSE(without_hope.stopped_early);
  // The same for one that fails again and again before its end: the replay ends after ten years.
  setting.disruptions.outages.clear();
  setting.disruptions.failures = *FailureRates::parse("mtbf=30d,repair=10d", *ClusterSpec::parse("1x8"));
  setting.workload.jobs[0].duration = std::chrono::hours(24 * 3000);
  const SimulationResult result = setting.run(start_all);
  CHECK(result.outcomes[0].state == JobState::Unfinished);
  CHECK(result.outcomes[0].failures > 40);
  CHECK(result.stopped_early);
  CHECK(result.segments.back().end <= at(0) + kLongestAfterLastSubmission);
}

TEST_CASE("disruption: what still runs when a replay ends early has held its GPUs to that end") {
  Setting setting;
  setting.cluster = "2x4";
  add_job(setting.workload, 0, std::int64_t{4000} * 24 * 3600, 4);
  setting.fail_node(1, 100, 200);
  const SimulationResult result = setting.run(start_all);
  CHECK(result.stopped_early);
  CHECK(result.outcomes[0].state == JobState::Unfinished);
  CHECK(result.outcomes[0].attained == kLongestAfterLastSubmission);
  CHECK(result.last_release == at(0) + kLongestAfterLastSubmission);
  REQUIRE(result.segments.size() == 1);
  CHECK(result.segments[0].end == at(0) + kLongestAfterLastSubmission);
}

namespace {

/// Three elastic jobs that are resized every 50 s while both nodes fail once; With `extra_passes` there are
/// more passes at random instants.
SimulationResult resize_every_50_s(std::uint64_t seed, bool extra_passes) {
  Setting setting;
  setting.cluster = "2x8";
  setting.rule = ProgressRule::Iterations;
  RandomStream random(seed, "work");
  for (std::uint32_t i = 0; i < 3; ++i) {
    add_job(setting.workload, i, 1000, 4);
    setting.workload.curves.emplace_back(std::vector<SpeedByGpus::Level>{
        {GpuCount(2), 0.3 + random.uniform()}, {GpuCount(4), 1.5}, {GpuCount(8), 2.1 + random.uniform()}});
    setting.workload.jobs.back().curve = CurveId(i);
    setting.workload.jobs.back().iterations = 400 + static_cast<std::int64_t>(random.below(500));
  }
  setting.interruptions_cost("elasticflow");
  setting.checkpoint_every("33s", SimDuration(1'234'567'891));
  setting.fail_node(1, 100.000000007, 130);
  setting.fail_node(0, 222.2, 232);
  RandomStream looks(seed, "looks");
  SimTime next_change = at(50);
  return setting.run([&](SchedulingPass& pass) {
    bool live = false;
    for (std::uint32_t i = 0; i < 3; ++i) {
      const JobId job(i);
      if (pass.state(job) == JobState::Waiting) pass.try_start(job, GpuCount(2));
      if (pass.now() == next_change && pass.state(job) == JobState::Running) {
        const GpuCount held = pass.held_gpus(job);
        pass.try_resize(job, held == GpuCount(8) ? GpuCount(2) : held * 2);
      }
      live |= pass.state(job) != JobState::Completed;
    }
    if (!live) return;
    if (pass.now() == next_change) next_change += seconds(50);
    const auto soon = SimDuration(1 + static_cast<std::int64_t>(looks.below(9'000'000'000)));
    pass.wake_at(extra_passes ? std::min(next_change, pass.now() + soon) : next_change);
  });
}

}  // namespace

TEST_CASE("disruption: looking more often changes nothing") {
  for (std::uint64_t seed = 0; seed < testing::rounds(20); ++seed) {
    CAPTURE(seed);
    const SimulationResult seldom = resize_every_50_s(seed, false);
    const SimulationResult often = resize_every_50_s(seed, true);
    CHECK(often.events > 2 * seldom.events);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(seldom.outcomes[i].end == often.outcomes[i].end);
      CHECK(seldom.outcomes[i].resizes == often.outcomes[i].resizes);
      CHECK(seldom.outcomes[i].gpu_time == often.outcomes[i].gpu_time);
      for (std::size_t cause = 0; cause < kNumLossCauses; ++cause)
        CHECK(seldom.losses[i][static_cast<LossCause>(cause)] ==
              often.losses[i][static_cast<LossCause>(cause)]);
    }
    CHECK(lost(seldom, 0, LossCause::Resize) > 0);
  }
}

TEST_CASE("disruption: what cannot be disrupted is refused") {
  Setting setting;
  add_job(setting.workload, 0, 10, 8);
  setting.fail_node(0, 1, 2);
  setting.placement = PlacementKind::Count;
  const auto no_nodes = setting.try_run(start_all);
  REQUIRE_FALSE(no_nodes);
  CHECK(no_nodes.error().describe().find("yarn") != std::string::npos);
  setting.placement = PlacementKind::Yarn;
  setting.rule = ProgressRule::Policy;
  const auto own_progress = setting.try_run(start_all);
  REQUIRE_FALSE(own_progress);
  CHECK(own_progress.error().describe().find("scripted") != std::string::npos);
}

}  // namespace vtrain
