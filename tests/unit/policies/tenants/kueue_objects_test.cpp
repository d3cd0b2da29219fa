/// Kueue's objects as YAML, and as quotas of a cluster.
#include <doctest/doctest.h>

#include <string>

#include "policies/tenants/kueue/cluster_objects.hpp"

namespace kueue = vtrain::kueue;

namespace {

const std::string kFlavor =
    "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ResourceFlavor, metadata: {name: f},\n"
    " spec: {nodeLabels: {product: NVIDIA-A100-SXM4-80GB}}}\n";

std::string queue(const std::string& spec) {
  return "---\n{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, spec: {" + spec +
         "}}\n";
}

std::string quota(const std::string& nominal) {
  return "resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: f, resources: [{name: "
         "nvidia.com/gpu, nominalQuota: " +
         nominal + ", lendingLimit: 2}]}]}]";
}

std::string error_of(const std::string& text) {
  const auto read = kueue::parse_object_file(text, "o.yaml");
  return read ? "no error" : read.error().describe();
}

}  // namespace

TEST_CASE("kueue_objects: both API versions are read, and what has no effect is counted") {
  const auto read = kueue::parse_object_file(
      kFlavor +
          queue("cohort: c, flavorFungibility: {whenCanBorrow: TryNextFlavor, whenCanPreempt: Preempt}, "
                "namespaceSelector: {}, admissionChecks: [x], " +
                quota("\"8\"")) +
          "---\n{kind: Pod}\n",
      "o.yaml");
  REQUIRE_MESSAGE(read, read.error().describe());
  const kueue::ClusterQueue& made = read->objects.cluster_queues.at(0);
  CHECK(made.cohort == "c");
  CHECK(made.flavor_fungibility.when_can_borrow == kueue::Fungibility::TryNextFlavor);
  CHECK(made.flavor_fungibility.when_can_preempt == kueue::Fungibility::MayStopSearch);
  CHECK(made.resource_groups.at(0).flavors.at(0).resources.at(0) ==
        kueue::ResourceQuota{.resource = "nvidia.com/gpu", .nominal = 8, .lending_limit = 2});
  CHECK(read->ignored_sentence() == "without effect are ClusterQueue spec.admissionChecks (1) and Pod (1)");
}

TEST_CASE("kueue_objects: errors say where they are") {
  CHECK(error_of(queue(quota("1"))).find("ResourceFlavor of this file in the ClusterQueue 'q', found 'f'") !=
        std::string::npos);
  CHECK(error_of(kFlavor + queue(quota("-1"))).find("nominalQuota: expected a quantity of 0 or more") !=
        std::string::npos);
  CHECK(error_of(kFlavor + "---\n" + kFlavor).find("the ResourceFlavor 'f' stands twice") !=
        std::string::npos);
  CHECK(error_of("{apiVersion: kueue.x-k8s.io/v9, kind: Cohort, metadata: {name: a}}")
            .find("o.yaml:1: apiVersion") == 0);
  CHECK(error_of(
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: a}, spec: {parentName: a}}")
            .find("the cohort 'a' is above itself") != std::string::npos);
  CHECK(error_of("a: [").find("not YAML or JSON") != std::string::npos);
}

TEST_CASE("kueue_objects: flavors are GPU types by label, within the GPUs that there are") {
  const auto cluster = *vtrain::ClusterSpec::parse("1x8:h100+1x8:a100");
  const auto on_cluster = [&](const std::string& nominal) {
    const auto read = kueue::parse_object_file(kFlavor + queue(quota(nominal)), "o.yaml");
    REQUIRE(read);
    return kueue::objects_of_file(*read, cluster, "nvidia.com/gpu", "o.yaml");
  };
  const auto fits = on_cluster("8");
  REQUIRE(fits);
  CHECK(fits->type_of_flavor.at("f") == 1U);
  CHECK(fits->queue_of("q", "") == kueue::LocalQueueName("", "q"));
  CHECK(fits->queue_of("", "q") == kueue::LocalQueueName("", "q"));
  CHECK(!fits->queue_of("other", "other"));
  CHECK(!on_cluster("9"));
}
