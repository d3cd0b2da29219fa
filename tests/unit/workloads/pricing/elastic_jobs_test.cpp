#include "workloads/pricing/elastic_jobs.hpp"
#include "workloads/stack/stack.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/workloads/model_jobs.hpp"
#include "tests/unit/workloads/plain_a100.hpp"
#include "workloads/pricing/job_pricing.hpp"
#include "workloads/pricing/plan_cache.hpp"

namespace vtrain {
namespace {

using testing::a100;
using testing::add_model_job;

const SpeedByGpus& curve_of(const Workload& workload, std::size_t job) {
  return workload.curves.at(workload.jobs.at(job).curve.value);
}

std::vector<std::int32_t> sizes(const SpeedByGpus& levels) {
  std::vector<std::int32_t> counts;
  for (const auto& level : levels.levels())
    counts.push_back(level.num_gpus.value);
  return counts;
}

TEST_CASE("elastic_jobs: jobs of one model and batch share a curve; it goes through their durations") {
  Workload workload;
  add_model_job(workload, "gpt3-1.3b", 128, 8);
  add_model_job(workload, "gpt3-1.3b", 128, 16);
  add_model_job(workload, "gpt3-1.3b", 256, 16);
  PlanCache curves(a100());
  REQUIRE(price_jobs(workload, curves));
  const auto found = make_elastic(workload, {curves, GpuCount(64)}, {.strict = true});
  REQUIRE(found);
  CHECK(found->elastic == 3);
  CHECK(found->with_idle_gpus == 0);
  CHECK(found->without_plan == 0);
  CHECK(workload.curves.size() == 2);
  CHECK(workload.jobs[0].curve == workload.jobs[1].curve);
  CHECK(workload.jobs[0].curve != workload.jobs[2].curve);
  const auto expected = curves.curve("gpt3-1.3b", 128, GpuCount(64))->levels();
  CHECK(sizes(curve_of(workload, 0)) == sizes(expected));
  for (const auto& level : expected.levels())
    CHECK(curve_of(workload, 0).iterations_per_s(level.num_gpus) == level.iterations_per_s);
}

TEST_CASE("elastic_jobs: a number of GPUs between the points of the curve gets a point of its own") {
  Workload workload;
  add_model_job(workload, "gpt3-1.3b", 96, 8);
  add_model_job(workload, "gpt3-1.3b", 96, 12);  // 12 replicas of 8 sequences
  PlanCache curves(a100());
  REQUIRE(price_jobs(workload, curves));
  const auto found = make_elastic(workload, {curves, GpuCount(32)}, {.strict = true});
  REQUIRE(found);
  CHECK(found->elastic == 2);
  CHECK(found->with_idle_gpus == 0);
  CHECK(curve_of(workload, 0).iterations_per_s(GpuCount(12)) == 0);
  CHECK(curve_of(workload, 1).iterations_per_s(GpuCount(12)) ==
        1 / Seconds(*curves.iteration_time("gpt3-1.3b", 96, GpuCount(12))).count());
  CHECK(curve_of(workload, 1).levels().size() == curve_of(workload, 0).levels().size() + 1);
}

TEST_CASE(
    "elastic_jobs: GPUs that no plan divides idle, a model that does not fit stays rigid, both are told") {
  Workload workload;
  add_model_job(workload, "gpt3-1.3b", 128, 7).duration = std::chrono::hours(1);
  add_model_job(workload, "gpt3-175b", 1536, 16).duration = std::chrono::hours(1);
  PlanCache curves(a100(), {.stack = find_stack("megatron-2021").value()});
  const auto found = make_elastic(workload, {curves, GpuCount(64)}, {});
  REQUIRE(found);
  CHECK(found->elastic == 1);
  CHECK(found->with_idle_gpus == 1);
  CHECK(found->without_plan == 1);
  const SpeedByGpus& levels = curve_of(workload, 0);
  CHECK(levels.iterations_per_s(GpuCount(7)) == levels.iterations_per_s(GpuCount(4)));
  CHECK(!workload.jobs[1].curve);
  CHECK(workload.jobs[0].duration == std::chrono::hours(1));

  for (const std::size_t job : {0, 1}) {
    Workload one;
    add_model_job(one, job == 0 ? "gpt3-1.3b" : "gpt3-175b", job == 0 ? 128 : 1536, job == 0 ? 7 : 16)
        .duration = std::chrono::hours(1);
    const auto refused = make_elastic(one, {curves, GpuCount(64)}, {.strict = true});
    REQUIRE(!refused);
    CHECK(refused.error().message.starts_with("job 'job-1': model 'gpt3-1"));
  }
}

TEST_CASE(
    "elastic_jobs: jobs without a known model, batch or iterations, on shared GPUs or with a curve are "
    "left") {
  Workload workload;
  workload.curves.emplace_back(std::vector<SpeedByGpus::Level>{{GpuCount(8), 1.0}});
  add_model_job(workload, "resnet50", 128, 8);
  add_model_job(workload, "gpt3-1.3b", 0, 8);
  add_model_job(workload, "gpt3-1.3b", 128, 8).iterations = 0;
  add_model_job(workload, "gpt3-1.3b", 128, 8).model = ModelId();
  add_model_job(workload, "gpt3-1.3b", 128, 1).gpu_share = 500;
  add_model_job(workload, "gpt3-1.3b", 128, 8).curve = CurveId(0);
  PlanCache curves(a100());
  const auto found = make_elastic(workload, {curves, GpuCount(64)}, {.strict = true});
  REQUIRE(found);
  CHECK(found->elastic == 0);
  CHECK(workload.curves.size() == 1);
  const auto has_curve = [](const Job& job) { return static_cast<bool>(job.curve); };
  CHECK(std::count_if(workload.jobs.begin(), workload.jobs.end(), has_curve) == 1);
}

TEST_CASE("elastic_jobs: a job is priced on the type it asks for, and has plans on all that it may use") {
  PlanCache a100s(a100());
  PlanCache h100s(load_gpu_profile("h100").value());
  Workload workload;
  add_model_job(workload, "gpt3-6.7b", 256, 16);
  add_model_job(workload, "gpt3-6.7b", 256, 16).gpu_type = workload.gpu_type("h100");
  add_model_job(workload, "gpt3-6.7b", 256, 16).gpu_type = workload.gpu_type("tpu");  // of no group
  const CurvesByType curves({{&a100s, GpuCount(64)}, {&h100s, GpuCount(32)}}, {{1}, {}});
  REQUIRE(price_jobs(workload, curves));
  const Nanoseconds on_a100 = a100s.iteration_time("gpt3-6.7b", 256, GpuCount(16)).value();
  const Nanoseconds on_h100 = h100s.iteration_time("gpt3-6.7b", 256, GpuCount(16)).value();
  REQUIRE(on_h100 < on_a100);
  CHECK(workload.jobs[0].duration == to_sim_duration(on_a100 * 100));
  CHECK(workload.jobs[1].duration == to_sim_duration(on_h100 * 100));
  CHECK(workload.jobs[2].duration == workload.jobs[0].duration);

  const auto found = make_elastic(workload, curves, {.strict = true});
  REQUIRE(found);
  CHECK(found->elastic == 3);
  const SpeedByGpus& any = curve_of(workload, 0);
  const SpeedByGpus& h100 = curve_of(workload, 1);
  CHECK(any.levels().back().num_gpus == GpuCount(64));
  CHECK(h100.levels().back().num_gpus == GpuCount(32));
  const GpuCount gpus(16);
  CHECK(any.iterations_per_s(gpus) == 1 / Seconds(on_a100).count());
  CHECK(h100.iterations_per_s(gpus) == 1 / Seconds(on_h100).count());
}

}  // namespace
}  // namespace vtrain
