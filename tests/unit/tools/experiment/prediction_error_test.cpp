#include "tools/experiment/prediction_error.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

#include "core/profile/gpu_profile.hpp"
#include "sched/disruption/segment_timing.hpp"
#include "tests/unit/workloads/model_jobs.hpp"
#include "workloads/calibration/prediction_interval.hpp"
#include "workloads/pricing/plan_cache.hpp"

namespace vtrain {
namespace {

using testing::add_model_job;

Workload many_jobs(int count) {
  Workload workload;
  for (int i = 0; i < count; ++i)
    add_model_job(workload, i % 2 == 0 ? "gpt3-6.7b" : "gpt3-1.3b", 256, 8);
  return workload;
}

PredictionErrorRule rule_of(const char* text) {
  return PredictionErrorRule::parse(text).value();
}

}  // namespace

TEST_CASE("prediction error: half of the variance is of jobs, half of plans, with mean 0") {
  PlanCache curves(load_gpu_profile("a100").value());
  const double sigma = 0.2;
  const Workload workload = many_jobs(2000);
  const DrawnRunTimeErrors errors(rule_of("lognormal:0.2"), workload, curves, 3);
  // Jobs on one plan: the mean is the part of the plan, the spread that of jobs.
  double sum = 0;
  double squares = 0;
  for (std::uint32_t i = 0; i < 2000; i += 2) {
    const double log = std::log(errors.time_factor(JobId(i), GpuCount(8), 0));
    sum += log;
    squares += log * log;
  }
  const double of_jobs = std::sqrt(squares / 1000 - sum / 1000 * sum / 1000);
  CHECK(of_jobs == doctest::Approx(sigma / std::sqrt(2.0)).epsilon(0.1));  // 4 standard errors
  // Plans of one job: the mean is the part of the job.
  sum = squares = 0;
  for (int gpus = 1; gpus <= 2000; ++gpus) {
    const double log = std::log(errors.time_factor(JobId(0), GpuCount(gpus), 0));
    sum += log;
    squares += log * log;
  }
  CHECK(std::sqrt(squares / 2000 - sum / 2000 * sum / 2000) ==
        doctest::Approx(sigma / std::sqrt(2.0)).epsilon(0.1));
  // All: mean 0 within 4 standard errors, which those of the jobs dominate.
  sum = 0;
  for (std::uint32_t i = 0; i < 2000; ++i)
    sum += std::log(errors.time_factor(JobId(i), GpuCount(static_cast<std::int32_t>(1 + i)), 0));
  CHECK(std::abs(sum / 2000) < 4 * sigma / std::sqrt(2000.0));
}

TEST_CASE("prediction error: factors depend on seed, job and plan alone, and are whole billionths") {
  PlanCache curves(load_gpu_profile("a100").value());
  const Workload few = many_jobs(3);
  const Workload many = many_jobs(30);
  const auto rule = rule_of("empirical");
  const DrawnRunTimeErrors of_few(rule, few, curves, 3);
  const DrawnRunTimeErrors of_many(rule, many, curves, 3);
  const DrawnRunTimeErrors of_seed(rule, many, curves, 4);
  std::set<double> other_seed;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const double factor = of_many.time_factor(JobId(i), GpuCount(16), 0);
    CHECK(of_few.time_factor(JobId(i), GpuCount(16), 0) == factor);
    CHECK(of_few.factors_on_request(few)[i] == of_many.factors_on_request(many)[i]);
    const double speed = static_cast<double>(SegmentSpeed::kFull) / factor;
    CHECK(std::abs(speed - std::round(speed)) < 1e-4);
    if (of_seed.time_factor(JobId(i), GpuCount(16), 0) != factor) other_seed.insert(factor);
  }
  CHECK(other_seed.size() == 3);
}

TEST_CASE("prediction error: jobs that no predictor prices have none") {
  PlanCache curves(load_gpu_profile("a100").value());
  Workload workload = many_jobs(1);
  add_model_job(workload, "resnet50", 128, 8);
  const DrawnRunTimeErrors errors(rule_of("lognormal:0.5"), workload, curves, 1);
  CHECK(errors.knows(JobId(0)));
  CHECK_FALSE(errors.knows(JobId(1)));
  CHECK(errors.time_factor(JobId(1), GpuCount(8), 0) == 1);
}

TEST_CASE("prediction error: rules") {
  CHECK(rule_of("none").kind == PredictionErrorRule::Kind::None);
  CHECK(rule_of("lognormal:0").sigma == 0);
  for (const char* const text : {"", "empirical:1", "lognormal", "lognormal:-1", "lognormal:2.1", "normal:1"})
    CHECK_MESSAGE(!PredictionErrorRule::parse(text), text);
}

}  // namespace vtrain
