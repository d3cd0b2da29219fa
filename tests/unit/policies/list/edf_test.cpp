#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/unit/policies/elastic_support.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain {
namespace {

using testing::ElasticShape;
using testing::replay;

/// An elastic job of 1,000 iterations at 1, 2, 4 and 3 iterations a second on 1, 2, 4 and 8 GPUs.
void add_elastic(Workload& workload, std::int64_t submit_s, std::int64_t deadline_s) {
  Job job;
  job.name = workload.keep("j" + std::to_string(workload.jobs.size()));
  job.submit = at(submit_s);
  job.num_gpus = GpuCount(1);
  job.duration = std::chrono::seconds(1000);
  job.iterations = 1000;
  if (deadline_s > 0) job.deadline = at(deadline_s);
  job.curve = CurveId(static_cast<std::uint32_t>(workload.curves.size()));
  workload.curves.emplace_back(std::vector<SpeedByGpus::Level>{
      {GpuCount(1), 1.0}, {GpuCount(2), 2.0}, {GpuCount(4), 4.0}, {GpuCount(8), 3.0}});
  workload.jobs.push_back(job);
}

}  // namespace

TEST_CASE("edf: elastic jobs grow only by GPUs that no waiting job can use") {
  // On 6 GPUs each of three gets the one that it asks for; the first takes three more, on which it is
  // fastest. At 250 it ends, the others have 750 left, and the second takes 4, the third 2: 750 / 4 more
  // seconds, in which the third does 375 and then has 375 left for 4 GPUs.
  Workload workload;
  for (const std::int64_t deadline_s : {2000, 3000, 4000})
    add_elastic(workload, 0, deadline_s);
  const SimulationResult spare = replay(workload, "1x6", "edf");
  const double ends_s[] = {250, 250 + 750 / 4.0, 250 + 750 / 4.0 + 375 / 4.0};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(spare.outcomes[i].start == at(0));
    CHECK(to_seconds(spare.outcomes[i].end) == doctest::Approx(ends_s[i]));
    CHECK(spare.outcomes[i].preemptions == 0);
  }
  // Greedily the first takes 4 and the second 2, and the third waits.
  CHECK(replay(workload, "1x6", "edf:growth=greedy").outcomes[2].start == at(250));
}

TEST_CASE("edf: where fewer GPUs are left than an elastic job asks for it runs on fewer") {
  // The first asks for 4 of 6 GPUs and leaves 2. The second asks for 4 and does 500 on 2 until 250.
  Workload workload;
  add_elastic(workload, 0, 2000);
  add_elastic(workload, 0, 3000);
  for (Job& job : workload.jobs) {
    job.num_gpus = GpuCount(4);
    job.duration = std::chrono::seconds(250);
  }
  const SimulationResult result = replay(workload, "1x6", "edf");
  CHECK(result.outcomes[0].end == at(250));
  CHECK(result.outcomes[1].start == at(0));
  CHECK(result.outcomes[1].end == at(375));
}

TEST_CASE("edf: grown greedily, an elastic job gets the GPUs on which it is fastest among those left") {
  // On 6 GPUs the first runs on 4 (8 would be slower) until 250, the second on the 2 left. At 100 one that is
  // more urgent takes 4: the first has 600 iterations left and goes on with 2, the second waits with 800
  // left.
  Workload workload;
  add_elastic(workload, 0, 2000);
  add_elastic(workload, 0, 3000);
  add_elastic(workload, 100, 500);
  const SimulationResult result = replay(workload, "1x6", "edf:growth=greedy");
  // The third: 100 + 1000 / 4. The first: 600 left at 100, on 2 GPUs until 350 (100 left), then on 4.
  CHECK(result.outcomes[2].end == at(350));
  CHECK(result.outcomes[0].end == at(375));
  // The second waits from 100 to 350 with 800 left, runs on 2 until 375 (750 left), then on 4.
  CHECK(result.outcomes[1].preemptions == 1);
  CHECK(to_seconds(result.outcomes[1].end) == doctest::Approx(375 + 750 / 4.0));
}

TEST_CASE("edf: max_gpus binds, and resize=no gives what is asked for") {
  Workload workload;
  add_elastic(workload, 0, 2000);
  workload.jobs[0].max_gpus = GpuCount(2);
  CHECK(replay(workload, "1x8", "edf").outcomes[0].end == at(500));
  CHECK(replay(workload, "1x8", "edf:resize=no").outcomes[0].end == at(1000));
}

TEST_CASE("edf: an elastic job that asks for a number of GPUs without a speed is an error that names it") {
  Workload workload;
  add_elastic(workload, 0, 2000);
  workload.jobs[0].num_gpus = GpuCount(3);
  auto policy = make_policy("edf");
  REQUIRE(policy);
  const auto result = simulate(workload, *ClusterSpec::parse("1x8"), **policy, {.policy_name = "edf"});
  REQUIRE_FALSE(result);
  CHECK(result.error().describe().find("job 'j0'") != std::string::npos);
  CHECK(result.error().describe().find("found '3'") != std::string::npos);
}

TEST_CASE("edf: rigid jobs have the schedule of resize=no, on random workloads") {
  for (std::uint64_t seed = 1; seed <= testing::rounds(20); ++seed) {
    CAPTURE(seed);
    const Workload workload = testing::random_workload(seed, 100, 8, std::chrono::seconds(3));
    const SimulationResult elastic = replay(workload, "2x8", "edf");
    const SimulationResult rigid = replay(workload, "2x8", "edf:resize=no");
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      REQUIRE(elastic.outcomes[i].start == rigid.outcomes[i].start);
      REQUIRE(elastic.outcomes[i].end == rigid.outcomes[i].end);
      REQUIRE(elastic.outcomes[i].state == rigid.outcomes[i].state);
    }
  }
}

TEST_CASE("edf: elastic jobs hold no more GPUs than there are and do all of their work") {
  for (std::uint64_t seed = 1; seed <= testing::rounds(20); ++seed) {
    CAPTURE(seed);
    const Workload workload = testing::random_elastic_workload(seed, {.gap_s = 100});
    for (const char* spec : {"edf", "edf:growth=greedy"}) {
      CAPTURE(spec);
      const SimulationResult result = replay(workload, "2x8", spec, {.record_segments = true});
      testing::check_gpus_in_use(result, 16);
      const std::vector<double> done = testing::iterations_done(workload, result);
      for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        REQUIRE(result.outcomes[i].state == JobState::Completed);
        CHECK(done[i] == doctest::Approx(static_cast<double>(workload.jobs[i].iterations)).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("edf-admission: every admitted job meets its deadline") {
  for (const bool round : {false, true}) {
    int met = 0;
    int rejected = 0;
    for (std::uint64_t seed = 1; seed <= testing::rounds(30); ++seed) {
      CAPTURE(seed);
      const ElasticShape shape{.num_jobs = 100, .gap_s = 60, .round = round};
      const Workload workload = testing::random_elastic_workload(seed, shape);
      const SimulationResult result = replay(workload, "2x8", "edf-admission");
      for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        CAPTURE(i);
        const Job& job = workload.jobs[i];
        if (result.outcomes[i].state == JobState::Rejected) {
          REQUIRE(job.has_deadline());
          ++rejected;
          continue;
        }
        REQUIRE(result.outcomes[i].state == JobState::Completed);
        if (!job.has_deadline()) continue;
        REQUIRE(deadline_met(job, result.outcomes[i]));
        ++met;
      }
    }
    CHECK(met > testing::enough(300));
    CHECK(rejected > testing::enough(300));
  }
}

TEST_CASE("edf: a job gets the type on which it is fastest of what is left, and moves to a faster one") {
  // Each takes 100 s on 8 GPUs of the first type. j0, the most urgent, is done at 50 on the second, where it
  // is twice as fast. j2 is so, too: it begins on the first type and moves at 50, with 50 s left that
  // take 25. j1, which is as fast on either, gets the first type as j2 leaves it; j3, without a deadline,
  // follows.
  const Workload workload =
      testing::make_workload({{0, 100, 8, 60}, {0, 100, 8, 400}, {0, 100, 8, 200}, {0, 10, 8, 500}});
  testing::FasterSecondType speeds;
  for (const char* spec : {"edf", "edf:growth=greedy", "edf-admission"}) {
    CAPTURE(spec);
    const SimulationResult result = replay(workload, "1x8:a+1x8:b", spec,
                                           {.placement = PlacementKind::Yarn, .gang_speed_model = &speeds});
    CHECK(result.outcomes[0].end == at(50));
    CHECK(result.outcomes[2].start == at(0));
    CHECK(result.outcomes[2].end == at(75));
    CHECK(result.outcomes[2].preemptions == 1);
    CHECK(result.outcomes[1].start == at(50));
    CHECK(result.outcomes[1].end == at(150));
    CHECK(result.outcomes[3].end == at(85));
  }
}

TEST_CASE("edf: an elastic job grows on the type that it has") {
  // 1, 2 and 4 iterations a second on 1, 2 and 4 GPUs, twice that on the second type, which has 2. It asks
  // for 1 GPU and grows to both: as fast as on 4 of the first.
  Workload workload;
  add_elastic(workload, 0, 2000);
  testing::FasterSecondType speeds;
  const SimulationResult result =
      replay(workload, "4x1:a+2x1:b", "edf", {.placement = PlacementKind::Yarn, .gang_speed_model = &speeds});
  CHECK(result.outcomes[0].end == at(250));
}

namespace {

/// Speeds that differ from job to job and type to type.
class MixedSpeeds final : public GangSpeedModel {
 public:
  bool knows(JobId) const override { return true; }
  GangSpeed at(JobId job, GpuCount num_gpus, const GangSite& site) override {
    const auto odd = static_cast<double>((job.value * 7 + site.gpu_type * 5) % 11);
    const double speed = site.gpu_type == 0 ? 1 : 0.4 + odd / 4 + 0.01 * static_cast<double>(num_gpus.value);
    return {.here = speed, .packed = speed};
  }
  double slowest(JobId, GpuCount, bool) override { return 0.4; }
};

}  // namespace

TEST_CASE("edf-admission: every admitted job meets its deadline on GPUs of several types") {
  // Every gang finds room: nodes have one GPU, or are not told apart.
  for (const PlacementKind placement : {PlacementKind::Yarn, PlacementKind::Count}) {
    int met = 0;
    int rejected = 0;
    for (std::uint64_t seed = 1; seed <= testing::rounds(30); ++seed) {
      CAPTURE(static_cast<int>(placement));
      CAPTURE(seed);
      Workload workload = testing::random_elastic_workload(
          seed, {.num_jobs = 100, .gap_s = 60, .rigid_of_4 = seed % 3, .round = seed % 2 == 0});
      RandomStream random(seed, "types");
      for (Job& job : workload.jobs) {
        const char* const asked[] = {"a", "b", "c", "a|c", nullptr, nullptr, nullptr};
        if (const char* const type = asked[random.below(7)]) job.gpu_type = workload.gpu_type(type);
      }
      MixedSpeeds speeds;
      const SimulationResult result = replay(workload, "8x1:a+6x1:b+4x1:c", "edf-admission",
                                             {.placement = placement, .gang_speed_model = &speeds});
      for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        CAPTURE(i);
        const Job& job = workload.jobs[i];
        if (result.outcomes[i].state == JobState::Rejected) {
          ++rejected;
          continue;
        }
        REQUIRE(result.outcomes[i].state == JobState::Completed);
        if (!job.has_deadline()) continue;
        REQUIRE(deadline_met(job, result.outcomes[i]));
        ++met;
      }
    }
    CHECK(met > testing::enough(300));
    CHECK(rejected > testing::enough(300));
  }
}

TEST_CASE("edf-admission: who would be late, or make another late, is turned away; best effort never") {
  // On 4 GPUs the first needs 250 s of its 400. The second, due at 380, would end at 350 and make the first
  // end at 500. The third, without a deadline, waits for all others. The fourth is in time at 500; a fifth is
  // not.
  Workload workload;
  add_elastic(workload, 0, 400);
  add_elastic(workload, 100, 380);
  add_elastic(workload, 100, 0);
  add_elastic(workload, 100, 600);
  const SimulationResult result = replay(workload, "1x4", "edf-admission");
  CHECK(result.outcomes[0].end == at(250));
  CHECK(result.outcomes[1].state == JobState::Rejected);
  CHECK(result.outcomes[2].end == at(750));
  // 250 + 250 = 500: in time.
  CHECK(result.outcomes[3].end == at(500));
  add_elastic(workload, 101, 600);
  CHECK(replay(workload, "1x4", "edf-admission").outcomes[4].state == JobState::Rejected);
}

TEST_CASE("edf-admission: a rigid job that ends at its very deadline is let in") {
  // On an empty node each time; the second runs beside the first.
  const Workload workload =
      testing::make_workload({{0, 100, 4, 100}, {10, 50, 2, 60}, {200, 30, 4, 230}, {201, 30, 8, 259}});
  const SimulationResult result = replay(workload, "1x8", "edf-admission");
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(deadline_met(workload.jobs[i], result.outcomes[i]));
  CHECK(result.outcomes[3].state == JobState::Rejected);  // from 230 on it would end at 260
}

TEST_CASE(
    "edf-admission: rigid jobs are let in exactly when edf brings them and all before them home in time") {
  int in_time_to_the_tick = 0;
  int rejected = 0;
  for (std::uint64_t seed = 0; seed < testing::rounds(30); ++seed) {
    CAPTURE(seed);
    Workload workload = testing::random_workload(seed, 60, 8, SimDuration(3));
    for (Job& job : workload.jobs)
      job.requested_time = SimDuration(0);
    const SimulationResult result = replay(workload, "1x8", "edf-admission");
    Workload admitted;
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      CAPTURE(i);
      admitted.jobs.push_back(workload.jobs[i]);
      const SimulationResult by_edf = replay(admitted, "1x8", "edf");
      bool all_in_time = true;
      for (std::size_t k = 0; k < admitted.jobs.size(); ++k) {
        const Job& job = admitted.jobs[k];
        all_in_time &= !job.has_deadline() || deadline_met(job, by_edf.outcomes[k]);
      }
      REQUIRE((result.outcomes[i].state != JobState::Rejected) == all_in_time);
      if (all_in_time) {
        in_time_to_the_tick += result.outcomes[i].end == workload.jobs[i].deadline ? 1 : 0;
      } else {
        ++rejected;
        admitted.jobs.pop_back();
      }
    }
  }
  CHECK(in_time_to_the_tick > testing::enough(20));
  CHECK(rejected > testing::enough(100));
}

TEST_CASE("edf-admission: who is late anyway keeps out only those who would make him later") {
  // A failure makes job 0 start anew at 50 on the other node and end at 150, after its deadline. Job 1 uses
  // the node that is back; job 2 would take the other one from job 0 until 70.
  const Workload workload = testing::make_workload({{0, 100, 1, 105}, {60, 10, 1, 100}, {61, 30, 1, 100}});
  Disruptions disruptions;
  disruptions.outages = {{NodeId(0), OutageKind::Failure, at(50), at(60)}};
  const SimulationResult result = replay(workload, "2x1", "edf-admission",
                                         {.placement = PlacementKind::Yarn, .disruptions = &disruptions});
  CHECK(result.outcomes[0].end == at(150));
  CHECK(result.outcomes[1].end == at(70));
  CHECK(result.outcomes[2].state == JobState::Rejected);
}

TEST_CASE("edf-admission: a deadline before the submission is a rejection") {
  Workload workload;
  add_elastic(workload, 100, 50);
  for (const char* spec : {"edf-admission", "elasticflow"}) {
    CAPTURE(spec);
    CHECK(replay(workload, "1x4", spec).outcomes[0].state == JobState::Rejected);
  }
  // Who turns nobody away runs it, and it misses its deadline.
  const SimulationResult result = replay(workload, "1x4", "edf");
  CHECK(result.outcomes[0].state == JobState::Completed);
  CHECK_FALSE(deadline_met(workload.jobs[0], result.outcomes[0]));
}

}  // namespace vtrain
