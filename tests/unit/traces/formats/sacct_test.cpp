#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "tests/unit/traces/trace_text.hpp"
#include "traces/trace_format.hpp"

using namespace std::chrono_literals;
using vtrain::Job;
using vtrain::JobStatus;
using vtrain::parse_trace;
using vtrain::SimTime;
using vtrain::Trace;
using vtrain::testing::read_text;
using vtrain::testing::skipped;

namespace {

Trace read(const std::string& text) {
  return read_text(text, "sacct");
}

const std::string kHeader =
    "JobIDRaw|User|Account|Partition|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|ReqTRES|"
    "AllocTRES\n";

/// A row of `kHeader` for a job that waited 5 s from 10:00:00.
std::string row(const std::string& id, const std::string& state, const std::string& elapsed,
                const std::string& tres) {
  return id + "|amy|vision|gpu|" + state + "|2024-03-01T10:00:00|2024-03-01T10:00:05|2024-03-01T11:00:00|" +
         elapsed + "|60|1||" + tres + "\n";
}

/// The GPUs and the GPU type of a job with these TRES.
std::string gpus_of(const std::string& tres) {
  const Trace trace = read(kHeader + row("1", "COMPLETED", "10", tres));
  const Job& job = trace.workload.jobs[0];
  return std::to_string(job.num_gpus.value) + " " +
         (job.gpu_type ? trace.workload.gpu_types[job.gpu_type.value] : "any");
}

}  // namespace

TEST_CASE("sacct: the fields of a job") {
  const Trace trace = read(
      kHeader + row("77", "TIMEOUT", "3595", "billing=16,cpu=16,gres/gpu=8,gres/gpu:a100=8,mem=256G,node=1"));
  REQUIRE(trace.workload.jobs.size() == 1);
  const Job& job = trace.workload.jobs[0];
  CHECK(job.name == "77");
  CHECK(job.submit == SimTime(0s));
  CHECK(job.original_start == SimTime(5s));
  CHECK(job.duration == 3595s);
  CHECK(job.requested_time == 60min);
  CHECK(job.num_gpus.value == 8);
  CHECK(job.status == JobStatus::TimedOut);
  CHECK(trace.workload.gpu_types[job.gpu_type.value] == "a100");
  CHECK(trace.workload.users[job.user.value] == "amy");
  CHECK(trace.workload.tenants[job.tenant.value] == "vision");
  CHECK(trace.workload.accounts[job.account.value] == "vision");
  CHECK(trace.workload.queues[job.queue.value] == "gpu");
  CHECK(!job.qos);
  CHECK(!job.has_priority());
  REQUIRE(trace.assumptions.size() == 1);
  CHECK(trace.assumptions[0] == "time 0 is the first submission, 2024-03-01 10:00:00 local time");
}

TEST_CASE("sacct: QoS, priority and the features that a job asks for") {
  const Trace trace = read(
      "JobID|QOS|Priority|Constraints|Submit|Elapsed|AllocTRES\n"
      "1|high|4294901760|a100&ib|2024-03-01T10:00:00|00:01:00|gres/gpu=2\n"
      "2|normal|0||2024-03-01T10:00:00|00:01:00|gres/gpu=2\n");
  REQUIRE(trace.workload.jobs.size() == 2);
  const Job& first = trace.workload.jobs[0];
  CHECK(trace.workload.qos_names[first.qos.value] == "high");
  CHECK(first.priority == 4294901760);
  CHECK(trace.workload.requirements_of(first)->node_features == "a100&ib");
  CHECK(trace.workload.jobs[1].priority == 0);
  CHECK(trace.workload.requirements_of(trace.workload.jobs[1]) == nullptr);
}

TEST_CASE("sacct: GPUs and their type in TRES") {
  CHECK(gpus_of("billing=8000,cpu=2,gres/gpu:mi100=8,gres/gpu=8,mem=3G,node=1") == "8 mi100");
  CHECK(gpus_of("billing=320,cpu=320,gres/gpu=8,mem=1000000M,node=2") == "8 any");
  CHECK(gpus_of("cpu=2,gres/gpu:a100=4") == "4 a100");
  CHECK(gpus_of("gres/gpu:a100=4,gres/gpu:v100=2") == "6 any");
  CHECK(gpus_of("gres/gpu:a100=4,gres/gpu:v100=0,gres/gpu=4") == "4 a100");
  CHECK(gpus_of("gres/gpu:a100=1,gres/gpu=4") == "4 any");  // of the other three no type is said
  CHECK(gpus_of("gres/gpumem=80G,gres/gpuutil=50,gres/gpu:a100_3g.20gb=1") == "1 a100_3g.20gb");
}

TEST_CASE("sacct: what was requested counts where nothing is said of what was allocated; older GRES") {
  CHECK(read("JobID|Submit|Elapsed|ReqTRES|AllocTRES\n1|2024-03-01T10:00:00|00:01:00|gres/gpu=2|\n")
            .workload.jobs[0]
            .num_gpus.value == 2);
  const Trace old = read(
      "JobID|Submit|Elapsed|NNodes|AllocGRES|ReqGRES\n"
      "1|2024-03-01T10:00:00|00:01:00|3|gpu:2|gpu:2\n"
      "2|2024-03-01T10:00:00|00:01:00|2|gpu:a100:2(IDX:0,3),gpu:a100:2(S:1)|\n"
      "3|2024-03-01T10:00:00|00:01:00|1||gres:gpu:k80:1\n"
      "4|2024-03-01T10:00:00|00:01:00|1|gpu|\n"
      "5|2024-03-01T10:00:00|00:01:00|1|craynetwork:1|\n"
      "6|2024-03-01T10:00:00|00:01:00|2|gpu:a100:4(IDX:0-3)|\n"
      "7|2024-03-01T10:00:00|00:01:00|1|gpu:3g.20gb|\n"
      "8|2024-03-01T10:00:00|00:01:00|1|gpu:no_consume:2|\n"
      "9|2024-03-01T10:00:00|00:01:00|1|gpu:a:b:1|\n");
  REQUIRE(old.workload.jobs.size() == 7);
  CHECK(old.workload.jobs[0].num_gpus.value == 2);
  CHECK(old.workload.jobs[1].num_gpus.value == 4);
  CHECK(old.workload.jobs[2].num_gpus.value == 1);
  CHECK(old.workload.gpu_types[old.workload.jobs[2].gpu_type.value] == "k80");
  CHECK(old.workload.jobs[3].num_gpus.value == 1);
  CHECK(old.workload.jobs[4].num_gpus.value == 4);
  CHECK(old.workload.gpu_types[old.workload.jobs[4].gpu_type.value] == "a100");
  CHECK(old.workload.gpu_types[old.workload.jobs[5].gpu_type.value] == "3g.20gb");
  CHECK(old.workload.jobs[6].num_gpus.value == 2);
  CHECK_FALSE(old.workload.jobs[6].gpu_type);
  CHECK(skipped(old, "no GPU requested") == 1);
  CHECK(skipped(old, "malformed number") == 1);
}

TEST_CASE("sacct: columns in any order and case, a bar at the end of every line, bars in job names") {
  const Trace trace = read(
      "ALLOCTRES|jobname|submit|jobid|elapsed|timelimit|\n"
      "gres/gpu=1|a|b||c|2024-03-01T10:00:00|5_7|1-02:03:04|UNLIMITED|\n"
      "gres/gpu=1|plain|2024-03-01T10:00:01|6+0|04:05|2-00:00:00|\n"
      "gres/gpu=1|plain|2024-03-01T10:00:02|7|00:00:01|Partition_Limit|\n"
      "gres/gpu=1|plain|2024-03-01T10:00:03|8|1-02:03|UNLIMITED|\n");
  REQUIRE(trace.workload.jobs.size() == 4);
  CHECK(trace.workload.jobs[0].name == "5_7");
  CHECK(trace.workload.jobs[0].duration == 26h + 3min + 4s);
  CHECK(trace.workload.jobs[0].requested_time.count() == 0);
  CHECK(trace.workload.jobs[1].name == "6+0");
  CHECK(trace.workload.jobs[1].duration == 4min + 5s);
  CHECK(trace.workload.jobs[1].requested_time == 48h);
  CHECK(trace.workload.jobs[2].requested_time.count() == 0);
  CHECK(trace.workload.jobs[2].status == JobStatus::Unknown);
  CHECK(trace.workload.jobs[3].duration == 24h + 2min + 3s);
}

TEST_CASE("sacct: jobs of several clusters are told apart by the names of these") {
  const std::string header = "Cluster|JobIDRaw|Submit|ElapsedRaw|AllocTRES\n";
  const std::string alpha = "alpha|100|2024-03-01T10:00:00|60|gres/gpu=4\n";
  const Trace several = read(header + alpha + "beta|100|2024-03-01T11:00:00|60|gres/gpu=8\n" +
                             "beta|100|2024-03-01T11:00:00|90|gres/gpu=8\n");
  REQUIRE(several.workload.jobs.size() == 2);
  CHECK(several.workload.jobs[0].name == "alpha/100");
  CHECK(several.workload.jobs[1].name == "beta/100");
  CHECK(several.workload.jobs[1].duration == 90s);
  CHECK(skipped(several, "earlier run of a requeued job") == 1);
  CHECK(read(header + alpha).workload.jobs[0].name == "100");
}

TEST_CASE("sacct: limits, ends and nodes that are malformed are no job, not a job with another meaning") {
  const auto job_with = [](const std::string& end, const std::string& limit) {
    return read(
        "JobID|Submit|Start|End|ElapsedRaw|Timelimit|AllocTRES\n"
        "1|2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T10:01:00|60|00:05:00|gres/gpu=1\n"
        "2|2024-03-01T10:00:00|2024-03-01T10:00:00|" +
        end + "|60|" + limit + "|gres/gpu=1\n");
  };
  const std::string end = "2024-03-01T10:01:00";
  for (const std::string none : {"UNLIMITED", "Partition_Limit", "", "00:00:00"}) {
    CAPTURE(none);
    REQUIRE(job_with(end, none).workload.jobs.size() == 2);
    CHECK(job_with(end, none).workload.jobs[1].requested_time == 0s);
  }
  CHECK(skipped(job_with(end, "5h"), "malformed time") == 1);
  CHECK(skipped(job_with(end, "-1"), "malformed time") == 1);
  CHECK(skipped(job_with("2024-03-41T10:01:00", "UNLIMITED"), "malformed time") == 1);
  const Trace raw = read(
      "JobID|Submit|ElapsedRaw|TimelimitRaw|NNodes|AllocGRES\n"
      "1|2024-03-01T10:00:00|60|UNLIMITED|2|gpu:4\n"
      "2|2024-03-01T10:00:00|60|ten|2|gpu:4\n"
      "3|2024-03-01T10:00:00|60|10|two|PER_NODE:gpu:4\n"
      "4|2024-03-01T10:00:00|60|10|-2|PER_NODE:gpu:4\n"
      "5|2024-03-01T10:00:00|60|0|2|gpu:4\n"
      // The four types together are 2^64 + 4.
      "6|2024-03-01T10:00:00|60|10|2147483647|PER_NODE:gpu:a:2147483647,gpu:b:2147483647,gpu:c:2147483647,"
      "gpu:d:2147483647\n");
  CHECK(raw.workload.jobs.size() == 2);
  CHECK(skipped(raw, "malformed time") == 1);
  CHECK(skipped(raw, "malformed number") == 3);
  const auto strict =
      parse_trace("JobID|Submit|ElapsedRaw|TimelimitRaw|AllocTRES\n1|2024-03-01T10:00:00|60|ten|gres/gpu=1\n",
                  "f", "auto", {.strict = true});
  REQUIRE_FALSE(strict.has_value());
  CHECK(strict.error().describe() ==
        "f:2: TimelimitRaw: expected a job to replay (malformed time), found 'ten'");
}

TEST_CASE("sacct: steps are passed over, also under strict") {
  const std::string text = kHeader + row("5", "COMPLETED", "10", "gres/gpu=1") +
                           row("5.batch", "COMPLETED", "10", "cpu=1") +
                           row("5.0", "FAILED", "10", "gres/gpu=1");
  CHECK(read(text).workload.jobs.size() == 1);
  CHECK(read(text).skipped.total() == 0);
  CHECK(read(text).assumptions.back() == "2 rows of job steps passed over");
  CHECK(parse_trace(text, "f", "auto", {.strict = true}).has_value());
}

TEST_CASE("sacct: a job is submitted when it became eligible") {
  const Trace trace = read(
      "JobID|Submit|Eligible|Start|ElapsedRaw|AllocTRES\n"
      "1|2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T10:00:05|60|gres/gpu=1\n"
      "2|2024-03-01T10:00:00|2024-03-01T11:00:00|2024-03-01T11:00:05|60|gres/gpu=1\n"
      "3|2024-03-01T10:00:10|Unknown|2024-03-01T11:00:05|60|gres/gpu=1\n"
      // Started before it was eligible, so that one of the two is wrong.
      "4|2024-03-01T10:00:20|2024-03-01T12:00:00|2024-03-01T11:00:05|60|gres/gpu=1\n");
  REQUIRE(trace.workload.jobs.size() == 4);
  CHECK(trace.workload.jobs[1].name == "3");
  CHECK(trace.workload.jobs[2].submit.time_since_epoch() == 20s);
  CHECK(trace.workload.jobs[2].original_start.time_since_epoch() == 1h + 5s);
  const Job& held = trace.workload.jobs[3];
  CHECK(held.name == "2");
  CHECK(held.submit.time_since_epoch() == 1h);
  CHECK(held.original_start.time_since_epoch() == 1h + 5s);
  CHECK(trace.assumptions.back() ==
        "1 job submission time = time of eligibility, later than the recorded one");
}

TEST_CASE("sacct: who ran for longer than the limit has that for a limit") {
  const Trace trace = read(
      "JobID|State|Submit|ElapsedRaw|TimelimitRaw|AllocTRES\n"
      "1|TIMEOUT|2024-03-01T10:00:00|3612|60|gres/gpu=1\n"
      "2|COMPLETED|2024-03-01T10:00:00|600|60|gres/gpu=1\n"
      "3|COMPLETED|2024-03-01T10:00:00|600|UNLIMITED|gres/gpu=1\n"
      "4|COMPLETED|2024-03-01T10:00:00|600|4294967295|gres/gpu=1\n");
  REQUIRE(trace.workload.jobs.size() == 4);
  CHECK(trace.workload.jobs[3].requested_time == 0s);
  CHECK(trace.workload.jobs[0].requested_time == 3612s);
  CHECK(trace.workload.jobs[1].requested_time == 1h);
  CHECK(trace.workload.jobs[2].requested_time == 0s);
}

TEST_CASE("sacct: components of heterogeneous jobs are jobs, which is said") {
  const Trace trace =
      read(kHeader + row("5+0", "COMPLETED", "10", "gres/gpu=1") +
           row("5+1", "COMPLETED", "10", "gres/gpu=2") + row("6", "COMPLETED", "10", "gres/gpu=1"));
  CHECK(trace.workload.jobs.size() == 3);
  CHECK(trace.assumptions.back() ==
        "2 components of heterogeneous jobs taken for jobs that need not start together");
}

TEST_CASE("sacct: of a requeued job the last run is kept") {
  const Trace trace =
      read(kHeader + row("5", "NODE_FAIL", "10", "gres/gpu=1") + row("6", "COMPLETED", "1", "gres/gpu=1") +
           row("5", "REQUEUED", "20", "gres/gpu=1") + row("5", "PREEMPTED", "30", "gres/gpu=1") +
           row("5", "CANCELLED by 1001", "40", "gres/gpu=1"));
  REQUIRE(trace.workload.jobs.size() == 2);
  CHECK(trace.workload.jobs[1].name == "5");
  CHECK(trace.workload.jobs[1].duration == 40s);
  CHECK(trace.workload.jobs[1].status == JobStatus::Cancelled);
  CHECK(skipped(trace, "earlier run of a requeued job") == 3);
}

TEST_CASE("sacct: rows that are no job to replay are counted by reason") {
  const std::string gpu = "gres/gpu=1";
  const Trace trace = read(
      kHeader + row("1", "COMPLETED", "10", gpu) + row("2", "COMPLETED", "10", "cpu=4,mem=1G") +
      row("3", "COMPLETED", "0", gpu) + row("4", "RUNNING", "10", gpu) + row("5", "SUSPENDED", "10", gpu) +
      "6_[1-9%2]|amy|v|gpu|PENDING|2024-03-01T10:00:00|Unknown|Unknown|0|60|1|gres/gpu=1|\n"
      "7|amy|v|gpu|CANCELLED by 5|2024-03-01T10:00:00|None|2024-03-01T10:00:09|0|60|1|gres/gpu=1|\n"
      "8|amy|v|gpu|FAILED|None|2024-03-01T10:00:00|2024-03-01T10:00:09|9|60|1|gres/gpu=1|\n"
      "9|amy|v|gpu|FAILED|2024-13-01T10:00:00|2024-03-01T10:00:00|2024-03-01T10:00:09|9|60|1|gres/gpu=1|\n" +
      row("10", "COMPLETED", "ten", gpu) + row("11", "COMPLETED", "10", "gres/gpu=many") + "12|amy\n");
  CHECK(trace.workload.jobs.size() == 1);
  CHECK(skipped(trace, "no GPU requested") == 1);
  CHECK(skipped(trace, "run time of zero") == 1);
  CHECK(skipped(trace, "not ended when the log was taken") == 2);
  CHECK(skipped(trace, "never started") == 2);
  CHECK(skipped(trace, "no submission time") == 1);
  CHECK(skipped(trace, "malformed time") == 2);
  CHECK(skipped(trace, "malformed number") == 1);
  CHECK(skipped(trace, "malformed row (columns, quotes or length)") == 1);
  CHECK(trace.skipped.total() == 11);
  const auto strict =
      parse_trace(kHeader + row("4", "RUNNING", "10", gpu), "jobs.txt", "auto", {.strict = true});
  REQUIRE_FALSE(strict.has_value());
  CHECK(strict.error().describe() ==
        "jobs.txt:2: State: expected a job to replay (not ended when the log was taken), found 'RUNNING'");
}

TEST_CASE("sacct: seconds since 1970 are dates of UTC; without elapsed time it is end - start") {
  const Trace trace =
      read("JobID|Submit|Start|End|AllocTRES\n1|1709287200|1709287205|1709287265|gres/gpu=1\n");
  CHECK(trace.workload.jobs[0].duration == 60s);
  CHECK(trace.workload.jobs[0].original_start == SimTime(5s));
  CHECK(trace.assumptions[0] == "time 0 is the first submission, 2024-03-01 10:00:00 UTC");
}

TEST_CASE("sacct: an export without what is needed says how to export") {
  const auto trace = parse_trace("JobID|JobName|Partition|State|ExitCode\n1|a|b|COMPLETED|0:0\n", "jobs.txt");
  REQUIRE_FALSE(trace.has_value());
  CHECK(trace.error().describe().starts_with(
      "jobs.txt:1: Submit: column missing; the header has 'JobID', 'JobName', 'Partition', 'State' and "
      "'ExitCode'. Export with for instance sacct -a -X -P -S now-30days -E now -o JobIDRaw,User,Account"));
  const auto error_of = [](const std::string& text) {
    const auto refused = parse_trace(text, "jobs.txt");
    REQUIRE_FALSE(refused.has_value());
    return refused.error().describe();
  };
  // Columns of blanks, no header, what sacct complains about, a column twice.
  for (const std::string text :
       {"JobID           JobName  Partition    Account\n------------ ---------- ---\n",
        "       JobID    JobName  Partition\n------------ ----------\n",
        "1|amy|gpu|gpu|COMPLETED\n2|amy|vision|gpu|FAILED\n",
        "sacct: warning: something\nJobID|Submit|ElapsedRaw|AllocTRES\n"}) {
    CAPTURE(text);
    CHECK(error_of(text).starts_with("jobs.txt:1: JobID: column missing; the header has '"));
    CHECK(error_of(text).find("Export with for instance sacct -a -X -P -S now-30days -E now -o JobIDRaw") !=
          std::string::npos);
  }
  CHECK(error_of("JobID|Submit|ElapsedRaw|AllocTRES|submit\n1|2|3|gres/gpu=1|2\n") ==
        "jobs.txt:1: submit: the header has this column twice");
}
