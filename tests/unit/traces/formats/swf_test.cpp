// The Standard Workload Format, read and written.
#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "tests/unit/traces/trace_text.hpp"
#include "traces/formats/formats.hpp"
#include "traces/trace_format.hpp"

using namespace std::chrono_literals;
using vtrain::Job;
using vtrain::JobStatus;
using vtrain::parse_trace;
using vtrain::SimTime;
using vtrain::Trace;
using vtrain::testing::read_text;
using vtrain::testing::skipped;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::written;

namespace {

Trace read(const std::string& text) {
  return read_text(text, "swf");
}

std::string line(const std::string& first_five, const std::string& requested = "-1 -1",
                 const std::string& status = "1", const std::string& user_group = "7 3") {
  return first_five + " -1 -1 " + requested + " -1 " + status + " " + user_group + " -1 -1 -1 -1 -1\n";
}

}  // namespace

TEST_CASE("swf: the fields of a job, the size of the cluster from the header") {
  const Trace trace = read("; Version: 2.2\n;   MaxProcs: 240\n;MaxJobs: 1\n" +
                           line("   12   342343      5    553.25   40", "48 43200"));
  CHECK(trace.num_gpus == 240);
  REQUIRE(trace.workload.jobs.size() == 1);
  const Job& job = trace.workload.jobs[0];
  CHECK(job.name == "12");
  CHECK(job.submit == SimTime(342343s));
  CHECK(job.original_start == SimTime(342348s));
  CHECK(job.duration == 553250ms);
  CHECK(job.num_gpus.value == 40);
  CHECK(job.requested_time == 43200s);
  CHECK(job.status == JobStatus::Completed);
  CHECK(trace.workload.users[job.user.value] == "7");
  CHECK(trace.workload.tenants[job.tenant.value] == "3");
  REQUIRE(trace.assumptions.size() == 1);
  CHECK(trace.assumptions[0] == "processors are counted as GPUs");
}

TEST_CASE("swf: a header with nodes alone is one of nodes with one processor") {
  const std::string job = line("1 0 5 100 4", "4 200");
  const Trace nodes = read("; MaxNodes: 16\n" + job);
  CHECK(nodes.num_gpus == 16);
  CHECK(nodes.assumptions.back() == "the header counts nodes alone: they have one processor each");
  CHECK(read("; MaxNodes: 16\n; MaxProcs: 64\n" + job).num_gpus == 64);
  CHECK(read("; MaxProcs: 64\n; MaxNodes: 16\n" + job).num_gpus == 64);
  // Neither is told: a job has more processors than there are nodes, or processors are not readable.
  CHECK_FALSE(read("; MaxNodes: 2\n" + job).num_gpus.has_value());
  CHECK_FALSE(read("; MaxNodes: 16\n; MaxProcs: some\n" + job).num_gpus.has_value());
}

TEST_CASE("swf: -1 is unknown: requested processors stand in, wait, limit, user and group are left out") {
  const Trace trace = read(line("1 0 -1 10 -1", "8 -1", "-1", "-1 -1"));
  const Job& job = trace.workload.jobs[0];
  CHECK(job.num_gpus.value == 8);
  CHECK(job.original_start == Job::kNoStart);
  CHECK(job.requested_time.count() == 0);
  CHECK(job.status == JobStatus::Unknown);
  CHECK_FALSE(job.user);
  CHECK_FALSE(job.tenant);
  CHECK_FALSE(trace.num_gpus);
}

TEST_CASE("swf: lines that are no job to replay are counted by reason") {
  const std::string good = line("1 0 0 10 1");
  const Trace trace = read(good + line("2 0 0 0 1") + line("3 0 0 -1 1") + line("4 0 0 5 -1") +
                           line("5 0 0 5 0", "0 -1") + line("6 -1 0 5 1") + line("7 0 0 5 1", "-1 -1", "2") +
                           line("8 0 0 5 1", "-1 -1", "4") + line("1 0 0 5 1") + line("x 0 0 5 1") +
                           line("9 0 0 1e9 1") + "10 0 0 5 1\n" + line("11 0 0 99999999999 1") +
                           line("12 0 0 5 1.5") + "\n; a comment between\n" + line("13 3 0 5 2"));
  CHECK(trace.workload.jobs.size() == 2);
  CHECK(skipped(trace, "run time of zero") == 1);
  CHECK(skipped(trace, "run time unknown") == 1);
  CHECK(skipped(trace, "processors unknown") == 2);
  CHECK(skipped(trace, "no submission time") == 1);
  CHECK(skipped(trace, "part of a checkpointed job") == 2);
  CHECK(skipped(trace, "job id of an earlier row") == 1);
  CHECK(skipped(trace, "malformed number") == 2);
  CHECK(skipped(trace, "malformed time") == 2);
  CHECK(skipped(trace, "malformed row (columns, quotes or length)") == 1);
  CHECK(trace.skipped.total() == 13);
}

TEST_CASE("swf: under strict the first such line is an error; a file without a job is one in any case") {
  const auto strict =
      parse_trace(line("1 0 0 10 1") + line("2 0 0 0 1"), "log.swf", "auto", {.strict = true});
  REQUIRE_FALSE(strict.has_value());
  CHECK(strict.error().describe() == "log.swf:2: expected a job to replay (run time of zero), found '0'");
  const auto empty = parse_trace("; Version: 2\n" + line("2 0 0 0 1"), "log.swf");
  REQUIRE_FALSE(empty.has_value());
  CHECK(empty.error().message.starts_with("no jobs in the trace; rows skipped: "));
}

TEST_CASE("swf: MetaCentrum's dialect has more columns and dates for times") {
  // 1357050338 s after 1970 is 2013-01-01 14:25:38 UTC.
  const std::string rest = " 1 362 1 1 1024 1 86400 419430400 1 24 1 1 -1 1 1 1 {1288} q_1d 1:ppn=1\n";
  const Trace trace = read("18 1357050338" + rest + "19 1357050340" + rest);
  CHECK(trace.workload.jobs[0].submit == SimTime(0s));
  CHECK(trace.workload.jobs[0].original_start == SimTime(1s));
  CHECK(trace.workload.jobs[1].submit == SimTime(2s));
  CHECK(trace.workload.jobs[1].duration == 362s);
  CHECK(trace.assumptions[0] == "time 0 is the first submission, 2013-01-01 14:25:38 UTC");
}

TEST_CASE("swf: what is written is read again, with every field that the format has") {
  const std::string log = "; MaxProcs: 64\n" + line("3 0.5 2.25 10.125 4", "4 60.5", "0", "7 12") +
                          line("5 7 -1 3 64", "64 -1", "5", "8 12") +
                          line("6 9 0 3 1", "-1 -1", "-1", "-1 -1") +
                          "7 10 0 3 1 -1 -1 1 -1 -1 1 7 12 -1 4 -1 3 60\n";
  const Trace first = read(log);
  const Trace second = read(written(first, vtrain::write_swf));
  CHECK(second.num_gpus == 64);
  REQUIRE(second.workload.jobs.size() == first.workload.jobs.size());
  for (std::size_t i = 0; i < first.workload.jobs.size(); ++i) {
    const Job& a = first.workload.jobs[i];
    const Job& b = second.workload.jobs[i];
    CHECK(a.name == b.name);
    CHECK(a.submit == b.submit);
    CHECK(a.duration == b.duration);
    CHECK(a.num_gpus == b.num_gpus);
    CHECK(a.requested_time == b.requested_time);
    CHECK(a.original_start == b.original_start);
    CHECK(a.status == b.status);
    CHECK(a.user == b.user);
    CHECK(a.tenant == b.tenant);
    CHECK(a.queue == b.queue);
    CHECK(a.requirements == b.requirements);
  }
  const Job& last = second.workload.jobs.back();
  CHECK(second.workload.queues[last.queue.value] == "4");
  CHECK(second.workload.requirements_of(last)->dependencies ==
        std::vector<vtrain::JobDependency>{{vtrain::DependencyKind::AfterAny, "3"}});
  CHECK(second.workload.users.names() == first.workload.users.names());
  CHECK(second.workload.tenants.names() == first.workload.tenants.names());
}

TEST_CASE("swf: names that are no numbers are numbered, and the header says which is which") {
  const auto trace = parse_trace(
      "# made for a test\njob_id,tenant,user,submit_s,num_gpus,duration_s,status\n"
      "a,vision,amy,0,1,5,timeout\nb,speech,ben,1,2,6,running\nc,vision,amy,2,1,7,\n",
      "jobs.csv");
  REQUIRE(trace);
  CHECK(written(*trace, vtrain::write_swf) ==
        "; Version: 2.2\n; Conversion: vtrain\n; MaxJobs: 3\n; MaxRecords: 3\n"
        "; Note: processors are GPUs, groups are tenants\n; Note: made for a test\n"
        "; Note: group 1 is vision\n; Note: group 2 is speech\n; Note: user 1 is amy\n; Note: user 2 is ben\n"
        "1 0 -1 5 1 -1 -1 1 -1 -1 0 1 1 -1 -1 -1 -1 -1\n"
        "2 1 -1 6 2 -1 -1 2 -1 -1 -1 2 2 -1 -1 -1 -1 -1\n"
        "3 2 -1 7 1 -1 -1 1 -1 -1 -1 1 1 -1 -1 -1 -1 -1\n");
  // Read back, the numbers stand for their names again.
  const auto again = parse_trace(written(*trace, vtrain::write_swf), "jobs.swf");
  REQUIRE(again);
  CHECK(again->workload.tenants.names() == std::vector<std::string>{"vision", "speech"});
  CHECK(again->workload.users.names() == std::vector<std::string>{"amy", "ben"});
  CHECK(again->workload.jobs[2].tenant == again->workload.jobs[0].tenant);
  // In a file of somebody else a note is a note.
  const auto other =
      parse_trace("; Note: group 1 is vision\n1 0 -1 5 1 -1 -1 1 -1 -1 0 1 1 -1 -1 -1 -1 -1\n", "o.swf");
  REQUIRE(other);
  CHECK(other->workload.tenants.names() == std::vector<std::string>{"1"});
}

TEST_CASE("swf: a job without a run time cannot be written, and nothing is left behind") {
  const auto trace =
      parse_trace("job_id,submit_s,num_gpus,model,global_batch,iterations\na,0,1,gpt2,8,100\n", "jobs.csv");
  REQUIRE(trace);
  const TemporaryFolder folder;
  const auto path = folder / "log.swf";
  const auto done = vtrain::write_swf(*trace, path);
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().message == "job 'a': has no run time, and SWF has no models to compute one from");
  CHECK_FALSE(std::filesystem::exists(path));
}
