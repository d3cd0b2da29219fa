#include "sched/cluster/cluster.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/temporary_folder.hpp"

namespace vtrain {
namespace {

using testing::TemporaryFolder;

std::string error_of(const std::string& text) {
  const auto cluster = ClusterSpec::parse(text);
  REQUIRE_FALSE(cluster);
  CHECK(cluster.error().kind != ErrorKind::Failed);
  return cluster.error().describe();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("cluster: the short form names nodes, GPUs per node and type") {
  const auto cluster = ClusterSpec::parse("16x8:a100");
  REQUIRE(cluster);
  REQUIRE(cluster->groups.size() == 1);
  CHECK(cluster->groups[0] == NodeGroup{16, GpuCount(8), "a100"});
  CHECK(cluster->total_gpus() == GpuCount(128));
  CHECK(cluster->total_nodes() == 16);
  CHECK(cluster->describe() == "16 x 8 A100, 128 GPUs");
}

TEST_CASE("cluster: groups are joined by +, the type may be left out") {
  const auto cluster = ClusterSpec::parse("1000x8 + 4x4:v100");
  REQUIRE(cluster);
  REQUIRE(cluster->groups.size() == 2);
  CHECK(cluster->groups[0] == NodeGroup{1000, GpuCount(8), ""});
  CHECK(cluster->groups[1] == NodeGroup{4, GpuCount(4), "v100"});
  CHECK(cluster->total_gpus() == GpuCount(8016));
  CHECK(cluster->describe() == "1,000 x 8 + 4 x 4 V100, 8,016 GPUs");
}

TEST_CASE("cluster: what cannot be read names the field, the expected and the found") {
  for (const std::string text : {"", "16", "x8", "16x", "0x8", "16x0", "-1x8", "16x8:", "16x8:a b", "16x8+",
                                 "axb", "16:8x8", "1.5x8", "16x8x8", "99999999999999999999x1"}) {
    CAPTURE(text);
    const std::string error = error_of(text);
    CHECK(contains(error, "cluster: "));
    CHECK(contains(error, "expected "));
    CHECK(contains(error, "found '"));
  }
}

TEST_CASE("cluster: at most ten million GPUs in all") {
  CHECK(ClusterSpec::parse("10000000x1"));
  CHECK(ClusterSpec::parse("1x10000000"));
  CHECK(contains(error_of("10000000x10000000"), "at most 10,000,000 GPUs"));
  CHECK(contains(error_of("5000000x1+5000001x1"), "at most 10,000,000 GPUs"));
}

TEST_CASE("cluster: a JSON file says the same as the short form") {
  const TemporaryFolder folder;
  const auto file =
      folder.write("cluster.json", R"({"groups": [{"num_nodes": 16, "gpus_per_node": 8, "gpu_type": "a100"},
                                          {"num_nodes": 2, "gpus_per_node": 4}]})");
  const auto cluster = ClusterSpec::parse(file.string());
  REQUIRE(cluster);
  CHECK(cluster->groups == ClusterSpec::parse("16x8:a100+2x4")->groups);
}

TEST_CASE("cluster: a JSON file may say what NVLink joins and how many nodes a rack has") {
  const TemporaryFolder folder;
  const auto file = folder.write(
      "cluster.json",
      R"({"groups": [{"num_nodes": 16, "gpus_per_node": 8, "gpus_per_island": 4, "nodes_per_rack": 6}]})");
  const auto cluster = ClusterSpec::parse(file.string());
  REQUIRE(cluster);
  CHECK(cluster->groups.front().gpus_per_island == GpuCount(4));
  CHECK(cluster->groups.front().nodes_per_rack == 6);
}

TEST_CASE("cluster: errors in a JSON file name the file and the key") {
  struct Case {
    std::string content;
    std::string part;
  };
  const Case cases[] = {
      {R"({"groups": []})", "groups: expected a list"},
      {R"({})", "groups: expected a list"},
      {R"([1])", "expected a JSON object"},
      {R"({"group": []})", "group"},
      {R"({"groups": [{"num_nodes": 0, "gpus_per_node": 8}]})", "num_nodes"},
      {R"({"groups": [{"num_nodes": 1}]})", "gpus_per_node"},
      {R"({"groups": [{"num_nodes": 1, "gpus_per_node": 1e99}]})", "gpus_per_node"},
      {R"({"groups": [{"num_nodes": 1, "gpus_per_node": 8, "gpu_type": "a/b"}]})", "gpu_type"},
      {R"({"groups": [{"num_nodes": 1, "gpus_per_node": 8, "color": 1}]})", "color"},
      {R"({"groups": [{"num_nodes": 1, "gpus_per_node": 8, "gpus_per_island": 3}]})",
       "gpus_per_island: expected a divisor of gpus_per_node, 8, found '3'"},
      {R"({"groups": [{"num_nodes": 1, "gpus_per_node": 8, "nodes_per_rack": 0}]})", "nodes_per_rack"},
      {R"({"groups": [3]})", "expected a JSON object"},
      {R"({"groups": [)", "malformed JSON"}};
  const TemporaryFolder folder;
  for (const Case& bad : cases) {
    CAPTURE(bad.content);
    const std::string file = folder.write("cluster.json", bad.content).string();
    const std::string error = error_of(file);
    CAPTURE(error);
    CHECK(contains(error, file));
    CHECK(contains(error, bad.part));
  }
  CHECK(contains(error_of("/nonexistent/cluster.json"), "/nonexistent/cluster.json"));
}

}  // namespace vtrain
