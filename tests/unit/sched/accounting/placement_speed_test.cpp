#include "sched/accounting/placement_speed.hpp"

#include <doctest/doctest.h>

#include <map>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/sched/scripted_policy.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

using std::chrono::seconds;
using testing::job_of;
using testing::Scripted;
using testing::start_all;

/// Speeds at which the second type is twice as fast. A spread gang has 1/4 of the speed, or 1/8 with single
/// ranks.
class FakeSpeeds final : public GangSpeedModel {
 public:
  bool knows(JobId) const override { return true; }
  GangSpeed at(JobId, GpuCount, const GangSite& site) override {
    const double packed = site.gpu_type == 0 ? 1 : 2;
    const double part = site.ranks_together == 0 ? 1 : site.ranks_together == 1 ? single_ranks : 0.25;
    return {packed * part, packed};
  }
  double slowest(JobId, GpuCount, bool may_spread) override { return may_spread ? 0.125 : 1; }

  double single_ranks = 0.125;
};

SimulationResult run(const Workload& workload, const char* cluster, PlacementKind placement, Policy& policy,
                     GangSpeedModel& speeds) {
  auto result = simulate(workload, ClusterSpec::parse(cluster).value(), policy,
                         {.placement = placement, .policy_name = "test", .gang_speed_model = &speeds});
  if (!result) FAIL(result.error().describe());
  return *std::move(result);
}

}  // namespace

TEST_CASE("gang_sites: the type, and how many ranks in a row share a node on more nodes than needed") {
  const ClusterSpec cluster = ClusterSpec::parse("4x8:a100+2x4:h100+1x2:a100").value();
  const Workload workload;
  const auto placement = make_placement(PlacementKind::Consolidate, cluster, workload);
  FakeSpeeds speeds;
  const PlacementSpeed sites(cluster, workload, speeds, *placement);
  const auto site = [&](const std::vector<std::pair<std::uint32_t, std::int32_t>>& shares) {
    std::vector<NodeShare> nodes;
    for (const auto& [node, gpus] : shares)
      nodes.push_back({.node = NodeId(node), .gpus = GpuCount(gpus)});
    return sites.of(nodes);
  };
  CHECK(sites.depends_on_place());
  CHECK(site({{0, 8}}) == GangSite{0, 0});
  CHECK(site({{0, 2}, {0, 6}}) == GangSite{0, 0});  // two islands of one node
  CHECK(site({{1, 8}, {2, 8}}) == GangSite{0, 0});
  CHECK(site({{1, 8}, {2, 4}}) == GangSite{0, 0});  // 12 GPUs need two nodes
  CHECK(site({{0, 4}, {1, 4}}) == GangSite{0, 4});
  CHECK(site({{0, 6}, {1, 2}}) == GangSite{0, 2});
  CHECK(site({{0, 1}, {0, 3}, {1, 2}, {1, 2}}) == GangSite{0, 4});
  CHECK(site({{0, 7}, {3, 1}}) == GangSite{0, 1});
  CHECK(site({{0, 8}, {1, 4}, {2, 4}}) == GangSite{0, 4});
  CHECK(site({{4, 4}, {5, 4}}) == GangSite{1, 0});  // nodes of this type have 4
  CHECK(site({{4, 2}, {5, 2}}) == GangSite{1, 2});
  CHECK(site({{0, 2}, {6, 2}}) == GangSite{0, 2});  // 8 would have been on one node
}

TEST_CASE("gang_sites: they matter where gangs may be spread or have several types to go to") {
  const Workload workload;
  FakeSpeeds speeds;
  const auto matter = [&](PlacementKind kind, const char* text) {
    const ClusterSpec cluster = ClusterSpec::parse(text).value();
    const auto placement = make_placement(kind, cluster, workload);
    return PlacementSpeed(cluster, workload, speeds, *placement).depends_on_place();
  };
  for (const PlacementInfo& info : placements()) {
    CAPTURE(info.name);
    CHECK(matter(info.kind, "4x8:a100") == (info.kind == PlacementKind::Consolidate));
    CHECK(!matter(info.kind, "1x8:a100"));
    CHECK(matter(info.kind, "4x8:a100+1x8:h100") == info.knows_nodes);
    CHECK(matter(info.kind, "4x8:a100+1x4:a100") == info.knows_nodes);
  }
}

TEST_CASE("gang_sites: placements that pack gangs do, on nodes of one size") {
  RandomStream random(1, "gangs");
  const Workload workload;
  FakeSpeeds speeds;
  for (const char* text : {"6x8:a100", "5x6:a100", "4x4:a100+3x8:h100"}) {
    const ClusterSpec cluster = ClusterSpec::parse(text).value();
    for (const PlacementInfo& info : placements()) {
      const auto placement = make_placement(info.kind, cluster, workload);
      if (!placement->info().knows_nodes || !placement->packs_gangs()) continue;
      CAPTURE(info.name);
      const PlacementSpeed sites(cluster, workload, speeds, *placement);
      std::vector<std::pair<GangRequest, std::vector<NodeShare>>> gangs;
      for (int step = 0; step < 2000; ++step) {
        if (!gangs.empty() && random.below(2) == 0) {
          std::swap(gangs[random.below(gangs.size())], gangs.back());
          placement->release(gangs.back().first, gangs.back().second);
          gangs.pop_back();
          continue;
        }
        const GangRequest request{.num_gpus = GpuCount(1 + static_cast<std::int32_t>(random.below(20)))};
        std::vector<NodeShare> shares;
        if (!placement->place(request, shares)) continue;
        REQUIRE(sites.of(shares).ranks_together == 0);
        gangs.emplace_back(request, std::move(shares));
      }
    }
  }
}

TEST_CASE("gang_sites: a job runs at the speed of where its gang is, rigid or by iterations") {
  FakeSpeeds speeds;
  Workload workload;
  workload.curves.emplace_back(std::vector<SpeedByGpus::Level>{{GpuCount(8), 1.0}});
  workload.jobs = {job_of(0, 100, 8)};
  workload.jobs[0].iterations = 100;
  workload.jobs[0].curve = CurveId(0);
  const auto jct = [&](const char* cluster, PlacementKind placement, ProgressRule rule) {
    Scripted policy(start_all, rule);
    const SimulationResult result = run(workload, cluster, placement, policy, speeds);
    return result.outcomes[0].end - SimTime();
  };
  for (const ProgressRule rule : {ProgressRule::Duration, ProgressRule::Iterations}) {
    CHECK(jct("2x8:a100+2x8:h100", PlacementKind::Yarn, rule) == seconds(100));
    // Too small nodes of the first type: only the second has room.
    CHECK(jct("1x4:a100+2x8:h100", PlacementKind::Yarn, rule) == seconds(50));
    // `count` knows no nodes.
    CHECK(jct("1x4:a100+2x8:h100", PlacementKind::Count, rule) == seconds(100));
    // Neither may it be spread, nor has it types to choose from.
    CHECK(jct("2x8:a100", PlacementKind::Yarn, rule) == seconds(100));
  }
}

TEST_CASE("gang_sites: what spreading costs is booked apart from what a slower type does") {
  FakeSpeeds speeds;
  // Two jobs of 6 GPUs that nothing is known of leave two free GPUs on each node.
  Workload workload;
  workload.jobs = {job_of(0, 1000, 6), job_of(0, 1000, 6), job_of(0, 100, 4)};
  class OneUnknown final : public GangSpeedModel {
   public:
    bool knows(JobId job) const override { return job == JobId(2); }
    GangSpeed at(JobId job, GpuCount gpus, const GangSite& site) override { return fake.at(job, gpus, site); }
    double slowest(JobId job, GpuCount gpus, bool spread) override { return fake.slowest(job, gpus, spread); }
    FakeSpeeds fake;
  } third_only;
  Scripted policy(start_all);
  const SimulationResult a100 = run(workload, "2x8:a100", PlacementKind::Consolidate, policy, third_only);
  CHECK(a100.outcomes[0].end == SimTime(seconds(1000)));
  CHECK(a100.outcomes[2].end == SimTime(seconds(400)));
  CHECK(a100.losses[2][LossCause::Spread].seconds() == 300 * 4);
  CHECK(a100.losses[0].none());
  // On the second type the same takes half the time, of which three quarters are lost.
  for (Job& job : workload.jobs)
    job.gpu_type = workload.gpu_type("h100");
  const SimulationResult h100 =
      run(workload, "1x8:a100+2x8:h100", PlacementKind::Consolidate, policy, third_only);
  CHECK(h100.outcomes[2].end == SimTime(seconds(200)));
  CHECK(h100.losses[2][LossCause::Spread].seconds() == 150 * 4);
  CHECK(h100.losses[2].total() == h100.losses[2][LossCause::Spread]);
}

TEST_CASE("gang_sites: work is exact to the nanosecond, however often jobs are moved between sites") {
  /// Preempts and reads progress at random instants, and adds up the expected work of every segment.
  class Mover final : public Policy {
   public:
    Mover(std::uint64_t seed, ProgressRule rule) : rule_(rule), random_(seed, "moves") {}
    void schedule(SchedulingPass& pass) override {
      for (std::uint32_t job = 0; job < pass.jobs().size(); ++job) {
        const JobId id(job);
        if (pass.state(id) != JobState::Running) continue;
        CHECK(pass.work_done(id) + pass.remaining(id) == pass.job(id).duration);
        CHECK(pass.work_done(id) >= work_[job]);
        work_[job] = pass.work_done(id);
        if (random_.below(3) == 0) {
          pass.preempt(id);
          CHECK(pass.work_done(id) == work_[job]);
          ++moves_[job];
        }
      }
      start_all(pass);
      if (random_.below(2) == 0)
        pass.wake_at(pass.now() + SimDuration(1 + static_cast<std::int64_t>(random_.below(20'000'000'000))));
    }
    ProgressRule progress_rule() const override { return rule_; }
    std::map<std::uint32_t, std::int64_t> moves_;

   private:
    ProgressRule rule_;
    RandomStream random_;
    std::map<std::uint32_t, SimDuration> work_;
  };
  int num_spread = 0;
  for (std::uint64_t seed = 0; seed < testing::rounds(40); ++seed) {
    CAPTURE(seed);
    const bool by_iterations = seed % 2 == 1;
    RandomStream random(seed, "jobs");
    Workload workload;
    std::int64_t submit = 0;
    for (std::uint32_t i = 0; i < 30; ++i) {
      submit += static_cast<std::int64_t>(random.below(5));
      Job job = job_of(submit, 1 + static_cast<std::int64_t>(random.below(100)),
                       1 + static_cast<std::int32_t>(random.below(12)));
      job.duration += SimDuration(static_cast<std::int64_t>(random.below(1'000'000'000)));
      if (by_iterations) {
        // An iteration a millisecond.
        job.iterations = job.duration / std::chrono::milliseconds(1) + 1;
        job.duration = std::chrono::milliseconds(job.iterations);
        job.curve = CurveId(static_cast<std::uint32_t>(workload.curves.size()));
        workload.curves.emplace_back(std::vector<SpeedByGpus::Level>{{job.num_gpus, 1000.0}});
      }
      workload.jobs.push_back(job);
    }
    FakeSpeeds speeds;
    speeds.single_ranks = 0.25;  // so that the recorded runs tell every speed
    Mover policy(seed, by_iterations ? ProgressRule::Iterations : ProgressRule::Duration);
    const char* cluster = "2x8:a100+2x8:h100";
    const auto result = simulate(workload, ClusterSpec::parse(cluster).value(), policy,
                                 {.placement = PlacementKind::Consolidate,
                                  .record_segments = true,
                                  .policy_name = "mover",
                                  .gang_speed_model = &speeds});
    REQUIRE(result);
    // Work again from the recorded runs, in quarters: twice as fast on the nodes of the second type, a
    // quarter of that on more nodes than needed. A run does its work rounded down, so that each preemption
    // loses less than a nanosecond, and a run ends within one of its work.
    std::vector<std::int64_t> quarters(workload.jobs.size());
    std::vector<std::int64_t> spread_time(workload.jobs.size());
    for (const JobSegment& run : result->segments) {
      const std::int64_t fast = run.parts.front().node.value >= 2 ? 2 : 1;
      const bool spread = std::ssize(run.parts) > (run.num_gpus.value + 7) / 8;
      const std::int64_t held = (run.end - run.begin).count();
      quarters[run.job.value] += held * fast * (spread ? 1 : 4);
      if (spread) spread_time[run.job.value] += held;
      num_spread += spread ? 1 : 0;
    }
    for (std::uint32_t job = 0; job < workload.jobs.size(); ++job) {
      REQUIRE(result->outcomes[job].state == JobState::Completed);
      const std::int64_t too_much = quarters[job] - 4 * workload.jobs[job].duration.count();
      CHECK(too_much >= 0);
      CHECK(too_much <= 4 * (policy.moves_[job] + 2));
      // Three quarters of the time on spread gangs are lost, and nothing else.
      const LostGpuTime& lost = result->losses[job];
      CHECK(lost.total() == lost[LossCause::Spread]);
      const double lost_s = 0.75e-9 * static_cast<double>(spread_time[job]);
      CHECK(lost[LossCause::Spread].seconds() / workload.jobs[job].num_gpus.value ==
            doctest::Approx(lost_s).epsilon(1e-6));
    }
  }
  CHECK(num_spread > 30);
}

}  // namespace vtrain
