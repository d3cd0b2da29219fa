// `kueue`: Kueue's scheduler (kubernetes-sigs/kueue, commit ff69552) on a simulated cluster.
//
// A job is a Workload of `num_gpus` pods with one GPU each. A cycle runs at each event, until nothing
// changes. An eviction completes at once: the victim waits again and its quota is free. An admitted job
// starts as soon as the placement has room for its gang; until then it holds its quota, as pods of an
// admitted Workload do that find no node. A job with a curve may be admitted with fewer GPUs (partial
// admission). It then holds the largest level of its curve, and the quota of that.
//
// Kueue's rules let workloads evict each other in turn without end. One that is evicted twice at one instant
// runs for a second once it is admitted again, before the next cycle; then for two, four, up to a day. A
// cycle costs O(heads), plus O(holders that the policy lets a head evict) for each head that needs victims.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"
#include "core/io/input.hpp"
#include "policies/base/policies.hpp"
#include "policies/tenants/kueue/cluster_objects.hpp"
#include "policies/tenants/kueue/live_objects.hpp"
#include "policies/tenants/kueue/object_file.hpp"
#include "policies/tenants/kueue/scheduler.hpp"
#include "policies/tenants/kueue/waiting_words.hpp"
#include "sched/simulation/gpus_by_type.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

/// What a spec says.
struct KueueOptions {
  std::string file{};                                ///< of the objects; empty: the tree of tenants
  std::optional<kueue::ObjectFile> objects{};        ///< the objects of the file
  std::shared_ptr<const kueue::LiveObjects> live{};  ///< those of a running cluster, in place of a file
  std::string resource{};
  kueue::Settings settings{};
};

Result<kueue::ClusterObjects> kueue_objects_on(const KueueOptions& options, const ClusterSpec& cluster,
                                               const TenantTree& tenants) {
  if (options.live) return kueue::objects_of_live(*options.live, cluster, options.resource);
  if (!options.objects) return kueue::objects_of_tenants(tenants, cluster, options.resource);
  return kueue::objects_of_file(*options.objects, cluster, options.resource, options.file);
}

class Kueue final : public Policy, public SpeakingPolicy {
 public:
  explicit Kueue(KueueOptions options) : options_(std::move(options)) {}

  bool can_begin_with_jobs() const override { return true; }

  void begin(const SchedulingPass& view) override {
    const std::map<JobId, kueue::Admission> kept = admissions_of(view.running());
    admitted_.clear();
    outside_.clear();
    workload_of_.clear();
    job_of_.clear();
    flapping_.clear();
    pause_ = {};
    next_cycle_ = SimTime::max();
    has_begun_ = true;
    problem_.clear();
    auto objects = kueue_objects_on(options_, view.cluster(), view.tenants());
    if (!objects) {
      problem_ = objects.error().describe();
      return refuse_all(view);
    }
    objects_ = *std::move(objects);
    scheduler_ = std::make_unique<kueue::Scheduler>(options_.settings);
    kueue::Cache& cache = scheduler_->cache();
    cache.set(objects_.objects);
    cache.know_resource(objects_.resource);
    if (options_.live) know_workloads(*options_.live, cache);
    if (cache.is_too_large()) {
      problem_ = "the objects have more queues, cohorts, flavors and resources than can be decided together";
      return refuse_all(view);
    }
    scheduler_->objects_changed();
    for (const JobId job : view.running()) {
      const auto found = kept.find(job);
      take_in_running(view, job, found == kept.end() ? nullptr : &found->second);
    }
    for (const JobId job : view.waiting())
      arrive(view, job);
  }

  void schedule(SchedulingPass& pass) override {
    const bool has_news = std::exchange(has_begun_, false) || !pass.ended().empty() ||
                          !pass.arrived().empty() || !pass.interrupted().empty();
    for (const JobId job : pass.ended()) {
      if (is_managed(job)) scheduler_->remove(workload_of_[job.value]);
    }
    for (const JobId job : pass.interrupted()) {
      if (is_managed(job))
        wait_again(workload_of_[job.value]);
      else
        outside_.push_back(job);
    }
    for (const JobId job : pass.arrived())
      arrive(pass, job);
    std::erase_if(admitted_, [&](kueue::WorkloadId id) { return try_start(pass, id); });
    std::erase_if(outside_, [&](JobId job) { return pass.try_start(job); });
    if (has_news || next_cycle_ <= pass.now()) run_cycles(pass);
  }

  Result<std::vector<std::string>> check(const Workload& workload, const ClusterSpec& cluster,
                                         const TenantTree& tenants) const override {
    const auto objects = kueue_objects_on(options_, cluster, tenants);
    if (!objects) return fail(objects.error());
    // Jobs repeat few pairs of queue and tenant.
    std::set<std::pair<std::uint32_t, std::uint32_t>> known;
    for (const Job& job : workload.jobs) {
      const std::uint32_t queue = job.queue ? job.queue.value : kueue::kNone;
      const std::uint32_t tenant = job.tenant ? job.tenant.value : kueue::kNone;
      if (!known.emplace(queue, tenant).second) continue;
      const std::string_view queue_name = job.queue ? std::string_view(workload.queues[queue]) : "";
      const std::string_view tenant_name = job.tenant ? std::string_view(workload.tenants[tenant]) : "";
      if (objects->queue_of(queue_name, tenant_name)) continue;
      return fail(job_error(
          workload, job, job.queue ? "queue" : "tenant",
          expected_found("a queue or tenant that is a LocalQueue, a ClusterQueue or, without objects, a "
                         "tenant of the tree",
                         job.queue ? queue_name : tenant_name)));
    }
    std::vector<std::string> sentences;
    if (options_.objects && !options_.objects->ignored.empty())
      sentences.push_back(fmt::format("{}: {}", options_.file, options_.objects->ignored_sentence()));
    if (!options_.objects && tenants.tenants.empty())
      sentences.emplace_back(
          "one ClusterQueue has all GPUs, as there are no tenants (--tenant-tree) or objects");
    return sentences;
  }

  PolicyWords words_on(JobId job) const override {
    if (scheduler_ == nullptr) return {};
    if (is_managed(job)) return kueue::words_on(*scheduler_, workload_of_[job.value]);
    const bool waits = std::ranges::find(outside_, job) != outside_.end();
    return {waits ? "no queue manages it, and its nodes have no room" : "", false};
  }

  ProgressRule progress_rule() const override { return ProgressRule::Iterations; }
  bool chooses_types() const override { return true; }

 private:
  void arrive(const SchedulingPass& pass, JobId id) {
    const auto workload = workload_for(pass, id);
    if (!workload) return outside_.push_back(id);
    add(id, *workload);
    // One that holds quota already starts as soon as there is room.
    if (workload->admission) admitted_.push_back(workload_of_[id.value]);
  }

  /// Ends the replay if there are jobs already, whose objects are wrong.
  void refuse_all(const SchedulingPass& view) const {
    for (const auto jobs : {view.running(), view.waiting()}) {
      if (!jobs.empty()) view.refuse(jobs.front(), problem_);
    }
  }

  /// Gives a running job the quota that it holds. `kept` is what it had before facts changed other jobs.
  void take_in_running(const SchedulingPass& view, JobId id, const kueue::Admission* kept) {
    auto workload = workload_for(view, id);
    if (!workload) return;
    if (kept != nullptr) workload->admission = *kept;
    workload->is_admitted = true;
    if (!workload->admission) {
      const kueue::Cache& cache = scheduler_->cache();
      const kueue::QueueId queue = cache.queue_of_local(workload->name_space, workload->queue);
      if (queue == kueue::kNone) return;
      const Allocation held = view.held(id);
      if (!options_.live) workload->pod_sets.front().count = held.gpus.value;
      workload->admission = derive_admission(cache, objects_, queue, *workload, held.type);
    }
    if (!options_.live) {
      // An elastic job may hold fewer GPUs than it asks for.
      kueue::PodSet& set = workload->pod_sets.front();
      set.count = view.job(id).num_gpus.value;
      set.reclaimable = std::max(set.count - view.held_gpus(id).value, std::int64_t{0});
      workload->quota_reserved_at = view.holds_since(id).time_since_epoch().count();
    }
    add(id, *workload);
  }

  /// Quota of jobs that run on, as they got it.
  std::map<JobId, kueue::Admission> admissions_of(std::span<const JobId> running) const {
    std::map<JobId, kueue::Admission> kept;
    for (const JobId job : running) {
      if (scheduler_ == nullptr || !is_managed(job)) continue;
      const kueue::WorkloadId id = workload_of_[job.value];
      if (scheduler_->cache().workload(id).state == kueue::WorkloadState::Holding)
        kept.emplace(job, recorded_admission(scheduler_->cache(), id));
    }
    return kept;
  }

  void add(JobId id, const kueue::Workload& workload) {
    workload_of_.resize(std::max<std::size_t>(workload_of_.size(), id.value + 1), kueue::kNone);
    workload_of_[id.value] = scheduler_->add(workload);
    job_of_.push_back(id);
  }

  bool is_managed(JobId job) const {
    return job.value < workload_of_.size() && workload_of_[job.value] != kueue::kNone;
  }

  /// The Workload of a job; none if it is none of Kueue.
  std::optional<kueue::Workload> workload_for(const SchedulingPass& pass, JobId id) {
    if (!problem_.empty()) pass.refuse(id, problem_);
    const Job& job = pass.job(id);
    if (options_.live) {
      const auto found = options_.live->workloads.find(job.name);
      if (found == options_.live->workloads.end()) return std::nullopt;
      kueue::Workload workload = found->second;
      scale_to(workload, objects_.resource, job.num_gpus.value);
      return workload;
    }
    const std::string_view queue = job.queue ? std::string_view(pass.queue_names()[job.queue.value]) : "";
    const std::string_view tenant = job.tenant ? std::string_view(pass.tenant_names()[job.tenant.value]) : "";
    const auto local = objects_.queue_of(queue, tenant);
    if (!local) pass.refuse(id, "neither its queue nor its tenant is a queue of Kueue");
    kueue::Workload workload{.name_space = local->first,
                             .name = {},
                             .priority = priority_of(pass, job),
                             .created_at = job.submit.time_since_epoch().count(),
                             .queue = local->second};
    kueue::PodSet& set = workload.pod_sets.emplace_back();
    set.count = job.num_gpus.value;
    set.requests = {{objects_.resource, kueue::units_of(objects_.resource)}};
    if (const SpeedByGpus* const curve = pass.curve(id))
      set.min_count = std::min<std::int64_t>(set.count, curve->levels().front().num_gpus.value);
    choose_types(pass, job, set);
    return workload;
  }

  std::int64_t priority_of(const SchedulingPass& pass, const Job& job) const {
    if (job.has_priority()) return job.priority;
    if (!job.qos || objects_.priority_classes.empty()) return 0;
    const auto found = objects_.priority_classes.find(pass.qos_names()[job.qos.value]);
    return found == objects_.priority_classes.end() ? 0 : found->second;
  }

  /// A job that asks for GPU types uses only flavors of these.
  static void choose_types(const SchedulingPass& pass, const Job& job, kueue::PodSet& set) {
    const GpusByType* const types = pass.gpus_by_type();
    if (types == nullptr || !job.gpu_type) return;
    kueue::LabelExpression& expression = set.nodes.required_node_affinity.emplace_back().emplace_back();
    expression.key = kueue::kGpuTypeLabel;
    for (const std::uint32_t type : types->allowed(job.gpu_type))
      expression.values.push_back(std::to_string(type));
  }

  /// Gives an admitted job its GPUs. False if the placement has no room now.
  bool try_start(SchedulingPass& pass, kueue::WorkloadId id) {
    const JobId job = job_of_[id];
    if (options_.live) return pass.try_start(job, {pass.job(job).num_gpus, given_type(pass, id)});
    const std::int64_t count = scheduler_->cache().workload(id).given.front().count;
    GpuCount gpus(static_cast<std::int32_t>(count));
    const SpeedByGpus* const curve = pass.curve(job);
    if (curve != nullptr && gpus < pass.job(job).num_gpus) gpus = curve->at_most(gpus).num_gpus;
    if (!pass.try_start(job, {gpus, given_type(pass, id)})) return false;
    if (gpus.value < count) scheduler_->set_reclaimable(id, {pass.job(job).num_gpus.value - gpus.value});
    return true;
  }

  /// The type of GPUs that an admission gives; none: any, or those of several types.
  std::optional<std::uint32_t> given_type(const SchedulingPass& pass, kueue::WorkloadId id) const {
    const kueue::Cache& cache = scheduler_->cache();
    if (pass.gpus_by_type() == nullptr) return std::nullopt;
    const auto gpus = cache.find_resource(objects_.resource);
    std::optional<std::uint32_t> type;
    for (const kueue::GivenPodSet& given : cache.workload(id).given) {
      for (const kueue::GivenResource& each : given.resources) {
        if (gpus != each.resource || each.amount == 0) continue;
        const auto found = objects_.type_of_flavor.find(cache.flavor_name(each.flavor));
        if (found == objects_.type_of_flavor.end() || !found->second) return std::nullopt;
        if (type && *type != *found->second) return std::nullopt;
        type = found->second;
      }
    }
    return type;
  }

  /// Puts a workload that held quota back into its queue.
  void wait_again(kueue::WorkloadId id) {
    scheduler_->finish_eviction(id);
    if (!scheduler_->cache().workload(id).reclaimable.empty()) scheduler_->set_reclaimable(id, {});
  }

  void run_cycles(SchedulingPass& pass) {
    const kueue::Instant now = pass.now().time_since_epoch().count();
    std::unordered_set<std::uint64_t> seen;
    std::unordered_set<kueue::WorkloadId> evicted;
    next_cycle_ = SimTime::max();
    while (true) {
      const kueue::CycleResult result = scheduler_->run_cycle(now);
      for (const kueue::Victim& victim : result.evicted) {
        const JobId job = job_of_[victim.workload];
        if (pass.state(job) == JobState::Running)
          pass.preempt(job);
        else
          std::erase(admitted_, victim.workload);
        wait_again(victim.workload);
        if (!evicted.insert(victim.workload).second) flapping_.insert(victim.workload);
      }
      bool is_flapping = false;
      for (const kueue::WorkloadId id : result.admitted) {
        if (!try_start(pass, id)) admitted_.push_back(id);
        is_flapping = is_flapping || flapping_.contains(id);
      }
      if (is_flapping) return wait_for_progress(pass);
      if (!result.admitted.empty() || !result.evicted.empty())
        seen.clear();
      else if (!result.has_changed || !seen.insert(scheduler_->fingerprint()).second)
        break;
    }
    flapping_.clear();
    pause_ = {};
  }

  /// Lets jobs run before the next cycle may evict them again.
  void wait_for_progress(SchedulingPass& pass) {
    constexpr SimDuration kShortest = std::chrono::seconds(1);
    constexpr SimDuration kLongest = std::chrono::hours(24);
    pause_ = std::clamp(pause_ * 2, kShortest, kLongest);
    next_cycle_ = pass.now() + pause_;
    pass.wake_at(next_cycle_);
  }

  KueueOptions options_;
  kueue::ClusterObjects objects_;
  std::string problem_;  ///< why the objects do not suit the cluster; empty: they do
  std::unique_ptr<kueue::Scheduler> scheduler_;
  std::vector<kueue::WorkloadId> workload_of_;  ///< by job
  std::vector<JobId> job_of_;                   ///< by workload
  std::vector<JobId> outside_;                  ///< jobs that are none of Kueue and wait for room
  bool has_begun_ = false;                      ///< true before the first pass
  std::vector<kueue::WorkloadId> admitted_;     ///< hold quota and wait for room, in the order of admission
  std::unordered_set<kueue::WorkloadId>
      flapping_;                         ///< evicted twice at one instant since the queues last settled
  SimDuration pause_{};                  ///< before the next cycle, while workloads flap
  SimTime next_cycle_ = SimTime::max();  ///< none is due without news: `max`
};

Result<void> read_kueue_gates(const PolicyArguments& arguments, kueue::Gates& gates) {
  for (const std::string_view name : split(arguments["gates"], ';')) {
    if (name.empty()) continue;
    const auto found = std::ranges::find(kueue::kGateNames, name, &kueue::GateName::name);
    if (found == kueue::kGateNames.end()) {
      std::vector<std::string_view> known;
      for (const kueue::GateName& gate : kueue::kGateNames)
        known.push_back(gate.name);
      return fail(arguments.bad_value("gates", "names of gates: " + list_names(known)));
    }
    gates.*found->member = !(gates.*found->member);
  }
  return {};
}

Result<KueueOptions> read_kueue_options(const PolicyArguments& arguments) {
  KueueOptions options{.file = std::string(arguments["objects"]),
                       .resource = std::string(arguments["resource"])};
  options.settings.fair_sharing = arguments["fair_sharing"] == "yes";
  const std::string_view strategies = arguments["strategies"];
  if (strategies == "final") options.settings.strategies = {kueue::FairStrategy::LessThanOrEqualToFinalShare};
  if (strategies == "initial") options.settings.strategies = {kueue::FairStrategy::LessThanInitialShare};
  if (options.resource.empty()) return fail(arguments.bad_value("resource", "the name of a resource"));
  if (auto read = read_kueue_gates(arguments, options.settings.gates); !read) return fail(read.error());
  if (options.file.empty()) return options;
  auto text = read_file(options.file, InputKind::Tenants);
  if (!text) return fail(std::move(text.error()));
  auto objects = kueue::parse_object_file(*text, options.file);
  if (!objects) return fail(std::move(objects.error()));
  options.objects = *std::move(objects);
  return options;
}

}  // namespace

MadePolicy make_kueue_live(const PolicyArguments& arguments,
                           std::shared_ptr<const kueue::LiveObjects> objects) {
  auto options = read_kueue_options(arguments);
  if (!options) return fail(std::move(options.error()));
  if (options->file.empty()) options->live = std::move(objects);
  return std::make_unique<Kueue>(*std::move(options));
}

MadePolicy make_kueue(const PolicyArguments& arguments) {
  return make_kueue_live(arguments, nullptr);
}

}  // namespace vtrain
