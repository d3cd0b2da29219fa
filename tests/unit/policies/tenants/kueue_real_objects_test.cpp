/// Objects of Kueue as `kubectl get -o json` prints them, with their right reading.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policies/tenants/kueue/object_file.hpp"
#include "tests/support/shared_data.hpp"

namespace vtrain::testing {
namespace {

using nlohmann::json;

json json_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return json::parse(in);
}

json amount_or_null(const std::optional<kueue::Amount>& amount) {
  return amount ? json(*amount) : json();
}

/// Quotas in the form of the expected reading.
json quotas_read(const std::vector<kueue::ResourceGroup>& groups) {
  json list = json::array();
  for (const kueue::ResourceGroup& group : groups) {
    for (const kueue::FlavorQuotas& flavor : group.flavors) {
      for (const kueue::ResourceQuota& quota : flavor.resources) {
        list.push_back({{"flavor", flavor.flavor},
                        {"resource", quota.resource},
                        {"nominal", quota.nominal},
                        {"borrowing_limit", amount_or_null(quota.borrowing_limit)},
                        {"lending_limit", amount_or_null(quota.lending_limit)}});
      }
    }
  }
  return list;
}

/// The object with a name; it must be there.
template <class Object>
const Object& named(const std::vector<Object>& list, const json& name) {
  for (const Object& each : list) {
    if (each.name == name) return each;
  }
  FAIL("no object " << name.dump());
  return list.front();
}

void check_queue(const kueue::ClusterQueue& read, const json& expected) {
  CHECK(read.cohort == expected["cohort"]);
  CHECK((read.queueing_strategy == kueue::QueueingStrategy::StrictFIFO) ==
        (expected["queueing_strategy"] == "StrictFIFO"));
  CHECK(read.fair_weight == expected["fair_weight"]);
  CHECK((read.stop_policy != kueue::StopPolicy::None) == expected["stopped"]);
  const std::map<std::string, kueue::PreemptionPolicy> policies = {
      {"Never", kueue::PreemptionPolicy::Never},
      {"LowerPriority", kueue::PreemptionPolicy::LowerPriority},
      {"LowerOrNewerEqualPriority", kueue::PreemptionPolicy::LowerOrNewerEqualPriority},
      {"Any", kueue::PreemptionPolicy::Any}};
  const json& preemption = expected["preemption"];
  CHECK(read.preemption.within_cluster_queue == policies.at(preemption["within_cluster_queue"]));
  CHECK(read.preemption.reclaim_within_cohort == policies.at(preemption["reclaim_within_cohort"]));
  const json& borrow = preemption["borrow_within_cohort"];
  CHECK(read.preemption.borrow_within_cohort.is_allowed == (borrow["policy"] == "LowerPriority"));
  const auto& threshold = read.preemption.borrow_within_cohort.max_priority_threshold;
  CHECK((threshold ? json(*threshold) : json()) == borrow.value("max_priority_threshold", json()));
  const json& fungibility = expected["flavor_fungibility"];
  CHECK((read.flavor_fungibility.when_can_borrow == kueue::Fungibility::TryNextFlavor) ==
        (fungibility["when_can_borrow"] == "TryNextFlavor"));
  CHECK((read.flavor_fungibility.when_can_preempt == kueue::Fungibility::TryNextFlavor) ==
        (fungibility["when_can_preempt"] == "TryNextFlavor"));
  CHECK((read.flavor_fungibility.preference == kueue::FungibilityPreference::PreemptionOverBorrowing) ==
        (fungibility["preference"] == "PreemptionOverBorrowing"));
  json quotas = quotas_read(read.resource_groups);
  json wanted = expected["quotas"];
  std::sort(quotas.begin(), quotas.end());
  std::sort(wanted.begin(), wanted.end());
  CHECK(quotas == wanted);
}

}  // namespace

TEST_CASE("kueue_objects: objects of a cluster are read as their right reading says") {
  const auto folder = std::filesystem::path(VTRAIN_SHARED_DIR) / "golden/kueue/objects";
  if (!have(folder / "expected.json")) return;
  json items = json::array();
  json expected = json::array();
  const json readings = json_of(folder / "expected.json")["files"];
  for (const char* const file : {"resourceflavors-v1beta1.json", "clusterqueue-v1beta1.json",
                                 "clusterqueue-v1beta2.json", "cohorts.json", "localqueues.json"}) {
    const json document = json_of(folder / file);
    if (document.contains("items"))
      items.insert(items.end(), document["items"].begin(), document["items"].end());
    else
      items.push_back(document);
    expected.insert(expected.end(), readings[file].begin(), readings[file].end());
  }
  const auto read = kueue::parse_object_file(
      json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump(), "objects.json");
  REQUIRE_MESSAGE(read, read.error().describe());
  const kueue::Objects& objects = read->objects;
  CHECK(objects.resource_flavors.size() + objects.cluster_queues.size() + objects.cohorts.size() +
            objects.local_queues.size() ==
        expected.size());
  for (const json& each : expected) {
    INFO(each["kind"].dump() << " " << each["name"].dump());
    if (each["kind"] == "ClusterQueue") check_queue(named(objects.cluster_queues, each["name"]), each);
    if (each["kind"] == "Cohort") {
      const kueue::Cohort& cohort = named(objects.cohorts, each["name"]);
      CHECK((cohort.parent.empty() ? json() : json(cohort.parent)) == each["parent"]);
      CHECK(cohort.fair_weight == each["fair_weight"]);
      CHECK(quotas_read(cohort.resource_groups) == each["quotas"]);
    }
    if (each["kind"] == "LocalQueue") {
      const kueue::LocalQueue& queue = named(objects.local_queues, each["name"]);
      CHECK(queue.name_space == each["namespace"]);
      CHECK(queue.cluster_queue == each["cluster_queue"]);
      CHECK((queue.stop_policy != kueue::StopPolicy::None) == each["stopped"]);
    }
    if (each["kind"] == "ResourceFlavor") {
      const kueue::ResourceFlavor& flavor = named(objects.resource_flavors, each["name"]);
      CHECK(json(flavor.node_labels) == each["node_labels"]);
    }
  }
}

}  // namespace vtrain::testing
