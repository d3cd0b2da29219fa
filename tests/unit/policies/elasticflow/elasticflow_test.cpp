#include "policies/elasticflow/elasticflow.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/elastic_support.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"
#include "workloads/jobs/gang_speed_model.hpp"

namespace vtrain {
namespace {

using testing::ElasticShape;
using testing::random_elastic_workload;
using testing::replay;

/// One job of 10,000 iterations on a curve whose last level is slower than the previous one.
Workload job_on_falling_curve(std::int64_t deadline_s, std::int32_t max_gpus,
                              SpeedByGpus::Source source = SpeedByGpus::Source::Trace) {
  Workload workload = testing::make_workload({{0, 10'000, 1, deadline_s}});
  workload.curves.emplace_back(
      std::vector<SpeedByGpus::Level>{
          {GpuCount(1), 5.0}, {GpuCount(16), 25.0}, {GpuCount(32), 30.5}, {GpuCount(64), 29.5}},
      source);
  workload.jobs[0].curve = CurveId(0);
  workload.jobs[0].iterations = 10'000;
  workload.jobs[0].max_gpus = GpuCount(max_gpus);
  return workload;
}

}  // namespace

TEST_CASE(
    "elasticflow: a job gets no more GPUs than make it faster, unless the trace says how fast it is and how "
    "many it may hold") {
  // 10,000 / 30.5 = 327.9 s on 32 GPUs, 10,000 / 29.5 = 339.0 s on 64, each rounded up to 10 s.
  for (const char* spec : {"elasticflow:slot=10s", "elasticflow:slot=10s,greedy=largest"}) {
    CAPTURE(spec);
    for (const std::int64_t deadline_s : {335, -1}) {
      const SimulationResult result =
          replay(job_on_falling_curve(deadline_s, 0), "8x8", spec, {.record_segments = true});
      REQUIRE(result.segments.size() == 1);
      CHECK(result.segments[0].num_gpus == GpuCount(32));
      CHECK(to_seconds(result.outcomes[0].finished) == 328);
    }
  }
  // As in ElasticFlow's simulator, where every trace says it.
  const SimulationResult given =
      replay(job_on_falling_curve(-1, 64), "8x8", "elasticflow:slot=10s", {.record_segments = true});
  CHECK(given.segments[0].num_gpus == GpuCount(64));
  const SimulationResult predicted = replay(job_on_falling_curve(-1, 64, SpeedByGpus::Source::Predictor),
                                            "8x8", "elasticflow:slot=10s", {.record_segments = true});
  CHECK(predicted.segments[0].num_gpus == GpuCount(32));
}

TEST_CASE("elasticflow: no admitted job is late; every job ends or is turned away") {
  // Slots of 60 s hold whole jobs; deadlines and ends lie inside them.
  const std::vector<ElasticShape> shapes = {
      {.num_jobs = 100, .gap_s = 60},
      {.num_jobs = 100, .gap_s = 100, .best_effort_of_4 = 0, .rigid_of_4 = 4},
      {.num_jobs = 100, .gap_s = 40, .rigid_of_4 = 2},
      {.num_jobs = 100, .gap_s = 60, .best_effort_of_4 = 0, .rigid_of_4 = 2, .short_of_4 = 3},
      {.num_jobs = 100, .gap_s = 60, .rigid_of_4 = 1, .round = true}};
  for (const char* spec : {"elasticflow", "elasticflow:slot=1s", "elasticflow:greedy=largest,slot=7s"}) {
    for (const PlacementKind placement : {PlacementKind::Count, PlacementKind::Consolidate}) {
      int admitted = 0;
      int rejected_by_policy = 0;
      for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
        for (std::uint64_t seed = 1; seed <= testing::rounds(5); ++seed) {
          CAPTURE(spec);
          CAPTURE(static_cast<int>(placement));
          CAPTURE(shape);
          CAPTURE(seed);
          const Workload workload = random_elastic_workload(seed, shapes[shape]);
          const SimulationResult result = replay(workload, "2x8", spec, {.placement = placement});
          for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
            const Job& job = workload.jobs[i];
            const JobOutcome& outcome = result.outcomes[i];
            CAPTURE(i);
            if (outcome.state == JobState::Rejected) {
              ++rejected_by_policy;
              REQUIRE(job.has_deadline());
              continue;
            }
            REQUIRE(outcome.state == JobState::Completed);
            if (!job.has_deadline()) continue;
            ++admitted;
            REQUIRE(deadline_met(job, outcome));
          }
        }
      }
      CHECK(admitted > testing::enough(500));
      CHECK(rejected_by_policy > testing::enough(500));
    }
  }
}

TEST_CASE("elasticflow: no admitted job is late on GPUs of several types") {
  const std::vector<ElasticShape> shapes = {{.num_jobs = 100, .gap_s = 60},
                                            {.num_jobs = 100, .gap_s = 40, .rigid_of_4 = 2},
                                            {.num_jobs = 100, .gap_s = 60, .rigid_of_4 = 1, .round = true}};
  for (const char* spec : {"elasticflow", "elasticflow:greedy=largest,slot=7s"}) {
    int admitted = 0;
    int rejected_by_policy = 0;
    for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
      for (std::uint64_t seed = 1; seed <= testing::rounds(5); ++seed) {
        CAPTURE(spec);
        CAPTURE(shape);
        CAPTURE(seed);
        Workload workload = random_elastic_workload(seed, shapes[shape]);
        RandomStream random(seed, "types");
        for (Job& job : workload.jobs) {
          const char* const asked[] = {"a", "b", "c", "a|c", nullptr, nullptr};
          if (const char* const type = asked[random.below(6)]) job.gpu_type = workload.gpu_type(type);
        }
        const SimulationResult result = replay(workload, "1x8:a+2x8:b+1x4:c", spec);
        for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
          const Job& job = workload.jobs[i];
          const JobOutcome& outcome = result.outcomes[i];
          CAPTURE(i);
          if (outcome.state == JobState::Rejected) {
            ++rejected_by_policy;
            continue;
          }
          REQUIRE(outcome.state == JobState::Completed);
          if (!job.has_deadline()) continue;
          ++admitted;
          REQUIRE(deadline_met(job, outcome));
        }
      }
    }
    CHECK(admitted > testing::enough(300));
    CHECK(rejected_by_policy > testing::enough(100));
  }
}

TEST_CASE("elasticflow: a job gets the type on which it is in time, with the speed that it has there") {
  // Each takes 100 s on 8 GPUs. j0 is due at 60 and done at 50 on the second type; j1, which is no faster
  // there, is turned away.
  const Workload workload = testing::make_workload({{0, 100, 8, 60}, {0, 100, 8, 60}});
  testing::FasterSecondType speeds;
  const SimulationResult result = replay(workload, "1x8:a+1x8:b", "elasticflow",
                                         {.placement = PlacementKind::Yarn, .gang_speed_model = &speeds});
  CHECK(result.outcomes[0].state == JobState::Completed);
  CHECK(to_seconds(result.outcomes[0].end) == 50);
  CHECK(result.outcomes[1].state == JobState::Rejected);
}

TEST_CASE("elasticflow: the work of a job is done on the GPUs that it held") {
  for (std::uint64_t seed = 1; seed <= testing::rounds(20); ++seed) {
    const Workload workload = random_elastic_workload(seed, {});
    const SimulationResult result = replay(workload, "2x8", "elasticflow", {.record_segments = true});
    const std::vector<double> done = testing::iterations_done(workload, result);
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      // GPUs are held to the end of a slot, never shorter than the work takes.
      if (result.outcomes[i].state == JobState::Completed) {
        CHECK(done[i] >= static_cast<double>(workload.jobs[i].iterations) * (1 - 1e-9));
      }
    }
  }
}

TEST_CASE("elasticflow: one job alone grows to the level that is worth it and ends with its slot") {
  // 1,000 iterations at 1, 1.9 and 3.6 a second on 1, 2 and 4 GPUs. Spare GPUs go to the only job: 4 GPUs,
  // 277.8 s of work, so that its fifth slot of 60 s is its last.
  Workload workload;
  Job job;
  job.name = workload.keep("a");
  job.num_gpus = GpuCount(1);
  job.iterations = 1000;
  job.duration = std::chrono::seconds(1000);
  job.deadline = SimTime(std::chrono::seconds(2000));
  job.curve = CurveId(0);
  workload.curves.emplace_back(
      std::vector<SpeedByGpus::Level>{{GpuCount(1), 1.0}, {GpuCount(2), 1.9}, {GpuCount(4), 3.6}});
  workload.jobs.push_back(job);
  const SimulationResult result = replay(workload, "2x8", "elasticflow");
  CHECK(result.outcomes[0].end == SimTime(std::chrono::seconds(300)));
  CHECK(result.outcomes[0].finished == SimTime(std::chrono::seconds(278)));
  CHECK(result.outcomes[0].gpu_time.seconds() == 4 * 300);
}

TEST_CASE(
    "elasticflow: GPUs held to the end of a slot are in use until then, though the end is booked before") {
  // A rigid job of 1 s: where jobs may be disrupted it ends at 1, and holds its 4 GPUs until 60.
  Workload workload;
  Job job;
  job.name = workload.keep("a");
  job.num_gpus = GpuCount(4);
  job.duration = std::chrono::seconds(1);
  workload.jobs.push_back(job);
  const ClusterSpec cluster = *ClusterSpec::parse("2x8");
  Disruptions disruptions;
  disruptions.interruption_cost = InterruptionCost(*InterruptionRule::parse("1s"), GpuCount(16));
  const SimulationResult result =
      replay(workload, cluster, "elasticflow:costs=free", {.disruptions = &disruptions});
  const Summary summary = summarize(workload, cluster, result, "elasticflow");
  CHECK(result.outcomes[0].end == SimTime(std::chrono::seconds(1)));
  CHECK(summary.gpu_utilization == doctest::Approx(4.0 / 16));
}

TEST_CASE("elasticflow: a job that may hold fewer GPUs than it can run on is turned away") {
  Workload workload = random_elastic_workload(1, {.num_jobs = 1});
  workload.curves[0] = SpeedByGpus({{GpuCount(4), 1.0}});
  workload.jobs[0].num_gpus = GpuCount(4);
  workload.jobs[0].max_gpus = GpuCount(2);
  for (const char* spec : {"elasticflow", "elasticflow-edf"})
    CHECK(replay(workload, "2x8", spec).outcomes[0].state == JobState::Rejected);
}

TEST_CASE("elasticflow: a rigid job fails at its requested time under every policy") {
  // 4 GPUs are busy until 100, when the first job is ended; `elasticflow` looks at 120, and the preset of las
  // charges seconds for starting.
  Workload workload = testing::make_workload({{0, 1000, 4}, {10, 100, 4}});
  for (Job& job : workload.jobs)
    job.requested_time = std::chrono::seconds(100);
  for (const char* spec :
       {"fifo", "edf", "edf-admission", "elasticflow", "elasticflow-edf", "elasticflow-las"}) {
    CAPTURE(spec);
    const SimulationResult result = replay(workload, "1x4", spec);
    CHECK(result.outcomes[0].state == JobState::Failed);
    CHECK(result.outcomes[0].finished >= SimTime(std::chrono::seconds(100)));
    CHECK(result.outcomes[0].gpu_time.seconds() <= 4 * 120);
    CHECK(result.outcomes[1].state == JobState::Completed);
  }
}

TEST_CASE("elasticflow: an elastic job is not ended at the time that it asked for with other GPUs") {
  Workload workload = random_elastic_workload(1, {.num_jobs = 1});
  workload.jobs[0].requested_time = std::chrono::seconds(1);
  workload.jobs[0].deadline = Job::kNoDeadline;
  CHECK(replay(workload, "2x8", "fifo").outcomes[0].state == JobState::Failed);
  for (const char* spec : {"edf", "edf-admission", "elasticflow", "elasticflow-edf", "elasticflow-las"}) {
    CAPTURE(spec);
    CHECK(replay(workload, "2x8", spec).outcomes[0].state == JobState::Completed);
  }
}

TEST_CASE("elasticflow: jobs that find no room in what is in service are not planned again and again") {
  // Both jobs need all nodes; one is away from 100 s on, for a million seconds or for good.
  const Workload workload = testing::make_workload({{0, 1000, 8}, {0, 1, 8}});
  for (const char* spec : {"elasticflow:slot=7s", "elasticflow-edf:slot=7s"}) {
    for (const bool for_good : {false, true}) {
      CAPTURE(spec);
      CAPTURE(for_good);
      Disruptions disruptions;
      const SimTime back(std::chrono::seconds(1'000'000));
      disruptions.outages.push_back({NodeId(1), OutageKind::Failure, SimTime(std::chrono::seconds(100)),
                                     for_good ? SimTime::max() : back});
      const SimulationResult result =
          replay(workload, "2x4", spec, {.placement = PlacementKind::Yarn, .disruptions = &disruptions});
      CHECK(result.events < 1000);
      CHECK(result.outcomes[0].state == (for_good ? JobState::Unfinished : JobState::Completed));
    }
  }
}

TEST_CASE("elasticflow: submissions need not be whole seconds: they count from the next one on") {
  Workload workload = random_elastic_workload(2, {.num_jobs = 2});
  workload.jobs[0].submit = SimTime(std::chrono::milliseconds(500));
  workload.jobs[1].submit = SimTime(std::chrono::milliseconds(900));
  for (const char* spec : {"elasticflow", "elasticflow-edf", "elasticflow-las"}) {
    CAPTURE(spec);
    const SimulationResult result = replay(workload, "2x8", spec);
    for (const JobOutcome& outcome : result.outcomes) {
      CHECK(outcome.start == SimTime(std::chrono::seconds(1)));
      CHECK(outcome.state == JobState::Completed);
    }
  }
}

TEST_CASE("elasticflow: parameters that it cannot use are refused") {
  CHECK_FALSE(make_policy("elasticflow:admission=all"));
  CHECK_FALSE(make_policy("elasticflow:slot=0s"));
  CHECK_FALSE(make_policy("elasticflow:slot=minute"));
  CHECK_FALSE(make_policy("elasticflow:overhead=some"));
  CHECK_FALSE(make_policy("las:preset=tiresias"));
  CHECK_FALSE(make_policy("elasticflow-las:queues=1;2;3"));
}

}  // namespace vtrain
