#include <doctest/doctest.h>

#include <string>

#include "sched/cluster/cluster_tables.hpp"

using vtrain::ClusterSpec;
using vtrain::GpuCount;
using vtrain::NodeGroup;

namespace {

/// Two nodes as `scontrol show node` prints them, shortened.
constexpr std::string_view kScontrol =
    "NodeName=gpu01 Arch=x86_64 CoresPerSocket=64\n"
    "   CPUAlloc=0 CPUEfctv=128 CPUTot=128 CPULoad=0.01\n"
    "   AvailableFeatures=(null)\n"
    "   Gres=gpu:a100:8(S:0-1)\n"
    "   GresUsed=gpu:a100:3(IDX:0-2)\n"
    "   OS=Linux 5.14.0 #1 SMP PREEMPT_DYNAMIC Thu Jan 1\n"
    "   State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
    "   CfgTRES=cpu=128,mem=1000000M,billing=128,gres/gpu=8,gres/gpu:a100=8\n"
    "   AllocTRES=cpu=48,gres/gpu=3\n"
    "   Reason=none\n"
    "\n"
    "NodeName=gpu02 Arch=x86_64 CoresPerSocket=64\n"
    "   Gres=(null)\n"
    "   State=IDLE+DRAIN ThreadsPerCore=1\n"
    "   CfgTRES=cpu=128,mem=1000000M,billing=128,gres/gpu=4\n"
    "\n"
    "NodeName=cpu01 Arch=x86_64\n"
    "   Gres=(null)\n"
    "   State=IDLE\n"
    "   CfgTRES=cpu=128,mem=1000000M\n";

}  // namespace

TEST_CASE("slurm_nodes: what scontrol prints") {
  REQUIRE(vtrain::is_scontrol_output(kScontrol));
  CHECK_FALSE(vtrain::is_sinfo_output(kScontrol));
  const auto cluster = vtrain::parse_scontrol_nodes(kScontrol, "nodes.txt");
  REQUIRE_MESSAGE(cluster.has_value(), cluster.error().describe());
  REQUIRE(cluster->groups.size() == 2);
  CHECK(cluster->groups[0] == NodeGroup{1, GpuCount(8), "a100"});
  CHECK(cluster->groups[1] == NodeGroup{1, GpuCount(4), ""});
  CHECK(cluster->notes ==
        std::vector<std::string>{"nodes without GPU, left out: 1",
                                 "nodes that are down, drained or in maintenance, counted too: 1"});
  // One line a node, as -o prints, and CRLF.
  const auto lines = vtrain::parse_scontrol_nodes(
      "NodeName=a Gres=gpu:8 State=IDLE\r\nNodeName=b Gres=gpu:8 State=IDLE\r\n", "nodes.txt");
  REQUIRE(lines.has_value());
  CHECK(lines->groups == std::vector<NodeGroup>{{2, GpuCount(8), ""}});
}

TEST_CASE("slurm_nodes: a byte-order mark and blank lines in front are fine") {
  const std::string mark = "\xef\xbb\xbf\r\n";
  const std::string scontrol = mark + std::string(kScontrol);
  REQUIRE(vtrain::is_scontrol_output(scontrol));
  const auto by_node = vtrain::parse_scontrol_nodes(scontrol, "nodes.txt");
  REQUIRE_MESSAGE(by_node.has_value(), by_node.error().describe());
  CHECK(by_node->groups.size() == 2);
  const std::string sinfo = mark + "NODELIST GRES\n\ngpu[1-2] gpu:8\n";
  REQUIRE(vtrain::is_sinfo_output(sinfo));
  const auto by_list = vtrain::parse_sinfo_nodes(sinfo, "nodes.txt");
  REQUIRE_MESSAGE(by_list.has_value(), by_list.error().describe());
  CHECK(by_list->groups == std::vector<NodeGroup>{{2, GpuCount(8), ""}});
  const auto wrong = vtrain::parse_sinfo_nodes(sinfo + "\ngpu[3-4] gpu:a:b:c\n", "nodes.txt");
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().line == 6);
}

TEST_CASE("slurm_nodes: what scontrol does not print names the line") {
  const auto error_of = [](std::string_view text) {
    const auto cluster = vtrain::parse_scontrol_nodes(text, "nodes.txt");
    return cluster ? "no error" : cluster.error().describe();
  };
  CHECK(error_of("NodeName=a Gres=gpu:8\nNodeName=b\n Gres=gpu:a:b:c\n") ==
        "nodes.txt:2: Gres: expected GPUs as gpu:a100:8, found 'gpu:a:b:c'");
  CHECK(error_of("NodeName=a Gres=gpu:a/b:8\n")
            .starts_with("nodes.txt:1: Gres: expected a GPU type of letters"));
  CHECK(error_of("NodeName=a Gres=gpu:a100:99999999\n") ==
        "nodes.txt:1: Gres: expected at most 10,000,000 nodes and GPUs in all, found more");
  CHECK(error_of("NodeName=a\n") == "nodes.txt: expected at least one node with GPUs, found none");
}

TEST_CASE("slurm_nodes: what sinfo prints, in blanks or bars, with nodes in several partitions") {
  const std::string blanks =
      "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST GRES\n"
      "gpu*         up 1-00:00:00      3   idle gpu[01-03] gpu:a100:8(S:0-1)\n"
      "debug        up 1-00:00:00      2   idle gpu[03-04] gpu:a100:8(S:0-1)\n"
      "cpu          up 1-00:00:00      1  down* cpu01 (null)\n";
  REQUIRE(vtrain::is_sinfo_output(blanks));
  const auto cluster = vtrain::parse_sinfo_nodes(blanks, "sinfo.txt");
  REQUIRE_MESSAGE(cluster.has_value(), cluster.error().describe());
  CHECK(cluster->groups == std::vector<NodeGroup>{{4, GpuCount(8), "a100"}});
  // The node that is down has no GPU.
  CHECK(cluster->notes == std::vector<std::string>{"nodes without GPU, left out: 1"});
  const auto bars =
      vtrain::parse_sinfo_nodes("HOSTNAMES|GRES\r\na|gpu:2\r\nb|gpu:2,gpu:v100:1\r\n", "sinfo.txt");
  REQUIRE_MESSAGE(bars.has_value(), bars.error().describe());
  CHECK(bars->groups == std::vector<NodeGroup>{{2, GpuCount(2), ""}, {1, GpuCount(1), "v100"}});
  CHECK(bars->notes ==
        std::vector<std::string>{"nodes with several GPU types, counted once for each type: 1"});
}

TEST_CASE("slurm_nodes: nodes that cannot run jobs now are counted and said, those that save power are not") {
  const auto notes_of = [](const std::string& state) {
    return vtrain::parse_scontrol_nodes("NodeName=a Gres=gpu:8 State=" + state + "\n", "nodes.txt")->notes;
  };
  for (const char* state : {"DOWN*", "IDLE+DRAIN", "draining", "drng@", "FAIL", "MAINT", "IDLE+MAINTENANCE",
                            "idle*", "mix$", "IDLE+NOT_RESPONDING", "FUTURE"}) {
    CAPTURE(state);
    CHECK(notes_of(state) ==
          std::vector<std::string>{"nodes that are down, drained or in maintenance, counted too: 1"});
  }
  for (const char* state : {"IDLE", "IDLE+CLOUD+POWERED_DOWN", "MIXED+POWERING_DOWN", "idle~", "ALLOCATED"}) {
    CAPTURE(state);
    CHECK(notes_of(state).empty());
  }
}

TEST_CASE("slurm_nodes: sinfo without GRES says how to print it; other errors name the line") {
  const auto error_of = [](std::string_view text) {
    const auto cluster = vtrain::parse_sinfo_nodes(text, "sinfo.txt");
    return cluster ? "no error" : cluster.error().describe();
  };
  CHECK(error_of("PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\n") ==
        "sinfo.txt:1: GRES: column missing, which says how many GPUs a node has; `sinfo -o \"%N %G %t\"` "
        "prints it");
  CHECK(error_of("NODELIST GRES\na gpu:1\n\nb\n") == "sinfo.txt:4: expected 2 columns, found 1");
  CHECK(error_of("NODELIST GRES\na[ gpu:1\n").starts_with("sinfo.txt:2: NODELIST: expected a list of hosts"));
  CHECK(error_of("NODELIST GRES\na gpu:x:y:z\n").starts_with("sinfo.txt:2: GRES: expected GPUs"));
}
