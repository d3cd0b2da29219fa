/// Properties of Kueue's scheduler on random queues and workloads.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "policies/tenants/kueue/scheduler.hpp"

namespace kueue = vtrain::kueue;
using kueue::Amount;

namespace {

constexpr const char* kResource = "gpu";

/// A random cohort of queues with two flavors.
kueue::Objects random_objects(std::mt19937& random) {
  const auto up_to = [&](unsigned most) { return static_cast<unsigned>(random() % (most + 1)); };
  kueue::Objects objects;
  objects.resource_flavors = {{.name = "a"}, {.name = "b"}};
  objects.cohorts = {{.name = "root"}, {.name = "left", .parent = "root"}};
  const unsigned num_queues = 2 + up_to(2);
  for (unsigned i = 0; i < num_queues; ++i) {
    kueue::ClusterQueue queue{.name = "q" + std::to_string(i), .cohort = up_to(1) == 0 ? "root" : "left"};
    queue.queueing_strategy = static_cast<kueue::QueueingStrategy>(up_to(1));
    queue.preemption.within_cluster_queue = static_cast<kueue::PreemptionPolicy>(up_to(2));
    queue.preemption.reclaim_within_cohort =
        std::vector{kueue::PreemptionPolicy::Never, kueue::PreemptionPolicy::LowerPriority,
                    kueue::PreemptionPolicy::Any}[up_to(2)];
    kueue::ResourceGroup group{.covered_resources = {kResource}, .flavors = {}};
    for (const char* const flavor : {"a", "b"}) {
      kueue::ResourceQuota quota{.resource = kResource, .nominal = static_cast<Amount>(up_to(6))};
      if (up_to(2) == 0) quota.borrowing_limit = static_cast<Amount>(up_to(4));
      if (up_to(2) == 0) quota.lending_limit = static_cast<Amount>(up_to(4));
      group.flavors.push_back({.flavor = flavor, .resources = {quota}});
    }
    queue.resource_groups = {group};
    objects.cluster_queues.push_back(queue);
    objects.local_queues.push_back({.name_space = "", .name = queue.name, .cluster_queue = queue.name});
  }
  return objects;
}

std::vector<kueue::Workload> random_workloads(std::mt19937& random, const kueue::Objects& objects) {
  std::vector<kueue::Workload> workloads;
  for (int i = 0; i < 20; ++i) {
    kueue::Workload workload{.name = "w" + std::to_string(i), .uid = std::to_string(100 + i)};
    workload.priority = static_cast<std::int64_t>(random() % 3);
    workload.created_at = i;
    workload.queue = objects.cluster_queues[random() % objects.cluster_queues.size()].name;
    kueue::PodSet& set = workload.pod_sets.emplace_back(kueue::PodSet{.name = "main"});
    set.count = static_cast<std::int64_t>(1 + random() % 5);
    set.requests = {{kResource, 1}};
    workloads.push_back(workload);
  }
  return workloads;
}

/// Usage never exceeds quota and borrowing limits.
void check_quotas(const kueue::Cache& cache) {
  const kueue::QuotaTree& tree = cache.tree();
  for (kueue::NodeId node = 0; node < tree.num_nodes(); ++node) {
    for (const kueue::FlavorResource column : tree.columns(node)) {
      const Amount usage = tree.usage(node, column);
      CHECK(usage >= 0);
      if (!tree.has_parent(node)) CHECK(usage <= tree.subtree_quota(node, column));
      if (const auto limit = tree.borrowing_limit(node, column); limit && tree.has_parent(node))
        CHECK(usage <= tree.subtree_quota(node, column) + *limit);
    }
  }
}

/// Whom a victim's policy protects is never evicted.
void check_victim(const kueue::Cache& cache, const kueue::Victim& victim, std::int64_t highest_priority) {
  using kueue::PreemptionPolicy;
  const kueue::WorkloadInfo& workload = cache.workload(victim.workload);
  const auto& own = cache.queue(workload.queue).object.preemption;
  if (victim.reason == kueue::PreemptionReason::InClusterQueue) {
    CHECK(own.within_cluster_queue != PreemptionPolicy::Never);
    if (own.within_cluster_queue == PreemptionPolicy::LowerPriority)
      CHECK(workload.priority < highest_priority);
    return;
  }
  const bool somebody_may = std::ranges::any_of(cache.queues(), [&](const kueue::QueueInfo& queue) {
    return queue.node != cache.queue(workload.queue).node &&
           queue.object.preemption.reclaim_within_cohort != PreemptionPolicy::Never;
  });
  CHECK(somebody_may);
}

/// Runs all workloads, a few at a time, and finishes some. Returns what holds quota in the end.
std::map<std::string, std::string> run(const kueue::Objects& objects,
                                       const std::vector<kueue::Workload>& workloads, bool fair_sharing) {
  kueue::Scheduler scheduler({.fair_sharing = fair_sharing});
  kueue::Cache& cache = scheduler.cache();
  cache.set(objects);
  scheduler.objects_changed();
  kueue::Instant now = 0;
  const auto settle = [&] {
    for (int cycle = 0; cycle < 200; ++cycle) {
      const kueue::CycleResult result = scheduler.run_cycle(++now);
      check_quotas(cache);
      for (const kueue::Victim& victim : result.evicted)
        check_victim(cache, victim, 2);
      for (const kueue::Victim& victim : result.evicted)
        scheduler.finish_eviction(victim.workload);
      check_quotas(cache);
      if (!result.has_changed) return;
    }
  };
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    scheduler.add(workloads[i]);
    if (i % 3 == 2) settle();
    if (i % 7 == 6) scheduler.remove(static_cast<kueue::WorkloadId>(i / 2));
  }
  settle();
  std::map<std::string, std::string> holders;
  for (kueue::WorkloadId id = 0; id < cache.num_workloads(); ++id) {
    const kueue::WorkloadInfo& workload = cache.workload(id);
    if (workload.state != kueue::WorkloadState::Holding) continue;
    holders[workload.name] = cache.flavor_name(workload.given.front().resources.front().flavor);
  }
  return holders;
}

}  // namespace

TEST_CASE("kueue_scheduler: quotas hold at every instant, and nobody whom a policy protects is evicted") {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const kueue::Objects objects = random_objects(random);
    const std::vector<kueue::Workload> workloads = random_workloads(random, objects);
    run(objects, workloads, round % 2 == 1);
  }
}

TEST_CASE("kueue_scheduler: results do not depend on the order in which objects are written") {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    kueue::Objects objects = random_objects(random);
    const std::vector<kueue::Workload> workloads = random_workloads(random, objects);
    const auto before = run(objects, workloads, round % 2 == 1);
    std::shuffle(objects.cluster_queues.begin(), objects.cluster_queues.end(), random);
    std::shuffle(objects.cohorts.begin(), objects.cohorts.end(), random);
    std::shuffle(objects.resource_flavors.begin(), objects.resource_flavors.end(), random);
    std::shuffle(objects.local_queues.begin(), objects.local_queues.end(), random);
    CHECK(run(objects, workloads, round % 2 == 1) == before);
  }
}

TEST_CASE("kueue_scheduler: no victim can be given back") {
  std::mt19937 random(5);
  int num_with_victims = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const kueue::Objects objects = random_objects(random);
    kueue::Cache cache({.fair_sharing = round % 2 == 1});
    cache.set(objects);
    cache.rebuild();
    // Holders fill the queues, within quota or not.
    for (int i = 0; i < 8; ++i) {
      kueue::Workload holder{.name = "h" + std::to_string(i)};
      holder.priority = static_cast<std::int64_t>(random() % 2);
      const auto count = static_cast<std::int64_t>(1 + random() % 3);
      holder.pod_sets = {{.name = "main", .count = count, .requests = {{kResource, 1}}}};
      const std::string flavor = random() % 2 == 0 ? "a" : "b";
      holder.admission = kueue::Admission{
          .cluster_queue = objects.cluster_queues[random() % objects.cluster_queues.size()].name,
          .pod_sets = {{.name = "main", .count = count, .resources = {{kResource, flavor, count}}}}};
      cache.add(holder);
    }
    const kueue::FlavorResource column =
        cache.column(*cache.find_flavor("a"), *cache.find_resource(kResource));
    const kueue::Preemptor preemptor{.queue = 0,
                                     .priority = 2,
                                     .demands = {{column, static_cast<Amount>(1 + random() % 6)}},
                                     .columns = {column}};
    kueue::QuotaTree& tree = cache.tree();
    const kueue::NodeId node = cache.queue(0).node;
    if (tree.fits(node, preemptor.demands)) continue;
    const std::vector<kueue::Victim> victims = kueue::find_victims(cache, preemptor);
    if (victims.empty()) continue;
    ++num_with_victims;
    const auto remove = [&](const kueue::Victim& victim) {
      const kueue::WorkloadInfo& workload = cache.workload(victim.workload);
      tree.remove_usage(cache.queue(workload.queue).node, workload.usage);
    };
    for (const kueue::Victim& victim : victims)
      remove(victim);
    CHECK(tree.fits(node, preemptor.demands));
    // The last one found made it fit; each of the others is needed beside the rest.
    for (std::size_t i = 0; i + 1 < victims.size(); ++i) {
      kueue::restore(cache, {victims[i]});
      const bool fits_without = tree.fits(node, preemptor.demands);
      remove(victims[i]);
      // Where borrowing is not allowed, more is evicted than fitting alone needs.
      if (cache.settings().fair_sharing) CHECK(!fits_without);
    }
    kueue::restore(cache, victims);
  }
  CHECK(num_with_victims > 20);
}
