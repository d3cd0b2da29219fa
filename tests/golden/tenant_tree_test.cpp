/// Tenants with quotas, and the fields of jobs for them, through the command line.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::run_vtrain;
using vtrain::testing::shared_folder;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::unwrapped;

namespace {

constexpr const char* kTree = R"({"version": 1,
 "tenants": [{"name": "research", "weight": 2, "quotas": [{"gpu_type": "a100", "gpus": 96}]},
             {"name": "vision", "parent": "research", "quotas": [{"gpu_type": "a100", "gpus": 48}]}],
 "partitions": [{"name": "gpu", "time_limit_s": 172800}]}
)";

constexpr const char* kJobs =
    "job_id,tenant,user,account,queue,qos,priority,submit_s,num_gpus,gpus_per_node,duration_s,dependencies\n"
    "a,vision,amy,v1,gpu,high,5,0,8,8,100,\n"
    "b,speech,ben,s1,long,low,-2,1,8,,100,afterok:a\n";

constexpr const char* kReplay =
    "replay --trace jobs.csv --deadlines none --cluster 16x8:a100 --tenant-tree tree.json --policy fifo ";

}  // namespace

TEST_CASE(
    "tenant tree: a replay shows tenants, strangers and quotas beyond the cluster, and carries fields") {
  const TemporaryFolder work;
  work.write("tree.json", kTree);
  work.write("jobs.csv", kJobs);
  const auto replayed = run_vtrain(std::string(kReplay) + "--out run", work.path());
  REQUIRE_MESSAGE(replayed.exit_code == 0, replayed.err);
  CHECK(replayed.err == "warning: tree.json: the quotas add up to 144 A100 GPUs, and the cluster has 128\n");
  const std::string out = unwrapped(replayed.out);
  for (const char* sentence :
       {"2 tenants with quotas of 144 GPUs; no policy keeps to them",
        "1 job of no known tenant", "1 job of no known partition",
        "dependencies of 1 job are ignored: no policy waits for other jobs",
        "node requests of 1 job are ignored: no placement uses them"}) {
    CAPTURE(out);
    CHECK_MESSAGE(out.find(sentence) != std::string::npos, sentence);
  }
  CHECK(
      slurp(work.path() / "run" / "jobs.csv") ==
      "job_id,tenant,user,account,queue,qos,priority,model,submit_s,start_s,end_s,finished_s,state,num_gpus,"
      "gpu_type,duration_s,wait_s,jct_s,queueing_delay_s,deadline_s,deadline_met,preemptions,resizes,"
      "gpu_seconds,tardiness_s,promise,cost\n"
      "a,vision,amy,v1,gpu,high,5,,0,0,100,100,completed,8,,100,0,100,0,,,0,0,800,,,\n"
      "b,speech,ben,s1,long,low,-2,,1,1,101,101,completed,8,,100,0,100,0,,,0,0,800,,,\n");
  // The spec has the file with its hash.
  const auto again = run_vtrain("replay --spec run/run.json --out again", work.path());
  REQUIRE_MESSAGE(again.exit_code == 0, again.err);
  CHECK(slurp(work.path() / "again" / "jobs.csv") == slurp(work.path() / "run" / "jobs.csv"));
  work.write("tree.json", "{\"version\": 1}");
  CHECK(run_vtrain("replay --spec run/run.json --out third", work.path()).exit_code == 2);
}

TEST_CASE("tenant tree: our formats keep what jobs carry") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  REQUIRE(run_vtrain("trace convert jobs.csv --to jsonl --out jobs.jsonl", work.path()).exit_code == 0);
  REQUIRE(run_vtrain("trace convert jobs.jsonl --out again.csv", work.path()).exit_code == 0);
  CHECK(slurp(work.path() / "again.csv") == kJobs);
}

TEST_CASE("tenant tree: bad input exits 2 with file, line and field, and leaves nothing behind") {
  struct Bad {
    std::string tree;
    std::string jobs;
    std::string message;
  };
  const std::string begin = "{\"version\": 1, \"tenants\": [\n";
  for (const Bad& bad : {
           Bad{begin + "{\"name\": \"a\", \"parent\": \"b\"},\n{\"name\": \"b\", \"parent\": \"a\"}]}", kJobs,
               "tree.json:2: tenants[0].parent: expected a tree, found a cycle: 'a' below 'b' below 'a'"},
           Bad{begin + "{\"name\": \"a\", \"quotas\": [{\"gpu_type\": \"h100\", \"gpus\": 1}]}]}", kJobs,
               "tree.json:2: tenants[0].quotas[0].gpu_type: expected a GPU type of the cluster, found "
               "'h100'"},
           Bad{begin + "{\"name\": \"a\", \"weight\": -2}]}", kJobs,
               "tree.json:2: tenants[0].weight: expected a number from 0 to 1000000000000, found '-2'"},
           Bad{begin + "{\"name\": \"a\"}, {\"name\": \"a\"}]}", kJobs,
               "tree.json:2: tenants[1].name: expected a name that no other has, found 'a'"},
           Bad{begin + "{\"name\": \"a\"", kJobs, "tree.json:2"},
           Bad{kTree, "job_id,submit_s,num_gpus,duration_s,priority\na,0,1,5,1.5\n",
               "jobs.csv:2: priority: expected a whole number"},
           Bad{kTree, "job_id,submit_s,num_gpus,duration_s,dependencies\na,0,1,5,later:b\n",
               "jobs.csv:2: dependencies: expected jobs separated by commas, each behind one of 'after', "
               "'afterany', 'afterok' and 'afternotok' and a colon, found 'later:b'"},
       }) {
    CAPTURE(bad.message);
    const TemporaryFolder work;
    work.write("tree.json", bad.tree);
    work.write("jobs.csv", bad.jobs);
    const auto replayed = run_vtrain(std::string(kReplay) + "--out run", work.path());
    CHECK(replayed.exit_code == 2);
    CAPTURE(replayed.err);
    CHECK(replayed.err.find(bad.message) != std::string::npos);
    CHECK(!std::filesystem::exists(work.path() / "run"));
  }
}

TEST_CASE("tenant tree: virtual clusters of a published table are tenants with its quotas") {
  const auto helios = shared_folder("data/traces/helios");
  if (helios.empty()) return;
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,tenant,submit_s,num_gpus,duration_s\na,vcEwI,0,8,100\nb,vcNone,0,8,100\n");
  const auto table = helios / "Venus_cluster_gpu_number.csv";
  const auto replayed = run_vtrain(
      "replay --trace jobs.csv --policy fifo --cluster " + table.string() + "@2020-04-01", work.path());
  REQUIRE_MESSAGE(replayed.exit_code == 0, replayed.err);
  CAPTURE(replayed.out);
  // 968 is the table's own total of that day.
  CHECK(unwrapped(replayed.out).find("25 tenants with quotas of 968 GPUs") != std::string::npos);
  CHECK(replayed.out.find("1 job of no known tenant") != std::string::npos);
}
