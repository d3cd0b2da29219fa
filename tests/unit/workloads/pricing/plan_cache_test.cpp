#include "workloads/pricing/plan_cache.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/unit/workloads/plain_a100.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/pricing/curve_store.hpp"
#include "workloads/pricing/job_pricing.hpp"

namespace vtrain {
namespace {

using testing::a100;

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
  PlanCache curves(a100());
  const auto best = curves.best_plan("gpt3-6.7b", 256, GpuCount(32));
  REQUIRE(best);
  CHECK(best->plan.num_gpus() == GpuCount(32));
  CHECK(best->plan.global_batch == 256);
  CHECK(best->memory.fits());
  TransformerModel model{"gpt3-6.7b", 32, 4096, 32, 2048, 50257};
  const auto prediction = predict_physical(model, best->plan, curves.profile(), default_stack(a100()));
  REQUIRE(prediction);
  CHECK(fast_iteration_times(prediction->work).iteration == best->iteration);
}

TEST_CASE("throughput_curve: the same on every instance, in any order") {
  PlanCache rising(a100());
  PlanCache falling(a100());
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
  PlanCache curves(a100());
  CHECK(curves.best_plan("megatron-7.5b", 0, GpuCount(16))->plan.global_batch == 512);
  CHECK(*curves.iteration_time("megatron-7.5b", 0, GpuCount(16)) ==
        *curves.iteration_time("megatron-7.5b", 512, GpuCount(16)));
}

TEST_CASE("throughput_curve: points are powers of two below a node, then whole nodes") {
  const auto counts = [](std::int32_t largest) {
    std::vector<std::int32_t> numbers;
    for (const GpuCount count : curve_gpu_counts(GpuCount(largest), 8))
      numbers.push_back(count.value);
    return numbers;
  };
  CHECK(counts(0).empty());
  CHECK(counts(3) == std::vector<std::int32_t>{1, 2});
  CHECK(counts(8) == std::vector<std::int32_t>{1, 2, 4, 8});
  CHECK(counts(31) == std::vector<std::int32_t>{1, 2, 4, 8, 16, 24});
}

TEST_CASE("throughput_curve: a curve rises, and ends where more GPUs bring nothing") {
  PlanCache curves(a100());
  const auto curve = curves.curve("gpt3-125m", 4, GpuCount(256));
  REQUIRE(curve);
  for (std::size_t i = 0; i < curve->points.size(); ++i) {
    const RankedPlan& point = curve->points[i];
    CHECK(point.iteration == *curves.iteration_time("gpt3-125m", 4, point.plan.num_gpus()));
    if (i > 0) CHECK(point.iteration < curve->points[i - 1].iteration);
  }
  // Every count without a point is no faster than the points below it.
  const SpeedByGpus levels = curve->levels();
  for (const GpuCount num_gpus : curve_gpu_counts(GpuCount(256), 8)) {
    const auto time = curves.iteration_time("gpt3-125m", 4, num_gpus);
    if (!time || num_gpus < curve->points.front().plan.num_gpus()) continue;
    CHECK(levels.at_most(num_gpus).iterations_per_s >= 1 / Seconds(*time).count());
  }
  // 4 sequences cannot keep 256 GPUs busy.
  CHECK(levels.levels().back().num_gpus < GpuCount(256));

  CHECK(!curves.curve("gpt3-175b", 1536, GpuCount(8)));
  CHECK(!curves.curve("gpt3-175b", 1536, GpuCount(0)));
  CHECK(!curves.curve("gpt-175b", 1536, GpuCount(64)));
}

TEST_CASE("throughput_curve: data-parallel only, replicas of the smallest plan are added") {
  PlanCache curves(a100(), {.kind = CurveKind::DataParallel});
  PlanCache best(a100());
  const auto smallest = curves.curve("megatron-18.4b", 1024, GpuCount(64));
  REQUIRE(smallest);
  const ParallelPlan& first = smallest->points.front().plan;
  CHECK(first.data == 1);
  const std::int32_t replica = first.num_gpus().value;
  CHECK(replica > 1);
  // On fewer GPUs nothing fits.
  for (const GpuCount num_gpus : curve_gpu_counts(GpuCount(replica - 1), 8))
    CHECK(!best.best_plan("megatron-18.4b", 1024, num_gpus));
  for (const RankedPlan& point : smallest->points) {
    CHECK(point.plan.tensor == first.tensor);
    CHECK(point.plan.pipeline == first.pipeline);
    CHECK(point.plan.num_gpus().value == point.plan.data * replica);
    CHECK(point.iteration >= *best.iteration_time("megatron-18.4b", 1024, point.plan.num_gpus()));
  }
  CHECK(smallest->points.size() > 2);
  const auto between = curves.best_plan("megatron-18.4b", 1024, GpuCount(replica + 1));
  REQUIRE(!between);
  CHECK(between.error().message.starts_with("expected a multiple of the "));
  CHECK(curves.best_plan("megatron-1008b", 3072, GpuCount(64)).error().kind == ErrorKind::InvalidInput);
  CHECK(parse_curve_kind("data-parallel").value() == CurveKind::DataParallel);
  CHECK(!parse_curve_kind("data"));
}

TEST_CASE(
    "throughput_curve: a spread gang pays for the links that leave its nodes, with the best plan there") {
  PlanCache curves(a100());
  const RankedPlan packed = curves.best_plan("gpt3-13b", 256, GpuCount(32)).value();
  const auto spread = [&](std::int64_t ranks_together) {
    return curves.spread_iteration_time("gpt3-13b", 256, GpuCount(32), ranks_together).value();
  };
  CHECK(spread(8) == packed.iteration);
  CHECK(spread(4) >= packed.iteration);
  CHECK(spread(2) >= spread(4));
  CHECK(spread(1) >= spread(2));
  CHECK(spread(1) > packed.iteration);
  const GpuProfile half = spread_over_nodes(a100(), 4);
  TransformerModel model{"gpt3-13b", 40, 5120, 40, 2048, 50257};
  const auto prediction = predict_physical(model, packed.plan, half, default_stack(a100()));
  REQUIRE(prediction);
  const Nanoseconds same_plan = fast_iteration_times(prediction->work).iteration;
  PlanCache on_half(half);
  const Nanoseconds best_plan = on_half.iteration_time("gpt3-13b", 256, GpuCount(32)).value();
  CHECK(spread(4) == std::max(packed.iteration, std::min(same_plan, best_plan)));
  // Replicas of the smallest plan stay what they are.
  PlanCache replicas(a100(), {.kind = CurveKind::DataParallel});
  const ParallelPlan replica = replicas.best_plan("gpt3-13b", 256, GpuCount(32)).value().plan;
  const auto of_replica =
      predict_physical(model, replica, spread_over_nodes(a100(), 1), replicas.settings().stack);
  REQUIRE(of_replica);
  CHECK(replicas.spread_iteration_time("gpt3-13b", 256, GpuCount(32), 1).value() ==
        fast_iteration_times(of_replica->work).iteration);
  // Each rank has its part of the network, whoever has the rest of the node.
  CHECK(half.network_rate().value / 4 == doctest::Approx(a100().network_rate().value / 8));
  // NVLink that joins many nodes does not mind.
  GpuProfile rack = a100();
  rack.nvlink_domain = 72;
  PlanCache joined(rack);
  CHECK(joined.spread_iteration_time("gpt3-13b", 256, GpuCount(32), 1).value() ==
        joined.iteration_time("gpt3-13b", 256, GpuCount(32)).value());
  CHECK(!curves.spread_iteration_time("gpt3-175b", 1536, GpuCount(8), 4));
}

/// A store in memory that counts saved texts.
struct FakeStore : CurveStore {
  std::optional<std::string> load(const std::string& key) override {
    const auto found = texts.find(key);
    return found == texts.end() ? std::nullopt : std::optional(found->second);
  }
  void save(const std::string& key, const std::string& text) override {
    texts[key] = text;
    ++num_saved;
  }
  std::map<std::string, std::string> texts;
  int num_saved = 0;
};

TEST_CASE("throughput_curve: what a store has is not computed again, and nothing changes") {
  FakeStore store;
  PlanCache plain(a100());
  {
    PlanCache curves(a100(), {}, &store);
    CHECK(curves.best_plan("gpt3-6.7b", 0, GpuCount(16))->plan ==
          plain.best_plan("gpt3-6.7b", 0, GpuCount(16))->plan);
    CHECK(!curves.best_plan("gpt3-6.7b", 0, GpuCount(1009)));
    CHECK(store.num_saved == 0);
  }
  CHECK(store.num_saved == 1);
  REQUIRE(store.texts.size() == 1);
  {
    PlanCache curves(a100(), {}, &store);
    CHECK(*curves.iteration_time("gpt3-6.7b", 0, GpuCount(16)) ==
          *plain.iteration_time("gpt3-6.7b", 0, GpuCount(16)));
    CHECK(curves.best_plan("gpt3-6.7b", 0, GpuCount(1009)).error().message ==
          plain.best_plan("gpt3-6.7b", 0, GpuCount(1009)).error().message);
  }
  CHECK(store.num_saved == 1);  // no news
  // Another batch, kind or profile is another key.
  PlanCache(a100(), {}, &store).best_plan("gpt3-6.7b", 256, GpuCount(16));
  PlanCache(a100(), {.kind = CurveKind::DataParallel}, &store).best_plan("gpt3-6.7b", 0, GpuCount(16));
  PlanCache(a100(), {.profile_content = "abc"}, &store).best_plan("gpt3-6.7b", 0, GpuCount(16));
  CHECK(store.texts.size() == 4);
  // And so is each factor of a calibration.
  for (const KernelFactors& factors :
       {KernelFactors{.product = 1.1}, KernelFactors{.memory = 1.1}, KernelFactors{.communication = 1.1}}) {
    CurveSettings calibrated{.stack = default_stack(a100())};
    calibrated.stack.factors = factors;
    PlanCache(a100(), calibrated, &store).best_plan("gpt3-6.7b", 0, GpuCount(16));
  }
  CHECK(store.texts.size() == 7);
}

TEST_CASE("throughput_curve: a store that throws costs what was to be kept, no more") {
  struct FullStore : FakeStore {
    void save(const std::string& /*key*/, const std::string& /*text*/) override {
      throw std::runtime_error("no space left");
    }
  } store;
  {
    PlanCache curves(a100(), {}, &store);
    CHECK(curves.iteration_time("gpt3-6.7b", 0, GpuCount(16)));
    CHECK_THROWS_AS(curves.save(), std::runtime_error);
    CHECK(curves.iteration_time("gpt3-6.7b", 0, GpuCount(32)));
  }
  CHECK(store.texts.empty());
}

TEST_CASE("throughput_curve: what others saved meanwhile stays; a damaged text is replaced") {
  FakeStore store;
  PlanCache one(a100(), {}, &store);
  PlanCache other(a100(), {}, &store);
  CHECK(one.best_plan("gpt3-6.7b", 0, GpuCount(8)));
  CHECK(other.best_plan("gpt3-6.7b", 0, GpuCount(16)));
  one.save();
  other.save();
  const std::string both = store.texts.begin()->second;
  CHECK(both.find("\"num_gpus\": 8") != std::string::npos);
  CHECK(both.find("\"num_gpus\": 16") != std::string::npos);

  store.texts.begin()->second = both.substr(0, both.size() / 2);
  {
    PlanCache curves(a100(), {}, &store);
    CHECK(*curves.iteration_time("gpt3-6.7b", 0, GpuCount(8)) ==
          *one.iteration_time("gpt3-6.7b", 0, GpuCount(8)));
    CHECK(curves.best_plan("gpt3-6.7b", 0, GpuCount(16)));
  }
  CHECK(store.texts.begin()->second == both);
}

TEST_CASE("throughput_curve: jobs are priced at iterations x T, rounded once; known durations stay") {
  Workload workload;
  add_job(workload, "a", "gpt3-1.3b", 8, 1000).global_batch = 128;
  add_job(workload, "b", "gpt3-1.3b", 8, 1000).duration = SimDuration(42);
  add_job(workload, "c", "", 8, 0).duration = SimDuration(43);
  PlanCache curves(a100());
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
    PlanCache curves(a100());
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

  // One that is larger than the cluster cannot run.
  Workload large;
  add_job(large, "job-7", "gpt3-1.3b", 1'000'000, 10).global_batch = 128;
  add_job(large, "job-9", "gpt3-1.3b", 128, 10).global_batch = 128;
  PlanCache of_cluster(a100());
  CHECK(price_jobs(large, CurvesByType(of_cluster, GpuCount(64))).value() == 1);
  CHECK(large.jobs[0].duration == SimDuration(0));
  CHECK(large.jobs[1].duration > SimDuration(0));
  CHECK(!price_jobs(large, CurvesByType(of_cluster, GpuCount(1'000'000))));

  Workload without_model;
  add_job(without_model, "job-8", "", 8, 10).model = ModelId();
  PlanCache curves(a100());
  CHECK(price_jobs(without_model, curves).error().message.starts_with("job 'job-8': expected a duration"));
}

}  // namespace
}  // namespace vtrain
