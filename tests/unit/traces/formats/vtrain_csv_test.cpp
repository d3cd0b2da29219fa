#include "traces/formats/formats.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "core/io/csv.hpp"
#include "tests/support/temporary_folder.hpp"
#include "traces/editing/difference.hpp"
#include "traces/trace_format.hpp"

using vtrain::Job;
using vtrain::parse_trace;
using vtrain::SimDuration;
using vtrain::SimTime;
using vtrain::to_vtrain_csv;
using vtrain::Workload;
using vtrain::testing::TemporaryFolder;

namespace {

std::string error_of(std::string_view text) {
  const auto trace = parse_trace(text, "jobs.csv", "vtrain");
  return trace ? "no error" : trace.error().describe();
}

void check_equal(const Workload& a, const Workload& b) {
  for (const vtrain::FieldDifference& difference : vtrain::compare_workloads(a, b))
    FAIL_CHECK(difference.field << " of " << difference.jobs << " jobs");
}

}  // namespace

TEST_CASE("vtrain_csv: every column is read") {
  const auto trace = parse_trace(
      "job_id,tenant,submit_s,num_gpus,duration_s,requested_s,deadline_s,model,global_batch,iterations,"
      "user,gpu_type,gpu_share,max_gpus,original_start_s,status\n"
      "\"a,\"\"b\",t0,0.000000001,8,3600,7200.5,9000,gpt,512,1000,u0,V100|T4,0.25,16,7.5,timeout\n"
      "c,,5,1,,,,gpt,16,3,,,,,,\n",
      "f");
  REQUIRE(trace.has_value());
  const Workload& workload = trace->workload;
  const Job& full = workload.jobs[0];
  CHECK(full.name == "a,\"b");
  CHECK(workload.tenants[full.tenant.value] == "t0");
  CHECK(full.submit.time_since_epoch().count() == 1);
  CHECK(full.num_gpus.value == 8);
  CHECK(full.duration == std::chrono::hours(1));
  CHECK(full.requested_time.count() == 7'200'500'000'000);
  CHECK(full.deadline == SimTime(std::chrono::seconds(9000)));
  CHECK(workload.models[full.model.value] == "gpt");
  CHECK(full.global_batch == 512);
  CHECK(full.iterations == 1000);
  CHECK(workload.users[full.user.value] == "u0");
  CHECK(workload.gpu_types[full.gpu_type.value] == "V100|T4");
  CHECK(full.gpu_share == 250);
  CHECK(full.max_gpus.value == 16);
  CHECK(full.original_start == SimTime(std::chrono::milliseconds(7500)));
  CHECK(full.status == vtrain::JobStatus::TimedOut);
  const Job& unpriced = workload.jobs[1];
  CHECK_FALSE(static_cast<bool>(unpriced.user));
  CHECK_FALSE(static_cast<bool>(unpriced.gpu_type));
  CHECK(unpriced.gpu_share == 1000);
  CHECK(unpriced.max_gpus.value == 0);
  CHECK(unpriced.original_start == Job::kNoStart);
  CHECK(unpriced.status == vtrain::JobStatus::Unknown);
  CHECK_FALSE(static_cast<bool>(unpriced.tenant));
  CHECK(unpriced.duration.count() == 0);
  CHECK_FALSE(unpriced.has_deadline());
}

TEST_CASE("vtrain_csv: a job needs a duration or a model with its work") {
  CHECK(error_of("job_id,submit_s,num_gpus\na,0,1\n") ==
        "jobs.csv:1: duration_s: column missing; the header has 'job_id', 'submit_s' and 'num_gpus'");
  CHECK(error_of("job_id,submit_s,num_gpus,model,iterations\na,0,1,gpt,5\n")
            .starts_with("jobs.csv:1: global_batch: column missing; "));
  CHECK(error_of("job_id,submit_s,num_gpus,global_batch,iterations\na,0,1,8,5\n")
            .starts_with("jobs.csv:1: model: column missing; "));
  CHECK(error_of("job_id,submit_s,num_gpus,model,global_batch,iterations\na,0,1,gpt,8,5\n") == "no error");
  CHECK(error_of("job_id,submit_s,num_gpus,model,global_batch,iterations\na,0,1,gpt,8,\n") ==
        "jobs.csv:2: iterations: expected a duration, or a model with its global batch and iterations, found "
        "''");
  CHECK(error_of("job_id,submit_s,num_gpus,duration_s,model\na,0,1,,gpt\n") ==
        "jobs.csv:2: duration_s: expected a duration, or a model with its global batch and iterations, found "
        "''");
  CHECK(error_of("job_id,submit_s,num_gpus,duration_s,iterations\na,0,1,5,0\n") ==
        "jobs.csv:2: iterations: expected a whole number of at least 1, found '0'");
}

TEST_CASE("vtrain_csv: a misspelt column is not ignored") {
  CHECK(error_of("job_id,submit_s,num_gpus,duration_s,deadlines_s\na,0,1,5,9\n") ==
        "jobs.csv:1: deadlines_s: unknown column; did you mean 'deadline_s'?");
}

TEST_CASE("vtrain_csv: what is written is read back to the nanosecond") {
  vtrain::RandomStream random(7);
  Workload workload;
  SimDuration submit{0};
  for (int i = 0; i < 500; ++i) {
    Job job;
    job.name = workload.keep("job \"" + std::to_string(i) + "\", ü");
    submit += SimDuration(static_cast<std::int64_t>(random.below(1'000'000'000'000)));
    job.submit = SimTime(submit);
    job.num_gpus = vtrain::GpuCount(1 + static_cast<std::int32_t>(random.below(64)));
    if (random.below(2) == 0) job.tenant = workload.tenant("tenant," + std::to_string(random.below(5)));
    if (random.below(2) == 0)
      job.deadline = job.submit + SimDuration(static_cast<std::int64_t>(random.below(1u << 30)));
    if (random.below(2) == 0)
      job.requested_time = SimDuration(1 + static_cast<std::int64_t>(random.below(1u << 30)));
    const bool priced = random.below(2) == 0;
    if (priced)
      job.duration =
          SimDuration(1 + static_cast<std::int64_t>(random.next() >> 8) % 3'000'000'000'000'000'000);
    if (!priced || random.below(2) == 0) {
      job.model = workload.model("model" + std::to_string(random.below(3)));
      job.global_batch = 1 + static_cast<std::int32_t>(random.below(4096));
      job.iterations = 1 + static_cast<std::int64_t>(random.below(1'000'000'000'000));
    }
    if (random.below(2) == 0) job.user = workload.user("user" + std::to_string(random.below(9)));
    if (random.below(2) == 0) job.account = workload.account("account" + std::to_string(random.below(4)));
    if (random.below(2) == 0) job.queue = workload.queue("gpu,long" + std::to_string(random.below(3)));
    if (random.below(2) == 0) job.qos = workload.qos("qos" + std::to_string(random.below(3)));
    if (random.below(2) == 0) job.priority = static_cast<std::int64_t>(random.below(1000)) - 500;
    if (random.below(4) == 0) workload.add_requirements(job).num_nodes = 2;
    if (random.below(4) == 0) workload.add_requirements(job).gpus_per_node = vtrain::GpuCount(4);
    if (random.below(4) == 0) workload.add_requirements(job).node_features = "[rack1|rack2]&\"ib\"";
    if (random.below(4) == 0)
      workload.add_requirements(job).dependencies = {{vtrain::DependencyKind::AfterOk, "job1"},
                                                     {vtrain::DependencyKind::After, "a:b"}};
    if (random.below(2) == 0) job.gpu_type = workload.gpu_type("A100|H" + std::to_string(random.below(3)));
    if (random.below(2) == 0) job.gpu_share = static_cast<std::int16_t>(1 + random.below(1000));
    if (random.below(2) == 0)
      job.max_gpus = vtrain::GpuCount(job.num_gpus.value + static_cast<std::int32_t>(random.below(512)));
    if (random.below(2) == 0)
      job.original_start = job.submit + SimDuration(static_cast<std::int64_t>(random.below(1u << 30)));
    job.status = static_cast<vtrain::JobStatus>(random.below(vtrain::status_names().size()));
    workload.jobs.push_back(job);
  }
  const std::string text = to_vtrain_csv(workload);
  const auto again = parse_trace(text, "f");
  REQUIRE_MESSAGE(again.has_value(), again.error().describe());
  CHECK(again->format == "vtrain");
  check_equal(workload, again->workload);
  CHECK(to_vtrain_csv(again->workload) == text);
}

TEST_CASE("vtrain_csv: columns that no job fills are left out") {
  const auto trace = parse_trace("job_id,submission_time,duration,num_gpu\na,5,60,2\n", "f");
  REQUIRE(trace.has_value());
  CHECK(to_vtrain_csv(trace->workload) == "job_id,submit_s,num_gpus,duration_s\na,5,2,60\n");
}

TEST_CASE("vtrain_csv: shares of a GPU and statuses that do not exist are refused") {
  const auto share = [](const std::string& field) {
    return error_of("job_id,submit_s,num_gpus,duration_s,gpu_share\na,0,1,5," + field + "\n");
  };
  CHECK(share("1") == "no error");
  CHECK(share("0.001") == "no error");
  CHECK(share("0.0005") ==
        "jobs.csv:2: gpu_share: expected a part of a GPU from 0.001 to 1 in steps of 0.001, found '0.0005'");
  CHECK(share("0.3333").starts_with("jobs.csv:2: gpu_share: expected a part"));
  CHECK(share("0").starts_with("jobs.csv:2: gpu_share: expected a part"));
  CHECK(share("2").starts_with("jobs.csv:2: gpu_share: expected a part"));
  CHECK(share("nan").starts_with("jobs.csv:2: gpu_share: expected a part"));
  CHECK(error_of("job_id,submit_s,num_gpus,duration_s,status\na,0,1,5,done\n") ==
        "jobs.csv:2: status: expected one of 'unknown', 'completed', 'failed', 'cancelled', 'timeout' and "
        "'running', found 'done'");
  CHECK(error_of("job_id,submit_s,num_gpus,duration_s,max_gpus\na,0,1,5,0\n")
            .starts_with("jobs.csv:2: max_gpus: "));
  CHECK(error_of("job_id,submit_s,num_gpus,duration_s,max_gpus\na,0,8,5,8\nb,0,8,5,4\n") ==
        "jobs.csv:3: max_gpus: expected at least the 8 GPUs asked for, found '4'");
}

TEST_CASE("vtrain_csv: comments before the header are assumptions, and errors still name the right line") {
  const auto trace = parse_trace(
      "\xef\xbb\xbf# made up\r\n\n#no job is real\njob_id,submit_s,num_gpus,duration_s\na,0,1,5\n", "f");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->format == "vtrain");
  CHECK(trace->assumptions == std::vector<std::string>{"made up", "no job is real"});
  CHECK(error_of("# made up\njob_id,submit_s,num_gpus,duration_s\na,0,x,5\n") ==
        "jobs.csv:3: num_gpus: expected a whole number of at least 1, found 'x'");
  std::string many;
  for (std::size_t i = 0; i < vtrain::CsvReader::kMaxComments; ++i)
    many += "# once more\n";
  const std::string rows = "job_id,submit_s,num_gpus,duration_s\na,0,1,5\n";
  CHECK(parse_trace(many + rows, "f")->assumptions.size() == vtrain::CsvReader::kMaxComments);
  CHECK(error_of("# too many\n" + many + rows) ==
        "jobs.csv:10001: more than 10,000 lines of comments before the header");
}

TEST_CASE("vtrain_csv: a file keeps jobs and assumptions") {
  auto trace =
      parse_trace("# half of it\njob_id,submit_s,num_gpus,duration_s,status\na,0,1,5.25,failed\n", "f");
  REQUIRE(trace.has_value());
  trace->assumptions.push_back("two\nlines");
  const TemporaryFolder folder;
  const auto path = folder / "jobs.csv";
  REQUIRE(vtrain::write_vtrain_csv(*trace, path).has_value());
  const auto again = vtrain::read_trace(path.string());
  REQUIRE_MESSAGE(again.has_value(), again.error().describe());
  CHECK(again->assumptions == std::vector<std::string>{"half of it", "two\\x0alines"});
  check_equal(trace->workload, again->workload);
}
