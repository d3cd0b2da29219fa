/// Output of Slurm's commands as input, through the real command line.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

/// Output of `vtrain trace info` for a trace.
json info_of(const std::string& trace) {
  const TemporaryFolder folder;
  folder.write("trace", trace);
  return run_json("trace info trace", folder);
}

/// Numbers of GPUs and of jobs with them, as `8x2 16x1`.
std::string sizes_in(const json& info) {
  std::string sizes;
  for (const json& size : info["num_gpus"])
    sizes += (sizes.empty() ? "" : " ") + size["num_gpus"].dump() + "x" + size["jobs"].dump();
  return sizes;
}

/// Number of skipped rows by reason, as `no GPU requested: 1`.
std::string skipped_in(const json& info) {
  std::string reasons;
  for (const json& reason : info["skipped"])
    reasons +=
        (reasons.empty() ? "" : ", ") + reason["reason"].get<std::string>() + ": " + reason["rows"].dump();
  return reasons;
}

/// Names of tenants or users, in order of GPU-hours.
std::string names_in(const json& names) {
  std::string text;
  for (const json& each : names)
    text += (text.empty() ? "" : " ") + each["name"].get<std::string>();
  return text;
}

/// A job of one hour from 10:00:00.
const std::string kHour = "2020-03-01T10:00:00|2020-03-01T10:00:00|2020-03-01T11:00:00|3600";

/// Nodes and GPUs of a cluster file, as `2 x 8 A100, 16 GPUs`, or its error.
std::string cluster_in(const std::string& nodes, const std::string& name = "nodes.txt") {
  const TemporaryFolder folder;
  folder.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,100\n");
  folder.write(name, nodes);
  const auto result =
      run_vtrain("replay --trace jobs.csv --deadlines none --out run --cluster " + name, folder.path());
  if (result.exit_code == 2) return result.err;
  return json::parse(slurp(folder / "run/run.json"))["cluster"].get<std::string>();
}

}  // namespace

TEST_CASE("slurm input: GPUs in the columns of sacct are those of the whole job") {
  // Totals: 8, 16 and 2 + 4 GPUs for an hour each are 30 GPU-hours.
  const json totals =
      info_of("JobID|State|Submit|Start|End|ElapsedRaw|NNodes|ReqGRES|AllocGRES\n1|COMPLETED|" + kHour +
              "|2|gpu:8|gpu:8\n2|COMPLETED|" + kHour + "|8|gpu:v100:16|\n3|COMPLETED|" + kHour +
              "|3||gpu:a100:2(IDX:0-1),gpu:v100:4(S:0-1)\n");
  CHECK(sizes_in(totals) == "6x1 8x1 16x1");
  CHECK(totals["gpu_hours"] == 30.0);
  // For each node: 4 * 2, and 2 * 3 of a type. For the job: 5. For each of an unknown number of tasks: none.
  const json per_node = info_of(
      "JobID|State|Submit|Start|End|ElapsedRaw|NNodes|ReqGRES\n1|COMPLETED|" + kHour +
      "|2|PER_NODE:gpu:4\n2|COMPLETED|" + kHour + "|3|PER_NODE:gres:gpu:a100:2 PER_TASK:gpu:1\n3|COMPLETED|" +
      kHour + "|3|PER_JOB:gpu:5 PER_NODE:gpu:4\n4|COMPLETED|" + kHour + "|3|PER_TASK:gpu:1\n");
  CHECK(sizes_in(per_node) == "5x1 6x1 8x1");
  CHECK(skipped_in(per_node) == "GPUs requested for each node, task or socket, whose number is not said: 1");
}

TEST_CASE("slurm input: nodes that no column counts are those of TRES, or the GPUs for each are not known") {
  const std::string header = "JobID|State|Submit|Start|End|ElapsedRaw|ReqTRES|ReqGRES\n";
  const json info = info_of(header + "1|COMPLETED|" + kHour + "|cpu=8,node=3|PER_NODE:gpu:4\n2|COMPLETED|" +
                            kHour + "|cpu=8|PER_NODE:gpu:4\n");
  CHECK(sizes_in(info) == "12x1");
  CHECK(skipped_in(info) == "GPUs requested for each node, task or socket, whose number is not said: 1");
}

TEST_CASE("slurm input: TRES without GPUs hide no GRES; parts of GPUs are a reason of their own") {
  const json info = info_of(
      "JobID|State|Submit|Start|End|ElapsedRaw|NNodes|AllocTRES|AllocGRES|ReqTRES\n1|COMPLETED|" + kHour +
      "|1|billing=8,cpu=8,mem=32G,node=1|gpu:4|\n2|COMPLETED|" + kHour +
      "|1|cpu=8,gres/gpu=2|gpu:2|gres/gpu=8\n3|COMPLETED|" + kHour +
      "|1|cpu=8|(null)|gres/gpu:a100=1\n4|COMPLETED|" + kHour + "|1|cpu=8,gres/shard=2||\n5|COMPLETED|" +
      kHour + "|1|cpu=8|mps:50|\n6|COMPLETED|" + kHour + "|1|cpu=8|N/A|\n");
  CHECK(sizes_in(info) == "1x1 2x1 4x1");
  CHECK(skipped_in(info) ==
        "parts of GPUs requested, no whole ones (gres/shard, gres/mps): 2, no GPU requested: 1");
}

TEST_CASE("slurm input: bars in free text shift no column") {
  // Constraints may be `a100|h100`, but then the name may be `train|vision` as well: Account is not known.
  const json doubtful =
      info_of("JobID|User|Submit|Start|End|ElapsedRaw|State|JobName|Account|Constraints|AllocTRES\n1|amy|" +
              kHour + "|COMPLETED|train|vision|a100|h100|gres/gpu=8\n2|bob|" + kHour +
              "|COMPLETED|train|nlp|a100|gres/gpu=8\n");
  CHECK(names_in(doubtful["tenants"]) == "nlp");
  CHECK(skipped_in(doubtful) == "malformed row (columns, quotes or length): 1");
  // Of these only free text is in doubt.
  const json certain = info_of(
      "JobID|Account|JobName|Comment|" +
      std::string("Submit|Start|End|ElapsedRaw|Constraints|State|AllocTRES|WorkDir\n") + "1|vision|a|b|c||" +
      kHour + "|a100|h100|COMPLETED|gres/gpu=8|/home/x|y\n2|nlp|||" + kHour +
      "||FAILED|gres/gpu=4|/\n3|nlp|no|time|yesterday|" + kHour.substr(20) + "||FAILED|gres/gpu=4|/\n");
  CHECK(sizes_in(certain) == "4x1 8x1");
  CHECK(names_in(certain["tenants"]) == "vision nlp");
  CHECK(certain["gpu_hours"] == 12.0);
  CHECK(skipped_in(certain) == "malformed time: 1");
}

TEST_CASE("slurm input: line feeds in free text break no row") {
  const std::string header = "JobID|JobName|Submit|Start|End|ElapsedRaw|State|AllocTRES|SubmitLine\n";
  const std::string whole = "2|x|" + kHour + "|COMPLETED|gres/gpu=8|sbatch a\n";
  const json info =
      info_of(header + "1|two\n\nlines|and|bars|" + kHour + "|COMPLETED|gres/gpu=8|sbatch\n" + whole +
              "3|x|" + kHour + "|COMPLETED|gres/gpu=4|sbatch --wrap=first\nsecond\n third\n" + "4|y|" +
              kHour + "|COMPLETED|gres/gpu=2|\n");
  CHECK(sizes_in(info) == "2x1 4x1 8x2");
  CHECK(skipped_in(info).empty());
  // A damaged row takes nothing from the row behind it.
  const json damaged = info_of(header + "7|cut off\n" + whole + "8|cut|2020\n9|y|" + kHour + "\n");
  CHECK(sizes_in(damaged) == "8x1");
  CHECK(skipped_in(damaged) == "malformed row (columns, quotes or length): 3");
}

TEST_CASE("slurm input: an id that comes again is a later run or another job") {
  const std::string header = "JobID|User|State|Submit|Start|End|ElapsedRaw|AllocTRES\n";
  const auto row = [](const std::string& job, const std::string& year, const std::string& hours) {
    const std::string day = year + "-03-01T";
    return job + "|" + day + "00:00:00|" + day + "00:00:00|" + day + "20:00:00|" + hours + "|gres/gpu=1\n";
  };
  // 10 GPU-hours of amy, 2 of bob and again 4 of bob: ids were used again twice.
  const std::string other = header + row("100|amy|NODE_FAIL", "2022", "36000") +
                            row("100|bob|COMPLETED", "2023", "7200") + row("100|bob|FAILED", "2024", "14400");
  const json info = info_of(other);
  CHECK(info["jobs"] == 3);
  CHECK(info["gpu_hours"] == 16.0);
  CHECK(skipped_in(info).empty());
  CHECK(info["assumptions"].dump().find(
            "jobs whose id was used before, by another job, called id#2 and so on: 2") != std::string::npos);
  const TemporaryFolder folder;
  folder.write("trace", other);
  CHECK(run_vtrain("trace convert trace --out jobs.csv", folder.path()).exit_code == 0);
  CHECK(run_json("trace info jobs.csv", folder)["jobs"] == 3);
  // The last of three runs of a job, whatever their order in the file; then the row of another export.
  const json requeued = info_of(
      header + row("100|amy|CANCELLED by 7", "2024", "3600") + row("100|amy|PREEMPTED", "2023", "7200") +
      row("100|amy|NODE_FAIL", "2022", "7200") + row("100|amy|CANCELLED by 7", "2024", "3600"));
  CHECK(requeued["jobs"] == 1);
  CHECK(requeued["gpu_hours"] == 1.0);
  CHECK(skipped_in(requeued) == "earlier run of a requeued job: 2, job id of an earlier row: 1");
}

TEST_CASE("slurm input: names in another encoding lose no job") {
  const json info = info_of(
      "JobID|User|Account|JobName|State|Submit|Start|End|ElapsedRaw|AllocTRES\n1|j\xf6rg|d\xe9p|\xfc|"
      "COMPLETED|" +
      kHour + "|gres/gpu=1\n2|j\xf6rg|\u00e9|x|COMPLETED|" + kHour + "|gres/gpu=1\n");
  CHECK(info["jobs"] == 2);
  CHECK(names_in(info["users"]) == "j\ufffdrg");
  CHECK(names_in(info["tenants"]) == "d\ufffdp \u00e9");
  CHECK(info["assumptions"].back() == "names with bytes that are not UTF-8, read as U+FFFD: 2");
}

TEST_CASE("slurm input: sacct with another separator is told to use -P") {
  const TemporaryFolder folder;
  for (const std::string header :
       {"JobID,State,Submit,Start,End,ElapsedRaw,AllocTRES", "JobIDRaw;State;User;AllocTRES",
        "User\tJobID\tState", "\"JobID\",\"State\",\"AllocTRES\"", "JobID^|^State^|^User^|^Submit"}) {
    CAPTURE(header);
    folder.write("trace", header + "\n1,COMPLETED\n");
    const auto result = run_vtrain("trace info trace", folder.path());
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("trace:1: ") != std::string::npos);
    CHECK(result.err.find("sacct -a -X -P") != std::string::npos);
    CHECK(result.err.find("as -P prints them") != std::string::npos);
  }
}

TEST_CASE("slurm input: tables of sinfo that are cut at the widths of their columns are errors") {
  const auto is_cut = [](const std::string& nodes) {
    const std::string error = cluster_in(nodes);
    CAPTURE(error);
    return error.starts_with("error: nodes.txt:") &&
           error.find(
               "`sinfo -N -O nodelist:256,gres:256,statecompact` or `scontrol show node` print it in full") !=
               std::string::npos;
  };
  // -O, whose columns have 20 characters and no separator; also without the blanks at the end.
  CHECK(is_cut("NODELIST            GRES                \ngpu001              gpu:nvidia_h100_80gb\n"));
  CHECK(is_cut("NODELIST            GRES\ngpu001              gpu:nvidia_a100_pcie\n"));
  CHECK(
      is_cut("NODELIST            GRES                REASON              \n"
             "gpu001              gpu:nvidia_h100_80gbNot responding      \n"));
  CHECK(is_cut("NODELIST            GRES                \nqueue1-dy-p4d24xlarggpu:a100:8          \n"));
  // -o with widths: a name of each width, a list, a number of GPUs; bars.
  CHECK(is_cut("NODELIST             GRES            STATE\nqueue1-dy-p4d24xlarg gpu:a100:8      idle~\n"));
  CHECK(is_cut("NODELIST     GRES            STATE\ngpu[001-004, gpu:a100:8      idle\n"));
  CHECK(is_cut("NODELIST     GRES       STATE\ngpu001       gpu:a100:1 idle\n"));
  CHECK(is_cut("NODELIST        GRES STATE\ngpu001  gpu:h100-sxm idle\n"));  // right-justified
  CHECK(is_cut("NODELIST    |GRES      |STATE\ngpu001      |gpu:a100:1|idle\n"));
  // Names that two nodes have: another state, other GPUs, one partition twice.
  CHECK(is_cut("NODELIST GRES STATE\ngpu-0000 gpu:8 idle\ngpu-0000 gpu:8 mix\n"));
  CHECK(is_cut("NODELIST GRES STATE\ngpu-0000 gpu:8 idle\ngpu-0000 gpu:4 idle\n"));
  CHECK(is_cut("NODELIST GRES PARTITION\ngpu-0000 gpu:8 a\ngpu-0000 gpu:8 a\n"));
  // What is whole: values with a blank behind, columns without widths, a node in two partitions.
  CHECK(cluster_in("NODELIST            GRES                \ngpu[001-002]        gpu:tesla           \n") ==
        "2 x 1 TESLA, 2 GPUs");
  CHECK(cluster_in("NODELIST GRES STATE\ngpu-0001 gpu: 1\n").starts_with("2 x") == false);
  CHECK(cluster_in("NODELIST GRES STATE PARTITION\ngpu-0001 gpu:h100:8(S:0-1) idle a*\n"
                   "gpu-0001 gpu:h100:8(S:0-1) idle b\n") == "1 x 8 H100, 8 GPUs");
  CHECK(cluster_in("HOSTNAMES|NODELIST|GRES\nlocalhost|a|gpu:2\nlocalhost|b|gpu:2\n") == "2 x 2, 4 GPUs");
}

TEST_CASE("slurm input: nodes as JSON of every version of Slurm") {
  const auto nodes_of = [](const std::string& nodes) { return cluster_in(nodes, "nodes.json"); };
  CHECK(nodes_of(
            R"json({"nodes":[{"hostname":"n1","gres":"gpu:4(S:0-1)","state":["MIXED"]}],"meta":{}})json") ==
        "1 x 4, 4 GPUs");
  // Several daemons on one host; a node without GPU; GPUs that only the TRES name.
  CHECK(nodes_of(R"({"meta": {}, "errors": [], "nodes": [
      {"name": "a", "hostname": "localhost", "gres": "gpu:h100:8", "state": "mixed", "state_flags": ["DRAIN"]},
      {"name": "b", "hostname": "localhost", "gres": "gpu:h100:8", "state": "idle", "tres": "cpu=1,gres/gpu=8"},
      {"name": "c", "hostname": "localhost", "gres": "", "tres": "cpu=1,gres/gpu=4"},
      {"name": "d", "hostname": "localhost", "gres": null, "tres": "cpu=1"}]})") ==
        "2 x 8 H100 + 1 x 4, 20 GPUs");
  // Groups of sinfo, with a node in two partitions.
  CHECK(nodes_of(R"({"sinfo": [
      {"node": {"state": ["IDLE"]}, "nodes": {"total": 2, "nodes": ["a", "b"], "hostnames": ["x", "x"]},
       "gres": {"total": "gpu:a100:8", "used": "gpu:a100:0"}, "partition": {"name": "p"}},
      {"node": {"state": ["IDLE"]}, "nodes": {"nodes": "b,c[1-2]"}, "gres": {"total": "gpu:a100:8"}}]})") ==
        "4 x 8 A100, 32 GPUs");
  CHECK(nodes_of(R"({"nodes": {"a": {"gres": "gpu:2"}, "b": {"gres": "gpu:2"}}})") == "2 x 2, 4 GPUs");
  for (const auto& [nodes, message] :
       {std::pair(R"({"nodes": [{"name": "a"}]})", "nodes.json:1: nodes[0].gres: missing"),
        std::pair(R"({"nodes": [{"gres": "gpu:1"}]})", "nodes.json:1: nodes[0].name: missing"),
        std::pair(R"({"nodes": [{"name": "a", "gres": 8}]})", "nodes.json:1: nodes[0].gres: expected a text"),
        std::pair(R"({"nodes": 8})", "nodes.json:1: nodes: expected nodes, as"),
        std::pair(R"({"nodes": [8]})", "nodes.json:1: nodes[0]: expected a node"),
        std::pair(R"({"nodes": []})", "nodes.json:1: nodes: expected at least one node with GPUs")}) {
    const std::string error = nodes_of(nodes);
    CAPTURE(error);
    CHECK(error.find(message) != std::string::npos);
  }
}
