#include "traces/editing/statistics.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>

#include "traces/trace_format.hpp"

using vtrain::SimDuration;
using vtrain::trace_statistics;
using vtrain::TraceStatistics;

TEST_CASE("trace_statistics: percentiles are by nearest rank") {
  // Of 1..10 the 50th percentile is the 5th value (ceil(0.5 * 10)), the 75th the 8th (ceil 7.5), the 99th the
  // 10th.
  std::vector<SimDuration> values;
  for (int i = 10; i >= 1; --i)
    values.emplace_back(i);
  const vtrain::Distribution result = vtrain::describe(values);
  const std::array expected = {1, 3, 5, 8, 9, 10, 10};  // p10, p25, p50, p75, p90, p95, p99
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(result.percentiles[i].count() == expected[i]);
  CHECK(result.minimum.count() == 1);
  CHECK(result.maximum.count() == 10);
  CHECK(result.mean.count() == doctest::Approx(5.5e-9));
}

TEST_CASE("trace_statistics: GPU-hours, shares and offered load") {
  auto trace = vtrain::parse_trace(
      "job_id,tenant,submit_s,num_gpus,duration_s,model,global_batch,iterations,deadline_s\n"
      "a,x,0,8,3600,gpt,8,10,9000\nb,y,1800,2,7200,,,,\nc,x,7200,8,,gpt,8,10,\n",
      "f");
  REQUIRE(trace.has_value());
  const TraceStatistics statistics = trace_statistics(trace->workload);
  CHECK(statistics.jobs == 3);
  CHECK(statistics.unpriced == 1);
  CHECK(statistics.with_deadline == 1);
  CHECK(statistics.gpu_hours == doctest::Approx(12));  // 8 x 1 h + 2 x 2 h
  CHECK(statistics.by_num_gpus.at(8).jobs == 2);
  CHECK(statistics.by_num_gpus.at(8).gpu_hours == doctest::Approx(8));
  REQUIRE(statistics.tenants.size() == 2);
  CHECK(statistics.tenants[0].name == "x");
  CHECK(statistics.tenants[0].share.jobs == 2);
  REQUIRE(statistics.models.size() == 1);
  CHECK(statistics.models[0].share.jobs == 2);
  CHECK(statistics.span() == std::chrono::hours(2));
  // What a job without a duration adds is not known.
  CHECK(std::isnan(statistics.offered_load(vtrain::GpuCount(12))));
  vtrain::Job& last = trace->workload.jobs.back();
  last.num_gpus = vtrain::GpuCount(3);
  last.duration = std::chrono::hours(4);
  // 12 + 3 x 4 GPU-hours over 2 hours of 12 GPUs.
  CHECK(trace_statistics(trace->workload).offered_load(vtrain::GpuCount(12)) == doctest::Approx(1));
  CHECK(statistics.duration.count == 2);
  CHECK(statistics.inter_arrival.count == 2);
  CHECK(statistics.inter_arrival.maximum == std::chrono::seconds(5400));
}

TEST_CASE("trace_statistics: what a recorded log says of its jobs") {
  const auto trace = vtrain::parse_trace(
      "job_id,user,submit_s,num_gpus,gpu_type,gpu_share,max_gpus,duration_s,original_start_s,status\n"
      "a,u1,0,1,T4,0.5,,3600,60,completed\nb,u2,10,4,,,8,3600,10,failed\nc,u1,20,1,V100,0.25,,7200,,\n",
      "f");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  const TraceStatistics statistics = trace_statistics(trace->workload);
  CHECK(statistics.gpu_hours == doctest::Approx(7));       // 1 + 4 + 2
  CHECK(statistics.used_gpu_hours == doctest::Approx(5));  // 0.5 + 4 + 0.5
  CHECK(statistics.on_shared_gpus == 2);
  CHECK(statistics.elastic == 1);
  CHECK(statistics.with_original_start == 2);
  CHECK(statistics.recorded_wait.maximum == std::chrono::seconds(60));
  CHECK(statistics.recorded_wait.minimum == SimDuration(0));
  REQUIRE(statistics.users.size() == 2);
  CHECK(statistics.users[0].name == "u2");  // 4 GPU-hours against 3
  REQUIRE(statistics.gpu_types.size() == 2);
  CHECK(statistics.gpu_types[0].name == "V100");
  REQUIRE(statistics.statuses.size() == 3);
  CHECK(statistics.statuses[0].name == "unknown");
  CHECK(statistics.statuses[1].name == "completed");
  CHECK(statistics.statuses[2].share.gpu_hours == doctest::Approx(4));
}
