#include "workloads/jobs/job_json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace vtrain {
namespace {

using Json = nlohmann::json;

/// A workload in which no member has its default value.
Workload full_workload() {
  Workload workload;
  workload.tenant("nobody");
  workload.curves.emplace_back(std::vector<SpeedByGpus::Level>{{GpuCount(1), 0.5}});
  workload.curves.emplace_back(std::vector<SpeedByGpus::Level>{{GpuCount(2), 1.0 / 3}, {GpuCount(4), 0.6}},
                               SpeedByGpus::Source::Predictor);
  workload.sources.push_back({"trace.csv", 9});
  Job job;
  job.name = workload.keep("first");
  job.tenant = workload.tenant("lab");
  job.model = workload.model("gpt3-13b");
  job.user = workload.user("ada");
  job.account = workload.account("account");
  job.queue = workload.queue("queue");
  job.qos = workload.qos("high");
  job.gpu_type = workload.gpu_type("a100");
  job.curve = CurveId(1);
  job.line = 3;
  job.submit = SimTime(SimDuration(-1));
  job.priority = -Job::kMaxPriority;
  job.duration = SimDuration(1'000'000'000'000'000'001);
  job.requested_time = SimDuration(2);
  job.deadline = SimTime(SimDuration(9'007'199'254'740'993));
  job.num_gpus = GpuCount(2);
  job.global_batch = 512;
  job.iterations = 9'007'199'254'740'993;
  job.original_start = SimTime(SimDuration(4));
  job.max_gpus = GpuCount(4);
  job.gpu_share = 250;
  job.status = JobStatus::TimedOut;
  workload.add_requirements(job) = {.dependencies = {{DependencyKind::AfterOk, "x"}},
                                    .node_features = "big",
                                    .num_nodes = 1,
                                    .gpus_per_node = GpuCount(2),
                                    .cpu_milli = 3,
                                    .memory_mib = 4,
                                    .cpus_per_node = 5,
                                    .array = "a",
                                    .array_limit = 6,
                                    .begin = SimTime(SimDuration(7)),
                                    .held_nodes = {"n1", "n2"},
                                    .reservation = "r",
                                    .nice = -8};
  workload.jobs.push_back(job);
  Job plain;
  plain.name = workload.keep("second");
  plain.duration = SimDuration(5);
  workload.jobs.push_back(plain);
  return workload;
}

TEST_CASE("jobs as JSON: all that a job has comes back") {
  const Workload workload = full_workload();
  const std::string text = to_json(workload, std::vector<JobId>{JobId(0), JobId(1)}).dump();
  const auto read = workload_from_json(Json::parse(text));
  REQUIRE_MESSAGE(read, read.error().describe());
  REQUIRE(read->jobs.size() == 2);
  const Job& job = read->jobs[0];
  const Job& expected = workload.jobs[0];
  CHECK(job.name == "first");
  CHECK(job.tenant == expected.tenant);
  CHECK(read->tenants.names() == workload.tenants.names());
  CHECK(read->models[job.model.value] == "gpt3-13b");
  CHECK(read->users[job.user.value] == "ada");
  CHECK(read->accounts[job.account.value] == "account");
  CHECK(read->queues[job.queue.value] == "queue");
  CHECK(read->qos_names[job.qos.value] == "high");
  CHECK(read->gpu_types[job.gpu_type.value] == "a100");
  REQUIRE(read->curves.size() == 1);  // the other belongs to no job
  CHECK(read->curves[job.curve.value] == workload.curves[1]);
  CHECK(job.line == expected.line);
  CHECK(job.submit == expected.submit);
  CHECK(job.priority == expected.priority);
  CHECK(job.duration == expected.duration);
  CHECK(job.requested_time == expected.requested_time);
  CHECK(job.deadline == expected.deadline);
  CHECK(job.num_gpus == expected.num_gpus);
  CHECK(job.global_batch == expected.global_batch);
  CHECK(job.iterations == expected.iterations);
  CHECK(job.original_start == expected.original_start);
  CHECK(job.max_gpus == expected.max_gpus);
  CHECK(job.gpu_share == expected.gpu_share);
  CHECK(job.status == expected.status);
  REQUIRE(read->requirements_of(job) != nullptr);
  CHECK(*read->requirements_of(job) == workload.requirements[0]);
  CHECK(read->requirements_of(read->jobs[1]) == nullptr);
  CHECK_FALSE(read->jobs[1].has_priority());
  CHECK_FALSE(read->jobs[1].has_deadline());
  CHECK(read->sources[0].last_line == 9);
  CHECK(to_json(*read, std::vector<JobId>{JobId(0), JobId(1)}).dump() == text);
}

TEST_CASE("jobs as JSON: some of the jobs, in an order of their own") {
  const auto read = workload_from_json(to_json(full_workload(), std::vector<JobId>{JobId(1)}));
  REQUIRE(read);
  REQUIRE(read->jobs.size() == 1);
  CHECK(read->jobs[0].name == "second");
  CHECK(read->curves.empty());
}

TEST_CASE("jobs as JSON: what contradicts itself is an error") {
  const Json good = to_json(full_workload(), std::vector<JobId>{JobId(0), JobId(1)});
  const auto error_of = [&](const char* path, const Json& value) {
    Json damaged = good;
    damaged[Json::json_pointer(path)] = value;
    const auto read = workload_from_json(damaged);
    REQUIRE_FALSE(read);
    return read.error().describe();
  };
  CHECK(error_of("/jobs/0/curve", 1) == "jobs[0].curve: expected the number of a curve");
  CHECK(error_of("/jobs/0/tenant", 2) == "jobs[0].tenant: expected the number of a tenant");
  CHECK(error_of("/jobs/1/submit_ns", -2) ==
        "jobs[1].submit_ns: expected no submission before that of the job before");
  CHECK(error_of("/jobs/1/num_gpus", 0) == "jobs[1].num_gpus: expected at least 1, found '0'");
  CHECK(error_of("/tenants/1", "nobody") == "tenants: expected each name once");
  CHECK(error_of("/curves/0/levels", Json::array()) ==
        "curves[0].levels: expected ascending numbers of GPUs from 1 on, with speeds above 0, found 'array'");
  CHECK(error_of("/curves/0/levels/1/0", 2).starts_with("curves[0].levels: expected ascending"));
  CHECK(error_of("/curves/0/levels/1/1", 0.0).starts_with("curves[0].levels: expected ascending"));
  CHECK(error_of("/version", 2) == "version: expected 1, found '2'");
}

}  // namespace
}  // namespace vtrain
