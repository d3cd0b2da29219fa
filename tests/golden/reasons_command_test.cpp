/// `vtrain replay --decisions` and `--job`: a known answer for each word of the vocabulary, the story of a
/// job, and bad input. The comments derive the answers.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "sched/simulation/reasons.hpp"
#include "tests/support/command_runner.hpp"

using vtrain::testing::CommandResult;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

/// `a` holds three of four GPUs until 100. `b` needs all four and waits.
constexpr std::string_view kFourGpus =
    "job_id,submit_s,num_gpus,duration_s,deadline_s\na,0,3,100,200\nb,1,4,50,149.5\nc,2,1,90,92\nd,3,1,200,"
    "\n";

/// Lines of `--decisions` of a replay of these jobs.
std::string decisions_of(std::string_view jobs, const std::string& options) {
  const TemporaryFolder work;
  work.write("jobs.csv", jobs);
  const CommandResult result = run_vtrain(
      "replay --trace jobs.csv --interruption-cost none --decisions out.jsonl " + options, work.path());
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  return slurp(work / "out.jsonl");
}

}  // namespace

TEST_CASE("reasons: gpus and reservation under easy") {
  // At 2 `c` starts: it ends at 92, before `b` can start at 100. At 92 `d` finds a GPU, but would run past
  // 100. At 100 it is the first in the queue, and `b` holds all GPUs.
  CHECK(decisions_of(kFourGpus, "--cluster 1x4 --policy easy") ==
        R"({"time_s":1,"job":"b","reason":"gpus","asked":4,"free":1}
{"time_s":3,"job":"d","reason":"gpus","asked":1,"free":0}
{"time_s":92,"job":"d","reason":"reservation","by":"b","at_s":100}
{"time_s":100,"job":"b","reason":"none"}
{"time_s":100,"job":"d","reason":"gpus","asked":1,"free":0}
{"time_s":150,"job":"d","reason":"none"}
)");
}

TEST_CASE("reasons: order under fifo") {
  // The free GPU is enough for `c` and `d`, which come after `b`.
  CHECK(decisions_of(kFourGpus, "--cluster 1x4 --policy fifo") ==
        R"({"time_s":1,"job":"b","reason":"gpus","asked":4,"free":1}
{"time_s":2,"job":"c","reason":"order","by":"b"}
{"time_s":3,"job":"d","reason":"order","by":"b"}
{"time_s":100,"job":"b","reason":"none"}
{"time_s":100,"job":"c","reason":"gpus","asked":1,"free":0}
{"time_s":150,"job":"c","reason":"none"}
{"time_s":150,"job":"d","reason":"none"}
)");
}

TEST_CASE("reasons: type") {
  // Two of the V100 are free, but `b` asks for A100.
  CHECK(decisions_of("job_id,submit_s,num_gpus,duration_s,gpu_type\na,0,4,100,a100\nb,1,2,10,a100\n",
                     "--cluster 1x4:a100+1x4:v100 --policy fifo") ==
        R"({"time_s":1,"job":"b","reason":"type","asked":2,"free":4,"gpu_type":"a100"}
{"time_s":100,"job":"b","reason":"none"}
)");
}

TEST_CASE("reasons: placement") {
  // One GPU is free on each node.
  CHECK(decisions_of("job_id,submit_s,num_gpus,duration_s\na,0,3,100\nb,1,3,100\nc,2,2,10\n",
                     "--cluster 2x4 --placement yarn --policy fifo") ==
        R"({"time_s":2,"job":"c","reason":"placement","asked":2,"free":2}
{"time_s":100,"job":"c","reason":"none"}
)");
}

TEST_CASE("reasons: out_of_service") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,10\nb,1,8,10\n");
  work.write("outages.csv", "node,begin_s,end_s\n0,0,50\n");
  const CommandResult result = run_vtrain(
      "replay --trace jobs.csv --cluster 2x4 --placement consolidate --policy fifo --outages outages.csv "
      "--decisions out.jsonl",
      work.path());
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(slurp(work / "out.jsonl") ==
        R"({"time_s":1,"job":"b","reason":"out_of_service","asked":8,"in_service":4}
{"time_s":50,"job":"b","reason":"none"}
)");
}

TEST_CASE("reasons: next_decision") {
  // The log started `b` at 120.
  CHECK(decisions_of("job_id,submit_s,num_gpus,duration_s,original_start_s\na,0,3,100,0\nb,1,4,50,120\n",
                     "--cluster 1x4 --policy recorded") ==
        R"({"time_s":1,"job":"b","reason":"next_decision","at_s":120}
{"time_s":120,"job":"b","reason":"none"}
)");
}

TEST_CASE("reasons: limit and dependency under slurm") {
  // The account `tight` may hold two GPUs at once: `a` has them until 60.25. `c` waits for the end of `a`.
  // Schedulers look at a quarter and a half of each second, and nodes are free 50 ms after an end.
  const TemporaryFolder work;
  work.write("slurm.conf",
             "SchedulerType=sched/backfill\nSchedulerParameters=batch_sched_delay=0,sched_interval=2,"
             "bf_interval=1,bf_resolution=1\nPriorityType=priority/basic\n"
             "AccountingStorageEnforce=associations,limits\nAccountingStorageTRES=gres/gpu\n"
             "GresTypes=gpu\nNodeName=n0 CPUs=16 Gres=gpu:8\n"
             "PartitionName=p Nodes=ALL Default=YES MaxTime=60\n");
  work.write(
      "assoc.cfg",
      "Cluster - 'c':Fairshare=1\nParent - 'root'\nAccount - 'tight':Fairshare=1:GrpTRES='gres/gpu=2'\n"
      "Account - 'free':Fairshare=1\nParent - 'tight'\nUser - 'u':Fairshare=1\nParent - 'free'\n"
      "User - 'v':Fairshare=1\n");
  work.write(
      "jobs.csv",
      "offset,name,user,account,qos,partition,nodes,cpus,gres,time_limit,sleep,array,dependency,begin,"
      "reservation,nice,exit\n0,a,u,tight,,p,1,1,gpu:2,1,60,,,,,,\n1,b,u,tight,,p,1,1,gpu:2,1,10,,,,,,\n"
      "1,c,v,free,,p,1,1,gpu:2,1,10,,afterok:a,,,,\n");
  const std::string command =
      "replay --trace jobs.csv --cluster slurm.conf --policy slurm:conf=slurm.conf,assoc=assoc.cfg "
      "--deadlines none ";
  const CommandResult result = run_vtrain(command + "--decisions out.jsonl", work.path());
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const std::string lines = slurp(work / "out.jsonl");
  CAPTURE(lines);
  CHECK(lines.find(R"({"time_s":1,"job":"b","reason":"limit"})") != std::string::npos);
  CHECK(lines.find(R"({"time_s":1,"job":"c","reason":"dependency"})") != std::string::npos);
  CHECK(lines.find(R"({"time_s":60.5,"job":"b","reason":"none"})") != std::string::npos);
  CHECK(lines.find(R"({"time_s":60.5,"job":"c","reason":"none"})") != std::string::npos);
  CHECK(run_vtrain(command + "--job b", work.path())
            .out.find("waits: a limit of its tenant, QOS, partition or array holds it") != std::string::npos);
}

TEST_CASE("reasons: preempted, and gpus while the preemptor is gone") {
  // `b` is shorter than what is left of `a`. `c` is, too, and takes the GPUs that `b` leaves.
  CHECK(decisions_of("job_id,submit_s,num_gpus,duration_s\na,0,4,100\nb,5,4,10\nc,14,4,20\n",
                     "--cluster 1x4 --policy srtf") ==
        R"({"time_s":5,"job":"a","reason":"preempted","by":"b"}
{"time_s":14,"job":"c","reason":"gpus","asked":4,"free":0}
{"time_s":15,"job":"c","reason":"none"}
{"time_s":15,"job":"a","reason":"gpus","asked":4,"free":0}
{"time_s":35,"job":"a","reason":"none"}
)");
}

TEST_CASE("reasons: too_large and rejected") {
  CHECK(decisions_of("job_id,submit_s,num_gpus,duration_s\na,0,8,100\n", "--cluster 1x4 --policy fifo") ==
        R"({"time_s":0,"job":"a","reason":"too_large","asked":8,"in_cluster":4}
)");
  // `b` has the earlier deadline and would go first, so that `a` would be late: 100 s of work in 99 s. After
  // `a` it could be done at 150.
  const std::string_view late =
      "job_id,submit_s,num_gpus,duration_s,deadline_s\na,0,4,100,100\nb,1,4,50,60\n";
  CHECK(decisions_of(late, "--cluster 1x4 --policy edf-admission") ==
        R"({"time_s":1,"job":"b","reason":"rejected"}
)");
  CHECK(decisions_of(late, "--cluster 1x4 --policy edf-admission --job b") ==
        R"({"time_s":1,"job":"b","reason":"rejected","earliest_deadline_s":150}
)");
}

TEST_CASE("reasons: names are JSON strings") {
  CHECK(decisions_of("job_id,submit_s,num_gpus,duration_s\na,0,1,10\n\"b\"\"\xc3\xa4\",1,1,10\n",
                     "--cluster 1x1 --policy fifo") ==
        "{\"time_s\":1,\"job\":\"b\\\"\xc3\xa4\",\"reason\":\"gpus\",\"asked\":1,\"free\":0}\n"
        "{\"time_s\":10,\"job\":\"b\\\"\xc3\xa4\",\"reason\":\"none\"}\n");
}

TEST_CASE("reasons: the story of a job") {
  const TemporaryFolder work;
  work.write("jobs.csv", kFourGpus);
  const std::string command = "replay --trace jobs.csv --cluster 1x4 --interruption-cost none ";
  CHECK(run_vtrain(command + "--policy easy --job d", work.path()).out ==
        R"(job d: policy easy, 1 x 4, 4 GPUs

at s       for  the job
   3            is submitted: asks for 1 GPU, takes 3 m 20 s on them
   3  1 m 29 s  waits: too few GPUs are free: 1 asked, 0 free
  92       8 s  waits: it would delay the reservation of job b, which begins at 100 s
 100      50 s  waits: too few GPUs are free: 1 asked, 0 free
 150  3 m 20 s  runs on 1 GPU
 350            is done

waited    2 m 27 s: gpus 2 m 19 s (94.6 %), reservation 8 s (5.4 %)
ran       3 m 20 s, 0.0556 GPU-hours: 0 preemptions, 0 resizes, 0 failures
deadline  none
)");
  CHECK(run_vtrain(command + "--policy easy --job b", work.path()).out ==
        R"(job b: policy easy, 1 x 4, 4 GPUs

at s       for  the job
   1            is submitted: asks for 4 GPUs, takes 50 s on them, deadline at 149.5 s
   1  1 m 39 s  waits: too few GPUs are free: 4 asked, 1 free
 100      50 s  runs on 4 GPUs
 150            is done, 500 ms after its deadline

waited    1 m 39 s: gpus 1 m 39 s (100.0 %)
ran       50 s, 0.0556 GPU-hours: 0 preemptions, 0 resizes, 0 failures
deadline  missed
)");
  // Under fifo `d` waits behind `b`, and then behind `c`, which is first in the queue.
  CHECK(run_vtrain(command + "--policy fifo --job d", work.path()).out ==
        R"(job d: policy fifo, 1 x 4, 4 GPUs

at s       for  the job
   3            is submitted: asks for 1 GPU, takes 3 m 20 s on them
   3  1 m 37 s  waits: job b comes before it
 100      50 s  waits: job c comes before it
 150  3 m 20 s  runs on 1 GPU
 350            is done

waited    2 m 27 s: order 2 m 27 s (100.0 %)
ran       3 m 20 s, 0.0556 GPU-hours: 0 preemptions, 0 resizes, 0 failures
deadline  none
)");
  // `--out` writes the results, as without `--job`; they are those of a replay that records no reasons.
  CHECK(run_vtrain(command + "--policy easy --job d --decisions d.jsonl --out with", work.path()).exit_code ==
        0);
  CHECK(run_vtrain(command + "--policy easy --out without", work.path()).exit_code == 0);
  for (const char* const file : {"jobs.csv", "summary.json", "timeline.json"}) {
    CAPTURE(file);
    CHECK(slurp(work / "with" / file) == slurp(work / "without" / file));
  }
}

TEST_CASE("reasons: the stories of jobs that lose their GPUs, and of one that is turned away") {
  const TemporaryFolder work;
  const std::string command = "--interruption-cost none --trace ";
  work.write("preempted.csv", "job_id,submit_s,num_gpus,duration_s\na,0,4,100\nb,5,4,10\nc,14,4,20\n");
  // 5 s and 95 s are its 100 s of work. `b` takes the GPUs for 10 s, then `c` for 20 s.
  CHECK(run_vtrain("replay --cluster 1x4 --policy srtf --job a " + command + "preempted.csv", work.path())
            .out ==
        R"(job a: policy srtf, 1 x 4, 4 GPUs

at s       for  the job
   0            is submitted: asks for 4 GPUs, takes 1 m 40 s on them
   0       5 s  runs on 4 GPUs; is preempted
   5      10 s  waits: job b has taken its GPUs
  15      20 s  waits: too few GPUs are free: 4 asked, 0 free
  35  1 m 35 s  runs on 4 GPUs
 130            is done

waited    30 s: gpus 20 s (66.7 %), preempted 10 s (33.3 %)
ran       1 m 40 s, 0.111 GPU-hours: 1 preemption, 0 resizes, 0 failures
deadline  none
)");

  // Without checkpoints it begins again when the node is back: 40 s of work are lost.
  work.write("failed.csv", "job_id,submit_s,num_gpus,duration_s\na,0,8,100\n");
  work.write("outages.csv", "node,begin_s,end_s\n0,40,70\n");
  CHECK(run_vtrain("replay --cluster 2x4 --placement consolidate --outages outages.csv --job a " + command +
                       "failed.csv",
                   work.path())
            .out == R"(job a: policy fifo, 2 x 4, 8 GPUs

at s       for  the job
   0            is submitted: asks for 8 GPUs, takes 1 m 40 s on them
   0      40 s  runs on 8 GPUs: 4 on node 0, 4 on node 1; a node fails
  40      30 s  waits: it asks for more GPUs than are in service: 8 asked, 4 in service
  70  1 m 40 s  runs on 8 GPUs: 4 on node 0, 4 on node 1
 170            is done

waited    30 s: out_of_service 30 s (100.0 %)
ran       2 m 20 s, 0.311 GPU-hours: 0 preemptions, 0 resizes, 1 failure
deadline  none
)");

  work.write("late.csv", "job_id,submit_s,num_gpus,duration_s,deadline_s\na,0,4,100,100\nb,1,4,50,60\n");
  CHECK(run_vtrain("replay --cluster 1x4 --policy edf-admission --job b " + command + "late.csv", work.path())
            .out == R"(job b: policy edf-admission, 1 x 4, 4 GPUs

at s     for  the job
   1          is submitted: asks for 4 GPUs, takes 50 s on them, deadline at 60 s
   1          is rejected by the policy; with a deadline at 150 s it would have been admitted

waited    0 s
deadline  missed
)");
}

TEST_CASE("reasons: bad input") {
  const TemporaryFolder work;
  work.write("jobs.csv", kFourGpus);
  const std::string command = "replay --trace jobs.csv --cluster 1x4 ";
  const CommandResult unknown = run_vtrain(command + "--job e", work.path());
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find("--job: expected the id of one of the 4 jobs, such as 'a', 'b', 'c', found 'e'") !=
        std::string::npos);
  CHECK(run_vtrain(command + "--job a --json", work.path()).exit_code == 2);
  CHECK(run_vtrain("compare --trace jobs.csv --cluster 1x4 --job a", work.path()).exit_code == 2);
  CHECK(run_vtrain(command + "--decisions none/out.jsonl", work.path()).exit_code == 2);

  work.write("old.jsonl", "mine");
  CHECK(run_vtrain(command + "--decisions old.jsonl", work.path()).exit_code == 2);
  CHECK(slurp(work / "old.jsonl") == "mine");
  CHECK(run_vtrain(command + "--decisions old.jsonl --force", work.path()).exit_code == 0);
  CHECK(slurp(work / "old.jsonl") != "mine");

  const CommandResult input = run_vtrain(command + "--decisions jobs.csv --force", work.path());
  CHECK(input.exit_code == 2);
  CHECK(slurp(work / "jobs.csv") == kFourGpus);
}

TEST_CASE("reasons: docs/reasons.md defines every word") {
  const std::string page = slurp(std::string(VTRAIN_PROJECT_DIR) + "/docs/reasons.md");
  for (const vtrain::WaitReasonInfo& info : vtrain::wait_reasons()) {
    CAPTURE(info.word);
    CHECK(page.find(fmt::format("| `{}` |", info.word)) != std::string::npos);
  }
}
