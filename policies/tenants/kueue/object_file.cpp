#include "policies/tenants/kueue/object_file.hpp"

#include <yaml-cpp/yaml.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"

namespace vtrain::kueue {
namespace {

constexpr std::int64_t kMostPriorityValue = std::int64_t{1} << 40;

/// A value of the file with the path that leads to it.
struct Place {
  YAML::Node node;
  std::string path;
};

/// Reads the objects of one file. The first error is remembered, and all later reads return empty values.
class ObjectReader {
 public:
  ObjectReader(std::string file, bool needs_flavors)
      : file_(std::move(file)), needs_flavors_(needs_flavors) {}

  Result<ObjectFile> read(const std::vector<YAML::Node>& documents) {
    for (const YAML::Node& document : documents) {
      if (document.IsDefined() && !document.IsNull()) count(document, 0);
    }
    for (const YAML::Node& document : documents) {
      if (document.IsDefined() && !document.IsNull()) read_object({document, ""});
    }
    if (needs_flavors_) check_flavors();
    check_cohorts();
    if (error_) return fail(*std::move(error_));
    return std::move(result_);
  }

 private:
  /// Where an object was first met, for errors about all objects together.
  struct Origin {
    std::int64_t line = 0;
    std::string path;
  };

  void complain_at(std::int64_t line, std::string field, std::string message) {
    if (!error_)
      error_ = Error{.file = file_, .line = line, .field = std::move(field), .message = std::move(message)};
  }
  void complain(const Place& place, std::string message) {
    complain_at(line_of(place), place.path, std::move(message));
  }
  static std::int64_t line_of(const Place& place) {
    return place.node.IsDefined() ? place.node.Mark().line + 1 : 0;
  }
  static std::string shown(const YAML::Node& node) {
    if (!node.IsDefined()) return "nothing";
    if (node.IsScalar()) return node.Scalar();
    return node.IsMap() ? "a map" : node.IsSequence() ? "a list" : "null";
  }

  /// Counts values as readers will see them: an alias is as large as what it repeats.
  void count(const YAML::Node& node, int level) {
    if (error_) return;
    if (++num_values_ > kMostObjectValues)
      return complain({node, ""},
                      fmt::format("more than {} values; aliases count each time", kMostObjectValues));
    if (level > kMostObjectLevels)
      return complain({node, ""}, fmt::format("more than {} levels of nesting", kMostObjectLevels));
    if (node.IsMap()) {
      for (const auto& item : node) {
        if (!item.first.IsScalar()) return complain({item.first, ""}, "expected a text as a key");
        count(item.second, level + 1);
      }
    } else if (node.IsSequence()) {
      for (const auto& item : node)
        count(item, level + 1);
    }
  }

  static Place below(const Place& place, const std::string& key) {
    std::string path = place.path.empty() ? key : place.path + "." + key;
    const YAML::Node& node = place.node;
    return {node.IsMap() ? node[key] : YAML::Node(YAML::NodeType::Undefined), std::move(path)};
  }
  static bool has(const Place& place, const std::string& key) {
    const YAML::Node& node = place.node;
    return node.IsMap() && node[key].IsDefined() && !node[key].IsNull();
  }

  /// Checks that a value is a map, and counts keys without effect.
  bool map(const Place& place, std::string_view kind, std::string_view part,
           std::span<const std::string_view> known) {
    if (error_) return false;
    if (!place.node.IsMap()) {
      complain(place, expected_found("a map", shown(place.node)));
      return false;
    }
    for (const auto& item : place.node) {
      const std::string& key = item.first.Scalar();
      if (std::ranges::count(known, key) > 0) continue;
      ++result_.ignored[fmt::format("{} {}{}{}", kind, part, part.empty() ? "" : ".", key)];
    }
    return true;
  }

  template <class Read>
  void each(const Place& place, const std::string& key, const Read& read) {
    if (error_ || !has(place, key)) return;
    const Place list = below(place, key);
    if (!list.node.IsSequence()) return complain(list, expected_found("a list", shown(list.node)));
    std::size_t number = 0;
    for (const auto& item : list.node) {
      if (error_) return;
      read(Place{item, fmt::format("{}[{}]", list.path, number++)});
    }
  }

  std::string text(const Place& place) {
    if (error_) return {};
    if (place.node.IsDefined() && place.node.IsScalar()) return place.node.Scalar();
    complain(place, expected_found("a text", shown(place.node)));
    return {};
  }
  std::string text_or(const Place& place, const std::string& key, std::string absent) {
    return has(place, key) ? text(below(place, key)) : absent;
  }
  std::string required_text(const Place& place, const std::string& key) {
    const Place value = below(place, key);
    if (!has(place, key)) {
      if (!error_) complain_at(line_of(place), value.path, "missing");
      return {};
    }
    std::string found = text(value);
    if (found.empty()) complain(value, expected_found("a text that is not empty", found));
    return found;
  }

  template <class Value>
  Value choice_or(const Place& place, const std::string& key, std::span<const std::string_view> names,
                  Value absent) {
    if (error_ || !has(place, key)) return absent;
    const Place value = below(place, key);
    const std::string found = text(value);
    const auto name = std::ranges::find(names, found);
    if (name == names.end()) {
      complain(value, expected_found("one of " + list_names(names), found));
      return absent;
    }
    return static_cast<Value>(name - names.begin());
  }

  Amount quantity(const Place& place, const std::string& resource) {
    const std::string found = text(place);
    if (error_) return 0;
    const auto amount = parse_quantity(found, resource);
    if (!amount || *amount < 0)
      complain(place, expected_found("a quantity of 0 or more, such as 500m or 3Gi", found));
    return amount.value_or(0);
  }

  double weight(const Place& spec) {
    if (error_ || !has(spec, "fairSharing")) return 1;
    const Place sharing = below(spec, "fairSharing");
    if (!has(sharing, "weight")) return 1;
    const Place value = below(sharing, "weight");
    const auto found = parse_decimal_quantity(text(value));
    if (!error_ && (!found || *found < 0))
      complain(value, expected_found("a weight of 0 or more", shown(value.node)));
    return found.value_or(1);
  }

  Labels labels(const Place& place, const std::string& key) {
    Labels all;
    if (error_ || !has(place, key)) return all;
    const Place value = below(place, key);
    if (!value.node.IsMap()) {
      complain(value, expected_found("a map", shown(value.node)));
      return all;
    }
    for (const auto& item : value.node)
      all[item.first.Scalar()] = text({item.second, value.path + "." + item.first.Scalar()});
    return all;
  }

  void read_object(const Place& place) {
    if (error_) return;
    if (!place.node.IsMap()) return complain(place, expected_found("an object", shown(place.node)));
    const std::string kind = required_text(place, "kind");
    if (error_) return;
    if (kind.ends_with("List")) return each(place, "items", [&](const Place& item) { read_object(item); });
    const auto found = std::ranges::find(kKinds, kind, &Kind::name);
    if (found == kKinds.end()) {
      ++result_.ignored[kind];
      return;
    }
    check_version(place, kind);
    if (has(place, "metadata"))
      (this->*found->read)(place);
    else if (!error_)
      complain_at(line_of(place), below(place, "metadata").path, "missing");
  }

  void check_version(const Place& place, const std::string& kind) {
    if (kind == "Namespace") return;
    constexpr std::array<std::string_view, 3> kVersions = {"kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2",
                                                           "kueue.x-k8s.io/v1alpha1"};
    const std::string version = required_text(place, "apiVersion");
    if (!error_ && std::ranges::count(kVersions, version) == 0)
      complain(below(place, "apiVersion"), expected_found("one of " + list_names(kVersions), version));
  }

  /// The name of an object, which must be new among those of its kind.
  std::string name_of(const Place& place, const std::string& kind, const std::string& name_space = {}) {
    const Place metadata = below(place, "metadata");
    const std::string name = required_text(metadata, "name");
    const std::string key = fmt::format("{} {}", kind, full_name(name_space, name));
    if (!error_ && !origins_.try_emplace(key, Origin{line_of(metadata), metadata.path + ".name"}).second)
      complain(below(metadata, "name"),
               fmt::format("the {} '{}' stands twice", kind, full_name(name_space, name)));
    return name;
  }

  std::vector<ResourceGroup> resource_groups(const Place& spec, const std::string& kind,
                                             const std::string& name) {
    std::vector<ResourceGroup> groups;
    each(spec, "resourceGroups", [&](const Place& place) {
      constexpr std::array<std::string_view, 2> kKeys = {"coveredResources", "flavors"};
      if (!map(place, kind, "spec.resourceGroups", kKeys)) return;
      ResourceGroup& group = groups.emplace_back();
      each(place, "coveredResources",
           [&](const Place& each_of) { group.covered_resources.push_back(text(each_of)); });
      each(place, "flavors",
           [&](const Place& flavor) { group.flavors.push_back(flavor_quotas(flavor, kind)); });
      for (const FlavorQuotas& flavor : group.flavors)
        uses_.push_back(
            {flavor.flavor, fmt::format("{} '{}'", kind, name), line_of(place), place.path + ".flavors"});
    });
    return groups;
  }

  FlavorQuotas flavor_quotas(const Place& place, const std::string& kind) {
    FlavorQuotas quotas;
    constexpr std::array<std::string_view, 2> kKeys = {"name", "resources"};
    if (!map(place, kind, "spec.resourceGroups.flavors", kKeys)) return quotas;
    quotas.flavor = required_text(place, "name");
    each(place, "resources", [&](const Place& resource) {
      constexpr std::array<std::string_view, 4> kQuotaKeys = {"name", "nominalQuota", "borrowingLimit",
                                                              "lendingLimit"};
      if (!map(resource, kind, "spec.resourceGroups.flavors.resources", kQuotaKeys)) return;
      ResourceQuota& quota = quotas.resources.emplace_back();
      quota.resource = required_text(resource, "name");
      const auto amount = [&](const std::string& key) {
        return quantity(below(resource, key), quota.resource);
      };
      if (has(resource, "nominalQuota")) quota.nominal = amount("nominalQuota");
      if (has(resource, "borrowingLimit")) quota.borrowing_limit = amount("borrowingLimit");
      if (has(resource, "lendingLimit")) quota.lending_limit = amount("lendingLimit");
    });
    return quotas;
  }

  void read_preemption(const Place& place, PreemptionRules& rules) {
    constexpr std::array<std::string_view, 3> kKeys = {"withinClusterQueue", "reclaimWithinCohort",
                                                       "borrowWithinCohort"};
    if (!map(place, "ClusterQueue", "spec.preemption", kKeys)) return;
    rules.within_cluster_queue =
        choice_or(place, "withinClusterQueue", kPreemptionPolicyNames, rules.within_cluster_queue);
    rules.reclaim_within_cohort =
        choice_or(place, "reclaimWithinCohort", kPreemptionPolicyNames, rules.reclaim_within_cohort);
    if (!has(place, "borrowWithinCohort")) return;
    const Place borrow = below(place, "borrowWithinCohort");
    constexpr std::array<std::string_view, 2> kBorrowKeys = {"policy", "maxPriorityThreshold"};
    if (!map(borrow, "ClusterQueue", "spec.preemption.borrowWithinCohort", kBorrowKeys)) return;
    constexpr std::array<std::string_view, 2> kPolicies = {"Never", "LowerPriority"};
    rules.borrow_within_cohort.is_allowed = choice_or(borrow, "policy", kPolicies, 0) == 1;
    if (has(borrow, "maxPriorityThreshold"))
      rules.borrow_within_cohort.max_priority_threshold = priority(below(borrow, "maxPriorityThreshold"));
  }

  std::int64_t priority(const Place& place) {
    const std::string found = text(place);
    const auto value = parse_integer(found, -kMostPriorityValue, kMostPriorityValue);
    if (!error_ && !value)
      complain(place, expected_found(expected_integer(-kMostPriorityValue, kMostPriorityValue), found));
    return value.value_or(0);
  }

  /// `Borrow` and `Preempt` are v1beta1's words for `MayStopSearch`.
  Fungibility fungibility(const Place& place, const std::string& key, Fungibility absent) {
    constexpr std::array<std::string_view, 4> kNames = {"MayStopSearch", "TryNextFlavor", "Borrow",
                                                        "Preempt"};
    if (!has(place, key)) return absent;
    return choice_or(place, key, kNames, 0) == 1 ? Fungibility::TryNextFlavor : Fungibility::MayStopSearch;
  }

  void read_fungibility(const Place& place, FlavorFungibility& rules) {
    constexpr std::array<std::string_view, 3> kKeys = {"whenCanBorrow", "whenCanPreempt", "preference"};
    if (!map(place, "ClusterQueue", "spec.flavorFungibility", kKeys)) return;
    rules.when_can_borrow = fungibility(place, "whenCanBorrow", rules.when_can_borrow);
    rules.when_can_preempt = fungibility(place, "whenCanPreempt", rules.when_can_preempt);
    rules.preference = choice_or(place, "preference", kFungibilityPreferenceNames, rules.preference);
  }

  LabelSelector selector(const Place& place) {
    LabelSelector selector;
    constexpr std::array<std::string_view, 2> kKeys = {"matchLabels", "matchExpressions"};
    if (!map(place, "ClusterQueue", "spec.namespaceSelector", kKeys)) return selector;
    selector.match_labels = labels(place, "matchLabels");
    each(place, "matchExpressions", [&](const Place& expression) {
      LabelExpression& read = selector.match_expressions.emplace_back();
      read.key = required_text(expression, "key");
      read.op = choice_or(expression, "operator", kLabelOperatorNames, LabelOperator::In);
      each(expression, "values", [&](const Place& value) { read.values.push_back(text(value)); });
    });
    return selector;
  }

  void read_cluster_queue(const Place& place) {
    ClusterQueue queue;
    queue.name = name_of(place, "ClusterQueue");
    const Place spec = below(place, "spec");
    constexpr std::array<std::string_view, 9> kKeys = {
        "cohort",      "cohortName",        "queueingStrategy",  "resourceGroups", "preemption",
        "fairSharing", "flavorFungibility", "namespaceSelector", "stopPolicy"};
    if (!map(spec, "ClusterQueue", "spec", kKeys)) return;
    queue.cohort = text_or(spec, "cohortName", text_or(spec, "cohort", ""));
    queue.queueing_strategy =
        choice_or(spec, "queueingStrategy", kQueueingStrategyNames, queue.queueing_strategy);
    queue.stop_policy = choice_or(spec, "stopPolicy", kStopPolicyNames, queue.stop_policy);
    queue.resource_groups = resource_groups(spec, "ClusterQueue", queue.name);
    if (has(spec, "preemption")) read_preemption(below(spec, "preemption"), queue.preemption);
    if (has(spec, "flavorFungibility"))
      read_fungibility(below(spec, "flavorFungibility"), queue.flavor_fungibility);
    if (has(spec, "namespaceSelector")) {
      queue.namespace_selector = selector(below(spec, "namespaceSelector"));
    } else {
      // An absent selector lets no namespace in, unlike an empty one.
      queue.namespace_selector = LabelSelector{.match_labels = {}, .match_expressions = {{.key = ""}}};
    }
    queue.fair_weight = weight(spec);
    result_.objects.cluster_queues.push_back(std::move(queue));
  }

  void read_cohort(const Place& place) {
    Cohort cohort;
    cohort.name = name_of(place, "Cohort");
    if (has(place, "spec")) {
      const Place spec = below(place, "spec");
      constexpr std::array<std::string_view, 4> kKeys = {"parent", "parentName", "resourceGroups",
                                                         "fairSharing"};
      if (!map(spec, "Cohort", "spec", kKeys)) return;
      cohort.parent = text_or(spec, "parentName", text_or(spec, "parent", ""));
      cohort.resource_groups = resource_groups(spec, "Cohort", cohort.name);
      cohort.fair_weight = weight(spec);
    }
    result_.objects.cohorts.push_back(std::move(cohort));
  }

  std::vector<Toleration> tolerations(const Place& spec) {
    std::vector<Toleration> all;
    each(spec, "tolerations", [&](const Place& place) {
      constexpr std::array<std::string_view, 2> kOperators = {"Equal", "Exists"};
      all.push_back({.key = text_or(place, "key", ""),
                     .is_exists = choice_or(place, "operator", kOperators, 0) == 1,
                     .value = text_or(place, "value", ""),
                     .effect = text_or(place, "effect", "")});
    });
    return all;
  }

  void read_flavor(const Place& place) {
    ResourceFlavor flavor;
    flavor.name = name_of(place, "ResourceFlavor");
    if (has(place, "spec")) {
      const Place spec = below(place, "spec");
      constexpr std::array<std::string_view, 3> kKeys = {"nodeLabels", "nodeTaints", "tolerations"};
      if (!map(spec, "ResourceFlavor", "spec", kKeys)) return;
      flavor.node_labels = labels(spec, "nodeLabels");
      each(spec, "nodeTaints", [&](const Place& taint) {
        flavor.node_taints.push_back({.key = required_text(taint, "key"),
                                      .value = text_or(taint, "value", ""),
                                      .effect = text_or(taint, "effect", "")});
      });
      flavor.tolerations = tolerations(spec);
    }
    result_.objects.resource_flavors.push_back(std::move(flavor));
  }

  void read_local_queue(const Place& place) {
    LocalQueue queue;
    queue.name_space = text_or(below(place, "metadata"), "namespace", "default");
    queue.name = name_of(place, "LocalQueue", queue.name_space);
    const Place spec = below(place, "spec");
    constexpr std::array<std::string_view, 2> kKeys = {"clusterQueue", "stopPolicy"};
    if (!map(spec, "LocalQueue", "spec", kKeys)) return;
    queue.cluster_queue = required_text(spec, "clusterQueue");
    queue.stop_policy = choice_or(spec, "stopPolicy", kStopPolicyNames, queue.stop_policy);
    result_.objects.local_queues.push_back(std::move(queue));
  }

  void read_priority_class(const Place& place) {
    const std::string name = name_of(place, "WorkloadPriorityClass");
    if (!error_ && !has(place, "value"))
      return complain_at(line_of(place), below(place, "value").path, "missing");
    if (!error_) result_.priority_classes[name] = priority(below(place, "value"));
  }

  void read_namespace(const Place& place) {
    const std::string name = name_of(place, "Namespace");
    if (!error_) result_.objects.namespaces[name] = labels(below(place, "metadata"), "labels");
  }

  void check_flavors() {
    std::set<std::string_view> known;
    for (const ResourceFlavor& flavor : result_.objects.resource_flavors)
      known.insert(flavor.name);
    for (const FlavorUse& use : uses_) {
      if (!known.contains(use.flavor))
        complain_at(use.line, use.path,
                    fmt::format("expected the name of a ResourceFlavor of this file in the {}, found '{}'",
                                use.user, use.flavor));
    }
  }

  void check_cohorts() {
    if (error_) return;
    const auto problem = find_cohort_problem(result_.objects.cohorts);
    if (!problem) return;
    const Origin& origin = origins_.at("Cohort " + problem->cohort);
    complain_at(origin.line, origin.path, problem->message);
  }

  /// A kind of object that is read.
  struct Kind {
    std::string_view name;
    void (ObjectReader::*read)(const Place& place);
  };
  static const std::array<Kind, 6> kKinds;

  /// A flavor that a quota names.
  struct FlavorUse {
    std::string flavor;
    std::string user;
    std::int64_t line;
    std::string path;
  };

  std::string file_;
  bool needs_flavors_;
  ObjectFile result_;
  std::optional<Error> error_;
  std::int64_t num_values_ = 0;
  std::map<std::string, Origin> origins_;  ///< by kind and name
  std::vector<FlavorUse> uses_;
};

const std::array<ObjectReader::Kind, 6> ObjectReader::kKinds = {
    {{"ClusterQueue", &ObjectReader::read_cluster_queue},
     {"Cohort", &ObjectReader::read_cohort},
     {"ResourceFlavor", &ObjectReader::read_flavor},
     {"LocalQueue", &ObjectReader::read_local_queue},
     {"WorkloadPriorityClass", &ObjectReader::read_priority_class},
     {"Namespace", &ObjectReader::read_namespace}}};

}  // namespace

std::string ObjectFile::ignored_sentence() const {
  if (ignored.empty()) return {};
  std::vector<std::string> parts;
  for (const auto& [what, number] : ignored)
    parts.push_back(fmt::format("{} ({})", what, number));
  return "without effect are " + join_with_and(parts);
}

Result<ObjectFile> parse_object_file(const std::string& text, const std::string& file, bool needs_flavors) {
  try {
    return ObjectReader(file, needs_flavors).read(YAML::LoadAll(text));
  } catch (const YAML::Exception& error) {
    return fail({.file = file, .line = error.mark.line + 1, .message = "not YAML or JSON: " + error.msg});
  }
}

}  // namespace vtrain::kueue
