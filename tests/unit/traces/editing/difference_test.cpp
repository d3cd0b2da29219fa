#include "traces/editing/difference.hpp"

#include <doctest/doctest.h>

#include <string>

#include "traces/trace_format.hpp"

using vtrain::compare_workloads;
using vtrain::Job;
using vtrain::Workload;

namespace {

Workload full_job() {
  return vtrain::parse_trace(
             "job_id,tenant,user,submit_s,num_gpus,gpu_type,gpu_share,max_gpus,duration_s,requested_s,"
             "deadline_s,model,"
             "global_batch,iterations,original_start_s,status\n"
             "a,x,u,1,8,T4,0.5,16,60,90,100,gpt,8,10,5,failed\n",
             "f")
      .value()
      .workload;
}

/// The only field in which a changed job differs.
template <class Change>
std::string difference(const Change& change) {
  const Workload before = full_job();
  Workload after = full_job();
  change(after, after.jobs[0]);
  const auto found = compare_workloads(before, after);
  CHECK(compare_workloads(after, before).size() == found.size());
  if (found.size() != 1 || found[0].jobs != 1) return std::to_string(found.size()) + " differences";
  return std::string(found[0].field);
}

}  // namespace

TEST_CASE("trace_difference: equal jobs do not differ, whatever the numbers of their names") {
  const Workload a = full_job();
  Workload b = full_job();
  CHECK(compare_workloads(a, b).empty());
  b.tenants = {};
  b.tenant("another");
  b.jobs[0].tenant = b.tenant("x");
  CHECK(compare_workloads(a, b).empty());
}

TEST_CASE("trace_difference: measured speeds are compared by what they say, not by their numbers") {
  const std::vector<vtrain::SpeedByGpus::Level> levels = {{vtrain::GpuCount(8), 1.5}};
  Workload a = full_job();
  a.curves.emplace_back(levels);
  a.jobs[0].curve = vtrain::CurveId(0);
  Workload b = full_job();
  b.curves.emplace_back(std::vector<vtrain::SpeedByGpus::Level>{{vtrain::GpuCount(8), 2.5}});
  b.curves.emplace_back(levels);
  b.jobs[0].curve = vtrain::CurveId(1);
  CHECK(compare_workloads(a, b).empty());
  b.jobs[0].curve = vtrain::CurveId(0);
  CHECK(compare_workloads(a, b).size() == 1);
}

TEST_CASE("trace_difference: every field is compared") {
  using vtrain::SimDuration;
  CHECK(difference([](Workload& w, Job& job) { job.name = w.keep("b"); }) == "job ids");
  CHECK(difference([](Workload&, Job& job) { job.submit += SimDuration(1); }) == "submissions");
  CHECK(difference([](Workload&, Job& job) { job.duration += SimDuration(1); }) == "durations");
  CHECK(difference([](Workload&, Job& job) { job.num_gpus.value = 4; }) == "numbers of GPUs");
  CHECK(difference([](Workload&, Job& job) { job.requested_time = {}; }) == "requested times");
  CHECK(difference([](Workload&, Job& job) { job.deadline = Job::kNoDeadline; }) == "deadlines");
  CHECK(difference([](Workload&, Job& job) { job.tenant = {}; }) == "tenants");
  CHECK(difference([](Workload& w, Job& job) { job.user = w.user("v"); }) == "users");
  CHECK(difference([](Workload&, Job& job) { job.model = {}; }) == "models");
  CHECK(difference([](Workload&, Job& job) { job.global_batch = 16; }) == "global batches");
  CHECK(difference([](Workload&, Job& job) { job.iterations = 11; }) == "iterations");
  CHECK(difference([](Workload& w, Job& job) { job.gpu_type = w.gpu_type("V100"); }) == "GPU types");
  CHECK(difference([](Workload&, Job& job) { job.gpu_share = 1000; }) == "shares of a GPU");
  CHECK(difference([](Workload&, Job& job) { job.max_gpus.value = 0; }) == "most GPUs");
  CHECK(difference([](Workload& w, Job& job) {
          w.curves.emplace_back(std::vector<vtrain::SpeedByGpus::Level>{{vtrain::GpuCount(8), 1.5}});
          job.curve = vtrain::CurveId(0);
        }) == "measured speeds");
  CHECK(difference([](Workload&, Job& job) { job.original_start = Job::kNoStart; }) == "recorded starts");
  CHECK(difference([](Workload&, Job& job) { job.status = vtrain::JobStatus::Unknown; }) == "statuses");
  CHECK(difference([](Workload& w, Job& job) { w.jobs.push_back(job); }) == "jobs");
}
