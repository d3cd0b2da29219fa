#include "workloads/search/compute_optimal.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "core/base/rng.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

TEST_CASE("compute_optimal: the peak's promise is Chinchilla's law") {
  // 3,360 GPUs x 312e12 FLOP/s x 30 days = 2.717e24 FLOP; / 120 and the root: 150.5 billion.
  const TrainingBudget budget{GpuCount(3360), Seconds(30 * 86400), FlopsPerSecond(312e12)};
  CHECK(promised_parameters(budget) == doctest::Approx(150.5e9).epsilon(0.001));
  // Training such a model takes just the time: 6 N x 20 N over the rate.
  const double parameters = promised_parameters(budget);
  CHECK(6 * parameters * 20 * parameters / (3360 * 312e12) == doctest::Approx(30 * 86400));
  TrainingBudget many_tokens = budget;
  many_tokens.tokens_per_parameter = 80;
  CHECK(promised_parameters(many_tokens) == doctest::Approx(parameters / 2));
}

TEST_CASE(
    "compute_optimal: the ladder rises, has every model divisible by eight, and holds the published ones") {
  const auto ladder = gpt_ladder();
  CHECK(ladder.size() > 150);
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  for (std::size_t i = 0; i < ladder.size(); ++i) {
    const TransformerModel& model = ladder[i];
    CAPTURE(model.name);
    CHECK(check_model(model));
    CHECK(model.num_heads % 8 == 0);
    CHECK(model.num_layers % 4 == 0);
    shapes.emplace(model.num_layers, model.hidden_size);
    if (i == 0) continue;
    CHECK(model.num_parameters() >= ladder[i - 1].num_parameters());
    // Fine enough: no step of more than a third.
    if (i > 12) CHECK(model.num_parameters() < 1.34 * static_cast<double>(ladder[i - 1].num_parameters()));
  }
  CHECK(shapes.size() == ladder.size());
  // Narayanan et al., table 1: 7.5, 18.4, 39.1, 76.1, 145.6, 310.1 and 1,008 billion.
  for (const auto& shape : {std::pair<std::int64_t, std::int64_t>{36, 4096},
                            {40, 6144},
                            {48, 8192},
                            {60, 10240},
                            {80, 12288},
                            {96, 16384},
                            {128, 25600}}) {
    CAPTURE(shape.second);
    CHECK(shapes.contains(shape));
  }
  CHECK(ladder.front().num_parameters() < 100e6);
  CHECK(ladder.back().num_parameters() > 1e12);
}

TEST_CASE("compute_optimal: a family keeps its shape at every size, and has its model once") {
  for (const char* name : {"llama3-8b", "llama3.1-405b", "gpt3-175b", "qwen2-7b", "gpt2-1.5b", "mixtral-8x7b",
                           "deepseek-v3", "gpt-oss-120b", "qwen3-0.6b"}) {
    CAPTURE(std::string(name));
    const TransformerModel base = find_model(name)->model();
    const auto ladder = family_ladder(base).value();
    CHECK(ladder.size() > 100);
    CHECK(ladder.size() < 1000);
    CHECK(std::count(ladder.begin(), ladder.end(), base) == 1);
    std::set<std::pair<std::int64_t, std::int64_t>> shapes;
    const double heads_to_hidden =
        static_cast<double>(base.num_heads) / static_cast<double>(base.hidden_size);
    for (std::size_t i = 0; i < ladder.size(); ++i) {
      const TransformerModel& model = ladder[i];
      CAPTURE(model.name);
      CHECK(check_model(model));
      CHECK(model.head_size() == base.head_size());
      const bool is_grouped = base.kv_heads() < base.num_heads;
      CHECK(model.kv_heads() == (is_grouped ? std::min(base.kv_heads(), model.num_heads) : model.num_heads));
      // Split over 8 GPUs as the base is, but for the narrowest.
      if (base.num_heads % 8 == 0 && model.num_heads > 8) CHECK(model.num_heads % 8 == 0);
      const auto hidden = static_cast<double>(model.hidden_size);
      CHECK(static_cast<double>(model.num_heads) / hidden == doctest::Approx(heads_to_hidden));
      const double ratio = hidden / static_cast<double>(base.hidden_size);
      CHECK(std::abs(static_cast<double>(model.mlp_size()) - ratio * static_cast<double>(base.mlp_size())) <=
            64);
      CHECK(model.vocab_size == base.vocab_size);
      CHECK(model.sequence_length == base.sequence_length);
      CHECK(model.experts.num_experts == base.experts.num_experts);
      CHECK(model.experts.top_k == base.experts.top_k);
      shapes.emplace(model.num_layers, model.hidden_size);
      if (i > 0) CHECK(model.active_parameters() >= ladder[i - 1].active_parameters());
    }
    CHECK(shapes.size() == ladder.size());
  }
  // 32 layers at 4,096 are as deep as the published models; those have 48 at 8,192, a quarter of which is 12.
  std::set<std::int64_t> depths;
  const auto llama = family_ladder(find_model("llama3-8b")->model()).value();
  for (const TransformerModel& model : llama)
    if (model.hidden_size == 8192) depths.insert(model.num_layers);
  CHECK(depths == std::set<std::int64_t>{36, 40, 44, 48, 52, 56, 60});
  const TransformerModel hybrid = find_model("nemotron-3-nano")->model();
  CHECK(family_ladder(hybrid).error().field == "layer_pattern");
  CHECK(!family_ladder(TransformerModel{}));
}

TEST_CASE("compute_optimal: of experts the active parameters count") {
  const TransformerModel experts = find_model("mixtral-8x7b")->model();
  const TrainingBudget budget{GpuCount(1024), Seconds(30 * 86400), FlopsPerSecond(989e12)};
  const FindPlan find_plan = [&](const TransformerModel& model, std::int64_t batch) {
    const double tokens = static_cast<double>(batch * model.sequence_length);
    const double flops = 6 * static_cast<double>(model.active_parameters()) * tokens;
    RankedPlan plan{.iteration = Seconds(flops / (1024 * 989e12 * 0.5))};
    plan.plan.global_batch = batch;
    return plan;
  };
  const auto ladder = family_ladder(experts).value();
  const auto answer = scale_model(budget, ladder, 512, 1, find_plan).value();
  const Rung& best = answer.rungs[answer.best];
  CHECK(best.tokens == 20 * static_cast<double>(best.model.active_parameters()));
  CHECK(best.utilization() == doctest::Approx(0.5).epsilon(0.01));
  CHECK(static_cast<double>(best.model.active_parameters()) < promised_parameters(budget));
}

TEST_CASE("compute_optimal: the usual batch follows the published ones, in whole multiples") {
  CHECK(usual_global_batch(145.6e9, 2048, 1) == 2304);  // 9 x 256
  CHECK(usual_global_batch(39.1e9, 2048, 1) == 1536);
  // Without the powers of two 487, a prime that no degree of data parallelism divides.
  CHECK(usual_global_batch(1.318e9, 2048, 1) == 480);
  CHECK(usual_global_batch(1.318e9, 2048, 7) == 504);
  CHECK(usual_global_batch(1e6, 2048, 1) == 256);
  CHECK(usual_global_batch(1e13, 2048, 1) == 3072);
  // 2304 / 420 is 5.5 nodes: six of them, as halves round up.
  CHECK(usual_global_batch(145.6e9, 2048, 420) % 420 == 0);
  CHECK(std::abs(usual_global_batch(145.6e9, 2048, 420) - 2304) <= 210);
  CHECK(usual_global_batch(1e9, 2048, 100'000) == 100'000);
  // As many tokens in sequences of four times the length.
  CHECK(usual_global_batch(145.6e9, 8192, 1) == 576);
}

/// A predictor whose part of the peak rate falls with a model's width; narrow models have no plan.
Result<RankedPlan> made_up_plan(const TransformerModel& model, std::int64_t global_batch, double rate) {
  if (model.hidden_size < 2048) return fail({.message = "no plan"});
  const double utilization = 0.6 - 1e-5 * static_cast<double>(model.hidden_size);
  const double tokens = static_cast<double>(global_batch * model.sequence_length);
  const double flops = 6 * static_cast<double>(model.num_parameters()) * tokens;
  RankedPlan plan{.iteration = Seconds(flops / (rate * utilization))};
  plan.plan.global_batch = global_batch;
  return plan;
}

TEST_CASE("compute_optimal: the best model is the largest of all that are trained in time") {
  RandomStream random(5, "budgets");
  for (int round = 0; round < 30; ++round) {
    const TrainingBudget budget{GpuCount(static_cast<std::int32_t>(8 << random.below(10))),
                                Seconds(86400 * (5 + 60 * random.uniform())), FlopsPerSecond(312e12)};
    const double rate = 312e12 * budget.num_gpus.value;
    const FindPlan find_plan = [rate](const TransformerModel& model, std::int64_t batch) {
      return made_up_plan(model, batch, rate);
    };
    // Without any short cut: every model of the ladder.
    std::int64_t largest = 0;
    for (const TransformerModel& model : gpt_ladder()) {
      const std::int64_t batch = usual_global_batch(static_cast<double>(model.num_parameters()), 2048, 4);
      const auto plan = find_plan(model, batch);
      if (!plan) continue;
      const double tokens = 20 * static_cast<double>(model.num_parameters());
      const double iterations = std::ceil(tokens / static_cast<double>(batch * model.sequence_length));
      if (iterations * Seconds(plan->iteration) <= budget.time) largest = model.num_parameters();
    }
    const auto answer = scale_model(budget, gpt_ladder(), 0, 4, find_plan);
    REQUIRE(answer.has_value() == (largest > 0));
    if (!answer) continue;
    const Rung& best = answer->rungs[answer->best];
    CHECK(best.model.num_parameters() == largest);
    CHECK(best.time <= budget.time);
    CHECK(best.utilization() ==
          doctest::Approx(0.6 - 1e-5 * static_cast<double>(best.model.hidden_size)).epsilon(0.01));
    CHECK(std::is_sorted(answer->rungs.begin(), answer->rungs.end(), [](const Rung& a, const Rung& b) {
      return a.model.num_parameters() < b.model.num_parameters();
    }));
    for (const Rung& rung : answer->rungs) {
      CHECK(rung.time_at_peak <= budget.time);
      // Whole iterations.
      const double iterations = rung.time / Seconds(rung.plan.iteration);
      CHECK(iterations == doctest::Approx(std::round(iterations)).epsilon(1e-9));
    }
  }
}

TEST_CASE("compute_optimal: too little time and no plan are told apart") {
  const FindPlan none = [](const TransformerModel&, std::int64_t) -> Result<RankedPlan> {
    return fail({.message = "no plan"});
  };
  TrainingBudget budget{GpuCount(8), Seconds(86400), FlopsPerSecond(312e12)};
  CHECK(scale_model(budget, gpt_ladder(), 0, 1, none).error().message ==
        "no model that could be trained in time has a plan; no plan");
  const FindPlan slow = [](const TransformerModel&, std::int64_t) {
    return RankedPlan{.iteration = Seconds(1e9)};
  };
  CHECK(scale_model(budget, gpt_ladder(), 64, 1, slow).error().message ==
        "not even the smallest model with a plan is trained in time");
  CHECK(scale_model(budget, gpt_ladder(), 64, 1, slow).error().kind == ErrorKind::Failed);
}

TEST_CASE("compute_optimal: a ladder ends where its largest model is trained in time") {
  const TrainingBudget budget{GpuCount(8), Seconds(30 * 86400), FlopsPerSecond(312e12)};
  const FindPlan fast = [](const TransformerModel&, std::int64_t) {
    return RankedPlan{.iteration = Seconds(1e-6)};
  };
  const std::vector<TransformerModel> small = {gpt_ladder().front()};
  CHECK(scale_model(budget, small, 64, 1, fast)->ladder_ends);
  const std::vector<TransformerModel> both = {gpt_ladder().front(), gpt_ladder().back()};
  const auto answer = scale_model(budget, both, 64, 1, fast);
  REQUIRE(answer);
  CHECK(answer->rungs[answer->best].model == both.front());
  CHECK_FALSE(answer->ladder_ends);
}

}  // namespace
}  // namespace vtrain
