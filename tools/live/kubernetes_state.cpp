/// Jobs and nodes of a cluster, of all its Kubernetes objects together.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/strings.hpp"
#include "tools/live/kubernetes_checks.hpp"
#include "tools/live/kubernetes_dump.hpp"

namespace vtrain {
namespace {

constexpr const char* kProductLabels[] = {"nvidia.com/gpu.product", "amd.com/gpu.product-name"};
constexpr std::int64_t kMostNumber = 1'000'000'000;
constexpr std::int64_t kMilli = 1000;

std::int64_t seconds_of(kueue::Instant time) {
  return time / 1'000'000'000;
}

std::int64_t gpus_in(const ResourceAmounts& amounts) {
  std::int64_t sum = 0;
  for (const auto& [resource, amount] : amounts) {
    if (counts_gpus(resource)) sum = kueue::add_amounts(sum, amount);
  }
  return sum;
}

std::int64_t cpus_in(const ResourceAmounts& amounts) {
  const auto found = amounts.find("cpu");
  return found == amounts.end() ? 0 : std::min(found->second / kMilli, kMostNumber);
}

bool has_slices(const ResourceAmounts& amounts) {
  return std::ranges::any_of(
      amounts, [](const auto& each) { return each.second > 0 && counts_gpu_slices(each.first); });
}

/// Pods that hold GPUs; at least 1.
std::int64_t gpu_pods(const std::vector<kueue::PodSet>& sets) {
  std::int64_t pods = 0;
  for (const kueue::PodSet& set : sets) {
    const bool has_gpus = std::ranges::any_of(
        set.requests, [](const auto& each) { return each.second > 0 && counts_gpus(each.first); });
    if (has_gpus) pods += set.count;
  }
  return std::clamp<std::int64_t>(pods, 1, kMostNumber);
}

/// Product of GPUs that labels or a selector name; empty: none.
std::string product_of(const kueue::Labels& labels) {
  for (const char* const label : kProductLabels) {
    if (const auto found = labels.find(label); found != labels.end()) return found->second;
  }
  return {};
}

/// Joins what the objects of a cluster know of each other.
class StateMaker {
 public:
  explicit StateMaker(LiveState& state) : state_(state), all_(state.kubernetes) {}

  Result<void> make() {
    if (auto read = read_queues(); !read) return read;
    for (std::size_t i = 0; i < all_.jobs.size(); ++i)
      jobs_.emplace(std::tuple(all_.jobs[i].kind, all_.jobs[i].name_space, all_.jobs[i].name), i);
    has_workload_.resize(all_.jobs.size());
    for (LiveWorkload& workload : all_.workloads)
      add_workload(workload);
    for (std::size_t i = 0; i < all_.jobs.size(); ++i)
      add_job(all_.jobs[i], i);
    for (const LivePodGroup& group : all_.pod_groups)
      add_group(group);
    for (const LiveKubernetesNode& node : all_.nodes)
      add_node(node);
    if (!all_.nodes.empty()) count_gpus_in_use(state_);
    compare_usage(state_);
    return {};
  }

 private:
  Result<void> read_queues() {
    if (all_.queue_objects.empty()) return {};
    std::string text = R"({"kind":"List","items":[)";
    for (const QueueObject& each : all_.queue_objects)
      text += each.text + ",\n";
    text.resize(text.size() - 2);
    text += "]}";
    auto read = kueue::parse_object_file(text, all_.queue_objects.front().file, false);
    if (!read) return fail(in_its_file(read.error()));
    all_.queues = *std::move(read);
    for (const auto& [what, count] : all_.queues.ignored)
      state_.remark(fmt::format("fields without effect: {}", what), count);
    return {};
  }

  /// An error of the joined text, with the file and place of the object that it is about.
  Error in_its_file(Error error) const {
    constexpr std::string_view kBeginning = "items[";
    if (!error.field.starts_with(kBeginning)) return error;
    const std::size_t end = error.field.find(']');
    const std::string number = error.field.substr(kBeginning.size(), end - kBeginning.size());
    const QueueObject& object = all_.queue_objects.at(std::stoul(number));
    error.file = object.file;
    error.line = object.line;
    std::string rest = error.field.substr(end + 1);
    if (object.field.empty() && rest.starts_with('.')) rest.erase(0, 1);
    error.field = object.field + rest;
    return error;
  }

  /// The Job or JobSet that owns an object; none if no file has it.
  std::optional<std::size_t> owner_in(const OwnerReference& owner, const std::string& name_space) const {
    const bool is_other = owner.api.starts_with("batch.volcano.sh");
    const auto found = jobs_.find(std::tuple(owner.kind, name_space, owner.name));
    return found == jobs_.end() || is_other ? std::nullopt : std::optional(found->second);
  }

  void add_workload(LiveWorkload& live) {
    const kueue::Workload& workload = live.workload;
    auto owner = owner_in(live.owner, workload.name_space);
    if (!owner && live.owner.kind.empty()) owner = owner_by_name(live);
    if (owner) take_from_job(all_.jobs[*owner], live);
    if (owner) has_workload_[*owner] = true;
    if (!live.owner.kind.empty()) owned_.emplace(workload.name_space, live.owner.kind, live.owner.name);
    DumpedJob job{.id = kueue::full_name(workload.name_space, workload.name)};
    job.kind = "Workload";
    job.name = owner ? all_.jobs[*owner].name : live.owner.name.empty() ? workload.name : live.owner.name;
    job.user = job.account = workload.name_space;
    job.qos = live.priority_class;
    if (!workload.queue.empty()) job.partitions = {kueue::full_name(workload.name_space, workload.queue)};
    job.priority = workload.priority;
    job.submit = seconds_of(workload.created_at);
    job.model = live.model;
    if (live.most_execution_s) {
      // Time of earlier admissions counts, so this is what is left of the limit.
      job.time_limit_s = std::max<std::int64_t>(*live.most_execution_s - live.past_execution_s, 1);
    }
    ResourceAmounts amounts = live.total();
    if (live.stage == WorkloadStage::Admitted) {
      amounts.clear();
      for (const auto& [what, amount] : live.usage())
        amounts[what.second] = kueue::add_amounts(amounts[what.second], amount);
    }
    set_size(amounts, workload.pod_sets, job);
    for (const kueue::PodSet& set : workload.pod_sets) {
      if (job.gpu_type.empty()) job.gpu_type = product_of(set.nodes.node_selector);
    }
    if (live.stage == WorkloadStage::Admitted) job.gpu_type = type_given(live);
    set_stage(live, job);
    const bool is_partial = std::ranges::any_of(workload.pod_sets, [](const kueue::PodSet& set) {
      return set.min_count.value_or(set.count) < set.count;
    });
    if (is_partial && job.is_pending())
      state_.remark("workloads that may start with fewer pods wait for all of them");
    state_.jobs.push_back(std::move(job));
  }

  /// The job of a Workload whose owner is not told, by the beginning of its name.
  std::optional<std::size_t> owner_by_name(const LiveWorkload& live) const {
    std::optional<std::size_t> best;
    for (const auto& [key, i] : jobs_) {
      const LiveBatchJob& job = all_.jobs[i];
      if (job.name_space != live.workload.name_space ||
          !live.workload.name.starts_with(job.workload_prefix()))
        continue;
      if (!best || job.name.size() > all_.jobs[*best].name.size()) best = i;
    }
    return best;
  }

  /// Completes a Workload by what its job knows.
  void take_from_job(const LiveBatchJob& job, LiveWorkload& live) {
    if (live.model.empty()) live.model = job.model;
    if (!live.most_execution_s && job.time_limit_s) live.most_execution_s = job.time_limit_s;
    if (job.stage != PodsStage::Ended || live.stage == WorkloadStage::Finished) return;
    state_.remark("workloads whose job has ended count as finished");
    live.stage = WorkloadStage::Finished;
    live.finished_at = job.ended;
    live.has_failed = job.has_failed;
    live.workload.admission.reset();
  }

  /// The one type of the nodes of the flavors whose GPUs a workload holds; empty: several, or unknown.
  std::string type_given(const LiveWorkload& live) {
    std::set<std::string> types;
    for (const auto& [what, amount] : live.usage()) {
      if (amount > 0 && counts_gpus(what.second)) types.insert(type_of_flavor(what.first));
    }
    return types.size() == 1 ? *types.begin() : "";
  }

  /// The one type of the nodes that a flavor's labels choose; empty: several, or unknown.
  const std::string& type_of_flavor(const std::string& name) {
    const auto [place, is_new] = type_of_flavor_.try_emplace(name);
    const auto& flavors = all_.queues.objects.resource_flavors;
    const auto flavor = std::ranges::find(flavors, name, &kueue::ResourceFlavor::name);
    if (!is_new || flavor == flavors.end()) return place->second;
    std::set<std::string> types;
    for (const LiveKubernetesNode& node : all_.nodes) {
      if (gpus_in(node.allocatable) > 0 && flavor_of_node(node.labels, {*flavor}) != nullptr)
        types.insert(type_of(node));
    }
    if (types.size() == 1) place->second = *types.begin();
    return place->second;
  }

  void set_stage(const LiveWorkload& live, DumpedJob& job) {
    job.state = "PENDING";
    switch (live.stage) {
      case WorkloadStage::Finished:
        job.state = live.has_failed ? "FAILED" : "COMPLETED";
        job.start = live.admitted_at;
        job.end = live.finished_at;
        return;
      case WorkloadStage::Admitted:
        job.state = "RUNNING";
        job.start = live.admitted_at;
        return;
      case WorkloadStage::QuotaReserved:
        job.reason = "AdmissionChecks";
        state_.remark("workloads that hold quota are taken to pass their admission checks now");
        return;
      case WorkloadStage::Evicting:
        job.reason = live.is_active ? live.workload.conditions.evicted_reason : "Inactive";
        job.eligible = live.requeue_at;
        state_.remark("evictions that are under way are taken to be complete");
        return;
      case WorkloadStage::Inactive:
        job.reason = "Inactive";
        return;
      case WorkloadStage::Pending:
        job.reason = live.reason;
        job.reason_text = live.reason_text;
        job.eligible = live.requeue_at;
        return;
    }
  }

  void set_size(const ResourceAmounts& amounts, const std::vector<kueue::PodSet>& sets, DumpedJob& job) {
    job.gpus = gpus_in(amounts);
    job.cpus = cpus_in(amounts);
    job.nodes_wanted = gpu_pods(sets);
    if (job.gpus == 0 && has_slices(amounts)) state_.remark("jobs that ask for slices of GPUs are left out");
  }

  /// A Job or JobSet without Workload.
  void add_job(const LiveBatchJob& live, std::size_t number) {
    if (has_workload_[number]) return;
    const bool is_part = live.owner.kind == "JobSet" || owner_in(live.owner, live.name_space) ||
                         owned_.contains({live.name_space, live.owner.kind, live.owner.name});
    if (is_part) return state_.remark("jobs that are part of another count with it");
    DumpedJob job{.id = fmt::format("{}/{}/{}", live.name_space, lower_case(live.kind), live.name)};
    job.kind = live.kind;
    job.name = live.name;
    job.user = job.account = live.name_space;
    job.qos = live.priority_class;
    if (!live.queue.empty()) job.partitions = {kueue::full_name(live.name_space, live.queue)};
    const auto& classes = all_.queues.priority_classes;
    if (const auto found = classes.find(live.priority_class); found != classes.end())
      job.priority = found->second;
    else if (!live.priority_class.empty())
      state_.remark("jobs whose priority class no file has count with priority 0");
    job.submit = live.created;
    job.time_limit_s = live.time_limit_s;
    job.model = live.model;
    ResourceAmounts amounts;
    const bool is_running = live.stage == PodsStage::Running;
    for (std::size_t i = 0; i < live.pod_sets.size(); ++i) {
      const std::int64_t pods = is_running ? live.active[i] : live.pod_sets[i].count;
      for (const auto& [resource, amount] : live.pod_sets[i].requests)
        amounts[resource] = kueue::add_amounts(amounts[resource], kueue::multiply(amount, pods));
      if (job.gpu_type.empty()) job.gpu_type = product_of(live.pod_sets[i].nodes.node_selector);
    }
    set_size(amounts, live.pod_sets, job);
    if (is_running) {
      job.state = "RUNNING";
      job.start = live.started;
    } else if (live.stage == PodsStage::Ended) {
      job.state = live.has_failed ? "FAILED" : "COMPLETED";
      job.start = live.started;
      job.end = live.ended;
    } else {
      job.state = "PENDING";
      // Kueue resumes the jobs of its queues itself.
      job.reason = !live.is_suspended ? "PodsPending" : live.queue.empty() ? "JobSuspended" : "NoWorkload";
    }
    if (!live.queue.empty() && live.stage != PodsStage::Ended)
      state_.remark("jobs of a queue whose Workload no file has");
    state_.jobs.push_back(std::move(job));
  }

  void add_group(const LivePodGroup& live) {
    OwnerReference owner = live.owner;
    if (!live.gang_workload.empty()) {
      for (const LiveGangWorkload& gang : all_.gang_workloads) {
        if (gang.name_space == live.name_space && gang.name == live.gang_workload) owner = gang.controller;
      }
    }
    if (owner_in(owner, live.name_space) || owned_.contains({live.name_space, owner.kind, owner.name}))
      return state_.remark("pod groups of jobs count with these");
    DumpedJob job{.id = fmt::format("{}/podgroup/{}", live.name_space, live.name)};
    job.kind = "PodGroup";
    job.name = live.name;
    job.user = job.account = live.name_space;
    job.qos = live.priority_class;
    if (!live.queue.empty()) job.partitions = {live.queue};
    job.priority = live.priority;
    job.submit = live.created;
    job.gpus = gpus_in(live.least);
    job.cpus = cpus_in(live.least);
    job.nodes_wanted = std::max<std::int64_t>(live.minimum, 1);
    if (live.least.empty()) state_.remark("pod groups whose resources no file has are left out");
    const PodsStage stage = live.stage.value_or(PodsStage::Waiting);
    job.state = stage == PodsStage::Running ? "RUNNING" : stage == PodsStage::Ended ? "COMPLETED" : "PENDING";
    if (stage == PodsStage::Waiting) job.reason = live.reason;
    state_.jobs.push_back(std::move(job));
  }

  /// The type of a node's GPUs: their product, else the node's flavor.
  std::string type_of(const LiveKubernetesNode& node) const {
    std::string product = product_of(node.labels);
    if (!product.empty()) return product;
    const auto* const flavor = flavor_of_node(node.labels, all_.queues.objects.resource_flavors);
    return flavor == nullptr ? "" : flavor->name;
  }

  void add_node(const LiveKubernetesNode& live) {
    DumpedNode node{.name = live.name};
    node.takes_jobs = live.is_schedulable;
    node.state = live.is_schedulable ? "Ready" : live.reason;
    node.reason = live.reason;
    node.cpus = cpus_in(live.allocatable);
    const auto memory = live.allocatable.find("memory");
    constexpr std::int64_t kMebibyte = 1 << 20;
    if (memory != live.allocatable.end()) node.memory_mb = memory->second / kMebibyte;
    node.gpus = gpus_in(live.allocatable);
    if (node.gpus > 0) node.gpu_type = type_of(live);
    if (has_slices(live.allocatable)) state_.remark("slices of GPUs on nodes are left out");
    state_.nodes.push_back(std::move(node));
  }

  LiveState& state_;
  KubernetesObjects& all_;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t>
      jobs_;                                           ///< by kind, namespace, name
  std::map<std::string, std::string> type_of_flavor_;  ///< as `type_of_flavor` found them
  std::vector<bool> has_workload_;                     ///< [job]
  /// Namespace, kind and name of what owns a Workload.
  std::set<std::tuple<std::string, std::string, std::string>> owned_;
};

}  // namespace

Result<void> finish_kubernetes(LiveState& state) {
  if (state.kubernetes.empty()) return {};
  return StateMaker(state).make();
}

}  // namespace vtrain
