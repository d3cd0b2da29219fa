#include "traces/editing/slice.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/sim_time.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/trace_format.hpp"

using vtrain::at;
using vtrain::GpuCount;
using vtrain::Job;
using vtrain::SimDuration;
using vtrain::SimTime;
using vtrain::slice_trace;
using vtrain::SliceOptions;
using vtrain::Workload;

namespace {

constexpr std::string_view kJobs =
    "job_id,tenant,submit_s,num_gpus,duration_s,deadline_s,model,global_batch,iterations,original_start_s,"
    "status\n"
    "a,x,100,1,60,400,,,,,completed\n"
    "b,y,200,8,3600,,gpt,8,1000,260,failed\n"
    "c,x,300,4,7200,9000,,,,,completed\n"
    "d,,400,2,60,,,,,,\n";

Workload jobs() {
  return vtrain::parse_trace(kJobs, "jobs.csv").value().workload;
}

/// The names of the kept jobs.
std::string kept(const SliceOptions& options) {
  Workload workload = jobs();
  const auto sliced = slice_trace(workload, options);
  if (!sliced) return sliced.error().describe();
  std::string names;
  for (const Job& job : workload.jobs)
    names += job.name;
  return names;
}

}  // namespace

TEST_CASE("trace_slice: without options nothing changes and nothing is said") {
  Workload workload = jobs();
  CHECK(slice_trace(workload, {}).value().empty());
  CHECK(workload.jobs.size() == 4);
}

TEST_CASE("trace_slice: each selection keeps the jobs it says, and the sentence counts them") {
  CHECK(kept({.from = at(200)}) == "bcd");
  CHECK(kept({.until = at(300)}) == "ab");  // the end is not part of the window
  CHECK(kept({.from = at(200), .until = at(400)}) == "bc");
  CHECK(kept({.tenants = {"x"}}) == "ac");
  CHECK(kept({.tenants = {"x", "y"}}) == "abc");
  CHECK(kept({.statuses = {vtrain::JobStatus::Completed}}) == "ac");
  CHECK(kept({.min_gpus = GpuCount(4)}) == "bc");
  CHECK(kept({.max_gpus = GpuCount(4)}) == "acd");
  CHECK(kept({.max_duration = std::chrono::hours(1)}) == "abd");
  CHECK(kept({.max_jobs = 2}) == "ab");
  Workload workload = jobs();
  CHECK(slice_trace(workload, {.from = at(150), .min_gpus = GpuCount(4)}).value() ==
        std::vector<std::string>{"only jobs submitted from 2 m 30 s on: 3 of 4",
                                 "only jobs of at least 4 GPUs: 2 of 3"});
}

TEST_CASE("trace_slice: what cannot be is refused") {
  CHECK(kept({.tenants = {"z"}}) == "tenant: unknown tenant 'z'; did you mean 'x'?");
  CHECK(kept({.from = at(1000)}) ==
        "no job of the trace is left in the slice; they are submitted from 1 m 40 s to 6 m 40 s");
  Workload workload =
      vtrain::parse_trace("job_id,submit_s,num_gpus,duration_s\na,5,1,60\n", "f").value().workload;
  const auto statuses = slice_trace(workload, {.statuses = {vtrain::JobStatus::Failed}});
  REQUIRE_FALSE(statuses.has_value());
  CHECK(statuses.error().describe() == "statuses: the trace does not say how its jobs ended");
  const auto tenants = slice_trace(workload, {.tenants = {"x"}});
  REQUIRE_FALSE(tenants.has_value());
  CHECK(tenants.error().describe() == "tenant: unknown tenant 'x'; the trace has no tenants");
  // One job: all come at once, whatever the factor.
  const auto load = slice_trace(workload, {.load = 0.5, .cluster = GpuCount(8)});
  REQUIRE_FALSE(load.has_value());
  CHECK(load.error().describe().starts_with("load: "));
}

TEST_CASE("trace_slice: a clipped job keeps its rate of iterations") {
  Workload workload = jobs();
  const auto said = slice_trace(workload, {.clip = std::chrono::minutes(15)});
  REQUIRE(said.has_value());
  CHECK(said->front() ==
        "durations clipped to 15 m: 2 of 4 jobs, requested times and time to deadlines in proportion");
  CHECK(workload.jobs[0].duration == std::chrono::seconds(60));
  CHECK(workload.jobs[1].duration == std::chrono::minutes(15));
  CHECK(workload.jobs[1].iterations == 250);  // a quarter of the hour, a quarter of 1000
  CHECK(workload.jobs[2].duration == std::chrono::minutes(15));
}

TEST_CASE("trace_slice: a clipped job is as tight and as well estimated as before") {
  Workload workload = jobs();
  Job& job = workload.jobs[1];
  job.requested_time = job.duration * 3;
  job.deadline = job.submit + job.duration * 2;
  REQUIRE(slice_trace(workload, {.clip = std::chrono::minutes(15)}).has_value());
  CHECK(job.requested_time == std::chrono::minutes(45));
  CHECK(job.deadline == job.submit + std::chrono::minutes(30));
}

TEST_CASE("trace_slice: the origin moves all instants") {
  Workload workload = jobs();
  REQUIRE(slice_trace(workload, {.shift_origin = true}).has_value());
  CHECK(workload.jobs[0].submit == at(0));
  CHECK(workload.jobs[0].deadline == at(300));
  CHECK(workload.jobs[1].submit == at(100));
  CHECK(workload.jobs[1].original_start == at(160));
  CHECK_FALSE(workload.jobs[1].has_deadline());
}

TEST_CASE("trace_slice: a scaled load keeps durations and what jobs had from submission on") {
  Workload workload = jobs();
  const double before = vtrain::trace_statistics(workload).offered_load(GpuCount(16));
  REQUIRE(slice_trace(workload, {.load_factor = 2}).has_value());
  CHECK(workload.jobs[0].submit == at(100));
  CHECK(workload.jobs[1].submit == at(150));
  CHECK(workload.jobs[3].submit == at(250));
  CHECK(workload.jobs[1].original_start == at(210));
  CHECK(workload.jobs[2].deadline - workload.jobs[2].submit == std::chrono::seconds(8700));
  CHECK(vtrain::trace_statistics(workload).offered_load(GpuCount(16)) == doctest::Approx(2 * before));

  workload = jobs();
  REQUIRE(slice_trace(workload, {.load = 0.25, .cluster = GpuCount(16)}).has_value());
  CHECK(vtrain::trace_statistics(workload).offered_load(GpuCount(16)) == doctest::Approx(0.25));
  CHECK(workload.jobs[1].duration == std::chrono::hours(1));

  workload = jobs();
  const auto slow = slice_trace(workload, {.load_factor = 1e-9});
  REQUIRE_FALSE(slow.has_value());
  CHECK(slow.error().describe() == "scale-load: at this load the jobs take more than 100 years to arrive");
}

TEST_CASE("trace_slice: samples are in order, of the size asked for, repeatable and even") {
  std::string text = "job_id,submit_s,num_gpus,duration_s\n";
  for (int i = 0; i < 20; ++i)
    text += std::to_string(i) + "," + std::to_string(i) + ",1,1\n";
  const auto sample = [&](std::uint64_t seed) {
    Workload workload = vtrain::parse_trace(text, "f").value().workload;
    REQUIRE(slice_trace(workload, {.sample = 5, .seed = seed}).has_value());
    std::vector<int> names;
    for (const Job& job : workload.jobs)
      names.push_back(std::stoi(std::string(job.name)));
    return names;
  };
  CHECK(sample(1) == sample(1));
  std::map<int, int> times_taken;
  constexpr int kSamples = 4000;
  for (std::uint64_t seed = 0; seed < kSamples; ++seed) {
    const std::vector<int> names = sample(seed);
    CHECK(names.size() == 5);
    CHECK(std::is_sorted(names.begin(), names.end()));
    for (const int name : names)
      ++times_taken[name];
  }
  // Each job is taken with probability 1/4: 1000 times with a standard deviation of sqrt(4000 x 3/16) = 27.
  for (int i = 0; i < 20; ++i)
    CHECK(std::abs(times_taken[i] - 1000) < 5 * 27);
  CHECK(kept({.sample = 9}) == "abcd");
}

TEST_CASE("trace_slice: what is about run times needs them") {
  const auto error_of = [](const SliceOptions& options) {
    Workload workload = vtrain::parse_trace(
                            "job_id,submit_s,num_gpus,duration_s,iterations,model,global_batch\n"
                            "a,0,1,50,,,\nb,10,8,,5000,llama3-8b,64\n",
                            "f")
                            .value()
                            .workload;
    const auto sliced = slice_trace(workload, options);
    return sliced ? "no error" : sliced.error().describe();
  };
  const std::string unknown =
      ": 1 of 2 jobs are given by model and iterations: their run times are known only in a replay";
  CHECK(error_of({.max_duration = std::chrono::seconds(60)}) == "max-duration" + unknown);
  CHECK(error_of({.clip = std::chrono::seconds(60)}) == "clip" + unknown);
  CHECK(error_of({.load = 0.5, .cluster = GpuCount(8)}) == "load" + unknown);
  CHECK(error_of({.load_factor = 2}) == "no error");
}

TEST_CASE("trace_slice: statuses by name") {
  CHECK(vtrain::parse_statuses("completed, timeout").value() ==
        std::vector{vtrain::JobStatus::Completed, vtrain::JobStatus::TimedOut});
  CHECK(
      vtrain::parse_statuses("done").error().describe().starts_with("statuses: expected one of 'unknown', "));
  CHECK_FALSE(vtrain::parse_statuses("").has_value());
}
