#include "workloads/pricing/job_pricing.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/workloads/model_jobs.hpp"
#include "tests/unit/workloads/release_a100.hpp"
#include "workloads/pricing/plan_cache.hpp"

namespace vtrain {
namespace {

using testing::add_model_job;

TEST_CASE("job_pricing: run times of the trace can be compared with the prediction, and give way to it") {
  PlanCache curves(a100());
  const auto predicted = [&](std::int32_t num_gpus) {
    const Nanoseconds iteration = curves.iteration_time("gpt3-1.3b", 128, GpuCount(num_gpus)).value();
    return to_sim_duration(100 * iteration);
  };
  Workload workload;
  add_model_job(workload, "gpt3-1.3b", 128, 8).duration = 2 * predicted(8);
  add_model_job(workload, "gpt3-1.3b", 128, 16).duration = predicted(16) / 4;
  add_model_job(workload, "gpt3-1.3b", 128, 16);                                   // none to compare
  add_model_job(workload, "gpt3-175b", 1536, 8).duration = std::chrono::hours(1);  // does not fit
  add_model_job(workload, "resnet-50", 128, 8).duration = std::chrono::hours(1);   // not known
  RunTimeRatios ratios = compare_run_times(workload, curves);
  CHECK(ratios.jobs == 2);
  CHECK(ratios.least == doctest::Approx(0.5));
  CHECK(ratios.most == doctest::Approx(4));

  workload.jobs[0].requested_time = 3 * predicted(8);
  const PredictedRunTimes done = predict_run_times(workload, curves);
  CHECK(done.predicted == 2);
  CHECK(done.without_plan == 1);
  CHECK(workload.jobs[0].duration == predicted(8));
  CHECK(to_seconds(workload.jobs[0].requested_time) == doctest::Approx(1.5 * to_seconds(predicted(8))));
  CHECK(workload.jobs[1].duration == predicted(16));
  CHECK(workload.jobs[1].requested_time == SimDuration(0));
  CHECK(workload.jobs[2].duration == SimDuration(0));
  CHECK(workload.jobs[3].duration == std::chrono::hours(1));
  CHECK(workload.jobs[4].duration == std::chrono::hours(1));
  ratios = compare_run_times(workload, curves);
  CHECK(ratios.jobs == 2);
  CHECK(ratios.least == doctest::Approx(1));
  CHECK(ratios.most == doctest::Approx(1));
  CHECK(compare_run_times(Workload(), curves).jobs == 0);
}

TEST_CASE("job_pricing: jobs ask for the types of GPUs on which their models have a plan") {
  PlanCache small(a100());
  GpuProfile wide = a100();
  wide.memory_capacity = wide.memory_capacity * 4;
  PlanCache large(wide);
  Workload workload;
  // Number 0 is a type that the cluster lacks, 1 both.
  workload.gpu_types.add("b300");
  workload.gpu_types.add("small|large");
  const CurvesByType curves({{&small}, {&large}}, {{}, {0, 1}});
  const std::vector<std::string> names = {"small", "large"};
  const auto add = [&](const char* model, std::optional<GpuTypeId> asked, std::int32_t num_gpus = 1) {
    Job& job = add_model_job(workload, model, 64, num_gpus);
    if (asked) job.gpu_type = *asked;
  };
  add("llama3-8b", {});
  add("llama3-8b", GpuTypeId(0));
  add("llama3-8b", GpuTypeId(1));
  add("gpt3-1.3b", {});
  add("gpt3-175b", {});     // fits neither
  add("llama3-8b", {}, 8);  // fits both
  add("resnet-50", {});
  CHECK(keep_to_types_with_plan(workload, curves, names) == 2);
  const GpuTypeId kept = workload.jobs[0].gpu_type;
  REQUIRE(kept);
  CHECK(workload.gpu_types[kept.value] == "large");
  CHECK(workload.jobs[1].gpu_type == GpuTypeId(0));
  CHECK(workload.jobs[2].gpu_type == kept);
  for (std::size_t i = 3; i < workload.jobs.size(); ++i)
    CHECK(!workload.jobs[i].gpu_type);
  CHECK(keep_to_types_with_plan(workload, CurvesByType(small), names) == 0);
}

TEST_CASE("job_pricing: where only the software of one type divides, jobs keep to it in any order") {
  // No plan of megatron-2021 divides the layers of llama2-13b over 24 GPUs.
  PlanCache old_stack(a100(), {.stack = megatron()});
  PlanCache new_stack(load_gpu_profile("h100").value());
  REQUIRE(!old_stack.iteration_time("llama2-13b", 256, GpuCount(24)));
  const Nanoseconds iteration = new_stack.iteration_time("llama2-13b", 256, GpuCount(24)).value();
  for (const bool old_first : {true, false}) {
    CAPTURE(old_first);
    Workload workload;
    add_model_job(workload, "llama2-13b", 256, 24);
    add_model_job(workload, "llama2-13b", 256, 23);  // divides on neither
    const std::vector<std::string> names = {old_first ? "old" : "new", old_first ? "new" : "old"};
    PlanCache& first = old_first ? old_stack : new_stack;
    PlanCache& second = old_first ? new_stack : old_stack;
    CHECK(keep_to_types_with_plan(workload, CurvesByType({{&first}, {&second}}, {}), names) == 1);
    REQUIRE(workload.jobs[0].gpu_type);
    CHECK(workload.gpu_types[workload.jobs[0].gpu_type.value] == "new");
    CHECK(!workload.jobs[1].gpu_type);
    const CurvesByType kept({{&first}, {&second}}, {{old_first ? 1U : 0U}});
    const auto priced = price_jobs(workload, kept);
    CHECK(workload.jobs[0].duration == to_sim_duration(100 * iteration));
    REQUIRE(!priced);
    CHECK(priced.error().message.find("with profile a100, stack megatron-2021: model 'llama2-13b'") !=
          std::string::npos);
    CHECK(priced.error().message.find("with profile h100, stack megatron-core: model 'llama2-13b'") !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace vtrain
