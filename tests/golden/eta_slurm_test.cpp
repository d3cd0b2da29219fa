/// `vtrain eta` with the files of Slurm's commands: rules, priorities, reservations, tables for people.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::TemporaryFolder;

namespace {

constexpr std::int64_t kTen = 1'795'600'800;  ///< 10:00 in seconds since 1970
constexpr std::int64_t kMinute = 60;

/// At 10:00 two nodes of 8 GPUs are free. 1 wants a node for 20 minutes, 2 one for two hours, both nodes of
/// partition `gpu`; 3 may use the reservation `course`.
constexpr const char* kJobs =
    "JobId=1 JobName=short UserId=ann(1) Account=lab Partition=gpu JobState=PENDING Reason=Resources "
    "Priority=9 TimeLimit=00:20:00 SubmitTime=2026-11-25T09:00:00 LastSchedEval=2026-11-25T10:00:00 "
    "NumNodes=1 TRES=cpu=8,gres/gpu=8\n"
    "JobId=2 JobName=long UserId=bob(2) Account=lab Partition=gpu JobState=PENDING Reason=Resources "
    "Priority=8 TimeLimit=02:00:00 SubmitTime=2026-11-25T09:10:00 NumNodes=1 TRES=cpu=8,gres/gpu=8\n"
    "JobId=3 JobName=class UserId=cat(3) Account=lab Partition=gpu JobState=PENDING Reason=Reservation "
    "Priority=7 TimeLimit=00:30:00 SubmitTime=2026-11-25T09:20:00 Reservation=course NumNodes=1 "
    "TRES=cpu=8,gres/gpu=8\n";
constexpr const char* kNodes =
    "NodeName=a CPUTot=8 Gres=gpu:a100:8 State=IDLE\nNodeName=b CPUTot=8 Gres=gpu:a100:8 State=IDLE\n";
constexpr const char* kConf =
    "ClusterName=t\nSelectType=select/cons_tres\nSchedulerType=sched/backfill\nPriorityType=priority/basic\n"
    "NodeName=a,b CPUs=8 Gres=gpu:a100:8\nPartitionName=gpu Nodes=a,b Default=YES MaxTime=2-0 State=UP\n";
/// Both nodes are in maintenance from 11:00 to 12:00; b is for cat from 12:00 to 13:00.
constexpr const char* kReservations =
    "ReservationName=upgrade StartTime=2026-11-25T11:00:00 EndTime=2026-11-25T12:00:00 Duration=01:00:00 "
    "Nodes=a,b NodeCnt=2 Flags=MAINT,SPEC_NODES,ALL_NODES Users=root Accounts=(null) State=INACTIVE\n"
    "ReservationName=course StartTime=2026-11-25T12:00:00 EndTime=2026-11-25T13:00:00 Duration=01:00:00 "
    "Nodes=b NodeCnt=1 Flags=SPEC_NODES Users=cat Accounts=(null) State=INACTIVE\n";

/// Minutes after 10:00 at which a job starts, rounded down; -1: never.
std::int64_t start_of(const json& answer, const std::string& id) {
  for (const json& job : answer["jobs"]) {
    if (job["job"] == id)
      return job["start"]["p50"].is_null() ? -1 : (job["start"]["p50"].get<std::int64_t>() - kTen) / kMinute;
  }
  return -2;
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

std::string problem_of(const TemporaryFolder& work, const std::string& options) {
  const auto result = run_vtrain("eta " + options, work.path());
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  return result.err;
}

}  // namespace

TEST_CASE("eta: reservations are kept under slurm, whose rules --now may have") {
  const TemporaryFolder work;
  work.write("jobs.txt", kJobs);
  work.write("nodes.txt", kNodes);
  work.write("slurm.conf", kConf);
  work.write("reservations.txt", kReservations);
  const std::string now = "--samples 5 --now jobs.txt nodes.txt slurm.conf reservations.txt --policy ";
  const json kept = run_json("eta " + now + "slurm", work);
  CHECK(start_of(kept, "1") == 0);
  // Two hours reach into the maintenance, from 12:00 on they fit on a.
  CHECK(start_of(kept, "2") == 120);
  CHECK(start_of(kept, "3") == 120);
  CHECK(has(kept["assumptions"].dump(), "2 reservations are kept"));
  CHECK(has(kept["assumptions"].dump(), "rules of slurm.conf"));

  // The same from a folder, where dates count from the origin that eta knows.
  std::filesystem::create_directory(work.path() / "site");
  work.write("site/slurm.conf", kConf);
  work.write("site/reservations.txt", kReservations);
  const json folder =
      run_json("eta --samples 5 --now jobs.txt nodes.txt reservations.txt --policy slurm:folder=site", work);
  CHECK(start_of(folder, "2") == 120);
  CHECK(start_of(folder, "3") == 120);

  const json ignored = run_json("eta " + now + "easy", work);
  CHECK(start_of(ignored, "2") == 0);
  CHECK(has(ignored["assumptions"].dump(), "2 reservations are not kept"));
  CHECK(has(ignored["assumptions"].dump(), "1 file with rules of Slurm not used by easy"));

  // A node in maintenance comes back with the end of its reservation, a drained one does not.
  work.write("nodes.txt",
             "NodeName=a CPUTot=8 Gres=gpu:a100:8 State=MAINT\n"
             "NodeName=b CPUTot=8 Gres=gpu:a100:8 State=IDLE+DRAIN\n");
  work.write("reservations.txt",
             "ReservationName=fix StartTime=2026-11-25T09:00:00 EndTime=2026-11-25T10:30:00 Nodes=a "
             "Flags=MAINT,SPEC_NODES Users=root\n");
  const json drained = run_json("eta " + now + "slurm", work);
  CHECK(start_of(drained, "1") == 30);
  CHECK(start_of(drained, "2") == 50);
  CHECK(has(drained["assumptions"].dump(), "jobs of reservations that no file has"));
  CHECK(start_of(drained, "3") == 170);

  work.write("reservations.txt",
             "ReservationName=fix StartTime=2026-11-25T09:00:00 EndTime=2026-11-25T10:30:00 Nodes=z "
             "Flags=MAINT Users=root\n");
  CHECK(has(problem_of(work, now + "slurm"), "reservation fix: expected a node of slurm.conf, found 'z'"));
  work.write("reservations.txt",
             "ReservationName=fix StartTime=2026-11-25T09:00:00 EndTime=2026-11-25T08:30:00 Nodes=a\n");
  CHECK(has(problem_of(work, now + "slurm"), "reservations.txt:1: EndTime: before"));
}

TEST_CASE("eta: priorities of sprio are those of the jobs") {
  const TemporaryFolder work;
  work.write("jobs.txt", kJobs);
  work.write("nodes.txt", "NodeName=a CPUTot=8 Gres=gpu:a100:8 State=IDLE\n");
  const std::string now = "--samples 5 --policy fair-share --now ";
  CHECK(start_of(run_json("eta " + now + "jobs.txt nodes.txt", work), "2") == 20);
  const std::string table =
      "          JOBID PARTITION     USER   PRIORITY       SITE        AGE                 TRES\n"
      "              2 gpu            bob        900          0          0                     \n"
      "              1 gpu            ann        100          0          0           cpu=1,gres/gpu=2\n";
  work.write("sprio.txt", table);
  // Files may come in any order.
  const json answer = run_json("eta " + now + "sprio.txt jobs.txt nodes.txt", work);
  CHECK(start_of(answer, "2") == 0);
  CHECK(start_of(answer, "1") == 120);
  work.write("sprio.txt", "JOBID|PRIORITY\n2|900\n1|100\n77|5\n");
  const json separated = run_json("eta " + now + "sprio.txt jobs.txt nodes.txt", work);
  CHECK(start_of(separated, "2") == 0);
  CHECK(has(separated["assumptions"].dump(), "jobs of sprio that no other file has"));

  work.write("sprio.txt", "JOBID PRIORITY\n2 -900\n");
  CHECK(has(problem_of(work, now + "sprio.txt jobs.txt nodes.txt"), "sprio.txt:2: PRIORITY: "));
  work.write("sprio.txt", table.substr(0, table.size() - 60));
  CHECK(has(problem_of(work, now + "sprio.txt jobs.txt nodes.txt"), "sprio.txt:3: expected 7 columns"));
}

TEST_CASE("eta: tables of squeue and sinfo for people are read") {
  const TemporaryFolder work;
  // squeue -o '%i %T %b %D %C %l %M %S %V %R', sinfo -o '%N %T %G %c %P %a %l'
  work.write("squeue.txt",
             "Wed Nov 25 10:00:00 2026\n"
             "JOBID STATE TRES_PER_NODE NODES CPUS TIME_LIMIT TIME START_TIME SUBMIT_TIME NODELIST(REASON)\n"
             "7 RUNNING gres:gpu:a100:8 1 8 1:00:00 30:00 N/A 2026-11-25T09:00:00 a\n"
             "8_[3-4%1] PENDING gres:gpu:8 1 8 UNLIMITED INVALID N/A 2026-11-25T09:30:00 (Priority)\n"
             "9 PENDING gres:gpu:4 1 8 10:00 0:00 N/A 2026-11-25T09:40:00 (ReqNodeNotAvail, "
             "UnavailableNodes:b)\n");
  work.write("sinfo.txt",
             "NODELIST STATE GRES CPUS PARTITION AVAIL TIMELIMIT REASON\n"
             "a mixed gpu:a100:8 8+ gpu* up 1-00:00:00 none\n"
             "b drained gpu:a100:8 8 gpu* up 1-00:00:00 bad fan\n");
  const json answer = run_json("eta --samples 5 --policy fifo --now squeue.txt sinfo.txt", work);
  CHECK(answer["now"] == kTen);
  // Job 7 began at 9:30 and ends at 10:30; a task without a limit runs for the partition's day.
  CHECK(start_of(answer, "8_3") == 30);
  CHECK(start_of(answer, "8_4") == 30 + 24 * 60);
  CHECK(answer["stuck"] ==
        json::array({{{"job", "9"}, {"reason", "asks for a node that is not available"}}}));
  CHECK(has(answer["assumptions"].dump(), "nodes that take no jobs stay as they are"));

  // Times of another zone: 10:00 in Berlin is 09:00 in UTC.
  const json zoned = run_json(
      "eta --samples 5 --policy fifo --time-zone Europe/Berlin --at 2026-11-25T09:10:00 --now squeue.txt "
      "sinfo.txt",
      work);
  CHECK(start_of(zoned, "8_3") == -30);

  const std::string now = "--policy fifo --now squeue.txt sinfo.txt";
  work.write("squeue.txt", "JOBID STATE NODES\n7 RUNNING\n");
  CHECK(has(problem_of(work, now), "squeue.txt:2: expected 3 columns"));
  work.write("squeue.txt", "JOBID STATE TIME_LIMIT NODES\n7 PENDING -5:00 1\n");
  CHECK(has(problem_of(work, now), "squeue.txt:2: TIME_LIMI"));
  work.write("squeue.txt", "JOBID STATE\n7 PENDING\n7 RUNNING\n");
  CHECK(has(problem_of(work, now), "two jobs have the id '7'"));
  work.write("squeue.txt", "JOBID STATE\n7 a100\n");
  CHECK(has(problem_of(work, now), "squeue.txt:2: STATE: expected a state of a job"));
  CHECK(has(problem_of(work, now + " --time-zone Nowhere/City"), "--time-zone: "));
}

TEST_CASE("eta: files with rules of Slurm are checked, whatever the policy") {
  const TemporaryFolder work;
  work.write("jobs.txt", kJobs);
  work.write("nodes.txt", kNodes);
  const std::string now = "--policy easy --now jobs.txt nodes.txt bad.txt";
  work.write("bad.txt", "Cluster|Account|User|Partition|Share|QOS\nt|root|||1|normal\nt|lab|ann\n");
  CHECK(has(problem_of(work, now), "bad.txt:3: "));
  work.write("bad.txt", "Name|Priority|Flags\nnormal|x|\n");
  CHECK(has(problem_of(work, now), "bad.txt:2: Priority: "));
  work.write("bad.txt", "Account|User|RawShares|RawUsage\nroot||1\n");
  CHECK(has(problem_of(work, now), "bad.txt:2: "));
  work.write("bad.txt", "ClusterName=t\nPriorityWeightAge=-3\nNodeName=a CPUs=8\n");
  CHECK(has(problem_of(work, now), "bad.txt:2: PriorityWeightAge: "));
  work.write("bad.txt", "Configuration data as of noon\n");
  CHECK(has(problem_of(work, now), "bad.txt:1: expected"));
  work.write("bad.txt", "sdiag output at Wed Nov 25 09:18:01 2026 (then)\n");
  CHECK(has(problem_of(work, now), "sdiag output at: "));
  work.write("bad.txt", kConf);
  work.write("worse.txt", kConf);
  CHECK(has(problem_of(work, now + " worse.txt"), "of the kind of bad.txt: one of them is enough"));
  work.write("bad.txt", "what is this\n");
  CHECK(has(problem_of(work, now), "bad.txt:1: expected `scontrol show"));

  // Files of which only the time counts.
  work.write("bad.txt", "1795600860\n");
  CHECK(run_json("eta " + now, work)["now"] == kTen + kMinute);
  work.write("bad.txt", "Configuration data as of 2026-11-25T10:02:00\nAuthType = auth/munge\n");
  CHECK(run_json("eta " + now, work)["now"] == kTen + 2 * kMinute);
}
