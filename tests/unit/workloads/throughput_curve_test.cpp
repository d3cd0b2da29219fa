#include "workloads/throughput_curve.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "workloads/physical_semantics.hpp"

namespace vtrain {
namespace {

GpuProfile a100() {
  return load_gpu_profile("a100").value();
}

Job& add_job(Workload& workload, const char* name, const char* model, std::int32_t num_gpus,
             std::int64_t iterations) {
  Job job;
  job.name = workload.keep(name);
  job.model = workload.model(model);
  job.num_gpus = GpuCount(num_gpus);
  job.iterations = iterations;
  workload.jobs.push_back(job);
  return workload.jobs.back();
}

TEST_CASE("throughput_curve: the best plan is that of the search, and predicting it gives the same time") {
  ThroughputCurves curves(a100());
  const auto best = curves.best_plan("gpt3-6.7b", 256, GpuCount(32));
  REQUIRE(best);
  CHECK(best->plan.num_gpus() == GpuCount(32));
  CHECK(best->plan.global_batch == 256);
  CHECK(best->memory.fits());
  TransformerModel model{"gpt3-6.7b", 32, 4096, 32, 2048, 50257};
  const auto prediction = predict_physical(model, best->plan, curves.profile());
  REQUIRE(prediction);
  CHECK(fast_iteration_times(prediction->work).iteration == best->iteration);
}

TEST_CASE("throughput_curve: the same on every instance, in any order") {
  ThroughputCurves rising(a100());
  ThroughputCurves falling(a100());
  double times[2][5];
  for (int i = 0; i < 5; ++i) {
    times[0][i] = rising.iteration_time("megatron-7.5b", 0, GpuCount(8 << i))->count();
    times[1][4 - i] = falling.iteration_time("megatron-7.5b", 0, GpuCount(8 << (4 - i)))->count();
  }
  for (int i = 0; i < 5; ++i)
    CHECK(times[0][i] == times[1][i]);
  CHECK(rising.iteration_time("megatron-7.5b", 0, GpuCount(8))->count() == times[0][0]);
  // Twice the GPUs are faster, but not twice as fast.
  for (int i = 1; i < 5; ++i) {
    CHECK(times[0][i] < times[0][i - 1]);
    CHECK(times[0][i] > times[0][i - 1] / 2 * 0.98);
  }
}

TEST_CASE("throughput_curve: without a global batch the published one counts") {
  ThroughputCurves curves(a100());
  CHECK(curves.best_plan("megatron-7.5b", 0, GpuCount(16))->plan.global_batch == 512);
  CHECK(*curves.iteration_time("megatron-7.5b", 0, GpuCount(16)) ==
        *curves.iteration_time("megatron-7.5b", 512, GpuCount(16)));
}

TEST_CASE("throughput_curve: jobs are priced at iterations x T, rounded once; known durations stay") {
  Workload workload;
  add_job(workload, "a", "gpt3-1.3b", 8, 1000).global_batch = 128;
  add_job(workload, "b", "gpt3-1.3b", 8, 1000).duration = SimDuration(42);
  add_job(workload, "c", "", 8, 0).duration = SimDuration(43);
  ThroughputCurves curves(a100());
  REQUIRE(price_jobs(workload, curves));
  const double iteration = curves.iteration_time("gpt3-1.3b", 128, GpuCount(8))->count();
  CHECK(workload.jobs[0].duration.count() == std::llround(iteration * 1000));
  CHECK(workload.jobs[0].duration.count() > 1'000'000'000);
  CHECK(workload.jobs[1].duration.count() == 42);
  CHECK(workload.jobs[2].duration.count() == 43);
}

TEST_CASE("throughput_curve: what cannot be priced is named") {
  const auto error_of = [](const char* model, std::int32_t num_gpus, std::int64_t iterations) {
    Workload workload;
    add_job(workload, "job-7", model, num_gpus, iterations);
    ThroughputCurves curves(a100());
    const auto priced = price_jobs(workload, curves);
    return priced ? std::string() : priced.error().describe();
  };
  CHECK(error_of("gpt3-1.3b", 8, 0) ==
        "duration: job 'job-7': expected a duration, or a model and iterations, found neither");
  CHECK(error_of("gpt3-1.3", 8, 10) ==
        "model: job 'job-7': unknown model 'gpt3-1.3'; did you mean 'gpt3-1.3b'?");
  CHECK(error_of("gpt3-175b", 16, 10)
            .starts_with("num_gpus: job 'job-7': model 'gpt3-175b' does not fit on 16 GPUs: "));
  CHECK(error_of("gpt3-1.3b", 8, std::int64_t{1} << 60) ==
        "iterations: job 'job-7': 1152921504606846976 iterations of 'gpt3-1.3b' take more than 292 years");

  Workload without_model;
  add_job(without_model, "job-8", "", 8, 10).model = ModelId();
  ThroughputCurves curves(a100());
  CHECK(price_jobs(without_model, curves).error().message.starts_with("job 'job-8': expected a duration"));
}

}  // namespace
}  // namespace vtrain
