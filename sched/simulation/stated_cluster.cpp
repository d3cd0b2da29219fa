#include "sched/simulation/stated_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/io/json_reader.hpp"
#include "core/text/quantities.hpp"
#include "sched/cluster/node_table.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 8> kStateKeys = {"version", "cluster",        "placement", "now_s",
                                                        "jobs",    "out_of_service", "name",      "note"};
constexpr std::array<std::string_view, 15> kStatedJobKeys = {
    "name",  "submit_s",  "num_gpus",   "duration_s", "requested_s", "deadline_s", "tenant", "user",
    "state", "started_s", "attained_s", "gpus",       "nodes",       "gpu_type",   "note"};
constexpr std::array<std::string_view, 3> kOfRunningJobs = {"started_s", "gpus", "nodes"};
constexpr std::array<std::string_view, 2> kPartKeys = {"node", "gpus"};
constexpr std::array<std::string_view, 2> kStatedJobStates = {"waiting", "running"};

std::string seconds_of(SimDuration time) {
  std::string text;
  append_ns_as_seconds(text, time.count());
  return text;
}

/// Reads one state. Functions return false after the first error, which is then in `error_`.
class StateReader {
 public:
  explicit StateReader(const JsonDocument& document) : document_(document) {}

  Result<StatedCluster> read() {
    if (!read_root() || !read_jobs() || !read_gangs()) return fail(*std::move(error_));
    sort_jobs();
    return std::move(stated_);
  }

 private:
  bool keep(std::optional<Error> error) {
    if (!error_) error_ = std::move(error);
    return !error_;
  }
  bool complain(const json& object, std::string_view key, std::string message) {
    return keep(document_.error_at(object, key, std::move(message)));
  }

  /// List under a key; null after an error.
  const json* list(const json& object, std::string_view key) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_array()) return &*found;
    complain(object, key, found == object.end() ? "missing" : expected_found("a list", found->dump()));
    return nullptr;
  }

  /// Seconds from 0 to `kHundredYears` under a required key.
  SimDuration seconds(JsonFields& fields, const json& object, std::string_view key) {
    if (!fields.has(key)) {
      fields.complain(key, "missing");
      return {};
    }
    const json& value = *object.find(key);
    constexpr double kMost = Seconds(kHundredYears).count();
    const double number = value.is_number() ? value.get<double>() : -1;
    if (number >= 0 && number <= kMost) return SimDuration(std::llround(number * 1e9));
    const std::string range = fmt::format("seconds from 0 to {}", seconds_of(kHundredYears));
    fields.complain(key, expected_found(range, value.dump()));
    return {};
  }
  /// Such seconds, or a default if the key is absent.
  SimDuration seconds_or(JsonFields& fields, const json& object, std::string_view key, SimDuration absent) {
    return fields.has(key) ? seconds(fields, object, key) : absent;
  }

  bool read_root() {
    const json& root = document_.root();
    JsonFields fields(document_, root);
    fields.allow_only(kStateKeys);
    fields.integer("version", kStatedClusterVersion, kStatedClusterVersion);
    const std::string cluster = fields.string("cluster");
    const std::string placement = fields.string_or("placement", std::string(info_of(stated_.placement).name));
    stated_.state.now = SimTime(seconds(fields, root, "now_s"));
    return keep(fields.error()) && read_cluster(cluster) && read_placement(placement) &&
           read_out_of_service();
  }

  bool read_cluster(const std::string& text) {
    auto cluster = ClusterSpec::parse(text);
    if (!cluster) {
      return cluster.error().file.empty() ? complain(document_.root(), "cluster", cluster.error().message)
                                          : keep(std::move(cluster.error()));
    }
    stated_.cluster = *std::move(cluster);
    return true;
  }

  bool read_placement(const std::string& name) {
    const auto kind = parse_placement(name);
    if (!kind) return complain(document_.root(), "placement", kind.error().message);
    const bool consolidates =
        *kind == PlacementKind::Consolidate || *kind == PlacementKind::ConsolidateStrict;
    const bool has_islands = std::ranges::any_of(stated_.cluster.groups, [](const NodeGroup& group) {
      return group.gpus_per_island.value > 0 && group.gpus_per_island != group.gpus_per_node;
    });
    if (*kind == PlacementKind::Buddy || (consolidates && has_islands)) {
      return complain(
          document_.root(), "placement",
          expected_found("one that needs not know which GPUs of a node a job holds, such as yarn", name));
    }
    stated_.placement = *kind;
    return true;
  }

  bool read_out_of_service() {
    const json& root = document_.root();
    if (!root.contains("out_of_service")) return true;
    const json* const nodes = list(root, "out_of_service");
    if (nodes == nullptr) return false;
    if (!nodes->empty() && !info_of(stated_.placement).knows_nodes) {
      return complain(root, "out_of_service",
                      fmt::format("placement '{}' knows no nodes; choose one that does, such as yarn",
                                  info_of(stated_.placement).name));
    }
    for (const json& entry : *nodes) {
      const auto node = read_node(entry, entry);
      if (!node) return false;
      stated_.state.out_of_service.push_back(*node);
    }
    std::vector<NodeId>& sorted = stated_.state.out_of_service;
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice == sorted.end()) return true;
    return complain(root, "out_of_service", expected_found("each node once", std::to_string(twice->value)));
  }

  /// Number of a node; errors name `place`.
  std::optional<NodeId> read_node(const json& number, const json& place) {
    const std::int64_t last = stated_.cluster.total_nodes() - 1;
    const auto node = parse_integer(number.is_number() ? number.dump() : "", 0, last);
    if (node) return NodeId(static_cast<std::uint32_t>(*node));
    complain(place, &place == &number ? "" : "node",
             expected_found(fmt::format("a node from 0 to {} of this cluster", last), number.dump()));
    return std::nullopt;
  }

  bool read_jobs() {
    const json* const jobs = list(document_.root(), "jobs");
    if (jobs == nullptr) return false;
    for (const json& job : *jobs) {
      if (!read_job(job)) return false;
    }
    if (!jobs->empty()) stated_.workload.sources = {{document_.file(), stated_.workload.jobs.back().line}};
    return true;
  }

  bool read_job(const json& object) {
    Workload& workload = stated_.workload;
    JsonFields fields(document_, object);
    fields.allow_only(kStatedJobKeys);
    const std::string name = fields.string("name");
    const SimTime submit(seconds(fields, object, "submit_s"));
    Job job;
    job.submit = submit;
    job.num_gpus = GpuCount(static_cast<std::int32_t>(fields.integer("num_gpus", 1, kMaxClusterGpus)));
    job.duration = seconds(fields, object, "duration_s");
    job.requested_time = seconds_or(fields, object, "requested_s", {});
    if (fields.has("deadline_s")) job.deadline = SimTime(seconds(fields, object, "deadline_s"));
    const std::string tenant = fields.string_or("tenant", "");
    const std::string user = fields.string_or("user", "");
    const std::string gpu_type = fields.string_or("gpu_type", "");
    if (!keep(fields.error())) return false;
    if (job.duration.count() == 0) fields.complain("duration_s", expected_found("more than 0 s", "0"));
    if (submit > stated_.state.now)
      fields.complain("submit_s", expected_found("none after now_s", seconds_of(submit.time_since_epoch())));
    if (name.empty()) fields.complain("name", expected_found("the name of a job", name));
    if (!keep(fields.error())) return false;
    job.name = workload.keep(name);
    const auto [other, is_new] = jobs_by_name_.try_emplace(job.name, workload.jobs.size());
    if (!is_new) {
      return complain(object, "name",
                      expected_found(fmt::format("another name than that of jobs[{}]", other->second), name));
    }
    if (!tenant.empty()) job.tenant = workload.tenant(tenant);
    if (!user.empty()) job.user = workload.user(user);
    if (!gpu_type.empty()) job.gpu_type = workload.gpu_type(gpu_type);
    job.line = static_cast<std::uint32_t>(document_.error_at(object, "", "").line);
    workload.jobs.push_back(job);
    return read_live_job(object, job);
  }

  /// Reads the state of a job so far, except its nodes.
  bool read_live_job(const json& object, const Job& job) {
    JsonFields fields(document_, object);
    LiveJob live;
    const bool runs = fields.choice_or("state", kStatedJobStates, 0) == 1;
    live.outcome.state = runs ? JobState::Running : JobState::Waiting;
    live.outcome.attained = seconds_or(fields, object, "attained_s", {});
    live.has_started = runs || live.outcome.attained.count() > 0;
    SimDuration held = live.outcome.attained;
    if (runs) {
      live.resumed = live.outcome.start = SimTime(seconds(fields, object, "started_s"));
      live.num_gpus = job.num_gpus;
      if (!keep(fields.error())) return false;
      if (live.resumed < job.submit || live.resumed > stated_.state.now) {
        return complain(
            object, "started_s",
            expected_found("a time from submit_s to now_s", seconds_of(live.resumed.time_since_epoch())));
      }
      held += stated_.state.now - live.resumed;
      const std::int64_t gpus = fields.integer_or("gpus", 1, kMaxClusterGpus, job.num_gpus.value);
      if (gpus != job.num_gpus.value)
        fields.complain("gpus", expected_found(fmt::format("{}, the job's num_gpus", job.num_gpus.value),
                                               std::to_string(gpus)));
    } else {
      for (const std::string_view key : kOfRunningJobs) {
        if (fields.has(key)) fields.complain(key, "expected none, as the job waits");
      }
    }
    if (held >= time_on_gpus(job)) {
      fields.complain(runs ? "started_s" : "attained_s",
                      expected_found(fmt::format("less than {} s on GPUs so far, when the job ends",
                                                 seconds_of(time_on_gpus(job))),
                                     seconds_of(held) + " s"));
    }
    stated_.state.jobs.push_back(std::move(live));
    return keep(fields.error());
  }

  /// Reads the places of jobs, once the types that jobs request are known.
  bool read_gangs() {
    const NodeTable nodes(stated_.cluster, stated_.workload);
    FreeGpus free{.in_all = nodes.total_gpus().value, .by_type = {}, .by_node = {}};
    for (const NodesOfType& type : nodes.by_type())
      free.by_type.push_back(type.total_gpus);
    for (const Node& node : nodes.nodes())
      free.by_node.push_back(node.num_gpus);
    const json& jobs = document_.root()["jobs"];
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Job& job = stated_.workload.jobs[i];
      if (nodes.types().allowed(job.gpu_type).empty()) {
        return complain(jobs[i], "gpu_type",
                        nodes.types().complaint(stated_.workload.gpu_types[job.gpu_type.value]));
      }
      LiveJob& live = stated_.state.jobs[i];
      if (live.outcome.state == JobState::Running && !read_gang(jobs[i], job, live, nodes, free))
        return false;
    }
    return true;
  }

  /// GPUs that no job read so far holds.
  struct FreeGpus {
    std::int64_t in_all = 0;
    std::vector<std::int64_t> by_type;  ///< [types]
    std::vector<std::int64_t> by_node;  ///< [nodes]
  };

  /// Subtracts the GPUs of `owner` from the free ones.
  bool take(std::int64_t& free, std::int64_t gpus, const json& object, std::string_view key,
            std::string_view owner) {
    if (gpus > free) {
      return complain(
          object, key,
          expected_found(fmt::format("at most {}, the GPUs of {} that no other job holds", free, owner),
                         std::to_string(gpus)));
    }
    free -= gpus;
    return true;
  }

  bool read_gang(const json& object, const Job& job, LiveJob& live, const NodeTable& nodes, FreeGpus& free) {
    const std::span<const std::uint32_t> types = nodes.types().allowed(job.gpu_type);
    std::vector<std::int64_t> held_by_type(free.by_type.size(), 0);
    const bool has_nodes = object.contains("nodes");
    if (has_nodes) {
      if (!read_parts(object, job, live, nodes, free, held_by_type)) return false;
    } else if (info_of(stated_.placement).knows_nodes) {
      return complain(
          object, "nodes",
          fmt::format("missing: placement '{}' must know where a job runs", info_of(stated_.placement).name));
    } else if (types.size() == 1) {
      held_by_type[types.front()] = live.num_gpus.value;
    } else if (stated_.workload.gpu_types.size() > 0) {
      return complain(object, "nodes", "missing: the job may run on several types of GPUs");
    }
    if (!take(free.in_all, live.num_gpus.value, object, "num_gpus", "the cluster")) return false;
    for (std::uint32_t type = 0; type < held_by_type.size(); ++type) {
      const std::string& name = nodes.types().names()[type];
      if (!take(free.by_type[type], held_by_type[type], object, "num_gpus",
                name.empty() ? "nodes without a type" : fmt::format("type '{}'", name)))
        return false;
    }
    if (info_of(stated_.placement).knows_nodes) return true;
    // Under `count` types are in place of nodes.
    live.gang.clear();
    for (std::uint32_t type = 0; type < held_by_type.size(); ++type) {
      if (held_by_type[type] > 0)
        live.gang.push_back({NodeId(type), GpuCount(static_cast<std::int32_t>(held_by_type[type]))});
    }
    return true;
  }

  /// Reads the nodes of a gang.
  bool read_parts(const json& object, const Job& job, LiveJob& live, const NodeTable& nodes, FreeGpus& free,
                  std::vector<std::int64_t>& held_by_type) {
    const std::span<const std::uint32_t> types = nodes.types().allowed(job.gpu_type);
    const PlacementInfo& placement = info_of(stated_.placement);
    const json* const parts = list(object, "nodes");
    if (parts == nullptr) return false;
    std::int64_t sum = 0;
    for (const json& part : *parts) {
      JsonFields fields(document_, part);
      fields.allow_only(kPartKeys);
      const std::int64_t gpus = fields.integer("gpus", 1, kMaxClusterGpus);
      if (!fields.has("node")) fields.complain("node", "missing");
      if (!keep(fields.error())) return false;
      const auto node = read_node(*part.find("node"), part);
      if (!node) return false;
      const std::uint32_t type = nodes[node->value].type;
      if (!std::ranges::binary_search(types, type)) {
        return complain(
            part, "node",
            expected_found("a node with GPUs of the job's gpu_type", std::to_string(node->value)));
      }
      if (std::ranges::find(live.gang, *node, &NodeShare::node) != live.gang.end())
        return complain(part, "node", expected_found("each node once", std::to_string(node->value)));
      if (!take(free.by_node[node->value], gpus, part, "gpus", fmt::format("node {}", node->value)))
        return false;
      if (placement.knows_nodes && !live.gang.empty() && nodes[live.gang.front().node.value].type != type) {
        return complain(part, "node",
                        fmt::format("expected nodes with one type of GPUs, as placement '{}' gives a job",
                                    placement.name));
      }
      live.gang.push_back({*node, GpuCount(static_cast<std::int32_t>(gpus)),
                           placement.shares_gpus ? NodeShare::kNoNumber : 0});
      held_by_type[type] += gpus;
      sum += gpus;
    }
    if (sum == live.num_gpus.value) return true;
    return complain(object, "nodes",
                    expected_found(fmt::format("{} GPUs in all, the job's num_gpus", live.num_gpus.value),
                                   std::to_string(sum)));
  }

  /// Orders jobs by submission, keeping the order of equal ones.
  void sort_jobs() {
    const std::vector<Job>& jobs = stated_.workload.jobs;
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return jobs[i].submit; });
    std::vector<Job> sorted_jobs;
    std::vector<LiveJob> sorted_live;
    for (const std::size_t i : order) {
      sorted_jobs.push_back(jobs[i]);
      sorted_live.push_back(std::move(stated_.state.jobs[i]));
    }
    stated_.workload.jobs = std::move(sorted_jobs);
    stated_.state.jobs = std::move(sorted_live);
  }

  const JsonDocument& document_;
  StatedCluster stated_;
  std::map<std::string_view, std::size_t> jobs_by_name_;
  std::optional<Error> error_;
};

}  // namespace

Result<StatedCluster> parse_stated_cluster(const JsonDocument& document) {
  return StateReader(document).read();
}

Result<StatedCluster> parse_stated_cluster(std::string text, std::string file) {
  const auto document = JsonDocument::parse(std::move(text), std::move(file));
  if (!document) return fail(document.error());
  return parse_stated_cluster(*document);
}

}  // namespace vtrain
