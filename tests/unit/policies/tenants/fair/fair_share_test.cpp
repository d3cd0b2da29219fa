/// Properties of `fair-share` on random trees and workloads.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"
#include "sched/tenants/share_account.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

constexpr std::int64_t kGpus = 16;
constexpr const char* kSixteen = "2x8";

/// A random tree of tenants t0, t1, ... with quotas of some, together at most the cluster.
TenantTree random_tenants(RandomStream& random) {
  TenantTree tree;
  std::int64_t left = kGpus;
  const auto count = 2 + random.below(5);
  for (std::uint64_t i = 0; i < count; ++i) {
    Tenant tenant{.name = "t" + std::to_string(i)};
    tenant.weight = static_cast<double>(1 + random.below(4));
    if (i > 0 && random.below(3) == 0) tenant.parent = static_cast<std::uint32_t>(random.below(i));
    if (random.below(2) == 0) {
      Quota quota{.nominal = std::min(left, static_cast<std::int64_t>(random.below(9)))};
      left -= quota.nominal;
      if (random.below(2) == 0) quota.borrowing_limit = static_cast<std::int64_t>(random.below(8));
      if (random.below(3) == 0)
        quota.lending_limit =
            static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(quota.nominal) + 1));
      tenant.quotas.push_back(quota);
    }
    tree.tenants.push_back(std::move(tenant));
  }
  return tree;
}

/// Random jobs of these tenants, some of none of them, some with priorities.
Workload random_jobs(RandomStream& random, std::uint64_t seed, const TenantTree& tree,
                     std::int32_t max_gpus) {
  Workload workload = random_workload(seed, 60, max_gpus, std::chrono::seconds(1));
  for (Job& job : workload.jobs) {
    job.requested_time = SimDuration(0);
    const auto tenant = random.below(tree.tenants.size() + 1);
    job.tenant = workload.tenant(tenant == tree.tenants.size() ? "stranger" : tree.tenants[tenant].name);
    if (random.below(4) == 0) job.priority = static_cast<std::int64_t>(random.below(3));
    job.qos = workload.qos(random.below(4) == 0 ? "kept" : "other");
  }
  return workload;
}

SimulationResult replay_with(const Workload& workload, const TenantTree& tree, const std::string& spec,
                             const char* cluster = kSixteen, PlacementKind placement = PlacementKind::Count) {
  const auto policy = make_policy(spec);
  REQUIRE(policy);
  auto result =
      simulate(workload, *ClusterSpec::parse(cluster), **policy,
               {.placement = placement, .record_segments = true, .policy_name = spec, .tenants = &tree});
  REQUIRE_MESSAGE(result, result.error().describe());
  return *std::move(result);
}

/// The state of all tenants over time, as segments and submissions tell it.
class Replayed {
 public:
  Replayed(const Workload& workload, const TenantTree& tree, const SimulationResult& result)
      : workload_(workload),
        result_(result),
        pools_{{kGpus}, {0}, {""}, {kGpus}},
        tree_(tree, pools_),
        account_(tree_, pools_),
        leaves_(tree_.leaves_by_name(tree, workload.tenants)) {}

  /// Calls `check(account, waiting, running)` after each instant at which something changed.
  template <class Check>
  void each_instant(const Check& check) {
    std::map<SimTime, std::vector<std::pair<JobId, int>>> changes;  // 1: waits, 2: gets GPUs, -1, -2
    for (std::uint32_t i = 0; i < workload_.jobs.size(); ++i) {
      if (result_.outcomes[i].state != JobState::Rejected)
        changes[workload_.jobs[i].submit].emplace_back(JobId(i), 1);
    }
    for (const JobSegment& segment : result_.segments) {
      changes[segment.begin].emplace_back(segment.job, 2);
      changes[segment.end].emplace_back(segment.job, segment.how == SegmentEnd::Done ? -2 : -1);
    }
    constexpr std::uint32_t kTypes[] = {0};
    for (auto& [time, jobs] : changes) {
      // Ends and submissions come before starts.
      std::ranges::stable_sort(jobs, {}, [](const auto& change) { return change.second == 2; });
      for (const auto& [job, change] : jobs) {
        const std::int64_t gpus = workload_.jobs[job.value].num_gpus.value;
        const std::uint32_t leaf = leaf_of(job);
        if (change < 0) {
          account_.add_held(leaf, 0, -gpus);
          running.erase(job);
        }
        if (change == 1 || change == -1) {
          account_.add_waiting(leaf, 0, kTypes, gpus);
          waiting.insert(job);
        }
        if (change == 2) {
          account_.add_waiting(leaf, 0, kTypes, -gpus);
          account_.add_held(leaf, 0, gpus);
          waiting.erase(job);
          running.insert(job);
        }
      }
      check(account_);
    }
  }
  std::uint32_t leaf_of(JobId job) const { return leaves_[workload_.jobs[job.value].tenant.value]; }
  const ShareTree& tree() const { return tree_; }

  std::set<JobId> waiting;
  std::set<JobId> running;

 private:
  const Workload& workload_;
  const SimulationResult& result_;
  SharePools pools_;
  ShareTree tree_;
  ShareAccount account_;
  std::vector<std::uint32_t> leaves_;
};

}  // namespace

TEST_CASE("fair-share: limits hold at every instant, and every job that may run ends") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "fair-share");
    const TenantTree tree = random_tenants(random);
    const Workload workload = random_jobs(random, seed, tree, 9);
    const std::string spec = seed % 3 == 0   ? "fair-share"
                             : seed % 3 == 1 ? "fair-share:reclaim=false"
                                             : "fair-share:overtake=false,keep=kept";
    const SimulationResult result = replay_with(workload, tree, spec);
    check_gpus_in_use(result, kGpus);
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      const JobOutcome& outcome = result.outcomes[i];
      CHECK((outcome.state == JobState::Completed || outcome.state == JobState::Rejected));
      if (seed % 3 == 1) CHECK(outcome.preemptions == 0);
      if (seed % 3 == 2 && workload.qos_names[workload.jobs[i].qos.value] == "kept")
        CHECK(outcome.preemptions == 0);
    }
    Replayed replayed(workload, tree, result);
    replayed.each_instant([&](ShareAccount& account) {
      const ShareUse& use = account.use(0);
      // GPUs that a node uses, and those of its quotas that nobody else may use.
      std::vector<std::int64_t> taken(replayed.tree().size());
      for (auto node = static_cast<std::uint32_t>(taken.size()); node-- > 0;) {
        const auto& limits = replayed.tree().limits(0, node);
        if (replayed.tree().node(node).is_leaf()) taken[node] = use.of(node);
        taken[node] = std::max(taken[node], limits.reserve);
        CHECK(taken[node] <= limits.most);
        if (node > 0) taken[replayed.tree().node(node).parent] += taken[node];
      }
    });
  }
}

TEST_CASE("fair-share: with jobs of one GPU everybody has what is due, rounded, at every instant") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "ones");
    const TenantTree tree = random_tenants(random);
    const Workload workload = random_jobs(random, seed, tree, 1);
    const SimulationResult result = replay_with(workload, tree, "fair-share");
    Replayed replayed(workload, tree, result);
    replayed.each_instant([&](ShareAccount& account) {
      const ShareDivision& shares = account.shares(0);
      double unused = static_cast<double>(kGpus);
      for (std::uint32_t node = 1; node < replayed.tree().size(); ++node) {
        CAPTURE(node);
        // Nobody is below a guarantee, and nobody has a GPU less than is due for each level of rounding.
        CHECK(static_cast<double>(account.use(0).of(node)) >= shares.guarantee(node) - 1e-6);
        if (replayed.tree().node(node).is_leaf()) {
          CHECK(static_cast<double>(account.use(0).of(node)) >
                shares.due(node) - replayed.tree().node(node).depth - 1e-6);
          unused -= static_cast<double>(account.use(0).of(node));
        }
      }
      // Nothing lies idle that a waiting job may have.
      for (const JobId job : replayed.waiting)
        CHECK((unused < 1 || account.use(0).room(replayed.leaf_of(job)) < 1));
    });
  }
}

TEST_CASE("fair-share: the order of tenants in the tree and of names in the trace changes nothing") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "written");
    TenantTree tree = random_tenants(random);
    for (Tenant& tenant : tree.tenants)
      tenant.parent.reset();
    const Workload workload = random_jobs(random, seed, tree, 6);
    TenantTree reversed = tree;
    std::ranges::reverse(reversed.tenants);
    Workload renamed = random_workload(seed, 60, 6, std::chrono::seconds(1));
    for (std::size_t i = tree.tenants.size(); i-- > 0;)
      renamed.tenant(tree.tenants[i].name);
    for (std::size_t i = 0; i < renamed.jobs.size(); ++i) {
      const Job& job = workload.jobs[i];
      Job& same = renamed.jobs[i];
      same.requested_time = SimDuration(0);
      same.tenant = renamed.tenant(workload.tenants[job.tenant.value]);
      same.priority = job.priority;
    }
    check_same_outcomes(replay_with(workload, tree, "fair-share"),
                        replay_with(renamed, reversed, "fair-share"));
  }
}

TEST_CASE("fair-share: quotas of types hold on a cluster of two types, under any placement") {
  TenantTree tree;
  tree.tenants = {{.name = "a", .quotas = {{.gpu_type = "h100", .nominal = 8, .borrowing_limit = 0}}},
                  {.name = "b", .quotas = {{.gpu_type = "a100", .nominal = 16, .borrowing_limit = 4}}}};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "types");
    Workload workload = random_workload(seed, 60, 4, std::chrono::seconds(1));
    for (Job& job : workload.jobs) {
      job.requested_time = SimDuration(0);
      job.tenant = workload.tenant(random.below(2) == 0 ? "a" : "b");
      const auto type = random.below(3);
      if (type < 2) job.gpu_type = workload.gpu_type(type == 0 ? "h100" : "a100");
    }
    const SimulationResult result =
        replay_with(workload, tree, "fair-share", "2x8:a100+2x8:h100", PlacementKind::Consolidate);
    std::map<SimTime, std::array<std::int64_t, 4>> change;  // a's and b's GPUs of a100, h100
    for (const JobSegment& segment : result.segments) {
      const bool is_b = workload.tenants[workload.jobs[segment.job.value].tenant.value] == "b";
      for (const GangPart& part : segment.parts) {
        const std::size_t column = (is_b ? 2 : 0) + (part.node.value < 2 ? 0 : 1);
        change[segment.begin][column] += part.gpus.value;
        change[segment.end][column] -= part.gpus.value;
      }
    }
    std::array<std::int64_t, 4> used{};
    for (const auto& [time, by] : change) {
      for (std::size_t i = 0; i < by.size(); ++i)
        used[i] += by[i];
      CHECK(used[1] <= 8);
      CHECK(used[2] <= 20);
    }
    for (const JobOutcome& outcome : result.outcomes)
      CHECK((outcome.state == JobState::Completed || outcome.state == JobState::Rejected));
  }
}

TEST_CASE("drf: with GPUs alone it is fair-share on a flat tree without quotas") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "drf");
    TenantTree tree = random_tenants(random);
    for (Tenant& tenant : tree.tenants) {
      tenant.parent.reset();
      tenant.quotas.clear();
    }
    const Workload workload = random_jobs(random, seed, tree, 6);
    check_same_outcomes(replay_with(workload, tree, "drf"), replay_with(workload, tree, "fair-share"));
  }
}

TEST_CASE("drf: the textbook example, 9 CPUs and 18 GB for tasks of (1, 4) and (3, 1)") {
  // Ghodsi et al., section 4.1: A runs 3 tasks, B runs 2; dominant shares are 12/18 and 6/9. Here tasks have
  // a GPU each, of which there are plenty: 18, with half a CPU and 1 GiB for each.
  Workload workload;
  for (int i = 0; i < 20; ++i) {
    Job job;
    job.name = workload.keep("j" + std::to_string(i));
    job.duration = std::chrono::seconds(100);
    job.tenant = workload.tenant(i < 10 ? "A" : "B");
    JobRequirements& asked = workload.add_requirements(job);
    asked.cpu_milli = i < 10 ? 1000 : 3000;
    asked.memory_mib = 1024 * (i < 10 ? 4 : 1);
    workload.jobs.push_back(job);
  }
  const SimulationResult result = replay_with(workload, {}, "drf:cpus_per_gpu=0.5,memory_per_gpu=1", "2x9");
  std::map<std::string, int> first;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    first[workload.tenants[workload.jobs[i].tenant.value]] += result.outcomes[i].start == SimTime{} ? 1 : 0;
  CHECK(first == std::map<std::string, int>{{"A", 3}, {"B", 2}});
}

}  // namespace vtrain::testing
