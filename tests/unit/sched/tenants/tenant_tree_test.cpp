#include "sched/tenants/tenant_tree.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using vtrain::ClusterSpec;
using vtrain::parse_tenant_tree;
using vtrain::Quota;
using vtrain::Tenant;
using vtrain::TenantTree;

namespace {

const ClusterSpec& cluster() {
  static const ClusterSpec kCluster = *ClusterSpec::parse("4x8:A100+2x8:h100");
  return kCluster;
}

TenantTree read(const std::string& text) {
  auto tree = parse_tenant_tree(text, "t.json", cluster());
  REQUIRE_MESSAGE(tree, tree.error().describe());
  return *tree;
}

/// The error in the rest of a file after the version on line 1.
std::string error_of(const std::string& rest) {
  const auto tree = parse_tenant_tree("{\"version\": 1,\n" + rest + "}", "t.json", cluster());
  return tree ? "no error" : tree.error().describe();
}

}  // namespace

TEST_CASE("tenant_tree: every field is read, and parents stand before their children") {
  const TenantTree tree = read(R"({"version": 1,
      "tenants": [{"name": "vision", "parent": "research", "weight": 0.5,
                   "quotas": [{"gpu_type": "a100", "gpus": 16, "borrowing_limit": 8, "lending_limit": 0},
                              {"gpus": 4}]},
                  {"name": "research", "quotas": [{"gpu_type": "h100", "gpus": 8}]},
                  {"name": "speech", "parent": "research"}],
      "partitions": [{"name": "gpu", "gpu_types": ["H100"], "tenants": ["speech"], "priority_tier": 2,
                      "time_limit_s": 0.5, "max_gpus": 8}],
      "qos": [{"name": "high", "priority": -3, "preempts": ["low"], "max_gpus": 1, "max_gpus_per_tenant": 2,
               "max_gpus_per_user": 3}, {"name": "low"}]})");
  CHECK(tree.tenants ==
        std::vector<Tenant>{
            {.name = "research", .quotas = {{.gpu_type = "h100", .nominal = 8}}},
            {.name = "vision", .parent = 0, .weight = 0.5, .quotas = {{"A100", 16, 8, 0}, {.nominal = 4}}},
            {.name = "speech", .parent = 0}});
  CHECK(tree.partitions == std::vector<vtrain::Partition>{{.name = "gpu",
                                                           .gpu_types = {"h100"},
                                                           .tenants = {"speech"},
                                                           .priority_tier = 2,
                                                           .time_limit = std::chrono::milliseconds(500),
                                                           .max_gpus = 8}});
  CHECK(tree.qos == std::vector<vtrain::Qos>{{"high", -3, {"low"}, 1, 2, 3}, {.name = "low"}});
  CHECK(tree.find("vision") == 1);
  CHECK(!tree.find("visions"));
  CHECK(tree.depth() == 2);
  CHECK(tree.nominal_gpus() == 28);
  CHECK(!tree.empty());
  CHECK(read("{\"version\": 1}").empty());
}

TEST_CASE("tenant_tree: quotas beyond the cluster are said by type, and of all types together") {
  const auto beyond = [](const std::string& quotas) {
    return vtrain::quotas_beyond(
        read("{\"version\": 1, \"tenants\": [{\"name\": \"a\", \"quotas\": [" + quotas + "]}]}"), cluster());
  };
  CHECK(beyond(R"({"gpu_type": "a100", "gpus": 32}, {"gpu_type": "h100", "gpus": 16})").empty());
  CHECK(beyond(R"({"gpu_type": "h100", "gpus": 17})") ==
        std::vector<std::string>{"the quotas add up to 17 H100 GPUs, and the cluster has 16"});
  CHECK(beyond(R"({"gpus": 48})").empty());
  CHECK(beyond(R"({"gpu_type": "a100", "gpus": 32}, {"gpus": 17})") ==
        std::vector<std::string>{"the quotas add up to 49 GPUs, and the cluster has 48"});
}

TEST_CASE("tenant_tree: virtual clusters are tenants with quotas") {
  ClusterSpec with = cluster();
  with.virtual_clusters = {{"vc1", 40}, {"vc2", 0}};
  CHECK(vtrain::tenants_of_virtual_clusters(with).tenants ==
        std::vector<Tenant>{{.name = "vc1", .quotas = {{.nominal = 40}}},
                            {.name = "vc2", .quotas = {{.nominal = 0}}}});
  CHECK(vtrain::tenants_of_virtual_clusters(cluster()).empty());
}

TEST_CASE("tenant_tree: bad files name line, field, what was expected and what was found") {
  CHECK(parse_tenant_tree("{}", "t.json", cluster()).error().describe() == "t.json: version: missing");
  CHECK(parse_tenant_tree("{\"version\": 2}", "t.json", cluster()).error().describe() ==
        "t.json:1: version: expected 1, found '2'");
  CHECK(error_of("\"tenant\": []") == "t.json:2: tenant: unknown key; did you mean 'tenants'?");
  CHECK(error_of("\"tenants\": {}") == "t.json:2: tenants: expected a list, found 'object'");
  CHECK(error_of(
            "\"tenants\": [\n{\"name\": \"a\", \"parent\": \"b\"},\n{\"name\": \"b\", \"parent\": \"a\"}]") ==
        "t.json:3: tenants[0].parent: expected a tree, found a cycle: 'a' below 'b' below 'a'");
  CHECK(error_of("\"tenants\": [\n{\"name\": \"a\", \"parent\": \"a\"}]") ==
        "t.json:3: tenants[0].parent: expected a tree, found a cycle: 'a' below 'a'");
  CHECK(error_of("\"tenants\": [\n{\"name\": \"vision\", \"parent\": \"visio\"}]") ==
        "t.json:3: tenants[0].parent: expected the name of a tenant, found 'visio'; did you mean 'vision'?");
  CHECK(error_of("\"tenants\": [{\"name\": \"a\"},\n{\"name\": \"a\"}]") ==
        "t.json:3: tenants[1].name: expected a name that no other has, found 'a'");
  CHECK(error_of("\"tenants\": [\n{\"name\": \"a\", \"weight\": -1}]") ==
        "t.json:3: tenants[0].weight: expected a number from 0 to 1000000000000, found '-1'");
  CHECK(error_of("\"tenants\": [{\"name\": \"a\",\n\"quotas\": [{\"gpu_type\": \"a10\", \"gpus\": 1}]}]") ==
        "t.json:3: tenants[0].quotas[0].gpu_type: expected a GPU type of the cluster, found 'a10'; did you "
        "mean 'A100'?");
  CHECK(error_of("\"tenants\": [{\"name\": \"a\",\n\"quotas\": [{\"gpus\": -1}]}]")
            .starts_with("t.json:3: tenants[0].quotas[0].gpus: expected a whole number from 0"));
  CHECK(error_of("\"tenants\": [{\"name\": \"a\",\n\"quotas\": [{\"gpus\": 1}, {\"gpus\": 2}]}]") ==
        "t.json:3: tenants[0].quotas[1]: tenant 'a' has a quota of any GPUs twice");
  CHECK(error_of("\"tenants\": [{\"name\": \"a\",\n\"quotas\": [{\"gpus\": 1, \"lending_limit\": 2}]}]") ==
        "t.json:3: tenants[0].quotas[0].lending_limit: expected at most the quota, 1, found '2'");
  CHECK(error_of("\"partitions\": [\n{\"name\": \"p\", \"tenants\": [\"a\"]}]") ==
        "t.json:3: partitions[0].tenants: expected names of tenants, found 'a'");
  CHECK(error_of("\"partitions\": [\n{\"name\": \"p\", \"gpu_types\": [\"v100\"]}]")
            .starts_with(
                "t.json:3: partitions[0].gpu_types: expected a GPU type of the cluster, found 'v100'"));
  CHECK(error_of("\"partitions\": [\n{\"name\": \"p\", \"time_limit_s\": 0}]")
            .starts_with("t.json:3: partitions[0].time_limit_s: expected a number from"));
  CHECK(error_of("\"qos\": [\n{\"name\": \"q\", \"preempts\": [\"r\"]}]") ==
        "t.json:3: qos[0].preempts: expected names of QoS, found 'r'");
  CHECK(error_of("\"qos\": [\n{\"name\": \"q\"}, {\"name\": \"q\"}]")
            .starts_with("t.json:3: qos[1].name: expected a name that no other has"));
}
