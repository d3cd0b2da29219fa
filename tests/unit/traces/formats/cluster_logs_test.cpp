// What each reader of a recorded log keeps of a job, on lines of our own in the shape of the published ones.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/traces/trace_text.hpp"
#include "traces/formats/formats.hpp"
#include "traces/trace_format.hpp"

using std::chrono::seconds;
using vtrain::Job;
using vtrain::JobStatus;
using vtrain::parse_trace;
using vtrain::Trace;
using vtrain::testing::read_text;

namespace {

seconds at(vtrain::SimTime time) {
  return std::chrono::duration_cast<seconds>(time.time_since_epoch());
}

std::string only_skip(const Trace& trace) {
  return trace.skipped.reasons().size() == 1 ? std::string(trace.skipped.reasons()[0].text)
                                             : "not one reason";
}

}  // namespace

TEST_CASE("helios: every field of a job") {
  const Trace trace = read_text(
      "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
      "41,uAb,vcX,16,64,2,TIMEOUT,2020-05-01 08:00:00,2020-05-01 08:01:00,2020-05-02 08:01:00,86400,60\n"
      "42,uAb,vcY,1,4,1,NODE_FAIL,2020-05-01 09:00:00,2020-05-01 09:00:00,2020-05-01 09:00:01,1,0\n",
      "helios");
  const Job& job = trace.workload.jobs[0];
  CHECK(job.name == "41");
  CHECK(job.num_gpus.value == 16);
  CHECK(job.status == JobStatus::TimedOut);
  CHECK(job.duration == std::chrono::hours(24));
  CHECK(at(job.original_start) == seconds(60));
  CHECK(trace.workload.tenants[job.tenant.value] == "vcX");
  CHECK(trace.workload.users[job.user.value] == "uAb");
  CHECK_FALSE(static_cast<bool>(job.gpu_type));
  CHECK(trace.workload.jobs[1].status == JobStatus::Failed);
  CHECK(at(trace.workload.jobs[1].submit) == seconds(3600));
}

TEST_CASE("acme: times with offsets, and a run time that is not counted from the submission") {
  // Kalos: the column duration is 30 = 20 s of running + 10 s of waiting.
  const Trace kalos = read_text(
      "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_"
      "time,"
      "end_time,fail_time,stop_time,duration,queue,gpu_time\n"
      "dlc1,uf1,2,16,240,1000,100.0,Pretrain,FAILED,2023-05-17 11:00:00+00:00,2023-05-17 11:00:10+00:00,"
      "2023-05-17 11:00:30+00:00,2023-05-17 11:00:30+00:00,,30,10.0,480.0\n"
      "dlc2,uf1,1,0,4,10,1.0,Other,COMPLETED,2023-05-17 11:00:00+00:00,2023-05-17 11:00:10+00:00,"
      "2023-05-17 11:00:30+00:00,,,30,10.0,0.0\n",
      "acme");
  REQUIRE(kalos.workload.jobs.size() == 1);
  const Job& job = kalos.workload.jobs[0];
  CHECK(job.duration == seconds(20));
  CHECK(at(job.original_start) == seconds(10));
  CHECK(job.status == JobStatus::Failed);
  CHECK(kalos.workload.tenants[job.tenant.value] == "uf1");
  CHECK(kalos.workload.users[job.user.value] == "uf1");
  CHECK(only_skip(kalos) == "no GPU requested");
  // One log with two offsets: 19:00 in China is an hour before 12:00 UTC.
  const Trace mixed = read_text(
      "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_"
      "time\n"
      "1,u,1,8,128,SFT,COMPLETED,2023-03-01 12:00:00+00:00,2023-03-01 12:00:00+00:00,2023-03-01 "
      "12:00:09+00:00,9,0,72\n"
      "2,u,1,8,128,SFT,CANCELLED,2023-03-01 19:00:00+08:00,2023-03-01 19:00:00+08:00,2023-03-01 "
      "19:00:09+08:00,9,0,72\n",
      "acme");
  CHECK(mixed.workload.jobs[0].name == "2");
  CHECK(at(mixed.workload.jobs[1].submit) == seconds(3600));
}

TEST_CASE("pollux: row numbers as ids, equal rows, and the hour that came twice") {
  const Trace trace = read_text(
      "timestamp,duration,num_gpus,gpu_time,cluster\n"
      "2017-11-05 01:30:00,66.0,1,66.0,aa\n"
      "2017-11-05 00:30:00,66.0,4,264.0,bb\n"
      "2017-11-05 00:30:00,66.0,4,264.0,bb\n"
      "2017-11-05 02:30:00,0.0,4,0.0,bb\n"
      "2017-11-05 02:30:00,1.5,4,6.0,bb\n",
      "pollux");
  REQUIRE(trace.workload.jobs.size() == 4);
  CHECK(trace.workload.jobs[0].name == "1");
  CHECK(trace.workload.jobs[1].name == "2");
  CHECK(trace.workload.jobs[2].name == "0");
  CHECK(at(trace.workload.jobs[2].submit) == seconds(3600));
  CHECK(trace.workload.jobs[3].name == "4");
  CHECK(at(trace.workload.jobs[3].submit) == seconds(3 * 3600));  // an hour more than the clock shows
  CHECK(trace.workload.jobs[3].duration == std::chrono::milliseconds(1500));
  CHECK(trace.workload.tenants[trace.workload.jobs[0].tenant.value] == "bb");
  CHECK(only_skip(trace) == "run time of zero");
}

TEST_CASE("pcs: the service is divided by the speedup of the model") {
  // 1000 s on 8 GPUs of a model that is 6.614182953 times as fast there.
  const Trace trace = read_text(
      "app_id,submit_time,service,num_jobs,sleep_time,model_name\n"
      "0,0.0,1000.0,1,0.0,AnyModel\n"
      "1,5.0,6614.182953,8,5.0,VggnetModel256\n"
      "2,6.0,100,3,1.0,VggnetModel256\n"
      "3,7.0,100,8,1.0,AnyModel\n"
      "4,8.0,0.1,1,1.0,AnyModel\n"
      "5,9.0,1e300,1,1.0,AnyModel\n",
      "pcs");
  REQUIRE(trace.workload.jobs.size() == 2);
  CHECK(trace.workload.jobs[0].duration == seconds(1000));
  CHECK(trace.workload.jobs[1].duration == seconds(1000));
  CHECK(trace.workload.models[trace.workload.jobs[1].model.value] == "VggnetModel256");
  REQUIRE(trace.skipped.reasons().size() == 3);
  CHECK(trace.skipped.reasons()[0].text == "no known speedup of its model on its GPUs");
  CHECK(trace.skipped.reasons()[0].first_lines == std::vector<std::int64_t>{4, 5});
  CHECK(trace.skipped.reasons()[1].text == "run time of zero");
  CHECK(trace.skipped.reasons()[2].text == "malformed number");
}

TEST_CASE("openb: parts of GPUs, alternatives of GPU types, QoS and phases") {
  const Trace trace = read_text(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
      "scheduled_time\n"
      "p0,12000,16384,1,460,V100M16|V100M32,LS,Running,100,400,150\n"
      "p1,12000,16384,8,1000,,BE,Failed,200,300,200\n"
      "p2,12000,16384,1,1000,,BE,Succeeded,200,300,250\n"
      "p3,12000,16384,0,0,,BE,Succeeded,200,300,200\n"
      "p4,12000,16384,1,1000,,BE,Pending,200,300,\n"
      "p5,12000,16384,1,1001,,BE,Failed,200,300,200\n",
      "openb");
  REQUIRE(trace.workload.jobs.size() == 3);
  const Job& shared = trace.workload.jobs[0];
  CHECK(at(shared.submit) == seconds(100));  // the list's own time 0
  CHECK(at(shared.original_start) == seconds(150));
  CHECK(shared.duration == seconds(250));
  CHECK(shared.gpu_share == 460);
  CHECK(shared.num_gpus.value == 1);
  CHECK(shared.status == JobStatus::Running);
  CHECK(trace.workload.gpu_types[shared.gpu_type.value] == "V100M16|V100M32");
  CHECK(trace.workload.tenants[shared.tenant.value] == "LS");
  const Job& whole = trace.workload.jobs[1];
  CHECK(whole.num_gpus.value == 8);
  CHECK(whole.gpu_share == 1000);
  CHECK(whole.status == JobStatus::Failed);
  CHECK_FALSE(static_cast<bool>(whole.gpu_type));
  CHECK(trace.workload.jobs[2].status == JobStatus::Completed);
  REQUIRE(trace.skipped.reasons().size() == 3);
  CHECK(trace.skipped.reasons()[0].text == "no GPU requested");
  CHECK(trace.skipped.reasons()[1].text == "never started");
  CHECK(trace.skipped.reasons()[2].text == "malformed number");
  CHECK(trace.assumptions[1] == "pods last seen running, ended at their deletion time: 1");
  CHECK(trace.assumptions[2] == "jobs that use a part of each of their GPUs: 1");
}

TEST_CASE("openb: a list of sizes without times says what is missing") {
  const auto trace = parse_trace("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,1,1,1,1000\n", "m.csv");
  REQUIRE_FALSE(trace.has_value());
  CHECK(
      trace.error().describe().starts_with("m.csv:1: expected the columns creation_time, scheduled_time and "
                                           "deletion_time, found a list of sizes only"));
}

TEST_CASE("spot-gpu: workers times GPUs, organization and GPU model") {
  const Trace trace = read_text(
      "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n"
      "11,57,A100-SXM4-80GB,15,8.0,4.0,10.0,100.0,HP\n"
      "12,57,,15,0.5,3.0,20.0,100.0,Spot\n"
      "13,58,A10,15,0.0,1.0,20.0,100.0,Spot\n",
      "spot-gpu");
  REQUIRE(trace.workload.jobs.size() == 2);
  CHECK(trace.workload.jobs[0].num_gpus.value == 32);
  CHECK(trace.workload.gpu_types[trace.workload.jobs[0].gpu_type.value] == "A100-SXM4-80GB");
  CHECK(trace.workload.tenants[trace.workload.jobs[0].tenant.value] == "57");
  CHECK(at(trace.workload.jobs[0].submit) == seconds(10));
  CHECK(trace.workload.jobs[1].num_gpus.value == 3);
  CHECK(trace.workload.jobs[1].gpu_share == 500);
  CHECK_FALSE(static_cast<bool>(trace.workload.jobs[1].gpu_type));
  CHECK(only_skip(trace) == "no GPU requested");
}

TEST_CASE("pai-simulator: fractions, waiting times, and jobs of no length") {
  const Trace trace = read_text(
      "job_id,user,num_gpu,num_cpu,num_inst,submit_time,duration,wait_time,gpu_type,group,user_dur\n"
      "5,ae8ed1,0.5,6,1,60,100.0,7.0,T4,g,1\n"
      "6,ae8ed1,2.0,6,2,61,0,,MISC,g,1\n"
      "7,ae8ed1,,6,1,62,100,0,CPU,g,1\n",
      "pai-simulator");
  REQUIRE(trace.workload.jobs.size() == 2);
  CHECK(trace.workload.jobs[0].gpu_share == 500);
  CHECK(at(trace.workload.jobs[0].original_start) == seconds(67));
  CHECK(trace.workload.gpu_types[trace.workload.jobs[0].gpu_type.value] == "T4");
  CHECK(trace.workload.users[trace.workload.jobs[0].user.value] == "ae8ed1");
  CHECK(trace.workload.jobs[1].num_gpus.value == 2);
  CHECK(trace.workload.jobs[1].duration == seconds(1));
  CHECK(trace.workload.jobs[1].original_start == Job::kNoStart);
  CHECK(only_skip(trace) == "no GPU requested");
}

namespace {

constexpr std::string_view kPaiJobs =
    "j1,i1,u1,Terminated,1000.0,1600.0\n"
    "j2,i2,u2,Failed,1100.0,1200.0\n"
    "j3,i3,u1,Running,1200.0,\n"
    "j4,i4,u1,Waiting,1300.0,\n"
    "j5,i5,u1,Terminated,1400.0,1500.0\n"
    "j6,i6,u1,Terminated,1400.0,1500.0\n";
constexpr std::string_view kPaiTasks =
    "j1,ps,2.0,Terminated,1010.0,1600.0,600.0,29.3,,MISC\n"
    "j1,worker,4.0,Terminated,1005.0,1600.0,600.0,29.3,50.0,MISC\n"
    "j1,evaluator,1.0,Terminated,,,600.0,29.3,100.0,MISC\n"
    "j2,tensorflow,1.0,Failed,1100.0,1200.0,600.0,29.3,200.0,V100\n"
    "j2,tensorflow,bad,Failed,1100.0,1200.0,600.0,29.3,200.0,V100\n"
    "j3,tensorflow,1.0,Running,1250.0,,600.0,29.3,100.0,T4\n"
    "j4,tensorflow,1.0,Waiting,,,600.0,29.3,100.0,T4\n"
    "\"j5\",tensorflow,1.0,Terminated,1400.0,1500.0,600.0,29.3,,CPU\n";
constexpr std::string_view kPaiTags =
    "i1,u1,V100,g1,bert\n"
    "i2,u2,,g2,\n";

}  // namespace

TEST_CASE("pai: three tables joined") {
  const std::string jobs(kPaiJobs);
  auto trace = vtrain::join_pai_tables({.text = jobs, .file = "pai_job_table.csv"},
                                       {.text = kPaiTasks, .file = "pai_task_table.csv"},
                                       {.text = kPaiTags, .file = "pai_group_tag_table.csv"});
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  REQUIRE(trace->workload.jobs.size() == 2);
  const Job& job = trace->workload.jobs[0];
  // Four halves and one whole: five GPUs, three in use.
  CHECK(job.num_gpus.value == 5);
  CHECK(job.gpu_share == 600);
  CHECK(at(job.submit) == seconds(1000));
  CHECK(at(job.original_start) == seconds(1005));
  CHECK(job.duration == seconds(595));
  CHECK(job.status == JobStatus::Completed);
  CHECK(trace->workload.gpu_types[job.gpu_type.value] == "V100");
  CHECK(trace->workload.models[job.model.value] == "bert");
  CHECK(trace->workload.tenants[job.tenant.value] == "u1");
  const Job& failed = trace->workload.jobs[1];
  CHECK(failed.num_gpus.value == 2);
  CHECK(failed.status == JobStatus::Failed);
  CHECK_FALSE(static_cast<bool>(failed.gpu_type));
  const auto reasons = trace->skipped.reasons();
  REQUIRE(reasons.size() == 5);
  CHECK(reasons[0].text == "malformed row of the task table");
  CHECK(reasons[0].first_lines[0] == 5);
  CHECK(reasons[1].text == "not ended when the log was taken");
  CHECK(reasons[2].text == "never started");
  CHECK(reasons[3].text == "no GPU requested");
  CHECK(reasons[4].text == "no row in the task table");
  CHECK(reasons[4].first_lines[0] == 6);
}

TEST_CASE("pai: a header line is accepted, and under strict a bad row of another table is an error there") {
  const std::string jobs =
      "job_name,inst_id,user,status,start_time,end_time\nj1,i1,u1,Terminated,1000.0,1600.0\n";
  const auto trace = vtrain::join_pai_tables({.text = jobs, .file = "jobs"},
                                             {.text = kPaiTasks, .file = "tasks"}, {.text = {}, .file = {}});
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->workload.jobs.size() == 1);
  CHECK_FALSE(static_cast<bool>(trace->workload.jobs[0].model));
  const auto strict = vtrain::join_pai_tables({.text = jobs, .file = "jobs", .options = {.strict = true}},
                                              {.text = kPaiTasks, .file = "tasks"}, {.text = {}, .file = {}});
  REQUIRE_FALSE(strict.has_value());
  CHECK(strict.error().describe() == "tasks:5: inst_num: malformed number");
}

TEST_CASE("lingjun: jobs and workers joined") {
  const std::string jobs =
      ",Unnamed: 0,id,uid,job_name,kind,model,status,reason,tenant_id,user_id,job_max_running_time_minutes,"
      "gmt_job_submitted,gmt_job_running,gmt_job_stopped,gmt_job_finished\n"
      "0,0,1,x,dlc1,PyTorchJob,llama,Succeeded,\"ok, done\",t1,u1,600,2023/7/15 02:19,2023/7/15 "
      "02:20,2023/7/15 12:31,2023/7/15 12:20\n"
      "1,1,2,x,dlc2,PyTorchJob,,Stopped,,t1,u2,,2023/7/15 02:00,2023/7/15 02:10,2023/7/15 02:30,\n"
      "2,2,3,x,dlc3,PyTorchJob,,Running,,t1,u2,,2023/7/15 02:00,2023/7/15 02:10,,\n"
      "3,3,4,x,dlc4,PyTorchJob,,Failed,,t1,u2,,2023/7/15 02:00,,2023/7/15 02:10,\n"
      "4,4,5,x,dlc5,PyTorchJob,,Failed,,t1,u2,,2023/7/15 02:00,2023/7/15 02:01,2023/7/15 02:10,\n"
      "5,5,6,x,dlc6,PyTorchJob,,Failed,,t1,u2,,2023/7/15 02:00,2023/7/15 02:01,2023/7/15 02:10,\n";
  const std::string workers =
      ",job_name,worker_name,replica_type,host_ip,gmt_created,RES\n"
      "0,dlc1,w0,Master,a,2023/7/15 02:20,\"{\"\"cpu\"\": \"\"90\"\", \"\"nvidia.com/gpu\"\": \"\"8\"\"}\"\n"
      "1,dlc1,w1,Worker,b,2023/7/15 02:20,\"{\"\"nvidia.com/gpu\"\": 8}\"\n"
      "2,dlc2,w0,Master,a,2023/7/15 02:20,\"{\"\"nvidia.com/gpu\"\": \"\"1\"\"}\"\n"
      "3,dlc3,w0,Master,a,2023/7/15 02:20,\"{\"\"nvidia.com/gpu\"\": \"\"1\"\"}\"\n"
      "4,dlc4,w0,Master,a,2023/7/15 02:20,\"{\"\"nvidia.com/gpu\"\": \"\"1\"\"}\"\n"
      "5,dlc5,w0,Master,a,2023/7/15 02:20,{}\n"
      "6,dlc5,w1,Master,a,2023/7/15 02:20,junk\n";
  const auto trace = vtrain::join_lingjun_tables({.text = jobs, .file = "job.csv"}, workers, "worker.csv");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  REQUIRE(trace->workload.jobs.size() == 2);
  const Job& job = trace->workload.jobs[0];
  CHECK(job.name == "dlc1");
  CHECK(job.num_gpus.value == 16);
  CHECK(job.status == JobStatus::Completed);
  CHECK(job.requested_time == std::chrono::hours(10));
  CHECK(job.duration == std::chrono::hours(10));
  CHECK(at(job.submit) == std::chrono::minutes(19));
  CHECK(at(job.original_start) == std::chrono::minutes(20));
  CHECK(trace->workload.models[job.model.value] == "llama");
  CHECK(trace->workload.tenants[job.tenant.value] == "t1");
  CHECK(trace->workload.users[job.user.value] == "u1");
  const Job& stopped = trace->workload.jobs[1];
  CHECK(stopped.duration == std::chrono::minutes(20));
  CHECK(stopped.status == JobStatus::Cancelled);
  const auto reasons = trace->skipped.reasons();
  REQUIRE(reasons.size() == 5);
  CHECK(reasons[0].text == "malformed row of the worker table");
  CHECK(reasons[1].text == "not ended when the log was taken");
  CHECK(reasons[2].text == "never started");
  CHECK(reasons[3].text == "no GPU requested");
  CHECK(reasons[4].text == "no row in the worker table");
}
