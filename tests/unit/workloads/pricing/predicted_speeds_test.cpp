#include "workloads/pricing/predicted_speeds.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "core/profile/gpu_profile.hpp"
#include "tests/unit/workloads/model_jobs.hpp"
#include "workloads/pricing/plan_cache.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

using testing::add_model_job;

GpuProfile profile(const char* name) {
  return load_gpu_profile(name).value();
}

}  // namespace

TEST_CASE("predicted_speeds: relative to the type by which a job is priced, packed and spread") {
  PlanCache a100s(profile("a100"));
  PlanCache h100s(profile("h100"));
  Workload workload;
  add_model_job(workload, "gpt3-6.7b", 256, 16);
  add_model_job(workload, "gpt3-6.7b", 256, 16).gpu_type = workload.gpu_type("h100");
  PredictedSpeeds speeds(workload, {{{&a100s, GpuCount(64)}, {&h100s, GpuCount(32)}}, {{1}}});
  CHECK(speeds.num_jobs() == 2);
  const GpuCount gpus(16);
  const double a100 = a100s.iteration_time("gpt3-6.7b", 256, gpus)->count();
  const double h100 = h100s.iteration_time("gpt3-6.7b", 256, gpus)->count();
  const GangSpeed any_on_h100 = speeds.at(JobId(0), gpus, {.gpu_type = 1});
  CHECK(any_on_h100.here == a100 / h100);
  CHECK(any_on_h100.packed == any_on_h100.here);
  // Where they were priced nothing changes, to the bit.
  CHECK(speeds.at(JobId(0), gpus, {.gpu_type = 0}).here == 1);
  CHECK(speeds.at(JobId(1), gpus, {.gpu_type = 1}).here == 1);
  for (const std::uint32_t type : {0u, 1u}) {
    PlanCache& curves = type == 0 ? a100s : h100s;
    double before = speeds.at(JobId(0), gpus, {.gpu_type = type}).here;
    for (const std::int32_t together : {4, 2, 1}) {
      const GangSpeed spread = speeds.at(JobId(0), gpus, {type, together});
      CHECK(spread.here == a100 / curves.spread_iteration_time("gpt3-6.7b", 256, gpus, together)->count());
      CHECK(spread.here <= before);
      CHECK(spread.packed == speeds.at(JobId(0), gpus, {.gpu_type = type}).here);
      before = spread.here;
    }
    CHECK(before < speeds.at(JobId(0), gpus, {.gpu_type = type}).here);
  }
  CHECK(speeds.slowest(JobId(0), gpus, false) == 1);
  CHECK(speeds.slowest(JobId(0), gpus, true) == speeds.at(JobId(0), gpus, {0, 1}).here);
  CHECK(speeds.slowest(JobId(1), gpus, true) == speeds.at(JobId(1), gpus, {1, 1}).here);
  CHECK(speeds.slowest(JobId(0), GpuCount(1), true) == speeds.slowest(JobId(0), GpuCount(1), false));
}

TEST_CASE("predicted_speeds: jobs that no predictor prices, or that have measured curves, are left out") {
  PlanCache curves(profile("a100"));
  Workload workload;
  workload.curves.emplace_back(std::vector<SpeedByGpus::Level>{{GpuCount(8), 1.0}});
  add_model_job(workload, "gpt3-1.3b", 128, 8);
  add_model_job(workload, "resnet50", 128, 8);
  add_model_job(workload, "gpt3-1.3b", 128, 8).iterations = 0;
  add_model_job(workload, "gpt3-1.3b", 128, 8).curve = CurveId(0);
  add_model_job(workload, "gpt3-1.3b", 128, 1).gpu_share = 500;
  const PredictedSpeeds speeds(workload, {curves, GpuCount(64)});
  CHECK(speeds.num_jobs() == 1);
  for (std::uint32_t job = 0; job < workload.jobs.size(); ++job)
    CHECK(speeds.knows(JobId(job)) == (job == 0));
  CHECK_FALSE(speeds.knows(JobId(1'000'000)));
}

TEST_CASE("predicted_speeds: over GPUs that no plan divides the next smaller number counts") {
  PlanCache curves(profile("a100"), {.stack = find_stack("megatron-2021").value()});
  Workload workload;
  add_model_job(workload, "gpt3-1.3b", 128, 7);    // a plan on 4
  add_model_job(workload, "gpt3-175b", 1536, 16);  // none
  PredictedSpeeds speeds(workload, {curves, GpuCount(64)});
  CHECK(speeds.at(JobId(0), GpuCount(7), {}).here == 1);
  CHECK(speeds.at(JobId(0), GpuCount(7), {0, 1}).here == speeds.at(JobId(0), GpuCount(4), {0, 1}).here);
  CHECK(speeds.at(JobId(1), GpuCount(16), {0, 1}).here == 1);
  CHECK(speeds.num_without_plan(workload) == 1);
}

TEST_CASE("predicted_speeds: several threads get the same answers as one") {
  PlanCache curves(profile("a100"));
  Workload workload;
  add_model_job(workload, "gpt3-1.3b", 128, 8);
  add_model_job(workload, "gpt3-6.7b", 256, 16);
  const auto ask = [](PredictedSpeeds& speeds) {
    std::vector<double> answers;
    for (const std::uint32_t job : {0u, 1u}) {
      for (const std::int32_t gpus : {2, 4, 8, 16, 32}) {
        for (const std::int32_t together : {0, 1, 2, 4})
          answers.push_back(speeds.at(JobId(job), GpuCount(gpus), {0, together}).here);
      }
    }
    return answers;
  };
  PredictedSpeeds alone(workload, {curves, GpuCount(64)});
  const std::vector<double> expected = ask(alone);
  PlanCache other_curves(profile("a100"));
  PredictedSpeeds shared(workload, {other_curves, GpuCount(64)});
  std::vector<std::vector<double>> answers(3);
  {
    std::vector<std::jthread> threads;
    for (std::vector<double>& answer : answers)
      threads.emplace_back([&] { answer = ask(shared); });
  }
  for (const std::vector<double>& answer : answers)
    CHECK(answer == expected);
}

}  // namespace vtrain
