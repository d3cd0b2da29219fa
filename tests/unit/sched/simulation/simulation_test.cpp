#include "sched/simulation/simulation.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <vector>

#include "tests/support/sim_time.hpp"
#include "tests/unit/sched/scripted_policy.hpp"

namespace vtrain {
namespace {

using testing::add_job;
using testing::Script;
using testing::Scripted;
using testing::start_all;

Result<SimulationResult> run(const Workload& workload, Script script, SimulationOptions options = {},
                             const char* cluster = "1x8") {
  const auto spec = ClusterSpec::parse(cluster);
  REQUIRE(spec);
  Scripted policy(std::move(script));
  options.policy_name = "scripted";
  return simulate(workload, *spec, policy, options);
}

std::vector<std::uint32_t> values(std::span<const JobId> jobs) {
  std::vector<std::uint32_t> result;
  for (const JobId job : jobs)
    result.push_back(job.value);
  return result;
}

}  // namespace

TEST_CASE("simulator: jobs start, end and give their GPUs back") {
  Workload workload;
  add_job(workload, 0, 10, 8);
  add_job(workload, 3, 5, 4);
  const auto result = run(workload, start_all);
  REQUIRE(result);
  CHECK(result->outcomes[0].start == at(0));
  CHECK(result->outcomes[0].end == at(10));
  CHECK(result->outcomes[1].start == at(10));
  CHECK(result->outcomes[1].end == at(15));
  CHECK(result->outcomes[1].attained == std::chrono::seconds(5));
  CHECK(result->outcomes[1].state == JobState::Completed);
  CHECK(result->events == 4);  // two arrivals, two ends
}

TEST_CASE("simulator: parts of GPUs count as parts, but a gang that needs several nodes holds whole GPUs") {
  Workload workload;
  add_job(workload, 0, 100, 8);
  add_job(workload, 0, 100, 4);
  workload.jobs[0].gpu_share = 500;
  workload.jobs[1].gpu_share = 500;
  SimulationOptions options;
  options.placement = PlacementKind::BestFit;
  const auto result = run(workload, start_all, options, "2x4");
  REQUIRE(result);
  CHECK(result->outcomes[1].start == at(100));
  CHECK(result->outcomes[0].gpu_time.seconds() == 800);
  CHECK(result->outcomes[1].gpu_time.seconds() == 200);
}

TEST_CASE("simulator: a promise is noted when it is first given, for jobs with a deadline") {
  Workload workload;
  add_job(workload, 0, 10, 8);
  add_job(workload, 3, 5, 4);
  add_job(workload, 3, 5, 4);
  workload.jobs[1].deadline = at(16);
  workload.jobs[2].deadline = at(30);
  const auto promise_all = [](SchedulingPass& pass) {
    for (std::uint32_t job = 0; job < pass.jobs().size(); ++job) {
      if (pass.is_live(JobId(job))) pass.promise(JobId(job));
    }
    start_all(pass);
  };
  const auto result = run(workload, promise_all);
  REQUIRE(result);
  CHECK_FALSE(result->outcomes[0].has_promise());
  CHECK(result->outcomes[1].promised == at(3));
  CHECK(result->outcomes[2].promised == at(3));
  CHECK(result->losses_known);

  const auto too_late = run(workload, [](SchedulingPass& pass) {
    for (const JobId job : pass.ended())
      pass.promise(job);
    start_all(pass);
  });
  REQUIRE_FALSE(too_late);
  CHECK(too_late.error().message.find("made a promise to job number 0, which neither waits nor runs") !=
        std::string::npos);
}

TEST_CASE("simulator: GPU time is counted by type where placement tells types apart") {
  Workload workload;
  add_job(workload, 0, 10, 4);
  const auto gpu_time = [&workload](PlacementKind placement, const char* cluster) {
    SimulationOptions options;
    options.placement = placement;
    options.count_gpu_types = true;
    return run(workload, start_all, options, cluster)->gpu_time_by_type;
  };
  const auto by_node = gpu_time(PlacementKind::Yarn, "1x4:a100+1x4:h100");
  REQUIRE(by_node.size() == 2);
  CHECK(by_node[0].seconds() == 40);
  CHECK(by_node[1].seconds() == 0);
  CHECK(gpu_time(PlacementKind::Count, "1x4:a100+1x4:h100").empty());
  CHECK(gpu_time(PlacementKind::Yarn, "1x4:a100+1x4:a100").empty());
  workload.jobs[0].gpu_type = workload.gpu_type("h100|a100");
  workload.jobs[0].num_gpus = GpuCount(6);
  const auto counted = gpu_time(PlacementKind::Count, "1x4:a100+1x4:h100");
  REQUIRE(counted.size() == 2);
  CHECK(counted[0].seconds() == 40);
  CHECK(counted[1].seconds() == 20);
}

TEST_CASE("simulator: jobs too large for the cluster count as done") {
  // Jobs are counted 1,024 at a time.
  Workload workload;
  for (int i = 0; i < 1024; ++i)
    add_job(workload, i, 10, 9);
  std::atomic<std::int64_t> done = 0;
  SimulationOptions options;
  options.jobs_done = &done;
  REQUIRE(run(workload, start_all, options));
  CHECK(done == 1024);
}

TEST_CASE("simulator: at one instant all ends, then all arrivals, then one pass") {
  Workload workload;
  add_job(workload, 0, 10, 4);
  add_job(workload, 5, 5, 4);
  add_job(workload, 10, 1, 8);
  add_job(workload, 10, 1, 8);
  int passes_at_10 = 0;
  const auto result = run(workload, [&](SchedulingPass& pass) {
    if (pass.now() == at(10)) {
      ++passes_at_10;
      CHECK(values(pass.ended()) == std::vector<std::uint32_t>{0, 1});
      CHECK(values(pass.arrived()) == std::vector<std::uint32_t>{2, 3});
      CHECK(pass.free_gpus() == GpuCount(8));
    }
    start_all(pass);
  });
  REQUIRE(result);
  CHECK(passes_at_10 == 1);
  CHECK(result->outcomes[2].start == at(10));
  CHECK(result->outcomes[3].start == at(11));
}

TEST_CASE("simulator: a preempted job keeps its work and its old end does not fire") {
  Workload workload;
  add_job(workload, 0, 10, 8);
  add_job(workload, 4, 3, 8);
  const auto result = run(workload, [](SchedulingPass& pass) {
    if (pass.now() == at(4)) {
      CHECK(pass.attained(JobId(0)) == std::chrono::seconds(4));
      CHECK(pass.remaining(JobId(0)) == std::chrono::seconds(6));
      pass.preempt(JobId(0));
      CHECK(pass.state(JobId(0)) == JobState::Waiting);
      CHECK(pass.attained(JobId(0)) == std::chrono::seconds(4));
      CHECK(pass.try_start(JobId(1)));
      CHECK_FALSE(pass.try_start(JobId(0)));
      return;
    }
    start_all(pass);
  });
  REQUIRE(result);
  // 4 s done at 4, then 3 s for the other job, 6 s from 7 on: the end foreseen for 10 is void.
  CHECK(result->outcomes[0].start == at(0));
  CHECK(result->outcomes[0].end == at(13));
  CHECK(result->outcomes[0].attained == std::chrono::seconds(10));
  CHECK(result->outcomes[0].preemptions == 1);
  CHECK(result->outcomes[1].end == at(7));
  CHECK(result->events == 4);
}

TEST_CASE("simulator: a job that is larger than the cluster does not cancel a timer") {
  Workload workload;
  add_job(workload, 0, 10, 8);
  add_job(workload, 3, 1, 9);
  bool woken = false;
  const auto result = run(workload, [&woken](SchedulingPass& pass) {
    start_all(pass);
    if (pass.now() == at(0)) pass.wake_at(at(5));
    woken |= pass.now() == at(5);
  });
  REQUIRE(result);
  CHECK(result->outcomes[1].state == JobState::Rejected);
  CHECK(woken);
}

TEST_CASE("simulator: a preemption and a restart at one instant change no end") {
  Workload workload;
  add_job(workload, 0, 10, 8);
  add_job(workload, 4, 1, 8);
  const auto result = run(workload, [](SchedulingPass& pass) {
    if (pass.now() == at(4)) {
      pass.preempt(JobId(0));
      CHECK(pass.try_start(JobId(0)));
      return;
    }
    start_all(pass);
  });
  REQUIRE(result);
  CHECK(result->outcomes[0].end == at(10));
  CHECK(result->outcomes[0].preemptions == 1);
  CHECK(result->outcomes[1].end == at(11));
}

TEST_CASE("simulator: ten thousand preemptions leave one end each") {
  Workload workload;
  add_job(workload, 0, 20000, 8);
  bool running = false;
  const auto result = run(workload, [&](SchedulingPass& pass) {
    if (!pass.ended().empty()) return;
    if (running) pass.preempt(JobId(0));
    running = !running;
    if (running) CHECK(pass.try_start(JobId(0)));
    if (pass.now() < at(20000)) pass.wake_at(pass.now() + std::chrono::seconds(1));
  });
  REQUIRE(result);
  // Runs in every other second of the first 20,000 and then, started at 20,000, for the other half of its
  // work.
  CHECK(result->outcomes[0].preemptions == 10000);
  CHECK(result->outcomes[0].end == at(30000));
  CHECK(result->outcomes[0].attained == std::chrono::seconds(20000));
}

TEST_CASE("simulator: a job that reaches its requested time before its work is done has failed") {
  Workload workload;
  add_job(workload, 0, 100, 8, 30);
  add_job(workload, 0, 20, 8, 30);
  const auto result = run(workload, start_all);
  REQUIRE(result);
  CHECK(result->outcomes[0].state == JobState::Failed);
  CHECK(result->outcomes[0].end == at(30));
  CHECK(result->outcomes[0].attained == std::chrono::seconds(30));
  CHECK(result->outcomes[1].state == JobState::Completed);
  CHECK(result->outcomes[1].end == at(50));
}

TEST_CASE("simulator: a job larger than the cluster is rejected, or an error under strict") {
  Workload workload;
  add_job(workload, 0, 10, 9);
  add_job(workload, 0, 10, 8);
  const auto result = run(workload, [](SchedulingPass& pass) {
    if (!pass.arrived().empty()) CHECK(values(pass.arrived()) == std::vector<std::uint32_t>{1});
    start_all(pass);
  });
  REQUIRE(result);
  CHECK(result->outcomes[0].state == JobState::Rejected);
  CHECK_FALSE(result->outcomes[0].rejected_by_policy);
  CHECK(result->outcomes[1].state == JobState::Completed);
  SimulationOptions strict;
  strict.strict = true;
  const auto refused = run(workload, start_all, strict);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::InvalidInput);
  CHECK(refused.error().describe() ==
        "num_gpus: job 'j0': expected at most 8, the GPUs of the cluster, found '9'");
}

TEST_CASE("simulator: jobs that never start are unfinished") {
  Workload workload;
  add_job(workload, 0, 10, 1);
  const auto result = run(workload, [](SchedulingPass&) {});
  REQUIRE(result);
  CHECK(result->outcomes[0].state == JobState::Unfinished);
  CHECK(result->outcomes[0].attained == SimDuration(0));
}

TEST_CASE("simulator: only the last timer counts, and only until the next pass") {
  Workload workload;
  add_job(workload, 0, 100, 1);
  add_job(workload, 50, 10, 1);
  std::vector<std::int64_t> passes;
  const auto result = run(workload, [&](SchedulingPass& pass) {
    passes.push_back(pass.now().time_since_epoch() / std::chrono::seconds(1));
    start_all(pass);
    if (pass.now() == at(0)) {
      pass.wake_at(at(5));
      pass.wake_at(at(20));  // replaces the request for 5
    }
    if (pass.now() == at(20)) pass.wake_at(at(70));  // void: a pass comes at 50
  });
  REQUIRE(result);
  CHECK(passes == std::vector<std::int64_t>{0, 20, 50, 60, 100});
  CHECK(result->events == 5);  // two arrivals, two ends, one timer
}

TEST_CASE("simulator: what a policy cannot do ends the replay with its name and the job's") {
  Workload workload;
  add_job(workload, 0, 10, 4);
  add_job(workload, 5, 10, 4);
  const auto failure = [&](Script script) {
    const auto result = run(workload, std::move(script));
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::Failed);
    return result.error().describe();
  };
  CHECK(failure([](SchedulingPass& pass) { pass.try_start(JobId(1)); }) ==
        "policy 'scripted', at 0 s: started job number 1, of which 1 have been submitted");
  CHECK(failure([](SchedulingPass& pass) {
          pass.try_start(JobId(0));
          pass.try_start(JobId(0));
        }) == "policy 'scripted', at 0 s: started job 'j0', which is not waiting");
  CHECK(failure([](SchedulingPass& pass) { pass.preempt(JobId(0)); }) ==
        "policy 'scripted', at 0 s: preempted job 'j0', which is not running");
  CHECK(failure([](SchedulingPass& pass) { pass.preempt(JobId(9)); }) ==
        "policy 'scripted', at 0 s: preempted job number 9, of which 1 have been submitted");
  CHECK(failure([](SchedulingPass& pass) { pass.wake_at(pass.now()); }) ==
        "policy 'scripted', at 0 s: asked for a timer that does not lie in the future");
}

TEST_CASE("simulator: a timer beyond the clock's range is an error in the jobs, not in the policy") {
  Workload workload;
  add_job(workload, 0, 10, 1);
  const auto result = run(workload, [](SchedulingPass& pass) { pass.wake_at(SimTime::max()); });
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::InvalidInput);
  CHECK(result.error().describe() ==
        "policy 'scripted' plans for later than the simulated clock can tell (292 years)");
}

TEST_CASE("simulator: jobs without a duration, without GPUs or beyond the clock's range are errors") {
  const auto failure = [](const Workload& workload) {
    const auto result = run(workload, start_all);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::InvalidInput);
    return result.error().describe();
  };
  Workload no_duration;
  add_job(no_duration, 0, 0, 1);
  CHECK(failure(no_duration) == "duration: job 'j0': expected more than 0 s, found '0 ns'");
  Workload no_gpus;
  add_job(no_gpus, 0, 1, 0);
  CHECK(failure(no_gpus) == "num_gpus: job 'j0': expected at least 1, found '0'");
  Workload endless;
  add_job(endless, 1, 9'223'372'036, 8);
  CHECK(failure(endless) == "duration: job 'j0': ends later than the simulated clock can tell (292 years)");
}

TEST_CASE("simulator: samples tell waiting jobs and GPUs in use after each pass that changed them") {
  Workload workload;
  add_job(workload, 0, 10, 8);
  add_job(workload, 2, 5, 4);
  add_job(workload, 15, 5, 4);  // begins as the one before ends: nothing changes
  const auto result = run(workload, start_all);
  REQUIRE(result);
  const auto& samples = result->samples;
  REQUIRE(samples.size() == 4);
  const std::int64_t times[] = {0, 2, 10, 20};
  const std::uint32_t waiting[] = {0, 1, 0, 0};
  const std::int32_t in_use[] = {8, 8, 4, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(samples[i].time == at(times[i]));
    CHECK(samples[i].waiting_jobs == waiting[i]);
    CHECK(samples[i].gpus_in_use == GpuCount(in_use[i]));
  }
}

TEST_CASE("simulator: recorded runs tell when and where gangs were held") {
  Workload workload;
  add_job(workload, 0, 10, 12);
  add_job(workload, 4, 3, 16);
  SimulationOptions options;
  options.placement = PlacementKind::Yarn;
  options.record_segments = true;
  const auto result = run(
      workload,
      [](SchedulingPass& pass) {
        if (pass.now() == at(4)) {
          pass.preempt(JobId(0));
          CHECK(pass.try_start(JobId(1)));
          return;
        }
        start_all(pass);
      },
      options, "2x8");
  REQUIRE(result);
  REQUIRE(result->segments.size() == 3);
  CHECK(result->segments[0].job == JobId(0));
  CHECK(result->segments[0].begin == at(0));
  CHECK(result->segments[0].end == at(4));
  CHECK(result->segments[0].parts ==
        std::vector<GangPart>{{NodeId(0), GpuCount(8)}, {NodeId(1), GpuCount(4)}});
  CHECK(result->segments[1].job == JobId(1));
  CHECK(result->segments[1].end == at(7));
  CHECK(result->segments[2].begin == at(7));
  CHECK(result->segments[2].end == at(13));
  options.placement = PlacementKind::Count;
  const auto counted = run(workload, start_all, options, "2x8");
  REQUIRE(counted);
  REQUIRE(counted->segments.size() == 2);
  CHECK(counted->segments[0].parts.empty());
}

TEST_CASE("simulator: an empty workload gives an empty result") {
  const auto result = run(Workload{}, start_all);
  REQUIRE(result);
  CHECK(result->outcomes.empty());
  CHECK(result->events == 0);
}

namespace {

/// A job of 100 iterations that does 1, 1.5 and 2 iterations a second on 1, 2 and 4 GPUs.
Workload one_elastic_job() {
  Workload workload;
  add_job(workload, 0, 100, 1);
  workload.curves.emplace_back(
      std::vector<SpeedByGpus::Level>{{GpuCount(1), 1.0}, {GpuCount(2), 1.5}, {GpuCount(4), 2.0}});
  workload.jobs[0].curve = CurveId(0);
  workload.jobs[0].iterations = 100;
  return workload;
}

Result<SimulationResult> run_elastic(const Workload& workload, ProgressRule rule, Script script) {
  Scripted policy(std::move(script), rule);
  return simulate(workload, *ClusterSpec::parse("1x4"), policy, {.policy_name = "scripted"});
}

}  // namespace

TEST_CASE("simulator: an elastic job progresses at the speed of the GPUs that it holds") {
  const auto result = run_elastic(one_elastic_job(), ProgressRule::Iterations, [](SchedulingPass& pass) {
    if (pass.now() == at(0)) CHECK(pass.try_start(JobId(0), GpuCount(2)));
    if (pass.now() == at(20)) CHECK(pass.try_resize(JobId(0), GpuCount(4)));
    if (pass.now() == at(30)) {
      CHECK(pass.remaining_iterations(JobId(0)) == 50);
      pass.preempt(JobId(0));
    }
    if (pass.now() == at(40)) CHECK(pass.try_start(JobId(0), GpuCount(1)));
    if (pass.now() < at(40)) pass.wake_at(pass.now() + std::chrono::seconds(10));
  });
  REQUIRE(result);
  // 20 s at 1.5, 10 s at 2: 50 done at 30. From 40 on 50 more at 1 a second.
  CHECK(result->outcomes[0].end == at(90));
  CHECK(result->outcomes[0].finished == at(90));
  CHECK(result->outcomes[0].state == JobState::Completed);
  CHECK(result->outcomes[0].resizes == 1);
  CHECK(result->outcomes[0].preemptions == 1);
  CHECK(result->outcomes[0].attained == std::chrono::seconds(80));
  CHECK(result->outcomes[0].gpu_time.seconds() == 20 * 2 + 10 * 4 + 50 * 1);
}

TEST_CASE("simulator: progress does not depend on how often the policy looks") {
  for (const int step : {1, 7, 1000}) {
    const auto result =
        run_elastic(one_elastic_job(), ProgressRule::Iterations, [step](SchedulingPass& pass) {
          if (pass.state(JobId(0)) == JobState::Waiting) CHECK(pass.try_start(JobId(0), GpuCount(2)));
          if (pass.state(JobId(0)) != JobState::Running) return;
          CHECK(pass.try_resize(JobId(0), GpuCount(2)));
          pass.wake_at(pass.now() + std::chrono::seconds(step));
        });
    REQUIRE(result);
    // 100 iterations at 1.5 a second: 66.666... s, rounded up to whole nanoseconds.
    CHECK(result->outcomes[0].end.time_since_epoch().count() == 66'666'666'667);
    CHECK(result->outcomes[0].resizes == 0);
  }
}

TEST_CASE("simulator: sizes are those of the curve, and only where the policy may choose") {
  const auto odd = run_elastic(one_elastic_job(), ProgressRule::Iterations,
                               [](SchedulingPass& pass) { pass.try_start(JobId(0), GpuCount(3)); });
  REQUIRE_FALSE(odd);
  CHECK(odd.error().message ==
        "policy 'scripted', at 0 s: started job 'j0' on 3 GPUs, which is none of its sizes");
  const auto rigid = run_elastic(one_elastic_job(), ProgressRule::Duration,
                                 [](SchedulingPass& pass) { pass.try_start(JobId(0), GpuCount(2)); });
  CHECK_FALSE(rigid);
  Workload no_speed = one_elastic_job();
  no_speed.jobs[0].num_gpus = GpuCount(3);
  const auto missing = run_elastic(no_speed, ProgressRule::Iterations, [](SchedulingPass&) {});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().field == "num_gpus");
}

TEST_CASE("simulator: a policy that ends jobs itself may take notice late") {
  Workload workload = one_elastic_job();
  workload.jobs[0].deadline = at(70);
  const auto result = run_elastic(workload, ProgressRule::Policy, [](SchedulingPass& pass) {
    if (pass.now() == at(0)) {
      CHECK(pass.try_start(JobId(0), GpuCount(2)));
      pass.wake_at(at(120));
    } else {
      pass.complete(JobId(0), at(100), at(67));
    }
  });
  REQUIRE(result);
  CHECK(result->outcomes[0].end == at(100));
  CHECK(result->outcomes[0].finished == at(67));
  // The GPUs are held until the policy takes notice.
  CHECK(result->outcomes[0].gpu_time.seconds() == 240);
}

TEST_CASE("simulator: a rejected job never starts, and a started one cannot be rejected") {
  const auto result = run_elastic(one_elastic_job(), ProgressRule::Iterations,
                                  [](SchedulingPass& pass) { pass.reject(JobId(0)); });
  REQUIRE(result);
  CHECK(result->outcomes[0].state == JobState::Rejected);
  CHECK(result->outcomes[0].rejected_by_policy);
  const auto late = run_elastic(one_elastic_job(), ProgressRule::Iterations, [](SchedulingPass& pass) {
    CHECK(pass.try_start(JobId(0), GpuCount(1)));
    pass.preempt(JobId(0));
    pass.reject(JobId(0));
  });
  CHECK_FALSE(late);
}

}  // namespace vtrain
