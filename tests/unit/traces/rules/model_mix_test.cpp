#include "traces/rules/model_mix.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

#include "tests/unit/traces/zoo_catalog.hpp"
#include "workloads/pricing/plan_cache.hpp"

using vtrain::assign_models;
using vtrain::GpuCount;
using vtrain::GpuTypeId;
using vtrain::IterationTime;
using vtrain::Job;
using vtrain::ModelMix;
using vtrain::Nanoseconds;
using vtrain::Result;
using vtrain::Workload;
using vtrain::testing::find_in_zoo;
using vtrain::testing::zoo_with;

namespace {

Workload jobs(int count, std::int32_t num_gpus, vtrain::SimDuration duration = std::chrono::hours(1)) {
  Workload workload;
  for (int i = 0; i < count; ++i) {
    Job job;
    job.name = workload.keep(std::to_string(i));
    job.num_gpus = GpuCount(num_gpus);
    job.duration = duration;
    workload.jobs.push_back(job);
  }
  return workload;
}

Result<Nanoseconds> seven_seconds(std::string_view, std::int32_t, GpuCount, GpuTypeId) {
  return Nanoseconds(7e9);
}

const std::string& model_of(const Workload& workload, std::size_t job) {
  return workload.models[workload.jobs[job].model.value];
}

}  // namespace

TEST_CASE("model_mix: iterations are the nearest whole number, at least one, and the duration follows") {
  for (const auto& expected : std::map<int, int>{{3600, 514}, {1, 1}, {10, 1}, {11, 2}}) {
    const auto [seconds, iterations] = expected;
    CAPTURE(expected.first);
    Workload workload = jobs(1, 8, std::chrono::seconds(seconds));
    const auto said =
        assign_models(workload, ModelMix::parse("lingjun", find_in_zoo).value(), 1, zoo_with(seven_seconds));
    REQUIRE(said.has_value());
    CHECK(workload.jobs[0].iterations == iterations);
    CHECK(workload.jobs[0].duration == std::chrono::seconds(7 * iterations));
  }
}

TEST_CASE("model_mix: jobs of one size have the models of the published mix") {
  constexpr int kJobs = 20'000;
  Workload workload = jobs(kJobs, 7);
  const auto said =
      assign_models(workload, ModelMix::parse("lingjun", find_in_zoo).value(), 3, zoo_with(seven_seconds));
  REQUIRE(said.has_value());
  // 3600 s are 514 iterations of 7 s: 3598 s, 0.06 % less.
  CHECK(*said ==
        "LLM models by number of GPUs as in Alibaba Lingjun 2023 for 20,000 of 20,000 jobs, seed 3 "
        "(synthetic; GPU-hours -0.06 %)");
  std::map<std::string, double> counts;
  for (int i = 0; i < kJobs; ++i)
    counts[model_of(workload, static_cast<std::size_t>(i))] += 1;
  // Of 164 jobs of 5 to 8 GPUs 103 train a GPT of 13 billion parameters, 44 a llama, 16 a GPT of 7 billion
  // (7) or without a size (9), 1 one of 3 billion. Binomial: within five standard deviations of at most 71.
  CHECK(counts.size() == 4);
  CHECK(std::abs(counts["gpt3-13b"] - kJobs * 103 / 164.0) < 5 * 71);
  CHECK(std::abs(counts["llama2-7b"] - kJobs * 44 / 164.0) < 5 * 71);
  CHECK(std::abs(counts["gpt3-6.7b"] - kJobs * 16 / 164.0) < 5 * 71);
}

TEST_CASE(
    "model_mix: the global batch divides over any number of GPUs, and an iteration takes at most a minute") {
  const auto price = [](std::string_view, std::int32_t global_batch, GpuCount num_gpus,
                        GpuTypeId) -> Result<Nanoseconds> {
    CHECK(global_batch % num_gpus.value == 0);
    return Nanoseconds(10e9 * global_batch / num_gpus.value);  // 10 s a sequence
  };
  Workload workload = jobs(1, 12);
  REQUIRE(assign_models(workload, ModelMix::parse("model=gpt3-13b", find_in_zoo).value(), 1, zoo_with(price))
              .has_value());
  CHECK(workload.jobs[0].global_batch ==
        4 * 12);  // 16 and 8 sequences a GPU take 160 s and 80 s, 4 take 40 s
  Workload given = jobs(1, 12);
  REQUIRE(assign_models(given, ModelMix::parse("model=gpt3-13b,global-batch=96", find_in_zoo).value(), 1,
                        zoo_with(price))
              .has_value());
  CHECK(given.jobs[0].global_batch == 96);
  CHECK(model_of(given, 0) == "gpt3-13b");
  // The batches of the mix are those of its sizes; three GPUs are none of them.
  Workload odd = jobs(30, 3);
  REQUIRE(assign_models(odd, ModelMix::parse("zoo", find_in_zoo).value(), 1, zoo_with(price)).has_value());
}

TEST_CASE(
    "model_mix: a model that does not fit is replaced by a smaller one, but not a model that was named") {
  const auto small_only = [](std::string_view model, std::int32_t, GpuCount,
                             GpuTypeId) -> Result<Nanoseconds> {
    if (find_in_zoo(model)->num_parameters < 2'000'000'000) return Nanoseconds(1e9);
    return vtrain::fail({.kind = vtrain::ErrorKind::Failed, .message = "does not fit"});
  };
  Workload workload = jobs(50, 32);
  const auto said =
      assign_models(workload, ModelMix::parse("lingjun", find_in_zoo).value(), 1, zoo_with(small_only));
  REQUIRE(said.has_value());
  CHECK(said->ends_with("; smaller than drawn, to fit, in 50"));
  for (std::size_t i = 0; i < 50; ++i)
    CHECK(model_of(workload, i) == "gpt3-1.3b");  // the largest below 2 billion in the list of replacements
  const auto named =
      assign_models(workload = jobs(1, 32), ModelMix::parse("model=gpt3-13b", find_in_zoo).value(), 1,
                    zoo_with(small_only));
  REQUIRE_FALSE(named.has_value());
  CHECK(named.error().describe() == "job '0': does not fit");
  CHECK(named.error().kind == vtrain::ErrorKind::Failed);
}

TEST_CASE("model_mix: a job on whose GPUs the named model has no plan stays as it is") {
  const auto many_only = [](std::string_view, std::int32_t, GpuCount num_gpus,
                            GpuTypeId) -> Result<Nanoseconds> {
    if (num_gpus >= GpuCount(8)) return Nanoseconds(1e9);
    return vtrain::fail({.kind = vtrain::ErrorKind::Failed, .message = "does not fit"});
  };
  Workload workload = jobs(3, 8);
  workload.jobs[1].num_gpus = GpuCount(1);
  const auto said =
      assign_models(workload, ModelMix::parse("model=gpt3-13b", find_in_zoo).value(), 1, zoo_with(many_only));
  REQUIRE(said.has_value());
  CHECK(
      *said ==
      "gpt3-13b for 2 of 3 jobs, seed 1 (synthetic; GPU-hours unchanged); 1 without a plan on the GPUs asked "
      "for as in the trace");
  CHECK(workload.jobs[0].iterations == 3600);
  CHECK(!workload.jobs[1].model);
  CHECK(workload.jobs[1].iterations == 0);
  CHECK(workload.jobs[1].duration == std::chrono::hours(1));
}

TEST_CASE("model_mix: jobs that train a model of the zoo, or share a GPU, are left as they are") {
  Workload workload = jobs(4, 1);
  workload.jobs[0].model = workload.model("gpt3-125m");
  workload.jobs[0].global_batch = 8;
  workload.jobs[0].iterations = 5;
  workload.jobs[1].gpu_share = 500;
  workload.jobs[2].model = workload.model("resnet50");
  const auto said =
      assign_models(workload, ModelMix::parse("zoo", find_in_zoo).value(), 1, zoo_with(seven_seconds));
  REQUIRE(said.has_value());
  CHECK(said->find("for 2 of 4 jobs") != std::string::npos);
  CHECK(workload.jobs[0].iterations == 5);
  CHECK(workload.jobs[1].iterations == 0);
  CHECK(model_of(workload, 2).starts_with("gpt3-"));
  CHECK(workload.jobs[3].iterations > 0);
  workload.jobs[3] = {};
  CHECK(assign_models(workload, ModelMix::parse("zoo", find_in_zoo).value(), 1, zoo_with(seven_seconds))
            .error()
            .message == "job '': needs a duration to be given a model, and has none");
}

TEST_CASE("model_mix: every model of every mix has a plan on 80 GB A100s, whatever the number of GPUs") {
  vtrain::PlanCache curves(vtrain::load_gpu_profile("a100").value());
  const IterationTime price = [&](std::string_view model, std::int32_t global_batch, GpuCount num_gpus,
                                  GpuTypeId) {
    return curves.iteration_time(std::string(model), global_batch, num_gpus);
  };
  for (const std::int32_t num_gpus : {1, 2, 3, 4, 6, 7, 8, 12, 20, 24, 48, 72, 200, 1000}) {
    for (const char* mix : {"lingjun", "zoo"}) {
      CAPTURE(num_gpus);
      CAPTURE(mix);
      Workload workload = jobs(30, num_gpus);
      const auto said =
          assign_models(workload, ModelMix::parse(mix, find_in_zoo).value(), 1, zoo_with(price));
      REQUIRE_MESSAGE(said.has_value(), said.error().describe());
      // Whole numbers of nodes of 8 and powers of two need no smaller model.
      const bool even = num_gpus <= 128 && (num_gpus & (num_gpus - 1)) == 0;
      if (even) CHECK(said->find("to fit") == std::string::npos);
    }
  }
}

TEST_CASE("model_mix: rules are read from text and refused when they make no sense") {
  CHECK(ModelMix::parse("none", find_in_zoo).value().kind == ModelMix::Kind::None);
  Workload workload = jobs(1, 1);
  CHECK(assign_models(workload, ModelMix{}, 1, {}).value().empty());
  CHECK(ModelMix::parse("model=gpt3-13b,global-batch=96", find_in_zoo).value().describe() ==
        "gpt3-13b with global batch 96");
  CHECK(ModelMix::parse("model=gpt3-14b", find_in_zoo).error().describe() ==
        "assign: unknown model 'gpt3-14b'; did you mean 'gpt3-13b'?");
  for (const char* bad :
       {"", "x", "model=", "global-batch=3", "model=gpt3-13b,global-batch=0", "model=gpt3-13b,batch=3"})
    CHECK_FALSE(ModelMix::parse(bad, find_in_zoo).has_value());
}
