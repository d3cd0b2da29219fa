// Formats of cluster simulators: Tiresias and its descendants Muri and Chronus, ElasticFlow, and Sia.
#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "tests/support/temporary_folder.hpp"
#include "tests/unit/traces/trace_text.hpp"
#include "traces/trace_format.hpp"

using namespace std::chrono_literals;
using vtrain::Job;
using vtrain::parse_trace;
using vtrain::SimTime;
using vtrain::Trace;
using vtrain::testing::read_text;
using vtrain::testing::TemporaryFolder;

namespace {

std::string error_of(const std::string& text, const vtrain::ReadOptions& options = {}) {
  const auto trace = parse_trace(text, "jobs.csv", "auto", options);
  REQUIRE_FALSE(trace.has_value());
  return trace.error().describe();
}

const std::string kMuri =
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,"
    "resource_time_0,resource_time_1,resource_time_2,priority\n";
const std::string kChronus =
    "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,"
    "expect_value_list,best_effort,job_type\n";
const std::string kReleased =
    "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n";
const std::string kSimulator =
    "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort,max_gpu\n";

}  // namespace

TEST_CASE("tiresias: the columns of its TensorFlow runs are accepted too") {
  const Trace trace = read_text(
      "job_id,num_gpu,submit_time,start_time,duration,model_size,aggr_interval,model_name,model_scale\n"
      "7,12,11,14,20,400,0,vgg19,1\n",
      "tiresias");
  CHECK(trace.workload.jobs[0].num_gpus.value == 12);
  CHECK(trace.workload.jobs[0].duration == 20s);
  CHECK(trace.workload.jobs[0].original_start == Job::kNoStart);
}

TEST_CASE("muri: times are milliseconds") {
  const Trace trace = read_text(kMuri + "3,8,250,1000,bert,4,192000.5,46122000,192,90,8,0.5,1\n", "muri");
  const Job& job = trace.workload.jobs[0];
  CHECK(job.name == "3");
  CHECK(job.submit == SimTime(250ms));
  CHECK(job.duration == 192000500us);
  CHECK(job.num_gpus.value == 8);
  CHECK(job.iterations == 1000);
  CHECK(job.global_batch == 0);
  CHECK(trace.workload.models[job.model.value] == "bert");
  CHECK(error_of(kMuri + "3,8,250,1000,bert,4,0,0,192,90,8,0,1\n") ==
        "jobs.csv:2: duration: expected milliseconds above 0 and at most 3153600000000 (100 years), "
        "found '0'");
}

TEST_CASE("chronus: minutes, users as tenants, the first step of a soft deadline") {
  const Trace trace = read_text(kChronus +
                                    "0,vc_a,4,10,600,vgg16,30,1,45,10,0,strict\n"
                                    "1,vc_b,1,20,600,vgg16,30,1,40-50-60,10-8-5,0,soft\n"
                                    "2,vc_a,1,30,600,bert,30,1,30,10,1,best\n",
                                "chronus");
  const auto& jobs = trace.workload.jobs;
  REQUIRE(jobs.size() == 3);
  CHECK(jobs[0].submit == SimTime(10min));
  CHECK(jobs[0].duration == 30min);
  CHECK(jobs[0].deadline == SimTime(55min));  // 10 + 45
  CHECK(jobs[1].deadline == SimTime(60min));  // 20 + 40
  CHECK_FALSE(jobs[2].has_deadline());
  CHECK(trace.workload.tenants[jobs[1].tenant.value] == "vc_b");
  CHECK(trace.workload.users[jobs[2].user.value] == "vc_a");
}

TEST_CASE("chronus: a row without GPUs is skipped and counted, under strict an error") {
  const std::string text = kChronus +
                           "0,u,0,10,600,vgg16,30,1,45,10,0,strict\n"
                           "1,u,1,10,600,vgg16,30,1,45,10,0,strict\n";
  const Trace trace = read_text(text, "chronus");
  CHECK(trace.workload.jobs.size() == 1);
  REQUIRE(trace.skipped.reasons().size() == 1);
  CHECK(trace.skipped.reasons()[0].text == "no GPU requested");
  CHECK(trace.skipped.reasons()[0].first_lines == std::vector<std::int64_t>{2});
  CHECK(error_of(text, {.strict = true}) ==
        "jobs.csv:2: num_gpu: expected a job to replay (no GPU requested), found '0'");
}

TEST_CASE("chronus: an unknown kind of deadline and one out of range are errors") {
  CHECK(error_of(kChronus + "0,u,1,10,600,vgg16,30,1,45,10,0,hard\n") ==
        "jobs.csv:2: job_type: expected strict, soft or best, found 'hard'");
  CHECK(error_of(kChronus + "0,u,1,10,600,vgg16,30,1,52559999,10,0,strict\n") ==
        "jobs.csv:2: expect_time_list: expected an instant at most 100 years after the trace's origin");
  CHECK(error_of(kChronus + "0,u,1,10,600,vgg16,30,1,-45,10,0,strict\n")
            .starts_with("jobs.csv:2: expect_time_list: expected minutes"));
  // The repeated id is found although a row between was skipped.
  const auto repeated =
      vtrain::parse_trace(kChronus +
                              "5,u,1,10,6,m,30,1,45,10,0,best\n6,u,0,10,6,m,30,1,45,10,0,best\n"
                              "5,u,1,10,6,m,30,1,45,10,0,best\n",
                          "jobs.csv");
  REQUIRE(repeated.has_value());
  CHECK(repeated->workload.jobs.size() == 1);
  CHECK(repeated->skipped.reasons()[1].first_lines == std::vector<std::int64_t>{4});
}

TEST_CASE("elasticflow: the released dialect") {
  const Trace trace = read_text(kReleased + "59a7-x,16566,40285,bert,21347,64,4,3890\n", "elasticflow");
  const Job& job = trace.workload.jobs[0];
  CHECK(job.name == "59a7-x");
  CHECK(job.submit == SimTime(16566s));
  CHECK(job.duration == 3890s);
  CHECK(job.deadline == SimTime(21347s));
  CHECK(job.iterations == 40285);
  CHECK(job.global_batch == 64);
  CHECK(job.num_gpus.value == 4);
  CHECK(job.max_gpus.value == 0);
  CHECK(trace.workload.models[job.model.value] == "bert");
  CHECK(trace.assumptions.empty());
}

TEST_CASE("elasticflow: the simulator's dialect, with best-effort jobs and the most GPUs") {
  const Trace trace = read_text(kSimulator +
                                    "0,0,36000,resnet50,20000,256,4,5816,0,64\n"
                                    "1,9,5000,vgg16,9223372036854775807,64,1,2500,1,32\n",
                                "elasticflow");
  const auto& jobs = trace.workload.jobs;
  CHECK(jobs[0].deadline == SimTime(20000s));
  CHECK(jobs[0].max_gpus.value == 64);
  CHECK_FALSE(jobs[1].has_deadline());
  CHECK(error_of(kSimulator + "0,0,36000,resnet50,9223372036854775807,256,4,5816,0,64\n")
            .starts_with("jobs.csv:2: ddl: expected seconds"));
  CHECK(error_of(kSimulator + "0,0,36000,resnet50,1,256,4,5816,yes,64\n")
            .starts_with("jobs.csv:2: best_effort: expected a whole number"));
}

TEST_CASE("elasticflow: what jobs really do goes before the scheduler's estimates") {
  const Trace trace = read_text(
      "job_id,submit_time,real_iteration,model_name,ddl,batch_size,num_gpu,real_duration,duration,iteration\n"
      "0,0,100,vgg16,50,256,1,20,30,150\n",
      "elasticflow");
  CHECK(trace.workload.jobs[0].duration == 20s);
  CHECK(trace.workload.jobs[0].iterations == 100);
}

TEST_CASE("elasticflow: a job without a duration and without throughputs is an error that says what to do") {
  CHECK(error_of(kReleased + "a,0,40285,bert,21347,64,4,\n") ==
        "jobs.csv:2: num_iteration: no duration, and no throughput tables to compute one: name their folder "
        "with --throughputs");
  CHECK(error_of(kReleased + "a,0,40285,bert,21347,64,4,60\n", {.throughputs = "/nowhere"}) ==
        "/nowhere: no such file or folder");
}

TEST_CASE("elasticflow: a job without a duration is priced with the tables, or says what was not profiled") {
  const TemporaryFolder folder;
  folder.write("throughputs/bert.csv", "global_batch_size,1,2,4\n64,1,nan,4\n");
  const std::string rows = kReleased + "a,0,100,bert,50,64,4,\nb,0,100,bert,50,64,1,7\n";
  // The folder `throughputs` beside the trace, and the same by name.
  for (const auto& trace :
       {parse_trace(rows, (folder / "trace.csv").string()),
        parse_trace(rows, "trace.csv", "auto", {.throughputs = (folder / "throughputs").string()})}) {
    REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
    CHECK(trace->workload.jobs[0].duration == 25s);  // 100 iterations at 4 a second
    CHECK(trace->workload.jobs[1].duration == 7s);
    REQUIRE(trace->assumptions.size() == 1);
    CHECK(trace->assumptions[0] ==
          "1 run time is iterations / throughput, from " + (folder / "throughputs").string());
    REQUIRE(trace->files.size() == 1);
    CHECK(trace->files[0] == (folder / "throughputs" / "bert.csv").string());
  }
  const auto hole = parse_trace(kReleased + "a,0,100,bert,50,64,2,\n", (folder / "trace.csv").string());
  REQUIRE_FALSE(hole.has_value());
  CHECK(hole.error().describe() == (folder / "trace.csv").string() +
                                       ":2: num_iteration: 'bert' was not profiled on 2 GPUs at global batch "
                                       "64; profiled numbers of GPUs are 1, 2 and 4");
}

TEST_CASE("elasticflow: a job without a model has no measured speeds, and needs a duration") {
  const TemporaryFolder folder;
  folder.write("throughputs/bert.csv", "global_batch_size,1,2,4\n64,1,2,4\n");
  const std::string file = (folder / "trace.csv").string();
  const auto trace = parse_trace(kReleased + "a,0,100,bert,50,64,4,7\nb,0,100,,50,64,1,7\n", file);
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->workload.jobs[0].curve);
  CHECK_FALSE(trace->workload.jobs[1].curve);
  // The tables went into the speeds, though no run time was computed from them.
  CHECK(trace->files == std::vector<std::string>{(folder / "throughputs" / "bert.csv").string()});
  CHECK(trace->assumptions.empty());
  const auto unpriced = parse_trace(kReleased + "b,0,100,,50,64,1,\n", file);
  REQUIRE_FALSE(unpriced.has_value());
  CHECK(unpriced.error().describe() ==
        file +
            ":2: duration: expected a duration, or a model with its global batch and iterations, found ''");
}

TEST_CASE("sia: jobs without run times are read and said to have none") {
  const Trace trace = read_text(
      "name,time,application,num_replicas,batch_size\n"
      "cifar10-0,107,cifar10,6,2048\ndeepspeech2-1,110.5,deepspeech2,6,320\n",
      "sia");
  const Job& job = trace.workload.jobs[1];
  CHECK(job.name == "deepspeech2-1");
  CHECK(job.submit == SimTime(110500ms));
  CHECK(job.duration.count() == 0);
  CHECK(job.global_batch == 320);
  CHECK(job.num_gpus.value == 6);
  REQUIRE(trace.assumptions.size() == 1);
  CHECK(trace.assumptions[0] == "run times are unknown: the format names applications only");
}
