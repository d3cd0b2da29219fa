#include "tools/report/trace_report.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/rng.hpp"
#include "tools/report/trace_charts.hpp"

using namespace vtrain;
using namespace vtrain::report;

namespace {

constexpr std::string_view kHostile = "</script><script>alert('x')</script>";

Workload jobs(std::initializer_list<std::array<std::int64_t, 3>> rows) {
  Workload workload;
  for (const auto& [submit_s, num_gpus, duration_s] : rows) {
    Job job;
    job.submit = SimTime(std::chrono::seconds(submit_s));
    job.num_gpus = GpuCount(static_cast<std::int32_t>(num_gpus));
    job.duration = std::chrono::seconds(duration_s);
    workload.jobs.push_back(job);
  }
  return workload;
}

std::string render(const Workload& workload, std::optional<ClusterSpec> cluster = std::nullopt) {
  const TraceStatistics statistics = trace_statistics(workload);
  return render_trace_report({.workload = &workload,
                              .statistics = &statistics,
                              .cluster = std::move(cluster),
                              .trace_name = std::string(kHostile),
                              .assumptions = {std::string(kHostile)},
                              .provenance = {{"file", std::string(kHostile)}}});
}

}  // namespace

TEST_CASE("trace_report: run times over jobs and over GPU-hours") {
  // 1, 1 and 98 GPU-hours: half of the jobs take at most an hour, half of the work is in the longest job.
  const Workload workload = jobs({{0, 1, 3600}, {60, 2, 1800}, {120, 14, 7 * 3600}});
  const WeightedDurations durations = weighted_durations(workload);
  CHECK(durations.seconds == std::vector<double>{1800, 3600, 25200});
  CHECK(durations.percentile(0, 50) == 3600);
  CHECK(durations.percentile(0, 99) == 25200);
  CHECK(durations.percentile(1, 1) == 1800);
  CHECK(durations.percentile(1, 50) == 25200);
  const nlohmann::json distribution = duration_json(workload);
  CHECK(distribution["exact"] == true);
  CHECK(distribution["x"] == nlohmann::json({1800, 3600, 25200}));
  CHECK(distribution["percent"][0] == nlohmann::json({33.333, 66.667, 100}));
  CHECK(distribution["percent"][1] == nlohmann::json({1, 2, 100}));
  CHECK(gap_json(workload)["x"] == nlohmann::json({60}));
  CHECK(recorded_wait_json(workload).is_null());
}

TEST_CASE("trace_report: GPUs wanted rise with submissions and fall with ends; ends come first") {
  // 4 GPUs from 0 to 10, 2 from 10 to 15, and 1 from 12 to 14.
  const nlohmann::json demand = demand_json(jobs({{0, 4, 10}, {10, 2, 5}, {12, 1, 2}}));
  CHECK(demand["exact"] == true);
  CHECK(demand["x"] == nlohmann::json({0, 10, 12, 14, 15, 15}));
  CHECK(demand["demand"][0]["mean"] == nlohmann::json({4, 2, 3, 2, 0}));
}

TEST_CASE("trace_report: submissions in round spans that begin at the origin") {
  // Two days in spans of 10 minutes; the second job is in the last of 289.
  const nlohmann::json submitted = submitted_json(jobs({{30, 1, 3600}, {2 * 86400 - 1, 3, 3600}}));
  CHECK(submitted["x"][0] == 0);
  CHECK(submitted["x"][1] == 600);
  CHECK(submitted["x"].size() == 289);
  CHECK(submitted["submitted"][0]["mean"][0] == 50);
  CHECK(submitted["submitted"][1]["mean"][0] == 25);
  CHECK(submitted["submitted"][1]["mean"].back() == 75);
  CHECK(submitted_json(jobs({{5, 1, 1}, {5, 1, 1}})).is_null());
}

TEST_CASE("trace_report: bars by size, by name and by hour") {
  const Workload workload = jobs({{0, 1, 3600}, {3600, 3, 3600}, {7 * 86400 + 7200, 4, 3600}});
  const TraceStatistics statistics = trace_statistics(workload);
  const nlohmann::json sizes = work_by_size_json(statistics);
  CHECK(sizes["labels"] == nlohmann::json({"1", "3–4"}));
  CHECK(sizes["amounts"][0] == nlohmann::json({1, 2}));
  CHECK(sizes["amounts"][1] == nlohmann::json({1, 7}));
  CHECK(sizes["totals"] == nlohmann::json({3, 8}));
  const nlohmann::json hours = work_by_hour_json(workload);
  CHECK(hours["labels"].size() == 24);
  CHECK(hours["amounts"][0][2] == 1);
  CHECK(work_by_hour_json(jobs({{0, 1, 1}, {86400, 1, 1}})).is_null());
  std::vector<NamedShare> shares;
  for (int i = 0; i < 15; ++i)
    shares.push_back({"t" + std::to_string(i), {.jobs = 1, .gpu_hours = 2}});
  const nlohmann::json names = work_by_name_json(shares, statistics);
  CHECK(names["labels"].size() == 11);
  CHECK(names["labels"].back() == "5 others");
  CHECK(names["amounts"][1].back() == 10);
  CHECK(work_by_name_json(std::span(shares).first(1), statistics).is_null());
}

TEST_CASE("trace_report: the page says what the trace holds, and foreign text stays text") {
  Workload workload = jobs({{0, 1, 3600}, {60, 1, 3600}, {3 * 86400, 8, 36000}});
  for (Job& job : workload.jobs) {
    job.tenant = workload.tenant(job.num_gpus == GpuCount(1) ? kHostile : "b");
    job.status = JobStatus::Completed;
  }
  const std::string page = render(workload, *ClusterSpec::parse("1x8:a100"));
  CHECK(page.find("3 jobs ask for 82 GPU-hours in 3.0\u00a0d; 66.7\u00a0% of them use 1 GPU, those of 8 GPUs "
                  "take 97.6\u00a0% of "
                  "the GPU time.") != std::string::npos);
  // 82 GPU-hours of 8 x 72.
  CHECK(page.find("offered load 0.14 on 1 x 8 A100, 8 GPUs.") != std::string::npos);
  CHECK(page.find("<script>alert") == std::string::npos);
  for (const char* const id :
       {"duration", "gap", "workBySize", "workByTenant", "workByHour", "submitted", "demand"})
    CHECK(page.find("<figure id=\"" + std::string(id) + "\"") != std::string::npos);
  CHECK(page.find("<figure id=\"recordedWait\"") == std::string::npos);
  CHECK(page.find("src=") == std::string::npos);
  CHECK(render(workload) == render(workload));
}

TEST_CASE("trace_report: a page of many jobs, names and sizes is below a megabyte; one job is enough") {
  RandomStream random(3, "trace report");
  Workload workload;
  SimTime submit{};
  for (int i = 0; i < 100'000; ++i) {
    Job job;
    submit += SimDuration(static_cast<std::int64_t>(random.exponential(60e9)));
    job.submit = submit;
    job.duration = SimDuration(1 + static_cast<std::int64_t>(1e9 * std::exp(6 + 2 * random.normal())));
    job.num_gpus = GpuCount(static_cast<std::int32_t>(1 + random.below(1000)));
    job.tenant = workload.tenant(std::string(900, 'x') + std::to_string(random.below(500)));
    workload.jobs.push_back(job);
  }
  CHECK(render(workload).size() < 1'000'000);
  const std::string one = render(jobs({{0, 1, 1}}));
  CHECK(one.find("1 job asks for 0 GPU-hours") != std::string::npos);
  Workload unpriced = jobs({{0, 1, 0}, {9, 1, 0}});
  CHECK(render(unpriced).find("<figure id=\"duration\"") == std::string::npos);
}
