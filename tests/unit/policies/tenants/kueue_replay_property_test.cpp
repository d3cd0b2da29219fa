/// Properties of `kueue` in replays on random trees of queues, by the definitions.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

using nlohmann::json;

constexpr std::int64_t kGpusOfType = 12;
constexpr const char* kTwoTypes = "1x12:a100+1x12:h100";
constexpr std::array<const char*, 2> kTypes = {"a100", "h100"};

/// Amounts of both types.
using Amounts = std::array<std::int64_t, 2>;

/// A cohort or a queue.
struct WorldNode {
  std::string name{};
  bool is_queue = false;
  std::optional<std::size_t> parent{};
  Amounts nominal{};
  std::array<std::optional<std::int64_t>, 2> borrowing_limit{};
  std::array<std::optional<std::int64_t>, 2> lending_limit{};
  std::string strategy = "BestEffortFIFO";
  std::string within = "Never";
  std::string reclaim = "Never";
  std::string borrow_within = "Never";
};

/// A tree of queues; parents come before their children.
struct World {
  std::vector<WorldNode> nodes{};
  bool has_types = false;  ///< both flavors serve

  std::size_t root_of(std::size_t node) const {
    while (nodes[node].parent)
      node = *nodes[node].parent;
    return node;
  }
  std::size_t types() const { return has_types ? 2 : 1; }
};

bool happens(RandomStream& random, std::uint64_t times) {
  return random.below(times) == 0;
}

World random_world(RandomStream& random) {
  World world{.has_types = happens(random, 2)};
  const bool never_preempts = happens(random, 4);
  Amounts left = {kGpusOfType, kGpusOfType};
  const std::size_t cohorts = random.below(4);
  const std::size_t count = cohorts + 1 + random.below(5);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_queue = i >= cohorts;
    WorldNode node{.name = fmt::format("{}{}", is_queue ? "queue" : "cohort", i), .is_queue = is_queue};
    const bool has_parent = is_queue ? !happens(random, 6) : i > 0 && !happens(random, 3);
    if (has_parent && cohorts > 0 && i > 0) node.parent = random.below(std::min(i, cohorts));
    for (std::size_t type = 0; type < world.types(); ++type) {
      if (!is_queue && !happens(random, 4)) continue;
      node.nominal[type] = std::min(left[type], static_cast<std::int64_t>(random.below(is_queue ? 7 : 4)));
      left[type] -= node.nominal[type];
      if (node.parent && happens(random, 3))
        node.borrowing_limit[type] = static_cast<std::int64_t>(random.below(6));
      if (node.parent && happens(random, 3))
        node.lending_limit[type] =
            static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(node.nominal[type]) + 1));
    }
    if (is_queue) {
      if (happens(random, 3)) node.strategy = "StrictFIFO";
      if (!never_preempts) {
        constexpr const char* kWithin[] = {"Never", "LowerPriority", "LowerOrNewerEqualPriority"};
        constexpr const char* kReclaim[] = {"Never", "LowerPriority", "Any", "Any"};
        node.within = kWithin[random.below(std::size(kWithin))];
        node.reclaim = kReclaim[random.below(std::size(kReclaim))];
        if (happens(random, 4)) node.borrow_within = "LowerPriority";
      }
    }
    world.nodes.push_back(std::move(node));
  }
  return world;
}

json quotas_of(const World& world, const WorldNode& node) {
  json flavors = json::array();
  for (std::size_t type = 0; type < world.types(); ++type) {
    json quota = {{"name", "nvidia.com/gpu"}, {"nominalQuota", std::to_string(node.nominal[type])}};
    if (node.borrowing_limit[type]) quota["borrowingLimit"] = std::to_string(*node.borrowing_limit[type]);
    if (node.lending_limit[type]) quota["lendingLimit"] = std::to_string(*node.lending_limit[type]);
    flavors.push_back({{"name", kTypes[type]}, {"resources", {quota}}});
  }
  return json::array({{{"coveredResources", {"nvidia.com/gpu"}}, {"flavors", flavors}}});
}

/// The objects in an order of `seed`.
std::string world_text(const World& world, std::uint64_t seed) {
  constexpr const char* kVersion = "kueue.x-k8s.io/v1beta2";
  std::vector<json> items;
  for (std::size_t type = 0; type < world.types(); ++type)
    items.push_back({{"apiVersion", kVersion},
                     {"kind", "ResourceFlavor"},
                     {"metadata", {{"name", kTypes[type]}}},
                     {"spec", json::object()}});
  for (const WorldNode& node : world.nodes) {
    json spec = {{"resourceGroups", quotas_of(world, node)}};
    if (node.parent) spec[node.is_queue ? "cohortName" : "parentName"] = world.nodes[*node.parent].name;
    if (node.is_queue) {
      spec["queueingStrategy"] = node.strategy;
      spec["namespaceSelector"] = json::object();
      spec["preemption"] = {{"withinClusterQueue", node.within}, {"reclaimWithinCohort", node.reclaim}};
      if (node.reclaim != "Never" && node.borrow_within != "Never")
        spec["preemption"]["borrowWithinCohort"] = {{"policy", node.borrow_within}};
    }
    items.push_back({{"apiVersion", kVersion},
                     {"kind", node.is_queue ? "ClusterQueue" : "Cohort"},
                     {"metadata", {{"name", node.name}}},
                     {"spec", spec}});
  }
  RandomStream random(seed, "kueue-order");
  for (std::size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[random.below(i)]);
  return json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump();
}

Workload random_world_jobs(RandomStream& random, std::uint64_t seed, const World& world,
                           std::vector<std::size_t>& queue_of) {
  Workload workload = random_workload(seed, 40, 6, std::chrono::seconds(10));
  std::vector<std::size_t> queues;
  for (std::size_t i = 0; i < world.nodes.size(); ++i) {
    if (world.nodes[i].is_queue) queues.push_back(i);
  }
  for (Job& job : workload.jobs) {
    job.requested_time = SimDuration(0);
    job.deadline = Job::kNoDeadline;
    const std::size_t queue = queues[random.below(queues.size())];
    queue_of.push_back(queue);
    job.queue = workload.queue(world.nodes[queue].name);
    job.priority = static_cast<std::int64_t>(random.below(3));
    if (world.has_types && happens(random, 4))
      job.gpu_type = workload.gpu_type(kTypes[random.below(kTypes.size())]);
  }
  return workload;
}

/// Quotas in use, by the definitions.
class WorldUsage {
 public:
  explicit WorldUsage(const World& world)
      : world_(world), own_(world.nodes.size()), subtree_(world.nodes.size()) {
    for (std::size_t i = world.nodes.size(); i-- > 0;) {
      for (std::size_t type = 0; type < 2; ++type) {
        subtree_[i][type] += world.nodes[i].nominal[type];
        if (world.nodes[i].parent)
          subtree_[*world.nodes[i].parent][type] += subtree_[i][type] - local(i, type);
      }
    }
  }

  void add(std::size_t queue, std::size_t type, std::int64_t gpus) { own_[queue][type] += gpus; }

  /// Nominal quota of a queue that is not in use.
  std::int64_t nominal_left(std::size_t queue, std::size_t type) const {
    return world_.nodes[queue].nominal[type] - own_[queue][type];
  }

  /// Quota that a node does not lend.
  std::int64_t local(std::size_t node, std::size_t type) const {
    const auto& limit = world_.nodes[node].lending_limit[type];
    return limit ? std::max<std::int64_t>(0, subtree_[node][type] - *limit) : 0;
  }
  std::int64_t usage(std::size_t node, std::size_t type) const {
    if (world_.nodes[node].is_queue) return own_[node][type];
    std::int64_t sum = 0;
    for (std::size_t child = 0; child < world_.nodes.size(); ++child) {
      if (world_.nodes[child].parent == node)
        sum += std::max<std::int64_t>(0, usage(child, type) - local(child, type));
    }
    return sum;
  }
  std::int64_t raw_available(std::size_t node, std::size_t type) const {
    const auto& parent = world_.nodes[node].parent;
    if (!parent) return subtree_[node][type] - usage(node, type);
    std::int64_t room = raw_available(*parent, type);
    if (const auto& limit = world_.nodes[node].borrowing_limit[type]) {
      const std::int64_t borrowed = std::max<std::int64_t>(0, usage(node, type) - local(node, type));
      room = std::min(room, subtree_[node][type] - local(node, type) - borrowed + *limit);
    }
    return std::max<std::int64_t>(0, local(node, type) - usage(node, type)) + room;
  }
  std::int64_t potential(std::size_t node, std::size_t type) const {
    const auto& parent = world_.nodes[node].parent;
    if (!parent) return subtree_[node][type];
    const std::int64_t most = local(node, type) + potential(*parent, type);
    const auto& limit = world_.nodes[node].borrowing_limit[type];
    return limit ? std::min(most, subtree_[node][type] + *limit) : most;
  }
  void check() const {
    for (std::size_t node = 0; node < world_.nodes.size(); ++node) {
      for (std::size_t type = 0; type < world_.types(); ++type) {
        CAPTURE(node);
        CAPTURE(type);
        CHECK(raw_available(node, type) >= 0);
        const auto& limit = world_.nodes[node].borrowing_limit[type];
        if (limit && world_.nodes[node].parent) CHECK(usage(node, type) <= subtree_[node][type] + *limit);
        // What is not lent stays free for the owner's children.
        const auto& parent = world_.nodes[node].parent;
        if (!parent) CHECK(usage(node, type) <= subtree_[node][type]);
      }
    }
  }

 private:
  const World& world_;
  std::vector<Amounts> own_;
  std::vector<Amounts> subtree_;
};

/// A replay with what its jobs hold, and who waits.
struct WorldReplay {
  const World& world;
  const Workload& workload;
  const std::vector<std::size_t>& queue_of;
  bool fair_sharing = false;
  SimulationResult result;

  std::size_t type_of(const JobSegment& segment) const {
    return segment.parts.empty() ? 0 : segment.parts.front().node.value;
  }
  bool may_use(std::size_t job, std::size_t type) const {
    const Job& asked = workload.jobs[job];
    if (type >= world.types()) return false;
    return !asked.gpu_type || workload.gpu_types[asked.gpu_type.value] == kTypes[type];
  }
  /// True if the job starts when its tree is empty.
  bool can_start(std::size_t job) const {
    const WorldUsage empty(world);
    for (std::size_t type = 0; type < world.types(); ++type) {
      if (may_use(job, type) && workload.jobs[job].num_gpus.value <= empty.potential(queue_of[job], type))
        return true;
    }
    return false;
  }

  /// Calls `check(usage, waiting, length)` for each stretch between two changes.
  template <class Check>
  void each_stretch(const Check& check) const {
    std::map<SimTime, std::vector<std::pair<std::size_t, int>>>
        changes;  // 1: comes, 2: starts, -1, -2: stops, ends
    std::vector<std::size_t> type_of_job(workload.jobs.size());
    std::map<std::pair<SimTime, std::size_t>, std::size_t> types;
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      if (result.outcomes[i].state != JobState::Rejected) changes[workload.jobs[i].submit].emplace_back(i, 1);
    }
    for (const JobSegment& segment : result.segments) {
      if (segment.begin == segment.end) continue;
      types[{segment.begin, segment.job.value}] = type_of(segment);
      changes[segment.begin].emplace_back(segment.job.value, 2);
      changes[segment.end].emplace_back(segment.job.value, segment.how == SegmentEnd::Done ? -2 : -1);
    }
    WorldUsage usage(world);
    std::vector<bool> waits(workload.jobs.size());
    for (auto at = changes.begin(); at != changes.end(); ++at) {
      std::ranges::stable_sort(at->second, {}, [](const auto& change) { return change.second == 2; });
      for (const auto& [job, change] : at->second) {
        const std::int64_t gpus = workload.jobs[job].num_gpus.value;
        if (change < 0) usage.add(queue_of[job], type_of_job[job], -gpus);
        if (change == 2) {
          type_of_job[job] = types[{at->first, job}];
          usage.add(queue_of[job], type_of_job[job], gpus);
        }
        waits[job] = change == 1 || change == -1;
      }
      const auto next = std::next(at);
      check(usage, waits, next == changes.end() ? SimDuration::max() : next->first - at->first);
    }
  }
};

template <class Check>
void each_world(const char* name, std::uint64_t usual, const Check& check) {
  const TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < rounds(usual); ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, name);
    const World world = random_world(random);
    std::vector<std::size_t> queue_of;
    const Workload workload = random_world_jobs(random, seed, world, queue_of);
    const bool is_fair = seed % 2 == 1;
    const auto run = [&](std::uint64_t order) {
      const std::string file = folder.write("objects.json", world_text(world, order)).string();
      return replay(workload, world.has_types ? kTwoTypes : "1x12:a100",
                    "kueue:objects=" + file + (is_fair ? ",fair_sharing=yes" : ""),
                    {.placement = PlacementKind::Consolidate, .record_segments = true});
    };
    check(WorldReplay{world, workload, queue_of, is_fair, run(seed)}, run);
  }
}

}  // namespace

TEST_CASE("kueue: quotas and limits hold at every instant of a replay") {
  each_world("kueue-limits", 300, [](const WorldReplay& replayed, const auto& /*run*/) {
    replayed.each_stretch([](const WorldUsage& usage, const std::vector<bool>& /*waits*/,
                             SimDuration /*length*/) { usage.check(); });
  });
}

TEST_CASE("kueue: a job that no policy lets anybody evict is never preempted") {
  std::int64_t preempted = 0;
  each_world("kueue-victims", 300, [&preempted](const WorldReplay& replayed, const auto& /*run*/) {
    const World& world = replayed.world;
    const auto& jobs = replayed.workload.jobs;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::size_t own = replayed.queue_of[i];
      bool is_preemptible = false;
      for (std::size_t other = 0; other < jobs.size(); ++other) {
        const std::size_t queue = replayed.queue_of[other];
        if (other == i || world.root_of(queue) != world.root_of(own)) continue;
        const std::string& policy = queue == own ? world.nodes[queue].within : world.nodes[queue].reclaim;
        is_preemptible = is_preemptible || policy == "Any" ||
                         (policy == "LowerPriority" && jobs[other].priority > jobs[i].priority) ||
                         (policy == "LowerOrNewerEqualPriority" && jobs[other].priority >= jobs[i].priority);
      }
      CAPTURE(i);
      if (!is_preemptible) CHECK(replayed.result.outcomes[i].preemptions == 0);
      if (replayed.result.outcomes[i].preemptions > 0) ++preempted;
    }
  });
  CHECK(preempted >= enough(100));
}

TEST_CASE("kueue: every job ends that its queue could ever admit, where nothing impossible is before it") {
  std::int64_t impossible = 0;
  each_world("kueue-ends", 300, [&impossible](const WorldReplay& replayed, const auto& /*run*/) {
    const World& world = replayed.world;
    std::vector<bool> is_blocked(world.nodes.size());
    for (std::size_t i = 0; i < replayed.workload.jobs.size(); ++i) {
      if (replayed.can_start(i)) continue;
      ++impossible;
      CHECK(replayed.result.outcomes[i].attained == SimDuration(0));
      is_blocked[replayed.queue_of[i]] = true;
    }
    for (std::size_t i = 0; i < replayed.workload.jobs.size(); ++i) {
      CAPTURE(i);
      const std::size_t queue = replayed.queue_of[i];
      if (!replayed.can_start(i)) continue;
      if (world.nodes[queue].strategy == "StrictFIFO" && is_blocked[queue]) continue;
      CHECK(replayed.result.outcomes[i].state == JobState::Completed);
    }
  });
  CHECK(impossible >= enough(300));
}

TEST_CASE("kueue: in a BestEffortFIFO queue no job waits that fits its nominal quota and finds room") {
  std::int64_t waiting = 0;
  each_world("kueue-starvation", 300, [&waiting](const WorldReplay& replayed, const auto& /*run*/) {
    const World& world = replayed.world;
    // Workloads that evict each other in turn are given time to run, in which nobody is admitted.
    std::uint32_t preemptions = 0;
    for (const JobOutcome& outcome : replayed.result.outcomes)
      preemptions += outcome.preemptions;
    const auto lasted = std::ranges::count_if(replayed.result.segments, [](const JobSegment& segment) {
      return segment.how == SegmentEnd::Preempted && segment.begin < segment.end;
    });
    if (preemptions != lasted) return;
    // With fair shares, who borrows within a cohort that does not borrow may hold quota back first.
    const bool is_deep = std::ranges::any_of(
        world.nodes, [](const WorldNode& node) { return !node.is_queue && node.parent.has_value(); });
    if (replayed.fair_sharing && is_deep) return;
    const auto finds_room = [&](const WorldUsage& usage, std::size_t job) {
      for (std::size_t type = 0; type < world.types(); ++type) {
        if (replayed.may_use(job, type) &&
            replayed.workload.jobs[job].num_gpus.value <= usage.raw_available(replayed.queue_of[job], type))
          return true;
      }
      return false;
    };
    // Heads of queues that do not reclaim from all hold quota back while they find no victims.
    const auto may_be_held_back = [&](const std::vector<bool>& waits, std::size_t queue) {
      for (std::size_t other = 0; other < waits.size(); ++other) {
        const std::size_t their = replayed.queue_of[other];
        if (waits[other] && their != queue && world.root_of(their) == world.root_of(queue) &&
            world.nodes[their].reclaim != "Any")
          return true;
      }
      return false;
    };
    // A head that would fit stays head while heads of other queues hold quota back, by Kueue's rules.
    const auto is_behind_one_that_finds_room = [&](const WorldUsage& usage, const std::vector<bool>& waits,
                                                   std::size_t job) {
      for (std::size_t other = 0; other < waits.size(); ++other) {
        if (!waits[other] || replayed.queue_of[other] != replayed.queue_of[job] || other == job) continue;
        const auto rank = [&](std::size_t each) {
          return std::pair(-replayed.workload.jobs[each].priority, each);
        };
        if (rank(other) < rank(job) && finds_room(usage, other)) return true;
      }
      return false;
    };
    replayed.each_stretch([&](const WorldUsage& usage, const std::vector<bool>& waits, SimDuration length) {
      if (length == SimDuration(0)) return;
      for (std::size_t i = 0; i < waits.size(); ++i) {
        const std::size_t queue = replayed.queue_of[i];
        if (!waits[i] || world.nodes[queue].strategy != "BestEffortFIFO" || may_be_held_back(waits, queue))
          continue;
        ++waiting;
        CAPTURE(i);
        for (std::size_t type = 0; type < world.types(); ++type) {
          CAPTURE(type);
          const std::int64_t gpus = replayed.workload.jobs[i].num_gpus.value;
          if (!replayed.may_use(i, type) || gpus > usage.nominal_left(queue, type) ||
              gpus > usage.raw_available(queue, type))
            continue;
          CHECK(is_behind_one_that_finds_room(usage, waits, i));
        }
      }
    });
  });
  CHECK(waiting >= enough(1000));
}

TEST_CASE("kueue: the order of objects in the file changes nothing") {
  each_world("kueue-written", 200, [](const WorldReplay& replayed, const auto& run) {
    check_same(replayed.result, run(1'000'000));
  });
}

}  // namespace vtrain::testing
