/// The list policies under placements that refuse gangs.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sched/cluster/node_table.hpp"
#include "sched/disruption/disruptions.hpp"
#include "sched/placement/placement.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

/// A job on the one list of `ListByHand`.
struct LiveJob {
  std::size_t id = 0;
  SimDuration executed{0};
  SimDuration saved{0};  ///< executed time at the last start
  bool runs = false;
  std::vector<NodeShare> shares{};
};

struct ListedPolicy {
  std::string spec;
  std::function<double(const Job&, SimDuration executed)> key;
  bool keys_change = true;  ///< while jobs run
};

/// The rule step by step, for rigid jobs: one list, a stable sort at every event, and a walk by number of
/// GPUs. If a chosen job finds no room, or GPUs are shared, a second walk uses the free GPUs. All outages
/// end.
class ListByHand {
 public:
  ListByHand(const Workload& workload, const ClusterSpec& cluster, PlacementKind kind, ListedPolicy policy,
             std::vector<Outage> outages = {})
      : workload_(workload),
        nodes_(cluster, workload),
        placement_(make_placement(kind, cluster, workload)),
        sharing_(info_of(kind).shares_gpus && std::ranges::any_of(workload.jobs, &Job::shares_gpus)),
        policy_(std::move(policy)),
        outages_(std::move(outages)),
        in_service_(nodes_.nodes().size(), true),
        outcomes_(workload.jobs.size()) {
    for (JobOutcome& outcome : outcomes_)
      outcome.start = SimTime::max();
  }

  std::vector<JobOutcome> run() {
    std::size_t next = 0;
    SimTime now{};
    while (next < workload_.jobs.size() || !list_.empty()) {
      SimTime then = next < workload_.jobs.size() ? workload_.jobs[next].submit : SimTime::max();
      for (const LiveJob& live : list_) {
        if (live.runs) then = std::min(then, now + left(live));
      }
      for (const Outage& outage : outages_) {
        for (const SimTime change : {outage.begin, outage.end}) {
          if (change > now) then = std::min(then, change);
        }
      }
      for (LiveJob& live : list_) {
        if (live.runs) live.executed += then - now;
      }
      now = then;
      bool changed = false;
      for (LiveJob& live : list_) {
        if (left(live) > SimDuration(0)) continue;
        changed = true;
        outcomes_[live.id].end = now;
        placement_->release(request(live), live.shares);
      }
      std::erase_if(list_, [&](const LiveJob& live) { return left(live) == SimDuration(0); });
      changed |= change_nodes(now);
      for (; next < workload_.jobs.size() && workload_.jobs[next].submit == now; ++next) {
        if (!placement_->fits_empty(request({next}))) continue;
        list_.push_back({next});
        changed = true;
      }
      if (changed) pass(now);
    }
    return outcomes_;
  }
  /// Number of times that a chosen job found no room.
  int refusals() const { return refusals_; }

 private:
  const Job& job(const LiveJob& live) const { return workload_.jobs[live.id]; }
  GangRequest request(const LiveJob& live) const { return request_of(job(live), job(live).num_gpus); }
  SimDuration left(const LiveJob& live) const { return time_on_gpus(job(live)) - live.executed; }

  bool is_out(NodeId node, SimTime now) const {
    return std::ranges::any_of(outages_, [&](const Outage& outage) {
      return outage.node == node && outage.begin <= now && now < outage.end;
    });
  }
  bool is_out(const LiveJob& live, SimTime now) const {
    return live.runs &&
           std::ranges::any_of(live.shares, [&](const NodeShare& share) { return is_out(share.node, now); });
  }

  /// Applies the outages at `now`. Returns true if a node left or entered service, or a job was stopped.
  bool change_nodes(SimTime now) {
    bool changed = false;
    // Where keys change true if keys change while jobs run, these come behind waiting ones with the same key,
    // also when they stop.
    if (policy_.keys_change)
      std::stable_partition(list_.begin(), list_.end(), [](const LiveJob& live) { return !live.runs; });
    for (std::uint32_t node = 0; node < nodes_.nodes().size(); ++node) {
      const auto fails = [&](const Outage& outage) {
        return outage.node == NodeId(node) && outage.begin == now && outage.kind == OutageKind::Failure;
      };
      if (std::ranges::any_of(outages_, fails)) changed |= stop_jobs_on(NodeId(node));
      const bool in_service = !is_out(NodeId(node), now);
      changed |= in_service != in_service_[node];
      in_service_[node] = in_service;
      placement_->set_in_service(NodeId(node), in_service);
    }
    return changed;
  }

  /// Stops the jobs on a node. Returns true if there were any.
  bool stop_jobs_on(NodeId node) {
    bool some = false;
    for (LiveJob& live : list_) {
      if (!live.runs || !std::ranges::any_of(live.shares, [&](const NodeShare& s) { return s.node == node; }))
        continue;
      placement_->release(request(live), live.shares);
      live.shares.clear();
      live.runs = false;
      live.executed = live.saved;
      ++outcomes_[live.id].failures;
      some = true;
    }
    return some;
  }

  bool start(LiveJob& live, SimTime now) {
    live.runs = placement_->place(request(live), live.shares);
    if (!live.runs) return false;
    live.saved = live.executed;
    outcomes_[live.id].start = std::min(outcomes_[live.id].start, now);
    return true;
  }

  /// GPUs of nodes in service, without those of jobs that also use a node out of service.
  GpuCount gpus_to_give(SimTime now) const {
    GpuCount gpus(0);
    for (std::uint32_t node = 0; node < nodes_.nodes().size(); ++node)
      gpus += GpuCount(is_out(NodeId(node), now) ? 0 : nodes_[node].num_gpus);
    for (const LiveJob& live : list_) {
      if (!is_out(live, now)) continue;
      for (const NodeShare& share : live.shares)
        gpus -= is_out(share.node, now) ? GpuCount(0) : share.gpus;
    }
    return gpus;
  }

  void pass(SimTime now) {
    std::stable_sort(list_.begin(), list_.end(), [&](const LiveJob& a, const LiveJob& b) {
      return policy_.key(job(a), a.executed) < policy_.key(job(b), b.executed);
    });
    GpuCount free = gpus_to_give(now);
    std::vector<LiveJob*> chosen;
    std::vector<LiveJob*> preempted;
    for (LiveJob& live : list_) {
      if (is_out(live, now)) continue;
      if (job(live).num_gpus <= free) {
        free -= job(live).num_gpus;
        if (!live.runs) chosen.push_back(&live);
      } else if (live.runs) {
        preempted.push_back(&live);
      }
    }
    for (LiveJob* const live : preempted) {
      placement_->release(request(*live), live->shares);
      live->runs = false;
    }
    bool all_started = true;
    for (LiveJob* const live : chosen)
      all_started &= start(*live, now);
    refusals_ += all_started ? 0 : 1;
    if (!all_started || sharing_) second_walk(now, preempted);
    for (LiveJob* const live : preempted) {
      ++outcomes_[live->id].preemptions;
      if (!live->runs) live->shares.clear();
    }
  }

  /// Starts waiting jobs where there is room. Removes jobs that get their gang back from `preempted`.
  void second_walk(SimTime now, std::vector<LiveJob*>& preempted) {
    for (LiveJob& live : list_) {
      if (live.runs) continue;
      const auto victim = std::find(preempted.begin(), preempted.end(), &live);
      if (victim != preempted.end() && placement_->reacquire(request(live), live.shares)) {
        live.runs = true;
        preempted.erase(victim);
        continue;
      }
      live.shares.clear();
      start(live, now);
    }
  }

  const Workload& workload_;
  NodeTable nodes_;
  std::unique_ptr<Placement> placement_;
  bool sharing_;
  ListedPolicy policy_;
  std::vector<Outage> outages_;
  std::vector<bool> in_service_;  ///< true for nodes in service [nodes]
  std::vector<LiveJob> list_;
  std::vector<JobOutcome> outcomes_;
  int refusals_ = 0;
};

const std::vector<ListedPolicy>& listed_policies() {
  static const std::vector<ListedPolicy> policies = {
      {"sjf", [](const Job& job, SimDuration) { return job.num_gpus.value; }, false},
      {"srtf", [](const Job& job,
                  SimDuration executed) { return static_cast<double>((job.duration - executed).count()); }},
      {"srsf",
       [](const Job& job, SimDuration executed) {
         return static_cast<double>((job.duration - executed).count()) * job.num_gpus.value;
       }},
      {"edf", [](const Job& job, SimDuration) { return to_seconds(job.deadline); }, false}};
  return policies;
}

}  // namespace

TEST_CASE("list_policy: whoever fits in what is free starts where a chosen job finds no room") {
  // L holds the node of 8. The walk by number chooses B, which only that node could hold; c and d run beside
  // it on the nodes of 4.
  const Workload workload = make_workload({{0, 1000, 8}, {1, 1100, 8}, {2, 2000, 4}, {2, 2000, 4}});
  for (const char* spec : {"sjf", "srtf", "srsf", "edf", "edf-admission"}) {
    CAPTURE(spec);
    const auto result = replay(workload, "2x4+1x8", spec, {.placement = PlacementKind::Yarn});
    CHECK(result.outcomes[1].start == at(1000));
    CHECK(result.outcomes[2].start == at(2));
    CHECK(result.outcomes[3].start == at(2));
    for (const JobOutcome& outcome : result.outcomes)
      CHECK(outcome.preemptions == 0);
  }
}

TEST_CASE("list_policy: nobody is preempted for a job that finds no room") {
  // Two nodes of 2: j0 and j1 on the first, j2 and j3 on the second. At 2, after j1's end, j4 needs two GPUs
  // of one node: by number it takes those of j3, but j0 and j2 run on.
  const Workload workload = make_workload({{0, 1000, 1}, {0, 1, 1}, {0, 1001, 1}, {0, 1002, 1}, {2, 10, 2}});
  const auto result =
      replay(workload, "2x2", "srtf", {.placement = PlacementKind::Yarn, .record_segments = true});
  CHECK(result.outcomes[3].end == at(1002));
  CHECK(result.outcomes[3].preemptions == 0);
  CHECK(result.outcomes[4].start == at(1000));
  CHECK(result.segments.size() == 5);  // one a job: what was taken back is in no record
}

TEST_CASE("list_policy: GPUs of those preempted in vain go to the jobs ahead of them first") {
  // j0 holds the node of 8, j1 and j2 the nodes of 4. j3 needs the node of 8: by number it takes what j1 and
  // j2 hold. j4, which is ahead of both, has the first of these nodes; j2 keeps the other.
  const Workload workload =
      make_workload({{0, 1000, 8}, {0, 1900, 4}, {1, 1800, 3}, {2, 1100, 8}, {3, 1200, 4}});
  const auto result = replay(workload, "2x4+1x8", "srtf", {.placement = PlacementKind::Yarn});
  CHECK(result.outcomes[4].start == at(3));
  CHECK(result.outcomes[1].preemptions == 1);
  CHECK(result.outcomes[2].preemptions == 0);
  CHECK(result.outcomes[3].start == at(1000));
}

TEST_CASE(
    "list_policy: an elastic job that shrinks in vain has its gang back, one that waits takes fewer GPUs") {
  // j0 is on the first node of 4. j1 and j3 may use 1, 2 or 4 GPUs, at a speed of one a GPU: j1 has the other
  // node. At 2 comes j2, due before both, and finds no room: by number it takes 2 of the 4 GPUs of j1. At 3
  // j3 would like 4 GPUs, and 1 is free.
  Workload workload = make_workload({{0, 100, 3, 200}, {0, 100, 4, 900}, {2, 10, 3, 150}, {3, 10, 4, 1000}});
  workload.curves.emplace_back(
      std::vector<SpeedByGpus::Level>{{GpuCount(1), 1.0}, {GpuCount(2), 2.0}, {GpuCount(4), 4.0}});
  for (const std::size_t elastic : {1, 3}) {
    workload.jobs[elastic].curve = CurveId(0);
    workload.jobs[elastic].iterations = elastic == 1 ? 400 : 40;
  }
  const auto result =
      replay(workload, "2x4", "edf", {.placement = PlacementKind::Yarn, .record_segments = true});
  CHECK(result.outcomes[1].end == at(100));
  CHECK(result.outcomes[1].resizes == 0);
  CHECK(result.outcomes[1].preemptions == 0);
  CHECK(result.outcomes[2].start == at(100));
  CHECK(result.outcomes[3].start == at(3));
  CHECK(result.outcomes[3].end == at(43));
  CHECK(result.outcomes[3].resizes == 0);
  CHECK(result.segments.size() == 4);
}

TEST_CASE("list_policy: a job on a drained node is not preempted for one that cannot go there") {
  // j1 is on node 1, which is drained at 5. j2 is ahead of it in the list, and needs a node.
  const Workload workload = make_workload({{0, 100, 8, 1000}, {0, 110, 8, 900}, {10, 50, 8, 100}});
  Disruptions drain;
  drain.outages = {{NodeId(1), OutageKind::Drain, at(5), at(10000)}};
  const auto result =
      replay(workload, "2x8", "srtf", {.placement = PlacementKind::Yarn, .disruptions = &drain});
  CHECK(result.outcomes[1].end == at(110));
  CHECK(result.outcomes[1].preemptions == 0);
  CHECK(result.outcomes[2].start == at(10));
}

TEST_CASE("list_policy: a drained node with shared GPUs costs nobody his own") {
  // j0 and j1 share a GPU of node 0, j2 holds node 1. Node 0 is drained at 50: 5 GPUs are held, and the three
  // jobs use 6 in whole ones.
  Workload workload = make_workload({{0, 1000, 1}, {1, 1000, 1}, {2, 100, 4}});
  workload.jobs[0].gpu_share = workload.jobs[1].gpu_share = 250;
  Disruptions drain;
  drain.outages = {{NodeId(0), OutageKind::Drain, at(50), at(900)}};
  for (const ListedPolicy& policy : listed_policies()) {
    CAPTURE(policy.spec);
    const auto result =
        replay(workload, "2x4", policy.spec, {.placement = PlacementKind::BestFit, .disruptions = &drain});
    CHECK(result.outcomes[0].end == at(1000));
    CHECK(result.outcomes[1].end == at(1001));
    CHECK(result.outcomes[2].end == at(102));
  }
}

TEST_CASE("list_policy: jobs share a GPU") {
  // On one GPU, of which each uses a half: the third waits for the first to end.
  Workload workload = make_workload({{0, 10, 1}, {0, 20, 1}, {0, 30, 1}});
  for (Job& job : workload.jobs)
    job.gpu_share = 500;
  const auto result = replay(workload, "1x1", "srtf", {.placement = PlacementKind::Fgd});
  CHECK(result.outcomes[1].start == at(0));
  CHECK(result.outcomes[2].start == at(10));
}

TEST_CASE("property: list policies equal the rule applied to one list, under placements that refuse gangs") {
  constexpr PlacementKind kPlacements[] = {PlacementKind::Yarn, PlacementKind::BestFit,
                                           PlacementKind::ConsolidateStrict, PlacementKind::Buddy,
                                           PlacementKind::Fgd};
  const ClusterSpec cluster = *ClusterSpec::parse("2x8+3x4+1x2");
  for (const ListedPolicy& policy : listed_policies()) {
    CAPTURE(policy.spec);
    for (const PlacementKind kind : kPlacements) {
      CAPTURE(static_cast<int>(kind));
      int refusals = 0;
      for (std::uint64_t seed = 0; seed < rounds(24); ++seed) {
        CAPTURE(seed);
        Workload workload = random_workload(seed, 150, 18, SimDuration(3));
        RandomStream random(seed, "nodes");
        // Every other replay shares GPUs, and two of four have outages.
        for (std::size_t i = 0; seed % 2 == 1 && i < workload.jobs.size(); i += 2)
          workload.jobs[i].gpu_share = static_cast<std::int16_t>(100 + random.below(500));
        Disruptions outages;
        for (int i = 0; seed % 4 >= 2 && i < 15; ++i) {
          const SimTime begin(SimDuration(3 * static_cast<std::int64_t>(1 + random.below(600))));
          const SimDuration length(3 * static_cast<std::int64_t>(1 + random.below(60)));
          outages.outages.push_back({NodeId(static_cast<std::uint32_t>(random.below(6))),
                                     random.below(3) == 0 ? OutageKind::Failure : OutageKind::Drain, begin,
                                     begin + length});
        }
        const auto result =
            replay(workload, cluster, policy.spec,
                   {.placement = kind, .disruptions = outages.outages.empty() ? nullptr : &outages});
        ListByHand by_hand(workload, cluster, kind, policy, outages.outages);
        const std::vector<JobOutcome> expected = by_hand.run();
        refusals += by_hand.refusals();
        for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
          CAPTURE(i);
          if (result.outcomes[i].state == JobState::Rejected) continue;
          REQUIRE(result.outcomes[i].start == expected[i].start);
          REQUIRE(result.outcomes[i].end == expected[i].end);
          REQUIRE(result.outcomes[i].preemptions == expected[i].preemptions);
          REQUIRE(result.outcomes[i].failures == expected[i].failures);
        }
      }
      CHECK(refusals > enough(100));
    }
  }
}

}  // namespace vtrain::testing
