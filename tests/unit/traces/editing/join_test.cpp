#include "traces/editing/join.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/sim_time.hpp"
#include "traces/trace_format.hpp"
#include "workloads/jobs/job.hpp"

using vtrain::Job;
using vtrain::join_traces;
using vtrain::NamedTrace;
using vtrain::Trace;
using vtrain::Workload;

namespace {

NamedTrace named(std::string name, std::string_view text) {
  return {std::move(name), vtrain::parse_trace(text, "f").value()};
}

std::string tenant_of(const Workload& workload, std::size_t job) {
  const vtrain::TenantId tenant = workload.jobs[job].tenant;
  return tenant ? workload.tenants[tenant.value] : "";
}

constexpr std::string_view kFirst =
    "# a\njob_id,tenant,user,submit_s,num_gpus,duration_s,model\n1,x,u,0,1,5,gpt\n2,y,v,10,1,5,\n";
constexpr std::string_view kSecond =
    "# a\n# b\njob_id,tenant,submit_s,num_gpus,duration_s,model\n3,y,0,2,5,bert\n4,,5,2,5,gpt\n";

}  // namespace

TEST_CASE("trace_join: errors name the file of a job and its line there") {
  const auto read = [](std::string_view text, const std::string& file) {
    return NamedTrace{file, vtrain::parse_trace(text, file).value()};
  };
  std::vector<NamedTrace> traces;
  traces.push_back(read(kFirst, "one.csv"));  // jobs on the lines 3 and 4
  traces.push_back(read(kSecond, "two.csv"));
  std::vector<NamedTrace> again;
  again.push_back({"both", join_traces(std::move(traces), false)});
  again.push_back(read("{\"job_id\":\"5\",\"submit_s\":20,\"num_gpus\":1,\"duration_s\":5}", "three.jsonl"));
  Workload workload = join_traces(std::move(again), false).workload;
  Job& added = workload.jobs.emplace_back();
  added.name = "6";
  std::vector<std::string> errors;
  for (const Job& job : workload.jobs)
    errors.push_back(vtrain::job_error(workload, job, "model", "unknown").describe());
  CHECK(errors ==
        std::vector<std::string>{"one.csv:3: model: job '1': unknown", "two.csv:4: model: job '3': unknown",
                                 "two.csv:5: model: job '4': unknown", "one.csv:4: model: job '2': unknown",
                                 "three.jsonl:1: model: job '5': unknown", "model: job '6': unknown"});
}

TEST_CASE("trace_join: jobs of all traces by submission, names and what they refer to kept") {
  std::vector<NamedTrace> traces;
  traces.push_back(named("one", kFirst));
  traces.push_back(named("two", kSecond));
  traces[0].trace.skipped.add("no GPU", 4);
  traces[1].trace.skipped.add("no GPU", 9);
  traces[1].trace.skipped.add("running", 10);
  const Trace all = join_traces(std::move(traces), false);
  const Workload& workload = all.workload;
  REQUIRE(workload.jobs.size() == 4);
  // Submissions at 0 (first file), 0 (second), 5 and 10.
  const std::vector<std::string> names = {"1", "3", "4", "2"};
  const std::vector<std::string> tenants = {"x", "y", "", "y"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(workload.jobs[i].name == names[i]);
    CHECK(tenant_of(workload, i) == tenants[i]);
  }
  CHECK(workload.models[workload.jobs[1].model.value] == "bert");
  CHECK(workload.models[workload.jobs[2].model.value] == "gpt");
  CHECK(workload.users[workload.jobs[3].user.value] == "v");
  CHECK(all.format == "vtrain");
  CHECK(all.assumptions == std::vector<std::string>{"a", "b"});
  CHECK(all.skipped.total() == 3);
  REQUIRE(all.skipped.reasons().size() == 2);
  CHECK(all.skipped.reasons()[0].count == 2);
  CHECK(all.skipped.reasons()[0].first_lines.empty());
}

TEST_CASE("trace_join: GPU types keep their names, and jobs their curves") {
  std::vector<NamedTrace> traces;
  traces.push_back(named("one", "job_id,submit_s,num_gpus,duration_s,gpu_type\n1,0,1,5,a100\n"));
  traces.push_back(
      named("two", "job_id,submit_s,num_gpus,duration_s,gpu_type\n2,1,1,5,v100\n3,2,1,5,a100\n4,3,1,5,\n"));
  for (NamedTrace& each : traces) {
    each.trace.workload.curves.emplace_back(
        std::vector<vtrain::SpeedByGpus::Level>{{vtrain::GpuCount(1), 1.0}});
    each.trace.workload.jobs[0].curve = vtrain::CurveId(0);
  }
  const Workload workload = join_traces(std::move(traces), false).workload;
  REQUIRE(workload.jobs.size() == 4);
  CHECK(workload.jobs[0].curve == vtrain::CurveId(0));
  CHECK(workload.jobs[1].curve == vtrain::CurveId(1));
  CHECK_FALSE(static_cast<bool>(workload.jobs[2].curve));
  const std::vector<std::string> types = {"a100", "v100", "a100"};
  for (std::size_t i = 0; i < types.size(); ++i)
    CHECK(workload.gpu_types[workload.jobs[i].gpu_type.value] == types[i]);
  CHECK_FALSE(static_cast<bool>(workload.jobs[3].gpu_type));
}

TEST_CASE("trace_join: dated logs are laid one after the other, and a job of two exports is one") {
  constexpr std::string_view kHeader = "JobID|Submit|Start|End|State|ElapsedRaw|AllocTRES\n";
  const std::string january =
      std::string(kHeader) +
      "1|2026-01-01T00:00:00|2026-01-01T00:00:10|2026-01-01T01:00:10|COMPLETED|3600|gres/gpu=2\n"
      "2|2026-01-31T23:00:00|2026-01-31T23:00:00|2026-02-01T01:00:00|COMPLETED|7200|gres/gpu=2\n";
  const std::string february =
      std::string(kHeader) +
      "2|2026-01-31T23:00:00|2026-01-31T23:00:00|2026-02-01T01:00:00|COMPLETED|7200|gres/gpu=2\n"
      "1|2026-02-02T00:00:00|2026-02-02T00:00:00|2026-02-02T01:00:00|COMPLETED|3600|gres/gpu=2\n";
  for (const bool in_order : {true, false}) {
    std::vector<NamedTrace> traces;
    traces.push_back(named("jan", january));
    traces.push_back(named("feb", february));
    if (!in_order) std::swap(traces[0], traces[1]);
    const Trace all = join_traces(std::move(traces), false);
    const auto& jobs = all.workload.jobs;
    REQUIRE(jobs.size() == 3);
    const std::vector<std::string> names = {"jan/1", in_order ? "jan/2" : "feb/2", "feb/1"};
    const std::vector<std::int64_t> submits = {0, 30 * 86400 + 23 * 3600, 32 * 86400};
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(jobs[i].name == names[i]);
      CHECK(jobs[i].submit == vtrain::at(submits[i]));
    }
    CHECK(jobs[0].original_start == vtrain::at(10));
    CHECK(jobs[2].original_start == jobs[2].submit);
    CHECK(all.assumptions ==
          std::vector<std::string>{"time 0 is the first submission, 2026-01-01 00:00:00 local time",
                                   "jobs that are in several files, counted once: 1"});
    CHECK(all.skipped.total() == 0);
  }
  // A repeat of a job that is itself the second of its id.
  std::vector<NamedTrace> twice;
  twice.push_back(named("jan", january));
  twice.push_back(named("feb", february));
  twice.push_back(named("again", february));
  const Trace once = join_traces(std::move(twice), false);
  CHECK(once.workload.jobs.size() == 3);
  CHECK(once.assumptions.back() == "jobs that are in several files, counted once: 3");
  // A trace without dates counts from its own time 0.
  std::vector<NamedTrace> mixed;
  mixed.push_back(named("one", kFirst));
  mixed.push_back(named("feb", february));
  const Trace all = join_traces(std::move(mixed), false);
  CHECK(all.workload.jobs.size() == 4);
  CHECK(all.assumptions == std::vector<std::string>{
                               "a", "time 0 is the first submission, 2026-01-31 23:00:00 local time of feb"});
  // Clusters of their own have jobs of their own.
  std::vector<NamedTrace> clusters;
  clusters.push_back(named("jan", january));
  clusters.push_back(named("feb", february));
  CHECK(join_traces(std::move(clusters), true).workload.jobs.size() == 4);
  // Beyond the times that a trace may have.
  std::vector<NamedTrace> far;
  far.push_back(named("jan", january));
  far.push_back(named("late", std::string(kHeader) +
                                  "9|2130-01-01T00:00:00|2130-01-01T00:00:00|2130-01-01T01:00:00|COMPLETED|"
                                  "3600|gres/gpu=2\n"));
  const Trace apart = join_traces(std::move(far), false);
  CHECK(!apart.origin);
  CHECK(apart.workload.jobs.size() == 3);
  CHECK(apart.workload.jobs[0].submit == apart.workload.jobs[1].submit);
}

TEST_CASE("trace_join: jobs keep the speeds that were measured for them") {
  using vtrain::CurveId;
  using vtrain::GpuCount;
  std::vector<NamedTrace> traces;
  traces.push_back(named("one", kFirst));
  traces.push_back(named("two", kSecond));
  for (std::size_t i = 0; i < 2; ++i) {
    Workload& workload = traces[i].trace.workload;
    workload.curves.emplace_back(
        std::vector<vtrain::SpeedByGpus::Level>{{GpuCount(1), static_cast<double>(i + 1)}});
    workload.jobs[0].curve = CurveId(0);
  }
  const Workload workload = join_traces(std::move(traces), false).workload;
  // Jobs 1 and 3, the first of each trace; the others have none.
  CHECK(workload.curves[workload.jobs[0].curve.value].iterations_per_s(GpuCount(1)) == 1);
  CHECK(workload.curves[workload.jobs[1].curve.value].iterations_per_s(GpuCount(1)) == 2);
  CHECK_FALSE(workload.jobs[2].curve);
  CHECK_FALSE(workload.jobs[3].curve);
}

TEST_CASE("trace_join: repeated job ids are put behind the names of the traces") {
  std::vector<NamedTrace> traces;
  traces.push_back(named("one", kFirst));
  traces.push_back(named("two", kFirst));
  const Trace all = join_traces(std::move(traces), false);
  REQUIRE(all.workload.jobs.size() == 4);
  CHECK(all.workload.jobs[0].name == "one/1");
  CHECK(all.workload.jobs[1].name == "two/1");
  CHECK(all.workload.jobs[3].name == "two/2");
}

TEST_CASE("trace_join: the names of the traces as tenants, also of a single one") {
  std::vector<NamedTrace> traces;
  traces.push_back(named("one", kFirst));
  traces.push_back(named("two", kSecond));
  const Trace all = join_traces(std::move(traces), true);
  CHECK(all.workload.tenants.size() == 2);
  CHECK(tenant_of(all.workload, 0) == "one");
  CHECK(tenant_of(all.workload, 1) == "two");
  CHECK(tenant_of(all.workload, 2) == "two");
  traces.clear();
  traces.push_back(named("one", kFirst));
  const Trace single = join_traces(std::move(traces), true);
  CHECK(single.workload.tenants.size() == 1);
  CHECK(tenant_of(single.workload, 1) == "one");
  CHECK(single.workload.jobs[1].name == "2");
}

TEST_CASE("trace_join: traces have the names of their files, as long as it takes to tell them apart") {
  using vtrain::trace_names;
  using Names = std::vector<std::string>;
  CHECK(trace_names({"itp/cluster01.csv.gz", "b/.hidden.csv", "-"}) == Names{"cluster01", ".hidden", "-"});
  CHECK(trace_names({"data/pai/", "pai.csv"}) == Names{"pai", "pai.csv"});
  CHECK(trace_names({"jobs.v1.csv", "x/jobs.v2.csv", "x/other.csv"}) ==
        Names{"jobs.v1.csv", "jobs.v2.csv", "other"});
  CHECK(trace_names({"a/jobs.csv", "b/jobs.csv", "b/jobs.swf"}) ==
        Names{"a/jobs.csv", "b/jobs.csv", "jobs.swf"});
  CHECK(trace_names({"jobs.csv", "./jobs.csv"}) == Names{"jobs.csv", "./jobs.csv"});
}
