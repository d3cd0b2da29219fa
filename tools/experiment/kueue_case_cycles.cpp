#include <algorithm>

#include "core/base/numbers.hpp"
#include "tools/experiment/kueue_case.hpp"

namespace vtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Answers of a stated search for victims instead of the real one.
class StatedOracle : public kueue::PreemptionOracle {
 public:
  StatedOracle(KueueCase& stated) : stated_(stated) {
    const json& root = stated.root();
    const auto found = root.find("simulated_preemption");
    if (found == root.end()) return;
    KueueCaseReader& reader = stated.reader();
    reader.fields(*found, {"default", "overrides"}, [](JsonFields&) {});
    if (found->is_object() && found->contains("default")) default_ = answer((*found)["default"]);
    reader.each(*found, "overrides", [&](const json& element) {
      const kueue::GranularMode mode = answer(element);
      overrides_.push_back(
          {KueueCaseReader::text_of(element, "flavor"), KueueCaseReader::text_of(element, "resource"), mode});
    });
  }

  kueue::GranularMode simulate(kueue::FlavorResource column, kueue::Amount /*demand*/) override {
    const kueue::Cache& cache = stated_.cache();
    for (const Override& each : overrides_) {
      if (cache.flavor_name(cache.flavor_of(column)) == each.flavor &&
          cache.resource_name(cache.resource_of(column)) == each.resource) {
        return each.mode;
      }
    }
    return default_;
  }

 private:
  struct Override {
    std::string flavor;
    std::string resource;
    kueue::GranularMode mode;
  };

  kueue::GranularMode answer(const json& object) {
    kueue::GranularMode mode{kueue::FlavorMode::NoCandidates, 0};
    stated_.reader().fields(
        object, {"result", "borrowing_after", "flavor", "resource"}, [&](JsonFields& each) {
          constexpr std::array<std::string_view, 3> kResults = {"NoCandidates", "Preempt", "Reclaim"};
          mode.mode = static_cast<kueue::FlavorMode>(1 + each.choice_or("result", kResults, 0));
          mode.borrowing_level = static_cast<std::int32_t>(each.integer_or("borrowing_after", 0, 1000, 0));
          if (each.has("flavor")) each.string("flavor");
          if (each.has("resource")) each.string("resource");
        });
    return mode;
  }

  KueueCase& stated_;
  kueue::GranularMode default_{kueue::FlavorMode::NoCandidates, 0};
  std::vector<Override> overrides_;
};

ordered_json victims_json(const KueueCase& stated, const std::vector<kueue::Victim>& victims) {
  ordered_json object = ordered_json::object();
  for (const kueue::Victim& victim : victims)
    object[stated.name_of(victim.workload)] =
        kueue::kPreemptionReasonNames[static_cast<std::size_t>(victim.reason)];
  return object;
}

ordered_json admissions_json(const KueueCase& stated, const std::vector<kueue::WorkloadId>& ids) {
  ordered_json object = ordered_json::object();
  for (const kueue::WorkloadId id : ids)
    object[stated.name_of(id)] = stated.admission_json(id);
  return object;
}

ordered_json reasons_json(KueueCase& stated) {
  ordered_json reasons = ordered_json::object();
  for (kueue::WorkloadId id = 0; id < stated.cache().num_workloads(); ++id) {
    const kueue::WorkloadInfo& workload = stated.cache().workload(id);
    if (workload.state == kueue::WorkloadState::Waiting &&
        workload.pending_reason != kueue::PendingReason::None)
      reasons[stated.name_of(id)] =
          kueue::kPendingReasonNames[static_cast<std::size_t>(workload.pending_reason)];
  }
  return reasons;
}

/// True if a LocalQueue leads to a queue, or a workload holds its quota.
bool serves_workloads(KueueCase& stated, kueue::QueueId queue) {
  if (!stated.cache().holders(queue).empty() || stated.scheduler().waiting(queue).num_queued() > 0)
    return true;
  const json& root = stated.root();
  const auto found = root.find("local_queues");
  return found != root.end() && std::ranges::any_of(*found, [&](const json& each) {
           return KueueCaseReader::text_of(each, "cluster_queue") == stated.cache().queue(queue).object.name;
         });
}

}  // namespace

ordered_json answer_cycle(KueueCase& stated) {
  stated.prepare();
  stated.add_workloads();
  if (stated.has_failed()) return {};
  const kueue::CycleResult result = stated.scheduler().run_cycle(0);
  ordered_json pending = ordered_json::object();
  ordered_json inadmissible = ordered_json::object();
  ordered_json skipped = ordered_json::object();
  for (kueue::QueueId queue = 0; queue < stated.cache().queues().size(); ++queue) {
    const std::string& name = stated.cache().queue(queue).object.name;
    const kueue::WaitingQueue& waiting = stated.scheduler().waiting(queue);
    if (waiting.num_queued() > 0) pending[name] = stated.names_of(waiting.queued());
    if (waiting.num_parked() > 0) inadmissible[name] = stated.names_of(waiting.parked());
    if (serves_workloads(stated, queue)) skipped[name] = result.skipped_preemptions[queue];
  }
  return {{"admitted", admissions_json(stated, result.admitted)},
          {"preempted", victims_json(stated, result.evicted)},
          {"pending", pending},
          {"inadmissible", inadmissible},
          {"pending_reason", reasons_json(stated)},
          {"skipped_preemptions", skipped}};
}

ordered_json answer_two_cycles(KueueCase& stated) {
  stated.prepare();
  stated.add_workloads();
  const auto removed = stated.has_failed() ? std::vector<kueue::WorkloadId>{}
                                           : stated.workloads_named(stated.root(), "removed_between_cycles");
  if (stated.has_failed()) return {};
  const kueue::CycleResult first = stated.scheduler().run_cycle(0);
  ordered_json first_json = {{"admitted", admissions_json(stated, first.admitted)},
                             {"preempted", victims_json(stated, first.evicted)},
                             {"pending_reason", reasons_json(stated)}};
  for (const kueue::WorkloadId id : removed)
    stated.scheduler().remove(id);
  stated.scheduler().run_cycle(1'000'000'000);
  std::vector<kueue::WorkloadId> holders;
  for (kueue::WorkloadId id = 0; id < stated.cache().num_workloads(); ++id) {
    if (stated.cache().workload(id).state == kueue::WorkloadState::Holding) holders.push_back(id);
  }
  return {{"first_cycle", first_json}, {"holding_quota_after_second", admissions_json(stated, holders)}};
}

ordered_json answer_preemption_targets(KueueCase& stated) {
  KueueCaseReader& reader = stated.reader();
  const json& root = stated.root();
  if (!root.contains("incoming")) reader.complain(root, "incoming", "missing");
  if (stated.has_failed()) return {};
  const kueue::Workload incoming = reader.workload(root["incoming"], 0);
  /// A resource of a pod set with its flavor.
  struct Wanted {
    kueue::Amount amount;
    std::string flavor;
    std::string resource;
    bool needs_room;
  };
  std::vector<Wanted> wanted;
  reader.each(root, "incoming_assignment", [&](const json& element) {
    std::int64_t count = -1;
    std::string name;
    reader.fields(element, {"name", "count", "flavors"}, [&](JsonFields& each) {
      name = each.string("name");
      count = each.integer_or("count", 0, 1'000'000'000, -1);
    });
    const auto set = std::ranges::find(incoming.pod_sets, name, &kueue::PodSet::name);
    if (set == incoming.pod_sets.end())
      return reader.complain(element, "name", expected_found("the name of a pod set", name));
    if (count < 0) count = std::max<std::int64_t>(0, set->count - set->reclaimable);
    reader.each_member(element, "flavors", [&](const std::string& resource, const json& value) {
      const auto request =
          std::ranges::find(set->requests, resource, &std::pair<std::string, kueue::Amount>::first);
      const kueue::Amount one = request != set->requests.end() ? request->second
                                : resource == "pods"           ? kueue::Amount{1}
                                                               : 0;
      reader.fields(value, {"flavor", "mode"}, [&](JsonFields& each) {
        const std::size_t mode = each.choice_or("mode", kueue::kAssignmentModeNames, 1);
        wanted.push_back({kueue::multiply(one, count), each.string("flavor"), resource, mode == 1});
      });
    });
  });
  stated.prepare([&](kueue::Cache& cache) {
    KueueCase::know(cache, incoming);
    for (const Wanted& each : wanted) {
      cache.know_flavor(each.flavor);
      cache.know_resource(each.resource);
    }
  });
  stated.add_workloads();
  if (stated.has_failed()) return {};
  kueue::Preemptor preemptor{.queue = stated.queue_under(root["incoming"], "cluster_queue"),
                             .priority = incoming.priority,
                             .queue_time = kueue::queue_time_of(incoming.created_at, incoming.conditions,
                                                                stated.cache().settings())};
  if (stated.has_failed()) return {};
  for (const Wanted& each : wanted) {
    const auto column = stated.cache().column(*stated.cache().find_flavor(each.flavor),
                                              *stated.cache().find_resource(each.resource));
    kueue::add_to(preemptor.demands, column, each.amount);
    if (each.needs_room && std::ranges::count(preemptor.columns, column) == 0)
      preemptor.columns.push_back(column);
  }
  const auto victims = kueue::find_victims(stated.cache(), preemptor);
  return {{"preempted", victims_json(stated, victims)}, {"preempted_count", victims.size()}};
}

ordered_json answer_flavor_assignment(KueueCase& stated) {
  KueueCaseReader& reader = stated.reader();
  const json& root = stated.root();
  if (!root.contains("incoming")) reader.complain(root, "incoming", "missing");
  if (stated.has_failed()) return {};
  const kueue::Workload incoming = reader.workload(root["incoming"], 0);
  const NamedUsage usage = reader.usage(root, "usage");
  stated.prepare([&](kueue::Cache& cache) {
    KueueCase::know(cache, incoming);
    KueueCase::know(cache, usage);
  });
  stated.add_usage(usage);
  if (stated.has_failed()) return {};
  StatedOracle oracle(stated);
  const kueue::QueueId queue = stated.queue_under(root["incoming"], "cluster_queue");
  if (stated.has_failed()) return {};
  kueue::Cache& cache = stated.cache();
  const kueue::WorkloadId id = cache.add(incoming);
  const kueue::Assignment assignment = kueue::assign_flavors(cache, {.workload = id, .queue = queue}, oracle);

  ordered_json sets = ordered_json::array();
  for (std::size_t i = 0; i < assignment.pod_sets.size(); ++i) {
    ordered_json flavors = ordered_json::object();
    for (const kueue::ResourceAssignment& each : assignment.pod_sets[i].resources) {
      flavors[cache.resource_name(each.resource)] = {
          {"flavor", cache.flavor_name(each.flavor)},
          {"mode", kueue::kAssignmentModeNames[static_cast<std::size_t>(each.mode)]},
          {"last_tried_index", each.last_tried_index}};
    }
    sets.push_back({{"name", cache.shape_of(id).pod_sets[i].name},
                    {"count", assignment.pod_sets[i].count},
                    {"flavors", flavors}});
  }
  ordered_json answer = {{"mode", kueue::kAssignmentModeNames[static_cast<std::size_t>(assignment.mode)]},
                         {"borrowing", assignment.borrowing_level},
                         {"pod_sets", sets},
                         {"usage", stated.usage_json(assignment.usage)}};
  if (assignment.mode == kueue::AssignmentMode::NoFit)
    answer["no_fit_reason"] = kueue::kPendingReasonNames[static_cast<std::size_t>(assignment.no_fit_reason)];
  return answer;
}

}  // namespace vtrain
