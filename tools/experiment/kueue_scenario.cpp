#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "tools/experiment/kueue_case.hpp"

namespace vtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr kueue::Instant kSecond = 1'000'000'000;
constexpr std::int64_t kMostCount = 1'000'000;

/// What steps do.
constexpr std::array<std::string_view, 13> kDeeds = {
    "create",      "finish", "delete",        "finish_eviction", "finish_in",       "finish_eviction_in",
    "reclaimable", "wait",   "cluster_queue", "cohort",          "resource_flavor", "local_queue",
    "namespace"};

/// Runs the steps of a scenario.
class ScenarioRun {
 public:
  explicit ScenarioRun(KueueCase& stated) : stated_(stated), reader_(stated.reader()) {}

  ordered_json run() {
    stated_.prepare([&](kueue::Cache& cache) { know_later_objects(cache); });
    if (stated_.has_failed()) return {};
    stated_.add_workloads();
    settle();
    ordered_json steps = ordered_json::array();
    std::int64_t number = 0;
    reader_.each(stated_.root(), "steps", [&](const json& step) {
      if (step.is_object() && step.contains("expect")) {
        ordered_json holds = {{"step", number}};
        holds.update(look(step));
        steps.push_back(std::move(holds));
      } else {
        act(step);
      }
      ++number;
    });
    return {{"steps", steps}};
  }

 private:
  kueue::Scheduler& scheduler() { return stated_.scheduler(); }
  kueue::Cache& cache() { return stated_.cache(); }

  /// Names in objects that come later are numbered with the first.
  void know_later_objects(kueue::Cache& cache) {
    reader_.each(stated_.root(), "steps", [&](const json& step) {
      const std::string deed = KueueCaseReader::text_of(step, "do");
      if (deed == "create" && step.contains("workload")) {
        KueueCase::know(cache, reader_.workload(step["workload"], 0));
      } else if (step.is_object() && step.contains("object")) {
        const json& object = step["object"];
        if (deed == "cluster_queue") cache.know(reader_.cluster_queue(object).resource_groups);
        if (deed == "cohort") cache.know(reader_.cohort(object).resource_groups);
        if (deed == "resource_flavor") cache.know_flavor(reader_.resource_flavor(object).name);
      }
    });
  }

  void settle() {
    if (stated_.has_failed()) return;
    kueue::run_until_stable(scheduler(), now_, [](const kueue::CycleResult&) {});
  }

  const json& object_of(const json& step, std::string_view key) {
    if (step.contains(std::string(key))) return step[std::string(key)];
    reader_.complain(step, key, "missing");
    return step;
  }

  void act(const json& step) {
    now_ += kSecond;
    reader_.fields(step,
                   {"do", "workload", "workloads", "cluster_queue", "count", "seconds", "object", "pods",
                    "reclaimable_pods", "namespace", "labels", "note"},
                   [](JsonFields&) {});
    if (stated_.has_failed()) return;
    JsonFields fields(reader_.document(), step);
    const std::string deed = fields.string("do");
    if (std::ranges::count(kDeeds, deed) == 0)
      return reader_.complain(step, "do", expected_found("one of " + list_names(kDeeds), deed));
    if (deed == "create") {
      const json& object = object_of(step, "workload");
      if (!stated_.has_failed()) stated_.add_workload(object, reader_.workload(object, now_));
    } else if (deed == "finish" || deed == "delete") {
      for (const kueue::WorkloadId id : named(step))
        scheduler().remove(id);
    } else if (deed == "finish_eviction") {
      for (const kueue::WorkloadId id : named(step)) {
        if (cache().workload(id).is_evicted) scheduler().finish_eviction(id);
      }
    } else if (deed == "finish_in") {
      finish_in(step);
    } else if (deed == "finish_eviction_in") {
      return finish_eviction_in(step);
    } else if (deed == "reclaimable") {
      reclaim(step);
    } else if (deed == "wait") {
      now_ += reader_.instant(step, "seconds", 0);
    } else {
      change_object(step, deed);
    }
    settle();
  }

  /// Workloads under `workloads` or `workload`.
  std::vector<kueue::WorkloadId> named(const json& step) {
    if (!step.contains("workload")) return stated_.workloads_named(step, "workloads");
    if (!step["workload"].is_string()) {
      reader_.complain(step, "workload", expected_found("the name of a workload", step["workload"].dump()));
      return {};
    }
    const kueue::WorkloadId id =
        stated_.workload_named(step, "workload", step["workload"].get<std::string>());
    return id == kueue::kNone ? std::vector<kueue::WorkloadId>{} : std::vector{id};
  }

  std::int64_t count_of(const json& step) {
    JsonFields fields(reader_.document(), step);
    const std::int64_t count = fields.integer("count", 0, kMostCount);
    if (fields.error()) reader_.complain(step, "count", fields.error()->message);
    return count;
  }

  /// Holders of a queue, in the order of their creation.
  std::vector<kueue::WorkloadId> holders(kueue::QueueId queue, bool evicted) {
    std::vector<kueue::WorkloadId> ids;
    for (const kueue::WorkloadId id : cache().holders(queue)) {
      if (cache().workload(id).is_evicted == evicted) ids.push_back(id);
    }
    std::ranges::sort(ids);
    return ids;
  }

  void finish_in(const json& step) {
    const kueue::QueueId queue = stated_.queue_under(step, "cluster_queue");
    const std::int64_t count = count_of(step);
    if (stated_.has_failed()) return;
    std::vector<kueue::WorkloadId> running = holders(queue, false);
    running.resize(std::min<std::size_t>(running.size(), static_cast<std::size_t>(count)));
    for (const kueue::WorkloadId id : running)
      scheduler().remove(id);
  }

  /// Ends evictions one after another as they come up.
  void finish_eviction_in(const json& step) {
    const kueue::QueueId queue = stated_.queue_under(step, "cluster_queue");
    const std::int64_t count = count_of(step);
    for (std::int64_t i = 0; i < count && !stated_.has_failed(); ++i) {
      const std::vector<kueue::WorkloadId> victims = holders(queue, true);
      if (victims.empty()) return;
      scheduler().finish_eviction(victims.front());
      now_ += kSecond;
      settle();
    }
  }

  void reclaim(const json& step) {
    const std::vector<kueue::WorkloadId> ids = named(step);
    const std::string_view key = step.contains("pods") ? "pods" : "reclaimable_pods";
    if (stated_.has_failed() || ids.empty()) return;
    const auto& sets = cache().shape_of(ids.front()).pod_sets;
    std::vector<std::int64_t> pods = cache().workload(ids.front()).reclaimable;
    pods.resize(sets.size());
    reader_.each_member(step, key, [&](const std::string& name, const json& value) {
      const auto set = std::ranges::find(sets, name, &kueue::PodSetSpec::name);
      if (set == sets.end())
        return reader_.complain(value, "", expected_found("the name of a pod set", name));
      const auto count = parse_integer(value.is_number() ? value.dump() : "", 0, set->count);
      if (!count) return reader_.complain(value, "", expected_found("a number of pods", value.dump()));
      pods[static_cast<std::size_t>(set - sets.begin())] = *count;
    });
    if (!stated_.has_failed()) scheduler().set_reclaimable(ids.front(), std::move(pods));
  }

  void change_object(const json& step, std::string_view deed) {
    const json& object = object_of(step, "object");
    if (stated_.has_failed()) return;
    if (deed == "cluster_queue") {
      cache().set(reader_.cluster_queue(object));
    } else if (deed == "cohort") {
      const kueue::Cohort cohort = reader_.cohort(object);
      cohorts_.push_back(cohort);
      std::vector<kueue::Cohort> all = reader_.objects(stated_.root()).cohorts;
      all.insert(all.end(), cohorts_.begin(), cohorts_.end());
      if (const auto problem = kueue::find_cohort_problem(all))
        return reader_.complain(step, "object", problem->message);
      cache().set(cohort);
    } else if (deed == "resource_flavor") {
      cache().set(reader_.resource_flavor(object));
    } else if (deed == "local_queue") {
      cache().set(reader_.local_queue(object));
    } else {
      reader_.fields(object, {"name", "labels"}, [&](JsonFields& each) {
        cache().set_namespace(each.string("name"), reader_.labels(object, "labels"));
      });
    }
    if (cache().is_too_large()) reader_.complain(step, "object", "is one more than can be decided together");
    if (!stated_.has_failed()) scheduler().objects_changed();
  }

  /// What holds of a step that expects something: its keys with what is the case.
  ordered_json look(const json& step) {
    reader_.fields(step,
                   {"expect", "workload", "workloads", "cluster_queue", "cohort", "count", "queued", "parked",
                    "share", "admission", "note"},
                   [](JsonFields&) {});
    if (stated_.has_failed()) return {};
    JsonFields fields(reader_.document(), step);
    const std::string what = fields.string("expect");
    ordered_json holds = {{"expect", what}};
    if (what == "quota_reserved" || what == "admitted" || what == "pending" || what == "being_evicted" ||
        what == "admitted_count") {
      look_at_workloads(step, what, holds);
    } else if (what == "holding_count" || what == "pending_counts") {
      look_at_queue(step, what, holds);
    } else if (what == "share") {
      look_at_share(step, holds);
    } else if (what == "admission") {
      const std::vector<kueue::WorkloadId> ids = named(step);
      if (stated_.has_failed() || ids.empty()) return {};
      holds["workload"] = stated_.name_of(ids.front());
      const bool is_holding = cache().workload(ids.front()).state == kueue::WorkloadState::Holding;
      holds["admission"] = is_holding ? stated_.admission_json(ids.front()) : ordered_json();
    } else {
      constexpr std::array<std::string_view, 9> kLooks = {"quota_reserved", "admitted",       "pending",
                                                          "being_evicted",  "admitted_count", "holding_count",
                                                          "pending_counts", "share",          "admission"};
      reader_.complain(step, "expect", expected_found("one of " + list_names(kLooks), what));
    }
    return holds;
  }

  void look_at_workloads(const json& step, const std::string& what, ordered_json& holds) {
    const bool names_queue = step.contains("cluster_queue");
    const kueue::QueueId queue = names_queue ? stated_.queue_under(step, "cluster_queue") : kueue::kNone;
    std::vector<kueue::WorkloadId> ids;
    for (const kueue::WorkloadId id : named(step)) {
      const kueue::WorkloadInfo& workload = cache().workload(id);
      const bool is_holding = workload.state == kueue::WorkloadState::Holding;
      const bool is_here = !names_queue || workload.queue == queue;
      const bool is_so = what == "pending"         ? !is_holding
                         : what == "being_evicted" ? is_holding && workload.is_evicted
                                                   : is_holding && is_here;
      if (is_so) ids.push_back(id);
    }
    if (names_queue) holds["cluster_queue"] = step["cluster_queue"];
    if (what == "admitted_count") {
      holds["count"] = ids.size();
      holds["workloads"] = step.value("workloads", json::array());
    } else if (step.contains("workload")) {
      holds["workload"] = ids.empty() ? ordered_json() : ordered_json(stated_.name_of(ids.front()));
    } else {
      holds["workloads"] = stated_.names_of(ids);
    }
  }

  void look_at_queue(const json& step, const std::string& what, ordered_json& holds) {
    const kueue::QueueId queue = stated_.queue_under(step, "cluster_queue");
    if (stated_.has_failed()) return;
    holds["cluster_queue"] = cache().queue(queue).object.name;
    if (what == "holding_count") {
      holds["count"] = cache().holders(queue).size();
      return;
    }
    const kueue::WaitingQueue& waiting = scheduler().waiting(queue);
    const bool is_active = cache().queue(queue).is_active;
    holds["queued"] = is_active ? waiting.num_queued() : 0;
    holds["parked"] = waiting.num_parked() + (is_active ? 0 : waiting.num_queued());
  }

  void look_at_share(const json& step, ordered_json& holds) {
    const std::string key = step.contains("cohort") ? "cohort" : "cluster_queue";
    const auto node = step.contains(key) && step[key].is_string()
                          ? cache().find_node(step[key].get<std::string>())
                          : std::nullopt;
    if (!node) return reader_.complain(step, key, "expected the name of a ClusterQueue or Cohort");
    holds[key] = step[key];
    const double share = cache().shares().share(*node).value();
    if (std::isinf(share))
      holds["share"] = INT64_MAX;
    else
      holds["share"] = share;
  }

  KueueCase& stated_;
  KueueCaseReader& reader_;
  kueue::Instant now_ = 0;
  std::vector<kueue::Cohort> cohorts_;  ///< made by steps
};

}  // namespace

ordered_json answer_scenario(KueueCase& stated) {
  return ScenarioRun(stated).run();
}

}  // namespace vtrain
