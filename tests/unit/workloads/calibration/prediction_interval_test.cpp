#include "workloads/calibration/prediction_interval.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "workloads/model/zoo.hpp"

using namespace vtrain;

namespace {

ValidatedRun run_of(double ratio, const std::string& stack = "torchtitan", SetUp set_up = SetUp::Own) {
  return {.source = "thread",
          .group = "group",
          .traits = {.set_up = set_up, .stack = stack, .profile = "h100", .generation = "hopper"},
          .time_ratio = ratio};
}

const RunTraits kCase = {.stack = "torchtitan", .profile = "h100", .generation = "hopper"};

/// Smallest of the ratios with at least a share of all below or at it, by counting copies of each.
double nearest_rank(std::vector<double> ratios, double share) {
  std::ranges::sort(ratios);
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(ratios.size())));
  return ratios[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

TEST_CASE("prediction_interval: nine of ten equal runs lie within it") {
  std::mt19937 random(7);
  std::lognormal_distribution<double> draw(0.1, 0.2);
  for (const int count : {20, 57, 200}) {
    std::vector<ValidatedRun> runs;
    std::vector<double> ratios;
    for (int i = 0; i < count; ++i) {
      ratios.push_back(draw(random));
      runs.push_back(run_of(ratios.back()));
    }
    const Interval interval = uncertainty_of(kCase, runs).time;
    // Between the neighbours in rank, as the twin counts them.
    const double step = 1.5 / count;
    CHECK(interval.low >= nearest_rank(ratios, 0.05 - step) * (1 - 1e-12));
    CHECK(interval.low <= std::min(1.0, nearest_rank(ratios, 0.05 + step)) * (1 + 1e-12));
    CHECK(interval.high >= nearest_rank(ratios, 0.95 - step) * (1 - 1e-12));
    CHECK(interval.high <= nearest_rank(ratios, std::min(1.0, 0.95 + step)) * (1 + 1e-12));
  }
}

TEST_CASE("prediction_interval: runs that are farther count less") {
  std::vector<ValidatedRun> runs;
  for (int i = 0; i < 50; ++i) {
    runs.push_back(run_of(1.1 + 0.001 * i));
    runs.push_back(run_of(3, "megatron-core", SetUp::Recipe));
  }
  const Uncertainty near = uncertainty_of(kCase, runs);
  CHECK(near.num_similar == 50);
  CHECK(!near.never_validated);
  CHECK(near.time.high < 1.15);
  CHECK(never_validated_text(kCase, near).empty());
  RunTraits other = kCase;
  other.stack = "megatron-core";
  other.set_up = SetUp::Recipe;
  CHECK(uncertainty_of(other, runs).time.high == doctest::Approx(3));
}

TEST_CASE("prediction_interval: what no run validates is said, and twice as wide") {
  std::vector<ValidatedRun> runs;
  for (int i = 0; i <= 40; ++i)
    runs.push_back(run_of(std::exp(0.01 * (i - 20)), i % 2 == 0 ? "torchtitan" : "torchtitan-eager"));
  RunTraits experts = kCase;
  experts.kind = ModelKind::Experts;
  const Uncertainty known = uncertainty_of(kCase, runs);
  const Uncertainty unknown = uncertainty_of(experts, runs);
  CHECK(unknown.never_validated);
  CHECK(std::log(unknown.time.high) == doctest::Approx(2 * std::log(known.time.high)));
  CHECK(std::log(unknown.time.low) == doctest::Approx(2 * std::log(known.time.low)));
  CHECK(never_validated_text(experts, unknown)
            .starts_with("never validated: torchtitan with experts on h100; "));
  CHECK(uncertainty_of(kCase, {}).time.high == 2);
}

TEST_CASE("prediction_interval: a run is not judged by itself") {
  std::vector<ValidatedRun> runs;
  for (int i = 0; i < 40; ++i)
    runs.push_back(run_of(1.1));
  runs.push_back(run_of(5));
  runs.back().source = "its own thread";
  CHECK(uncertainty_of(kCase, runs, "its own thread").time.high == doctest::Approx(1.1));
}

TEST_CASE("prediction_interval: the runs of the program are readable and of known stacks") {
  CHECK(validated_runs().size() > 500);
  const auto own = std::ranges::count_if(
      validated_runs(), [](const ValidatedRun& run) { return run.traits.set_up == SetUp::Own; });
  CHECK(own > 20);
  CHECK(kind_of(find_model("llama3-8b")->model()) == ModelKind::Dense);
  CHECK(kind_of(find_model("deepseek-v3")->model()) == ModelKind::Experts);
  CHECK(kind_of(find_model("nemotron-3-nano")->model()) == ModelKind::StateSpaces);
}

TEST_CASE("prediction_interval: a malformed table names file, line and column") {
  const std::string header = "source,group,set_up,stack,profile,generation,kind,time_ratio,memory_ratio\n";
  const auto refused = [&](const std::string& row) {
    return parse_validated_runs(header + row, "runs.csv").error().describe();
  };
  CHECK(refused("a,b,mine,s,p,hopper,dense,1,\n").find("runs.csv:2: set_up") != std::string::npos);
  CHECK(refused("a,b,own,s,p,hopper,sparse,1,\n").find("kind") != std::string::npos);
  CHECK(refused("a,b,own,s,p,hopper,dense,0,\n").find("time_ratio") != std::string::npos);
  CHECK(refused("a,b,own,s,p,hopper,dense,1,x\n").find("memory_ratio") != std::string::npos);
}

TEST_CASE("prediction_interval: three runs of one's own give Student's interval") {
  // Mean 0, standard deviation 0.1: 2.92 x 0.1 x sqrt(4 / 3).
  const std::vector<double> ratios = {-0.1, 0, 0.1};
  const Interval interval = interval_of_logs(ratios);
  CHECK(std::log(interval.high) == doctest::Approx(0.33717).epsilon(1e-4));
  CHECK(std::log(interval.low) == doctest::Approx(-0.33717).epsilon(1e-4));
}

TEST_CASE("prediction_interval: errors in two parts keep their mean, and their groups") {
  std::vector<ValidatedRun> runs;
  std::mt19937 random(5);
  std::lognormal_distribution<double> draw(0.05, 0.1);
  for (int i = 0; i < 60; ++i) {
    runs.push_back(run_of((i % 3 + 1) * draw(random), i % 2 == 0 ? "torchtitan" : "megatron-core"));
    runs.back().source = "source " + std::to_string(i % 3);
  }
  const ErrorParts parts = error_parts(kCase, runs);
  REQUIRE(parts.weights.size() == runs.size());
  double weight = 0;
  double mean = 0;
  double common = 0;
  double own = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    weight += parts.weights[i];
    mean += parts.weights[i] * std::log(runs[i].time_ratio);
    common += parts.weights[i] * parts.common[i];
    own += parts.weights[i] * parts.own[i];
    CHECK(parts.common[i] + parts.own[i] == doctest::Approx(std::log(runs[i].time_ratio)));
    CHECK(parts.common[i] == doctest::Approx(parts.common[i % 3]));
  }
  CHECK(common / weight == doctest::Approx(mean / weight));
  CHECK(std::abs(own / weight) < 1e-12);
}
