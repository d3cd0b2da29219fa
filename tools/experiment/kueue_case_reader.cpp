#include "tools/experiment/kueue_case_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"

namespace vtrain {
namespace {

using kueue::Amount;
using nlohmann::json;

constexpr std::string_view kQuantity = "a quantity of 0 or more as a string, such as \"500m\" or \"3Gi\"";
constexpr std::int64_t kMostPods = 1'000'000'000;
constexpr std::int64_t kMostPriority = std::int64_t{1} << 40;
constexpr std::int64_t kSecondsToNanoseconds = 1'000'000'000;

/// The value under a key; null if it is missing or null.
const json* member(const json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

template <class Value, std::size_t kSize>
Value choice(JsonFields& fields, std::string_view key, const std::array<std::string_view, kSize>& names,
             Value absent) {
  return static_cast<Value>(fields.choice_or(key, names, static_cast<std::size_t>(absent)));
}

}  // namespace

void KueueCaseReader::complain(const Json& object, std::string_view key, std::string message) {
  if (!error_) error_ = document_.error_at(object, key, std::move(message));
}

void KueueCaseReader::fields(const Json& object, std::initializer_list<std::string_view> keys,
                             const std::function<void(JsonFields&)>& read) {
  if (error_) return;
  JsonFields fields(document_, object);
  const std::vector<std::string_view> known(keys);
  fields.allow_only(known);
  if (!fields.error()) read(fields);
  if (!error_) error_ = fields.error();
}

void KueueCaseReader::each(const Json& object, std::string_view key,
                           const std::function<void(const Json&)>& read) {
  const json* const list = member(object, key);
  if (error_ || list == nullptr) return;
  if (!list->is_array()) return complain(object, key, expected_found("a list", list->dump()));
  for (const json& element : *list) {
    if (!error_) read(element);
  }
}

void KueueCaseReader::each_member(const Json& object, std::string_view key,
                                  const std::function<void(const std::string&, const Json&)>& read) {
  const json* const value = member(object, key);
  if (error_ || value == nullptr) return;
  if (!value->is_object()) return complain(object, key, expected_found("an object", value->dump()));
  for (const auto& item : value->items()) {
    if (!error_) read(item.key(), item.value());
  }
}

std::vector<std::string> KueueCaseReader::strings(const Json& object, std::string_view key) {
  std::vector<std::string> all;
  each(object, key, [&](const json& element) {
    if (!element.is_string()) return complain(element, "", expected_found("a string", element.dump()));
    all.push_back(element.get<std::string>());
  });
  return all;
}

kueue::Labels KueueCaseReader::labels(const Json& object, std::string_view key) {
  kueue::Labels all;
  each_member(object, key, [&](const std::string& name, const json& value) {
    if (!value.is_string()) return complain(value, "", expected_found("a string", value.dump()));
    all[name] = value.get<std::string>();
  });
  return all;
}

std::string KueueCaseReader::text_of(const Json& object, const std::string& key) {
  const json* const value = member(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

kueue::Instant KueueCaseReader::instant(const Json& object, std::string_view key, kueue::Instant absent) {
  const json* const value = member(object, key);
  if (error_ || value == nullptr) return absent;
  const auto parsed = parse_seconds_as_ns(value->is_number() ? value->dump() : "");
  if (!parsed) complain(object, key, expected_found("a time in seconds", value->dump()));
  return parsed.value_or(0);
}

Amount KueueCaseReader::quantity(const Json& object, std::string_view key, std::string_view resource) {
  const json* const value = member(object, key);
  if (error_ || value == nullptr) return 0;
  const auto parsed =
      value->is_string() ? kueue::parse_quantity(value->get<std::string>(), resource) : std::nullopt;
  if (!parsed || *parsed < 0) {
    complain(object, key, expected_found(kQuantity, value->dump()));
    return 0;
  }
  return *parsed;
}

double KueueCaseReader::weight(const Json& object) {
  const json* const value = member(object, "fair_weight");
  if (error_ || value == nullptr) return 1;
  const auto parsed =
      value->is_string() ? kueue::parse_decimal_quantity(value->get<std::string>()) : std::nullopt;
  if (!parsed || *parsed < 0)
    complain(object, "fair_weight", expected_found("a quantity of 0 or more as a string", value->dump()));
  return parsed.value_or(1);
}

kueue::FlavorQuotas KueueCaseReader::flavor_quotas(const Json& object) {
  kueue::FlavorQuotas quotas;
  fields(object, {"flavor", "resources"},
         [&](JsonFields& flavor) { quotas.flavor = flavor.string("flavor"); });
  each(object, "resources", [&](const json& element) {
    fields(element, {"name", "nominal", "borrowing_limit", "lending_limit"}, [&](JsonFields& resource) {
      kueue::ResourceQuota& quota = quotas.resources.emplace_back();
      quota.resource = resource.string("name");
      quota.nominal = quantity(element, "nominal", quota.resource);
      if (resource.has("borrowing_limit"))
        quota.borrowing_limit = quantity(element, "borrowing_limit", quota.resource);
      if (resource.has("lending_limit"))
        quota.lending_limit = quantity(element, "lending_limit", quota.resource);
    });
  });
  return quotas;
}

std::vector<kueue::ResourceGroup> KueueCaseReader::resource_groups(const Json& object) {
  std::vector<kueue::ResourceGroup> groups;
  each(object, "resource_groups", [&](const json& element) {
    fields(element, {"covered_resources", "flavors"}, [](JsonFields&) {});
    kueue::ResourceGroup& group = groups.emplace_back();
    group.covered_resources = strings(element, "covered_resources");
    each(element, "flavors", [&](const json& flavor) { group.flavors.push_back(flavor_quotas(flavor)); });
  });
  return groups;
}

kueue::PreemptionRules KueueCaseReader::preemption(const Json& object) {
  kueue::PreemptionRules rules;
  fields(object, {"within_cluster_queue", "reclaim_within_cohort", "borrow_within_cohort"},
         [&](JsonFields& each) {
           rules.within_cluster_queue = choice(each, "within_cluster_queue", kueue::kPreemptionPolicyNames,
                                               kueue::PreemptionPolicy::Never);
           rules.reclaim_within_cohort = choice(each, "reclaim_within_cohort", kueue::kPreemptionPolicyNames,
                                                kueue::PreemptionPolicy::Never);
         });
  const json* const borrow = member(object, "borrow_within_cohort");
  if (borrow == nullptr) return rules;
  fields(*borrow, {"policy", "max_priority_threshold"}, [&](JsonFields& each) {
    constexpr std::array<std::string_view, 2> kPolicies = {"Never", "LowerPriority"};
    rules.borrow_within_cohort.is_allowed = each.choice_or("policy", kPolicies, 0) == 1;
    if (each.has("max_priority_threshold")) {
      rules.borrow_within_cohort.max_priority_threshold =
          each.integer("max_priority_threshold", -kMostPriority, kMostPriority);
    }
  });
  return rules;
}

kueue::FlavorFungibility KueueCaseReader::fungibility(const Json& object) {
  kueue::FlavorFungibility rules;
  fields(object, {"when_can_borrow", "when_can_preempt", "preference"}, [&](JsonFields& each) {
    rules.when_can_borrow = choice(each, "when_can_borrow", kueue::kFungibilityNames, rules.when_can_borrow);
    rules.when_can_preempt =
        choice(each, "when_can_preempt", kueue::kFungibilityNames, rules.when_can_preempt);
    rules.preference = choice(each, "preference", kueue::kFungibilityPreferenceNames, rules.preference);
  });
  return rules;
}

kueue::LabelExpression KueueCaseReader::expression(const Json& object) {
  kueue::LabelExpression expression;
  fields(object, {"key", "operator", "values"}, [&](JsonFields& each) {
    expression.key = each.string("key");
    expression.op = choice(each, "operator", kueue::kLabelOperatorNames, kueue::LabelOperator::In);
    expression.values = strings(object, "values");
  });
  return expression;
}

kueue::LabelSelector KueueCaseReader::selector(const Json& object) {
  kueue::LabelSelector selector;
  fields(object, {"match_labels", "match_expressions"}, [&](JsonFields&) {
    selector.match_labels = labels(object, "match_labels");
    each(object, "match_expressions",
         [&](const json& element) { selector.match_expressions.push_back(expression(element)); });
  });
  return selector;
}

kueue::ClusterQueue KueueCaseReader::cluster_queue(const Json& object) {
  kueue::ClusterQueue queue;
  fields(object,
         {"name", "cohort", "queueing_strategy", "resource_groups", "preemption", "flavor_fungibility",
          "fair_weight", "namespace_selector", "stop_policy"},
         [&](JsonFields& each) {
           queue.name = each.string("name");
           queue.cohort = each.string_or("cohort", "");
           queue.queueing_strategy =
               choice(each, "queueing_strategy", kueue::kQueueingStrategyNames, queue.queueing_strategy);
           queue.stop_policy = choice(each, "stop_policy", kueue::kStopPolicyNames, queue.stop_policy);
         });
  queue.resource_groups = resource_groups(object);
  if (const json* const rules = member(object, "preemption")) queue.preemption = preemption(*rules);
  if (const json* const rules = member(object, "flavor_fungibility"))
    queue.flavor_fungibility = fungibility(*rules);
  if (const json* const rules = member(object, "namespace_selector"))
    queue.namespace_selector = selector(*rules);
  queue.fair_weight = weight(object);
  return queue;
}

kueue::Cohort KueueCaseReader::cohort(const Json& object) {
  kueue::Cohort cohort;
  fields(object, {"name", "parent", "resource_groups", "fair_weight"}, [&](JsonFields& each) {
    cohort.name = each.string("name");
    cohort.parent = each.string_or("parent", "");
  });
  cohort.resource_groups = resource_groups(object);
  cohort.fair_weight = weight(object);
  return cohort;
}

std::vector<kueue::Taint> KueueCaseReader::taints(const Json& object, std::string_view key) {
  std::vector<kueue::Taint> all;
  each(object, key, [&](const json& element) {
    fields(element, {"key", "value", "effect"}, [&](JsonFields& taint) {
      all.push_back({.key = taint.string("key"),
                     .value = taint.string_or("value", ""),
                     .effect = taint.string_or("effect", "")});
    });
  });
  return all;
}

std::vector<kueue::Toleration> KueueCaseReader::tolerations(const Json& object, std::string_view key) {
  std::vector<kueue::Toleration> all;
  each(object, key, [&](const json& element) {
    fields(element, {"key", "operator", "value", "effect", "toleration_seconds"},
           [&](JsonFields& toleration) {
             constexpr std::array<std::string_view, 2> kOperators = {"Equal", "Exists"};
             all.push_back({.key = toleration.string_or("key", ""),
                            .is_exists = toleration.choice_or("operator", kOperators, 0) == 1,
                            .value = toleration.string_or("value", ""),
                            .effect = toleration.string_or("effect", "")});
           });
  });
  return all;
}

kueue::ResourceFlavor KueueCaseReader::resource_flavor(const Json& object) {
  kueue::ResourceFlavor flavor;
  fields(object, {"name", "node_labels", "node_taints", "tolerations"},
         [&](JsonFields& each) { flavor.name = each.string("name"); });
  flavor.node_labels = labels(object, "node_labels");
  flavor.node_taints = taints(object, "node_taints");
  flavor.tolerations = tolerations(object, "tolerations");
  return flavor;
}

kueue::LocalQueue KueueCaseReader::local_queue(const Json& object) {
  kueue::LocalQueue queue;
  fields(object, {"namespace", "name", "cluster_queue", "stop_policy"}, [&](JsonFields& each) {
    queue.name_space = each.string_or("namespace", "");
    queue.name = each.string("name");
    queue.cluster_queue = each.string("cluster_queue");
    queue.stop_policy = choice(each, "stop_policy", kueue::kStopPolicyNames, queue.stop_policy);
  });
  return queue;
}

kueue::PodSet KueueCaseReader::pod_set(const Json& object) {
  kueue::PodSet set;
  fields(object,
         {"name", "count", "requests", "min_count", "node_selector", "required_node_affinity", "tolerations"},
         [&](JsonFields& each) {
           set.name = each.string("name");
           set.count = each.integer("count", 0, kMostPods);
           if (each.has("min_count")) set.min_count = each.integer("min_count", 0, set.count);
         });
  each_member(object, "requests", [&](const std::string& resource, const json& value) {
    const auto amount =
        value.is_string() ? kueue::parse_quantity(value.get<std::string>(), resource) : std::nullopt;
    if (!amount || *amount < 0) return complain(value, "", expected_found(kQuantity, value.dump()));
    set.requests.emplace_back(resource, *amount);
  });
  set.nodes.node_selector = labels(object, "node_selector");
  each(object, "required_node_affinity", [&](const json& term) {
    if (!term.is_array()) return complain(term, "", expected_found("a list of expressions", term.dump()));
    auto& expressions = set.nodes.required_node_affinity.emplace_back();
    for (const json& element : term)
      expressions.push_back(expression(element));
  });
  set.nodes.tolerations = tolerations(object, "tolerations");
  return set;
}

std::vector<kueue::PodSet> KueueCaseReader::pod_sets(const Json& object) {
  std::vector<kueue::PodSet> sets;
  each(object, "pod_sets", [&](const json& element) { sets.push_back(pod_set(element)); });
  std::set<std::string> names;
  for (const kueue::PodSet& set : sets) {
    if (!names.insert(set.name).second)
      complain(object, "pod_sets", fmt::format("the pod set '{}' stands twice", set.name));
  }
  each_member(object, "reclaimable_pods", [&](const std::string& name, const json& value) {
    const auto found = std::ranges::find(sets, name, &kueue::PodSet::name);
    if (found == sets.end()) return complain(value, "", expected_found("the name of a pod set", name));
    const auto pods = parse_integer(value.is_number() ? value.dump() : "", 0, kMostPods);
    if (!pods) return complain(value, "", expected_found("a number of pods", value.dump()));
    found->reclaimable = *pods;
  });
  return sets;
}

kueue::Admission KueueCaseReader::admission(const Json& object) {
  kueue::Admission admission;
  fields(object, {"cluster_queue", "pod_sets"},
         [&](JsonFields& each) { admission.cluster_queue = each.string("cluster_queue"); });
  each(object, "pod_sets", [&](const json& element) {
    kueue::AdmittedPodSet& set = admission.pod_sets.emplace_back();
    fields(element, {"name", "count", "flavors", "usage"}, [&](JsonFields& each) {
      set.name = each.string("name");
      set.count = each.integer("count", 0, kMostPods);
    });
    const kueue::Labels flavors = labels(element, "flavors");
    const json* const usage = member(element, "usage");
    for (const auto& [resource, flavor] : flavors) {
      const Amount amount = usage == nullptr ? 0 : quantity(*usage, resource, resource);
      set.resources.push_back({.resource = resource, .flavor = flavor, .amount = amount});
    }
  });
  return admission;
}

kueue::QueueConditions KueueCaseReader::conditions(const Json& object, std::string_view key) {
  kueue::QueueConditions conditions;
  each(object, key, [&](const json& element) {
    fields(element, {"type", "status", "reason", "at"}, [&](JsonFields& each) {
      const std::string type = each.string("type");
      const std::string reason = each.string_or("reason", "");
      const kueue::Instant at = instant(element, "at", 0);
      if (each.string_or("status", "True") != "True") return;
      if (type == "Evicted") {
        conditions.evicted_at = at;
        conditions.evicted_reason = reason;
      } else if (type == "Preempted") {
        conditions.preempted_at = at;
        conditions.preempted_reason = reason;
      }
    });
  });
  return conditions;
}

kueue::Workload KueueCaseReader::workload(const Json& object, kueue::Instant created_at) {
  kueue::Workload workload;
  fields(object,
         {"name", "namespace", "uid", "priority", "created_at", "queue", "pod_sets", "reclaimable_pods",
          "admission", "quota_reserved_at", "admitted", "evicted", "evicted_at", "evicted_reason",
          "conditions", "parked", "cluster_queue"},
         [&](JsonFields& each) {
           workload.name = each.string("name");
           workload.name_space = each.string_or("namespace", "");
           workload.uid = each.string_or("uid", "");
           workload.priority = each.integer_or("priority", -kMostPriority, kMostPriority, 0);
           workload.queue = each.string_or("queue", "");
           workload.is_admitted = each.boolean_or("admitted", false);
           workload.is_evicted = each.boolean_or("evicted", false);
           workload.conditions = conditions(object, "conditions");
           if (each.has("evicted_at")) {
             workload.conditions.evicted_at = instant(object, "evicted_at", 0);
             workload.conditions.evicted_reason = each.string_or("evicted_reason", "");
           }
         });
  workload.created_at = instant(object, "created_at", created_at);
  workload.quota_reserved_at = instant(object, "quota_reserved_at", 0);
  workload.pod_sets = pod_sets(object);
  if (const json* const value = member(object, "admission")) workload.admission = admission(*value);
  return workload;
}

kueue::Objects KueueCaseReader::objects(const Json& root) {
  kueue::Objects objects;
  each(root, "cluster_queues",
       [&](const json& element) { objects.cluster_queues.push_back(cluster_queue(element)); });
  each(root, "cohorts", [&](const json& element) { objects.cohorts.push_back(cohort(element)); });
  each(root, "resource_flavors",
       [&](const json& element) { objects.resource_flavors.push_back(resource_flavor(element)); });
  each(root, "local_queues",
       [&](const json& element) { objects.local_queues.push_back(local_queue(element)); });
  each_member(root, "namespaces", [&](const std::string& name, const json&) {
    objects.namespaces[name] = labels(root["namespaces"], name);
  });
  return objects;
}

kueue::Settings KueueCaseReader::settings(const Json& root) {
  kueue::Settings settings;
  each_member(root, "feature_gates", [&](const std::string& name, const json& value) {
    const auto found = std::ranges::find(kueue::kGateNames, name, &kueue::GateName::name);
    if (found == kueue::kGateNames.end()) {
      std::vector<std::string_view> known;
      for (const kueue::GateName& gate : kueue::kGateNames)
        known.push_back(gate.name);
      return complain(value, "", "unknown feature gate; " + suggest_name(name, known));
    }
    if (!value.is_boolean()) return complain(value, "", expected_found("true or false", value.dump()));
    settings.gates.*found->member = value.get<bool>();
  });
  if (const json* const fair = member(root, "fair_sharing")) {
    fields(*fair, {"enabled", "preemption_strategies"},
           [&](JsonFields& each) { settings.fair_sharing = each.boolean_or("enabled", false); });
    std::vector<kueue::FairStrategy> strategies;
    for (const std::string& name : strings(*fair, "preemption_strategies")) {
      const auto found = std::ranges::find(kueue::kFairStrategyNames, name);
      if (found == kueue::kFairStrategyNames.end()) {
        complain(*fair, "preemption_strategies",
                 expected_found("one of " + list_names(kueue::kFairStrategyNames), name));
        break;
      }
      strategies.push_back(static_cast<kueue::FairStrategy>(found - kueue::kFairStrategyNames.begin()));
    }
    if (!strategies.empty()) settings.strategies = std::move(strategies);
  }
  if (const json* const timestamp = member(root, "requeuing_timestamp")) {
    settings.requeuing_timestamp =
        *timestamp == "Eviction" ? kueue::RequeuingTimestamp::Eviction : kueue::RequeuingTimestamp::Creation;
  }
  return settings;
}

std::vector<NamedAmount> KueueCaseReader::amounts(const Json& object, std::string_view key) {
  std::vector<NamedAmount> all;
  each(object, key, [&](const json& element) {
    fields(element, {"flavor", "resource", "amount"}, [&](JsonFields& each) {
      all.push_back({.flavor = each.string("flavor"),
                     .resource = each.string("resource"),
                     .amount = each.integer("amount", -kueue::kMostAmount, kueue::kMostAmount)});
    });
  });
  return all;
}

NamedUsage KueueCaseReader::usage(const Json& root, std::string_view key) {
  NamedUsage usage;
  each_member(root, key, [&](const std::string& name, const json&) {
    usage.emplace_back(name, amounts(root.at(std::string(key)), name));
  });
  return usage;
}

}  // namespace vtrain
