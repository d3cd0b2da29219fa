#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "policies/tenants/kueue/fair_preemption.hpp"
#include "tools/experiment/kueue_case.hpp"

namespace vtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Prepares the tree with stated usage, and more amounts that name resources and flavors.
void prepare_usage(KueueCase& stated, const NamedUsage& usage, const std::vector<NamedAmount>& more) {
  stated.prepare([&](kueue::Cache& cache) {
    KueueCase::know(cache, usage);
    KueueCase::know(cache, {{"", more}});
  });
  stated.add_usage(usage);
}

/// Amounts of a node in all columns for which it has quota.
template <class Value>
kueue::Usage by_column(const KueueCase& /*stated*/, const kueue::QuotaTree& tree, kueue::NodeId node,
                       const Value& value) {
  kueue::Usage amounts;
  for (const kueue::FlavorResource column : tree.columns(node))
    amounts.emplace_back(column, value(node, column));
  return amounts;
}

/// Names of things in an order. Equal ones keep the order of the file.
template <class Thing, class Less>
ordered_json names_in_order(std::vector<Thing> things, const Less& less) {
  std::ranges::stable_sort(things, less);
  ordered_json names = ordered_json::array();
  for (const Thing& thing : things)
    names.push_back(thing.name);
  return names;
}

/// The queue of a case that is about one queue: `cq`, or the only one.
kueue::QueueId the_queue(KueueCase& stated) {
  if (const auto queue = stated.cache().find_queue("cq")) return *queue;
  if (stated.cache().queues().size() != 1)
    stated.reader().complain(stated.root(), "cluster_queues", "expected one ClusterQueue, or one named 'cq'");
  return 0;
}

std::int64_t priority_of(JsonFields& fields) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  return fields.integer_or("priority", -kMost, kMost, 0);
}

}  // namespace

ordered_json answer_available(KueueCase& stated) {
  const NamedUsage usage = stated.reader().usage(stated.root(), "usage");
  prepare_usage(stated, usage, {});
  if (stated.has_failed()) return {};
  const kueue::QuotaTree& tree = stated.cache().tree();
  ordered_json available = ordered_json::object();
  ordered_json potential = ordered_json::object();
  for (const kueue::QueueInfo& queue : stated.cache().queues()) {
    available[queue.object.name] =
        stated.usage_json(by_column(stated, tree, queue.node, [&](kueue::NodeId node, auto column) {
          return tree.available(node, column);
        }));
    potential[queue.object.name] =
        stated.usage_json(by_column(stated, tree, queue.node, [&](kueue::NodeId node, auto column) {
          return tree.potential(node, column);
        }));
  }
  return {{"available", available}, {"potential_available", potential}};
}

ordered_json answer_reserve(KueueCase& stated) {
  const NamedUsage usage = stated.reader().usage(stated.root(), "usage");
  const std::vector<NamedAmount> request = stated.reader().amounts(stated.root(), "request");
  prepare_usage(stated, usage, request);
  JsonFields fields(stated.reader().document(), stated.root());
  const auto mode =
      static_cast<kueue::AssignmentMode>(fields.choice_or("mode", kueue::kAssignmentModeNames, 1));
  const auto level = static_cast<std::int32_t>(fields.integer_or("borrowing_level", 0, 1000, 0));
  if (fields.error()) stated.reader().complain(stated.root(), "mode", fields.error()->message);
  if (stated.has_failed()) return {};
  const kueue::NodeId node = stated.cache().queue(the_queue(stated)).node;
  return stated.usage_json(
      kueue::reserved_quota(stated.cache().tree(), node, stated.columns_of(request), mode, level));
}

ordered_json answer_usage(KueueCase& stated) {
  stated.prepare();
  stated.add_workloads();
  if (stated.has_failed()) return {};
  kueue::Cache& cache = stated.cache();
  for (const kueue::WorkloadId id : stated.workloads_named(stated.root(), "remove")) {
    if (cache.workload(id).state == kueue::WorkloadState::Holding) cache.hide(id);
  }
  for (const kueue::WorkloadId id : stated.workloads_named(stated.root(), "add_back")) {
    if (cache.workload(id).state == kueue::WorkloadState::Holding) cache.show(id);
  }
  const kueue::QuotaTree& tree = cache.tree();
  ordered_json answer = ordered_json::object();
  for (kueue::NodeId node = 0; node < tree.num_nodes(); ++node) {
    answer[cache.node_name(node)] = stated.usage_json(
        by_column(stated, tree, node, [&](kueue::NodeId at, auto column) { return tree.usage(at, column); }));
  }
  return answer;
}

ordered_json answer_dominant_resource_share(KueueCase& stated) {
  const NamedUsage usage = stated.reader().usage(stated.root(), "usage");
  const std::vector<NamedAmount> extra = stated.reader().amounts(stated.root(), "extra_request");
  prepare_usage(stated, usage, extra);
  if (stated.has_failed()) return {};
  const kueue::Cache& cache = stated.cache();
  const kueue::Usage request = stated.columns_of(extra);
  ordered_json answer = ordered_json::array();
  for (kueue::NodeId node = 0; node < cache.tree().num_nodes(); ++node) {
    const kueue::DominantShare share = cache.shares().share(node, request);
    const double rounded = std::ceil(share.value());
    // The largest whole number stands for infinity, as Kueue writes it.
    const std::int64_t whole = rounded < 9e18 ? static_cast<std::int64_t>(rounded) : INT64_MAX;
    answer.push_back({{"node", cache.node_name(node)},
                      {"type", cache.tree().is_cluster_queue(node) ? "cluster_queue" : "cohort"},
                      {"share", whole},
                      {"dominant_resource",
                       share.dominant == kueue::kNoResource ? "" : cache.resource_name(share.dominant)},
                      {"borrowing", share.is_borrowing}});
  }
  return answer;
}

ordered_json answer_borrowing_on(KueueCase& stated) {
  const NamedUsage usage = stated.reader().usage(stated.root(), "usage");
  const std::vector<NamedAmount> requested = stated.reader().amounts(stated.root(), "requested");
  prepare_usage(stated, usage, requested);
  if (stated.has_failed()) return {};
  const kueue::QuotaTree& tree = stated.cache().tree();
  const kueue::NodeId node = stated.cache().queue(the_queue(stated)).node;
  const auto borrows = [&](kueue::FlavorResource column) {
    return tree.has_parent(node) && tree.has_quota(node, column) && tree.borrows(node, column);
  };
  const kueue::Usage request = stated.columns_of(requested);
  return {{"borrowing", std::ranges::any_of(tree.columns(node), borrows)},
          {"borrowing_on_requested", std::ranges::any_of(request, [&](const auto& each) {
             return each.second > 0 && borrows(each.first);
           })}};
}

ordered_json answer_victim_queue_order(KueueCase& stated) {
  stated.prepare();
  stated.add_workloads();
  if (stated.has_failed()) return {};
  const kueue::QueueId preemptor = stated.queue_under(stated.root(), "preemptor_cluster_queue");
  std::map<kueue::QueueId, std::vector<kueue::WorkloadId>> candidates;
  for (const std::string& name : stated.reader().strings(stated.root(), "candidate_cluster_queues")) {
    const auto queue = stated.cache().find_queue(name);
    if (!queue) {
      stated.reader().complain(stated.root(), "candidate_cluster_queues",
                               expected_found("the name of a ClusterQueue", name));
      break;
    }
    const auto& holders = stated.cache().holders(*queue);
    candidates[*queue].assign(holders.begin(), holders.end());
  }
  const std::vector<std::string> actions = stated.reader().strings(stated.root(), "actions");
  for (const std::string& action : actions) {
    if (action != "drop" && action != "pop")
      stated.reader().complain(stated.root(), "actions", expected_found("'drop' or 'pop'", action));
  }
  if (stated.has_failed()) return {};
  kueue::VictimQueues queues(stated.cache(), preemptor, std::move(candidates));
  ordered_json order = ordered_json::array();
  for (std::size_t round = 0; const auto queue = queues.next(); ++round) {
    order.push_back(stated.cache().queue(*queue).object.name);
    if (round < actions.size() && actions[round] == "drop")
      queues.drop(*queue);
    else
      queues.pop(*queue);
  }
  return order;
}

ordered_json answer_return_parked(KueueCase& stated) {
  stated.prepare();
  stated.add_workloads();
  if (stated.has_failed()) return {};
  std::size_t next = 0;
  stated.reader().each(stated.root(), "workloads", [&](const json& element) {
    const kueue::WorkloadInfo& workload = stated.cache().workload(static_cast<kueue::WorkloadId>(next));
    const auto parked = element.find("parked");
    if (parked != element.end() && *parked == true && workload.queue != kueue::kNone)
      stated.scheduler().waiting(workload.queue).park(static_cast<kueue::WorkloadId>(next), false);
    ++next;
  });
  for (const std::string& name : stated.reader().strings(stated.root(), "event_in_cluster_queues")) {
    // An event in a queue that does not exist returns nobody.
    if (const auto queue = stated.cache().find_queue(name)) stated.scheduler().return_parked(*queue);
  }
  ordered_json queued = ordered_json::object();
  for (kueue::QueueId queue = 0; queue < stated.cache().queues().size(); ++queue) {
    const kueue::WaitingQueue& waiting = stated.scheduler().waiting(queue);
    if (waiting.num_queued() > 0)
      queued[stated.cache().queue(queue).object.name] = stated.names_of(waiting.queued());
  }
  return {{"queued", queued}};
}

ordered_json answer_candidate_order(KueueCase& stated) {
  struct Named {
    std::string name;
    std::string uid;
    kueue::CandidateKey key;
  };
  std::vector<Named> candidates;
  JsonFields root(stated.reader().document(), stated.root());
  const std::string own = root.string("preemptor_cluster_queue");
  if (root.error()) stated.reader().complain(stated.root(), "preemptor_cluster_queue", root.error()->message);
  stated.reader().each(stated.root(), "candidates", [&](const json& element) {
    Named candidate;
    stated.reader().fields(
        element, {"name", "priority", "cluster_queue", "quota_reserved_at", "evicted", "uid", "created_at"},
        [&](JsonFields& each) {
          candidate.name = each.string("name");
          candidate.uid = each.string_or("uid", "");
          candidate.key = {.is_evicted = each.boolean_or("evicted", false),
                           .is_own_queue = each.string_or("cluster_queue", "") == own,
                           .priority = priority_of(each)};
        });
    candidate.key.reserved_at = stated.reader().instant(element, "quota_reserved_at", 0);
    candidates.push_back(std::move(candidate));
  });
  return names_in_order(std::move(candidates), [](const Named& a, const Named& b) {
    kueue::CandidateKey left = a.key;
    kueue::CandidateKey right = b.key;
    left.uid = a.uid;
    right.uid = b.uid;
    return kueue::comes_first(left, right);
  });
}

ordered_json answer_entry_order(KueueCase& stated) {
  struct Named {
    std::string name;
    kueue::EntryKey key;
  };
  std::vector<Named> entries;
  const kueue::Settings settings = stated.reader().settings(stated.root());
  stated.reader().each(stated.root(), "entries", [&](const json& element) {
    Named entry;
    stated.reader().fields(
        element,
        {"name", "created_at", "priority", "borrowing_level", "conditions", "waiting_for_its_preemptions"},
        [&](JsonFields& each) {
          entry.name = each.string("name");
          entry.key = {
              .borrowing_level = static_cast<std::int32_t>(each.integer_or("borrowing_level", 0, 1000, 0)),
              .priority = priority_of(each),
              .awaits_preemptions = each.boolean_or("waiting_for_its_preemptions", false)};
        });
    entry.key.queue_time = kueue::queue_time_of(stated.reader().instant(element, "created_at", 0),
                                                stated.reader().conditions(element, "conditions"), settings);
    entries.push_back(std::move(entry));
  });
  return names_in_order(std::move(entries), [&](const Named& a, const Named& b) {
    return kueue::comes_first(a.key, b.key, settings.gates);
  });
}

ordered_json answer_queue_order(KueueCase& stated) {
  struct Named {
    std::string name;
    std::string uid;
    std::int64_t priority;
    kueue::Instant queue_time;
  };
  std::vector<Named> workloads;
  const kueue::Settings settings = stated.reader().settings(stated.root());
  stated.reader().each(stated.root(), "workloads", [&](const json& element) {
    const kueue::Workload workload = stated.reader().workload(element, 0);
    kueue::QueueConditions conditions = workload.conditions;
    workloads.push_back({workload.name, workload.uid, workload.priority,
                         kueue::queue_time_of(workload.created_at, conditions, settings)});
  });
  return names_in_order(std::move(workloads), [](const Named& a, const Named& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.queue_time != b.queue_time) return a.queue_time < b.queue_time;
    return a.uid < b.uid;
  });
}

ordered_json answer_policy(KueueCase& stated) {
  struct Side {
    std::int64_t priority = 0;
    kueue::Instant queue_time = 0;
  };
  const kueue::Settings settings = stated.reader().settings(stated.root());
  const auto side = [&](std::string_view key) {
    Side read;
    if (!stated.root().contains(std::string(key))) {
      stated.reader().complain(stated.root(), key, "missing");
      return read;
    }
    const json& object = stated.root()[std::string(key)];
    stated.reader().fields(object, {"priority", "created_at", "conditions", "name", "uid"},
                           [&](JsonFields& each) { read.priority = priority_of(each); });
    read.queue_time = kueue::queue_time_of(stated.reader().instant(object, "created_at", 0),
                                           stated.reader().conditions(object, "conditions"), settings);
    return read;
  };
  const Side preemptor = side("preemptor");
  const Side candidate = side("candidate");
  JsonFields fields(stated.reader().document(), stated.root());
  const auto policy =
      static_cast<kueue::PreemptionPolicy>(fields.choice_or("policy", kueue::kPreemptionPolicyNames, 0));
  if (fields.error()) stated.reader().complain(stated.root(), "policy", fields.error()->message);
  return kueue::policy_allows(policy, preemptor.priority, preemptor.queue_time, candidate.priority,
                              candidate.queue_time);
}

ordered_json answer_prefer(KueueCase& stated) {
  constexpr std::array<std::string_view, 5> kModes = {"noFit", "noCandidates", "preempt", "reclaim", "fit"};
  const auto side = [&](std::string_view key) {
    kueue::GranularMode mode;
    if (!stated.root().contains(std::string(key))) {
      stated.reader().complain(stated.root(), key, "missing");
      return mode;
    }
    stated.reader().fields(
        stated.root()[std::string(key)], {"mode", "borrowing_level"}, [&](JsonFields& each) {
          mode.mode = static_cast<kueue::FlavorMode>(each.choice_or("mode", kModes, 0));
          mode.borrowing_level = static_cast<std::int32_t>(each.integer_or("borrowing_level", 0, 1000, 0));
        });
    return mode;
  };
  JsonFields fields(stated.reader().document(), stated.root());
  const auto preference = static_cast<kueue::FungibilityPreference>(
      fields.choice_or("preference", kueue::kFungibilityPreferenceNames, 0));
  if (fields.error()) stated.reader().complain(stated.root(), "preference", fields.error()->message);
  const kueue::GranularMode a = side("a");
  const kueue::GranularMode b = side("b");
  return kueue::is_preferred(a, b, preference);
}

ordered_json answer_progress(KueueCase& stated) {
  const kueue::Settings settings = stated.reader().settings(stated.root());
  std::map<std::string, std::uint64_t> shapes;
  const auto side = [&](std::string_view key) {
    kueue::ProgressCheck check;
    if (!stated.root().contains(std::string(key))) {
      stated.reader().complain(stated.root(), key, "missing");
      return check;
    }
    stated.reader().fields(
        stated.root()[std::string(key)], {"cycle", "generation", "shape"}, [&](JsonFields& each) {
          constexpr std::int64_t kMost = 1'000'000'000'000;
          check.cycle = each.integer("cycle", 0, kMost);
          check.generation = static_cast<std::uint64_t>(each.integer("generation", 0, kMost));
          if (each.has("shape"))
            check.shape = shapes.try_emplace(each.string("shape"), shapes.size()).first->second;
        });
    return check;
  };
  const kueue::ProgressCheck record = side("record");
  const kueue::ProgressCheck now = side("now");
  return kueue::is_progress_kept(record, now, settings.gates) ? "kept" : "dropped";
}

ordered_json answer_requeue(KueueCase& stated) {
  const kueue::Settings settings = stated.reader().settings(stated.root());
  JsonFields fields(stated.reader().document(), stated.root());
  const auto strategy = static_cast<kueue::QueueingStrategy>(
      fields.choice_or("queueing_strategy", kueue::kQueueingStrategyNames, 1));
  const auto reason =
      static_cast<kueue::RequeueReason>(fields.choice_or("reason", kueue::kRequeueReasonNames, 0));
  if (fields.error()) stated.reader().complain(stated.root(), "reason", fields.error()->message);
  bool has_more = false;
  stated.reader().each(stated.root(), "last_tried_index", [&](const json& element) {
    if (!element.is_object())
      return stated.reader().complain(element, "", expected_found("indices by resource", element.dump()));
    for (const auto& item : element.items()) {
      const auto index = parse_integer(item.value().is_number() ? item.value().dump() : "", -1, 1'000'000);
      if (!index)
        return stated.reader().complain(item.value(), "",
                                        expected_found("an index or -1", item.value().dump()));
      has_more = has_more || *index != -1;
    }
  });
  const kueue::RequeuePlace place = kueue::place_after(strategy, reason, has_more, settings.gates);
  return {{"place", place.is_parked ? "parked" : "queue"},
          {"head_next_time", place.stays_head},
          {"parks_same_shape", place.parks_same_shape}};
}

}  // namespace vtrain
