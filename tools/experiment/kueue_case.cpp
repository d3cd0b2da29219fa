#include "tools/experiment/kueue_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/base/names.hpp"

namespace vtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// A kind of case: its keys beside those of every case, and who answers.
struct CaseKind {
  std::string_view name;
  std::vector<std::string_view> keys;
  ordered_json (*answer)(KueueCase& stated);
};

constexpr std::array<std::string_view, 9> kCommonKeys = {"version", "id",       "kind", "tags", "description",
                                                         "source",  "expected", "name", "note"};

const std::vector<CaseKind>& case_kinds() {
  static const std::vector<CaseKind> kinds = {
      {"cycle",
       {"feature_gates", "fair_sharing", "requeuing_timestamp", "resource_flavors", "namespaces", "cohorts",
        "cluster_queues", "local_queues", "workloads"},
       answer_cycle},
      {"two_cycles",
       {"feature_gates", "fair_sharing", "requeuing_timestamp", "resource_flavors", "namespaces", "cohorts",
        "cluster_queues", "local_queues", "workloads", "removed_between_cycles"},
       answer_two_cycles},
      {"preemption_targets",
       {"feature_gates", "fair_sharing", "requeuing_timestamp", "resource_flavors", "cohorts",
        "cluster_queues", "workloads", "incoming", "incoming_assignment"},
       answer_preemption_targets},
      {"flavor_assignment",
       {"feature_gates", "fair_sharing", "cluster_queues", "resource_flavors", "cohorts", "usage", "incoming",
        "simulated_preemption"},
       answer_flavor_assignment},
      {"scenario",
       {"feature_gates", "fair_sharing", "requeuing_timestamp", "resource_flavors", "namespaces", "cohorts",
        "cluster_queues", "local_queues", "workloads", "steps"},
       answer_scenario},
      {"available",
       {"feature_gates", "resource_flavors", "cohorts", "cluster_queues", "usage"},
       answer_available},
      {"reserve",
       {"feature_gates", "resource_flavors", "cohorts", "cluster_queues", "usage", "request", "mode",
        "borrowing_level"},
       answer_reserve},
      {"usage",
       {"feature_gates", "resource_flavors", "cohorts", "cluster_queues", "workloads", "remove", "add_back"},
       answer_usage},
      {"dominant_resource_share",
       {"feature_gates", "resource_flavors", "cohorts", "cluster_queues", "usage", "extra_request"},
       answer_dominant_resource_share},
      {"borrowing_on",
       {"feature_gates", "resource_flavors", "cohorts", "cluster_queues", "usage", "requested"},
       answer_borrowing_on},
      {"victim_queue_order",
       {"feature_gates", "cohorts", "cluster_queues", "resource_flavors", "workloads",
        "preemptor_cluster_queue", "candidate_cluster_queues", "actions"},
       answer_victim_queue_order},
      {"return_parked",
       {"feature_gates", "resource_flavors", "namespaces", "cohorts", "cluster_queues", "local_queues",
        "workloads", "event_in_cluster_queues"},
       answer_return_parked},
      {"candidate_order",
       {"feature_gates", "preemptor_cluster_queue", "candidates", "ties_keep_given_order"},
       answer_candidate_order},
      {"entry_order",
       {"feature_gates", "requeuing_timestamp", "entries", "ties_keep_given_order"},
       answer_entry_order},
      {"queue_order",
       {"feature_gates", "requeuing_timestamp", "workloads", "ties_keep_given_order"},
       answer_queue_order},
      {"policy", {"feature_gates", "requeuing_timestamp", "preemptor", "candidate", "policy"}, answer_policy},
      {"prefer", {"a", "b", "preference"}, answer_prefer},
      {"progress", {"feature_gates", "record", "now"}, answer_progress},
      {"requeue", {"feature_gates", "queueing_strategy", "reason", "last_tried_index"}, answer_requeue}};
  return kinds;
}

template <class Objects>
void check_names(KueueCaseReader& reader, const json& root, std::string_view key, const Objects& objects) {
  std::set<std::string> names;
  for (const auto& each : objects) {
    if (!names.insert(each.name).second)
      reader.complain(root, key, fmt::format("'{}' stands twice", each.name));
  }
}

}  // namespace

void KueueCase::prepare(const std::function<void(kueue::Cache&)>& more) {
  const kueue::Objects objects = reader_.objects(root_);
  const kueue::Settings settings = reader_.settings(root_);
  check_names(reader_, root_, "cluster_queues", objects.cluster_queues);
  check_names(reader_, root_, "cohorts", objects.cohorts);
  check_names(reader_, root_, "resource_flavors", objects.resource_flavors);
  if (const auto problem = kueue::find_cohort_problem(objects.cohorts))
    reader_.complain(root_, "cohorts", problem->message);
  scheduler_ = std::make_unique<kueue::Scheduler>(settings);
  reader_.each(root_, "workloads",
               [&](const json& element) { workloads_.push_back(reader_.workload(element, 0)); });
  if (has_failed()) return;
  cache().set(objects);
  // Where a case states no flavors at all, those that quotas name exist.
  if (!root_.contains("resource_flavors")) {
    const auto exist = [&](const std::vector<kueue::ResourceGroup>& groups) {
      for (const auto& group : groups) {
        for (const auto& flavor : group.flavors)
          cache().set(kueue::ResourceFlavor{.name = flavor.flavor});
      }
    };
    for (const auto& queue : objects.cluster_queues)
      exist(queue.resource_groups);
    for (const auto& cohort : objects.cohorts)
      exist(cohort.resource_groups);
  }
  for (const kueue::Workload& workload : workloads_)
    know(cache(), workload);
  if (more) more(cache());
  if (cache().is_too_large())
    reader_.complain(root_, "",
                     "has more queues, cohorts, flavors and resources than can be decided together");
  if (!has_failed()) scheduler_->objects_changed();
}

void KueueCase::add_workloads() {
  std::size_t next = 0;
  reader_.each(root_, "workloads", [&](const json& element) { add_workload(element, workloads_[next++]); });
}

void KueueCase::add_workload(const Json& object, const kueue::Workload& workload) {
  if (has_failed()) return;
  const std::string name = kueue::full_name(workload.name_space, workload.name);
  if (workload.admission && !cache().find_queue(workload.admission->cluster_queue)) {
    return reader_.complain(object, "admission.cluster_queue",
                            expected_found("the name of a ClusterQueue", workload.admission->cluster_queue));
  }
  const auto [place, is_new] = ids_.try_emplace(name, 0);
  if (!is_new && cache().workload(place->second).state != kueue::WorkloadState::Gone)
    return reader_.complain(object, "name", fmt::format("the workload '{}' stands twice", name));
  place->second = scheduler_->add(workload);
}

kueue::WorkloadId KueueCase::workload_named(const Json& object, std::string_view key,
                                            const std::string& name) {
  const auto found = ids_.find(name);
  if (found != ids_.end()) return found->second;
  if (!has_failed()) reader_.complain(object, key, expected_found("the name of a workload", name));
  return kueue::kNone;
}

std::vector<kueue::WorkloadId> KueueCase::workloads_named(const Json& object, std::string_view key) {
  std::vector<kueue::WorkloadId> ids;
  for (const std::string& name : reader_.strings(object, key)) {
    const kueue::WorkloadId id = workload_named(object, key, name);
    if (id != kueue::kNone) ids.push_back(id);
  }
  return ids;
}

kueue::QueueId KueueCase::queue_under(const Json& object, std::string_view key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found != object.end() && found->is_string()) {
    if (const auto queue = cache().find_queue(found->get<std::string>())) return *queue;
  }
  reader_.complain(
      object, key,
      expected_found("the name of a ClusterQueue", found == object.end() ? "nothing" : found->dump()));
  return 0;
}

void KueueCase::know(kueue::Cache& cache, const kueue::Workload& workload) {
  for (const kueue::PodSet& set : workload.pod_sets) {
    for (const auto& [resource, amount] : set.requests)
      cache.know_resource(resource);
  }
  if (!workload.admission) return;
  for (const kueue::AdmittedPodSet& set : workload.admission->pod_sets) {
    for (const kueue::AssignedResource& each : set.resources) {
      cache.know_resource(each.resource);
      cache.know_flavor(each.flavor);
    }
  }
}

void KueueCase::know(kueue::Cache& cache, const NamedUsage& usage) {
  for (const auto& [queue, amounts] : usage) {
    for (const NamedAmount& each : amounts) {
      cache.know_resource(each.resource);
      cache.know_flavor(each.flavor);
    }
  }
}

kueue::Usage KueueCase::columns_of(const std::vector<NamedAmount>& amounts) {
  kueue::Usage usage;
  for (const NamedAmount& each : amounts)
    kueue::add_to(usage,
                  cache().column(*cache().find_flavor(each.flavor), *cache().find_resource(each.resource)),
                  each.amount);
  return usage;
}

void KueueCase::add_usage(const NamedUsage& usage) {
  if (has_failed()) return;
  for (const auto& [name, amounts] : usage) {
    const auto queue = cache().find_queue(name);
    if (!queue)
      return reader_.complain(root_["usage"], name, expected_found("the name of a ClusterQueue", name));
    cache().tree().add_usage(cache().queue(*queue).node, columns_of(amounts));
  }
}

std::string KueueCase::name_of(kueue::WorkloadId id) const {
  const kueue::WorkloadInfo& workload = scheduler_->cache().workload(id);
  return kueue::full_name(workload.name_space, workload.name);
}

KueueCase::OrderedJson KueueCase::names_of(const std::vector<kueue::WorkloadId>& ids) const {
  ordered_json names = ordered_json::array();
  for (const kueue::WorkloadId id : ids)
    names.push_back(name_of(id));
  return names;
}

KueueCase::OrderedJson KueueCase::admission_json(kueue::WorkloadId id) const {
  const kueue::Cache& cache = scheduler_->cache();
  const kueue::WorkloadInfo& workload = cache.workload(id);
  ordered_json sets = ordered_json::array();
  for (std::size_t i = 0; i < workload.given.size(); ++i) {
    ordered_json flavors = ordered_json::object();
    ordered_json usage = ordered_json::object();
    for (const kueue::GivenResource& each : workload.given[i].resources) {
      const std::string& resource = cache.resource_name(each.resource);
      flavors[resource] = cache.flavor_name(each.flavor);
      usage[resource] = kueue::quantity_text(each.amount, resource);
    }
    sets.push_back({{"name", cache.shape_of(id).pod_sets[i].name},
                    {"flavors", flavors},
                    {"usage", usage},
                    {"count", workload.given[i].count}});
  }
  return {{"cluster_queue", cache.queue(workload.queue).object.name}, {"pod_sets", sets}};
}

KueueCase::OrderedJson KueueCase::usage_json(const kueue::Usage& usage) const {
  const kueue::Cache& cache = scheduler_->cache();
  ordered_json list = ordered_json::array();
  for (const auto& [column, amount] : usage) {
    list.push_back({{"flavor", cache.flavor_name(cache.flavor_of(column))},
                    {"resource", cache.resource_name(cache.resource_of(column))},
                    {"amount", amount}});
  }
  return list;
}

bool states_kueue_case(const JsonDocument& document) {
  return document.root().is_object() && document.root().contains("kind");
}

Result<ordered_json> decide_kueue_case(const JsonDocument& document) {
  const json& root = document.root();
  JsonFields fields(document, root);
  const std::string name = fields.string("kind");
  fields.integer_or("version", 1, 1, 1);
  if (fields.error()) return fail(*fields.error());
  const auto kind = std::ranges::find(case_kinds(), name, &CaseKind::name);
  if (kind == case_kinds().end()) {
    std::vector<std::string_view> known;
    for (const CaseKind& each : case_kinds())
      known.push_back(each.name);
    return fail(document.error_at(root, "kind", expected_found("one of " + list_names(known), name)));
  }
  std::vector<std::string_view> keys = kind->keys;
  keys.insert(keys.end(), kCommonKeys.begin(), kCommonKeys.end());
  fields.allow_only(keys);
  if (fields.error()) return fail(*fields.error());

  KueueCase stated(document);
  ordered_json answer = kind->answer(stated);
  if (stated.has_failed()) return fail(*stated.reader().error());
  ordered_json result = {{"version", 1}, {"policy", "kueue"}, {"kind", name}};
  if (answer.is_object())
    result.update(answer);
  else
    result["answer"] = std::move(answer);
  return result;
}

}  // namespace vtrain
