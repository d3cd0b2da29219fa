#include "sched/cluster/cluster_tables.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/support/shared_data.hpp"
#include "tests/support/temporary_folder.hpp"

using vtrain::ClusterSpec;
using vtrain::GpuCount;
using vtrain::have;
using vtrain::NodeGroup;
using vtrain::parse_cluster_table;
using vtrain::testing::TemporaryFolder;

namespace {

using Groups = std::vector<NodeGroup>;

const std::filesystem::path kTraces = std::filesystem::path(VTRAIN_SHARED_DIR) / "data/traces";

ClusterSpec table(std::string_view text, std::string_view part = {}) {
  auto cluster = parse_cluster_table(text, "t", part);
  REQUIRE_MESSAGE(cluster.has_value(), cluster.error().describe());
  return *std::move(cluster);
}

std::string error_of(std::string_view text, std::string_view part = {}) {
  const auto cluster = parse_cluster_table(text, "t", part);
  return cluster ? "no error" : cluster.error().describe();
}

ClusterSpec file(const std::string& name) {
  auto cluster = ClusterSpec::parse((kTraces / name).string());
  REQUIRE_MESSAGE(cluster.has_value(), cluster.error().describe());
  return *std::move(cluster);
}

constexpr std::string_view kQuotas =
    "date,vcA,vcB,total\n2020-04-01,8,16,24\n2020-04-03,8,32,40\n2020-04-02,0,16,16\n";

}  // namespace

TEST_CASE("cluster_tables: a node a row, equal ones in groups, those without GPU left out") {
  const ClusterSpec openb = table(
      "sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,2,P100\nn1,1,1,0,\nn2,1,1,2,P100\nn3,1,1,2,T4\nn4,1,1,4,"
      "T4\n");
  CHECK(openb.groups == Groups{{2, GpuCount(2), "P100"}, {1, GpuCount(2), "T4"}, {1, GpuCount(4), "T4"}});
  CHECK(openb.notes == std::vector<std::string>{"nodes without GPU, left out: 1"});
  const Groups v100 = {{1, GpuCount(8), "V100"}};
  CHECK(table("machine,gpu_type,cap_cpu,cap_mem,cap_gpu\na,V100,96,512,8\nb,CPU,96,512,0\n").groups == v100);
  CHECK(table("a,V100,96,512,8\nb,CPU,96,512,0\n").groups == v100);
  CHECK(table("a,V100,96.0,512.0,8.0\n").groups == v100);
  CHECK(table("gpu_model,gpu_capacity_num,cpu_num,node_name\nV100,8.0,96.0,n1\n").groups == v100);
  const ClusterSpec philly =
      table("\xef\xbb\xbfmachineId,number of GPUs,single GPU mem\r\nm31,8, 24GB\r\nm32,2, 12GB");
  CHECK(philly.groups == Groups{{1, GpuCount(8), "24GB"}, {1, GpuCount(2), "12GB"}});
  CHECK(philly.notes == std::vector<std::string>{"GPU memory is used as GPU type"});
}

TEST_CASE("cluster_tables: groups of nodes, and virtual clusters that become one") {
  CHECK(table("num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\r\n2,32,8,64,256")
            .groups == Groups{{64, GpuCount(8), ""}});
  const ClusterSpec lucid = table(",num\nvcA,9\nvcB,4\n");
  CHECK(lucid.groups == Groups{{13, GpuCount(8), ""}});
  CHECK(lucid.notes ==
        std::vector<std::string>{"virtual clusters are joined into one cluster that every tenant may use: no "
                                 "policy enforces their quotas (FILE@NAME takes one)"});
  CHECK(table("vc,node num\nv,64\nw,32\n").groups == Groups{{96, GpuCount(8), ""}});
}

TEST_CASE("cluster_tables: quotas of the last day or of a day that is named") {
  const ClusterSpec last = table(kQuotas);
  CHECK(last.groups == Groups{{5, GpuCount(8), ""}});
  CHECK(last.notes[0] == "GPU quotas of 2020-04-03, of 3 days in the table (FILE@YYYY-MM-DD for another)");
  CHECK(table(kQuotas, "2020-04-01").groups == Groups{{3, GpuCount(8), ""}});
  CHECK(error_of(kQuotas, "2020-05-01") == "t: expected one of the table's 3 days, found '2020-05-01'");
  CHECK(error_of(kQuotas, "May") == "t: expected behind '@' one of the 2 virtual clusters, found 'May'");
  CHECK(error_of("date,vcA,vcB,total\n2020-04-01,8,16,32\n") ==
        "t:2: total: expected the sum of the quotas, 24, found '32'");
  CHECK(error_of("date,vcA,total\n2020-04-01,9,9\n") ==
        "t:2: vcA: expected whole nodes of 8 GPUs, found '9'");
  CHECK(error_of("date,vcA,total\n") == "t: expected at least one day, found none");
}

TEST_CASE("cluster_tables: virtual clusters are listed, and one can be picked") {
  using Clusters = std::vector<vtrain::VirtualCluster>;
  CHECK(table(kQuotas).virtual_clusters == Clusters{{"vcA", 8}, {"vcB", 32}});
  CHECK(table(kQuotas, "2020-04-02").virtual_clusters == Clusters{{"vcA", 0}, {"vcB", 16}});
  CHECK(table(kQuotas, "vcB").groups == Groups{{4, GpuCount(8), ""}});
  const ClusterSpec one = table(kQuotas, "2020-04-01/vcB");
  CHECK(one.groups == Groups{{2, GpuCount(8), ""}});
  CHECK(one.virtual_clusters.empty());
  CHECK(one.notes[1] == "the virtual cluster vcB alone, of 2");
  CHECK(error_of(kQuotas, "2020-04-02/vcA") == "t: expected at least one node with GPUs, found none");
  CHECK(error_of(kQuotas, "vcC") ==
        "t: expected behind '@' one of the 2 virtual clusters, maybe vcA, found 'vcC'");
  const std::string_view lucid = ",num\nvcA,9\nvcB,4\n";
  CHECK(table(lucid).virtual_clusters == Clusters{{"vcA", 72}, {"vcB", 32}});
  CHECK(table(lucid, "vcB").groups == Groups{{4, GpuCount(8), ""}});
  CHECK(table("vc,node num\nv,64\nw,32\n", "v").total_gpus() == GpuCount(512));
  CHECK(error_of("vc,node num\nv,64\nv,32\n").starts_with("t:3: vc: expected a virtual cluster of its own"));
}

TEST_CASE("cluster_tables: Gavel's clusters") {
  const auto parse = [](const std::string& text, const std::string& part) {
    const TemporaryFolder folder;
    return ClusterSpec::parse(folder.write("clusters.json", text).string() + part);
  };
  const auto one = parse(R"({"philly": ["500:0:3"]})", "");
  REQUIRE_MESSAGE(one.has_value(), one.error().describe());
  CHECK(one->groups == Groups{{500, GpuCount(1), "v100"}, {3, GpuCount(1), "k80"}});
  CHECK(one->notes == std::vector<std::string>{"the file counts GPUs: each is a node of its own"});
  const std::string two = R"({"a": ["1:0:0"], "b": ["0:2:0"]})";
  CHECK(parse(two, "@b")->groups == Groups{{2, GpuCount(1), "p100"}});
  CHECK(parse(two, "").error().message ==
        "expected the name of a cluster behind '@', one of 'a' and 'b', found ''");
  CHECK(parse(two, "@c").error().message ==
        "expected the name of a cluster behind '@', one of 'a' and 'b', found 'c'");
  for (const char* bad : {R"({"a": ["1:0"]})", R"({"a": ["1:0:0:0"]})", R"({"a": ["x:0:0"]})",
                          R"({"a": ["1:0:0", "2:0:0"]})"}) {
    CAPTURE(bad);
    CHECK(parse(bad, "").error().message.starts_with(
        "expected one text with the numbers of V100, P100 and K80"));
  }
  CHECK(parse(R"({"groups": [{"num_nodes": 1, "gpus_per_node": 8}]})", "@a").error().message ==
        "expected no part behind '@', for this table has none, found 'a'");
}

TEST_CASE("cluster_tables: rows that are no good name the line and the column") {
  const std::string header = "sn,cpu_milli,memory_mib,gpu,model\n";
  CHECK(error_of(header + "a,1,1,x,P100\n").starts_with("t:2: gpu: expected a whole number"));
  CHECK(error_of(header + "a,1,1,-1,P100\n").starts_with("t:2: gpu: expected a whole number"));
  CHECK(error_of(header + "a,1,1,1,P100\na,1,1,1,P100\n") ==
        "t:3: expected a node of its own in each row, found 'a'");
  CHECK(error_of(header + "a,1,1,1,P/100\n").starts_with("t:2: expected a GPU type of letters"));
  CHECK(error_of(header + "a,1,1\n") == "t:2: expected 5 columns, found 3");
  CHECK(error_of(header + "a,1,1,0,\n") == "t: expected at least one node with GPUs, found none");
  CHECK(error_of(header + "a,1,1,10000000,\nb,1,1,1,\n")
            .starts_with("t:3: expected at most 10,000,000 nodes and GPUs"));
  CHECK(error_of(",num\na,10000000\n").starts_with("t: expected at most 10,000,000 nodes and GPUs"));
  CHECK(error_of(header + "a,1,1,1,\n", "x") ==
        "t: expected no part behind '@', for this table has none, found 'x'");
  CHECK(error_of("").starts_with("t: empty"));
  CHECK(error_of("job_id,submit_s\n1,2\n").starts_with("t:1: expected a cluster: JSON with"));
}

TEST_CASE(
    "cluster_tables: a file is accepted wherever a cluster is, plain or packed; a missing one is not found") {
  const TemporaryFolder folder;
  const std::string quotas = folder.write("quotas@home.csv", kQuotas).string();
  CHECK(ClusterSpec::parse(quotas)->total_gpus() == GpuCount(40));
  CHECK(ClusterSpec::parse(quotas + "@2020-04-02")->total_gpus() == GpuCount(16));
  const std::string slurm = folder.write("sinfo.out", "NODELIST GRES\nn[1-3] gpu:a100:4\n").string();
  CHECK(ClusterSpec::parse(slurm)->describe() == "3 x 4 A100, 12 GPUs");
  for (const char* absent : {"nodes.csv", "/nowhere/nodes", "nodes.json"}) {
    const auto cluster = ClusterSpec::parse(absent);
    REQUIRE_FALSE(cluster.has_value());
    CHECK(cluster.error().kind == vtrain::ErrorKind::NotFound);
  }
}

TEST_CASE("cluster_tables: the published tables have the counts of their READMEs") {
  if (!have(kTraces)) return;
  const ClusterSpec pai = file("alibaba-pai-2020/pai_machine_spec.csv.gz");
  CHECK(pai.total_gpus() == GpuCount(6742));
  CHECK(pai.total_nodes() == 1897 - 83);
  CHECK(pai.notes == std::vector<std::string>{"nodes without GPU, left out: 83"});
  const auto groups_of = [](const ClusterSpec& cluster) {
    std::string text;
    for (const NodeGroup& group : cluster.groups)
      text += group.gpu_type + "x" + std::to_string(group.gpus_per_node.value) + " " +
              std::to_string(group.num_nodes) + ";";
    return text;
  };
  for (const char* part : {"MISCx8 280;", "P100x2 798;", "T4x2 497;", "V100x8 104;", "V100M32x8 135;"})
    CHECK(groups_of(pai).find(part) != std::string::npos);
  CHECK(pai.groups.size() == 5);

  const ClusterSpec openb = file("alibaba-openb-2023/openb_node_list_gpu_node.csv.gz");
  CHECK(openb.total_nodes() == 1213);
  CHECK(openb.total_gpus() == GpuCount(6212));
  CHECK(openb.notes.empty());
  for (const char* part :
       {"G2x8 549;", "G3x8 39;", "P100x1 3;", "P100x2 131;", "T4x2 387;", "T4x4 17;", "V100M16x1 19;",
        "V100M16x4 28;", "V100M16x8 8;", "V100M32x4 9;", "V100M32x8 21;", "A10x1 2;"})
    CHECK(groups_of(openb).find(part) != std::string::npos);
  CHECK(openb.groups.size() == 12);
  const ClusterSpec all = file("alibaba-openb-2023/openb_node_list_all_node.csv.gz");
  CHECK(all.total_gpus() == GpuCount(6212));
  CHECK(all.notes == std::vector<std::string>{"nodes without GPU, left out: 310"});  // 1,523 - 1,213

  const std::string venus = "helios/Venus_cluster_gpu_number.csv";
  CHECK(file(venus).total_gpus() == GpuCount(1080));
  CHECK(file(venus + "@2020-04-01").total_gpus() == GpuCount(968));
  CHECK(file("philly/philly_vc_nodes_qssf.csv").total_nodes() == 352);
  CHECK(file("elasticflow/n64g8.csv").describe() == "64 x 8, 512 GPUs");
  CHECK(file("elasticflow/n128g8.csv").describe() == "128 x 8, 1,024 GPUs");
  CHECK(file("tiresias/n160g8.csv").describe() == "160 x 8, 1,280 GPUs");
  CHECK(file("tiresias/n1g4.csv").describe() == "1 x 4, 4 GPUs");
  CHECK(file("muri/n8g8.csv").describe() == "8 x 8, 64 GPUs");
  CHECK(file("gavel/cluster_specs.json").describe() == "500 x 1 V100, 500 GPUs");
  CHECK(file("gavel/cluster_specs_heterogeneous.json").describe() ==
        "300 x 1 V100 + 300 x 1 P100 + 300 x 1 K80, 900 GPUs");
}
