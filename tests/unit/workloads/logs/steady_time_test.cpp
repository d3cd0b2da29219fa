/// The median of steady iterations, against a twin that follows the rule word by word.
#include "workloads/logs/steady_time.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "tests/support/rounds.hpp"

using namespace vtrain;

namespace {

TrainingLog log_of(const std::vector<double>& values, std::int64_t interval = 1) {
  TrainingLog log{.file = "run.log"};
  for (const double value : values) {
    const auto number = static_cast<std::int64_t>(log.steps.size()) + 1;
    log.steps.push_back({.iteration = number * interval, .value = value, .line = 10 * number});
  }
  return log;
}

double middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Twin {
  double median = 0;
  std::size_t warm_up = 0;
  std::size_t slow = 0;
  std::size_t fast = 0;
};

/// The rule, a loop for each sentence.
Twin twin_of(const std::vector<LoggedStep>& steps, bool begins_amid) {
  Twin twin;
  std::vector<double> rest;
  for (const LoggedStep& step : steps) {
    const auto first = std::find_if(steps.begin(), steps.end(),
                                    [&](const LoggedStep& other) { return other.start == step.start; });
    const bool after_start = &*first == &step || step.iteration <= first->iteration + 2;
    if (after_start && !(begins_amid && step.start == 0)) {
      ++twin.warm_up;
    } else {
      rest.push_back(step.value);
    }
  }
  if (rest.empty()) return twin;
  const double middle = middle_of(rest);
  std::vector<double> distances;
  for (const double value : rest)
    distances.push_back(std::abs(value - middle));
  const double deviation = 1.4826 * middle_of(distances);
  std::vector<double> steady;
  for (const double value : rest) {
    const bool differs = std::abs(value - middle) > 0.05 * middle && std::abs(value - middle) > 5 * deviation;
    if (!differs) steady.push_back(value);
    twin.slow += differs && value > middle ? 1 : 0;
    twin.fast += differs && value < middle ? 1 : 0;
  }
  twin.median = middle_of(steady);
  return twin;
}

}  // namespace

TEST_CASE("steady time: warm-up and slow lines are left out and counted") {
  // Three of warm-up, then 2.0 but for a checkpoint of 9 s. The mean after warm-up: (5 * 2 + 9) / 6.
  const TrainingLog log = log_of({30, 5, 3, 2, 2, 9, 2, 2, 2});
  const auto time = steady_time(log, log.steps);
  REQUIRE(time);
  CHECK(time->median.count() == 2);
  CHECK(time->num_warm_up == 3);
  CHECK(time->num_slow == 1);
  CHECK(time->num_fast == 0);
  CHECK(time->num_steady == 5);
  CHECK(time->mean.count() == doctest::Approx(19.0 / 6));
}

TEST_CASE("steady time: of a log with one line in ten iterations only the first is warm-up") {
  const TrainingLog log = log_of({9, 2, 2, 2.1}, 10);
  const auto time = steady_time(log, log.steps);
  REQUIRE(time);
  CHECK(time->num_warm_up == 1);
  CHECK(time->num_steady == 3);
}

TEST_CASE("steady time: rates become times") {
  TrainingLog log = log_of({100, 1000, 1000, 500, 1000, 1000, 1000});
  log.unit = StepUnit::TokensPerGpu;
  // 64,000 tokens on 8 GPUs at 1,000 tokens a second each
  const IterationSize size{.samples = 16, .tokens = 64'000, .gpus = 8};
  const auto time = steady_time(log, steps_in_seconds(log, size));
  REQUIRE(time);
  CHECK(time->median.count() == 8);
  log.unit = StepUnit::Tokens;
  CHECK(steps_in_seconds(log, size)[1].value == 64);
  log.unit = StepUnit::Samples;
  CHECK(steps_in_seconds(log, size)[1].value == 0.016);
}

TEST_CASE("steady time: too few lines, and starts that are other runs, are errors with their line") {
  const TrainingLog cut = log_of({9, 2, 2, 2, 2});
  const auto few = steady_time(cut, cut.steps);
  REQUIRE_FALSE(few);
  CHECK(few.error().describe() ==
        "run.log:50: the log ends here with 2 steady iteration lines; expected 3 or more after the first 3 "
        "iterations of each start (3 left out). Is it cut off?");
  TrainingLog two = log_of({2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3});
  for (std::size_t i = 6; i < 12; ++i)
    two.steps[i].start = 1;
  const auto mixed = steady_time(two, two.steps);
  REQUIRE_FALSE(mixed);
  CHECK(
      mixed.error().describe() ==
      "run.log:100: from here an iteration takes 3 s, from line 40 2 s, and no arguments show that both are "
      "one run. Give each run as a log of its own");
  two.form = ArgumentForm::Block;  // equal arguments: a slower start of the same run
  CHECK(steady_time(two, two.steps));
}

TEST_CASE("steady time: agrees with the rule word by word on random logs") {
  RandomStream random(5, "steady time");
  for (std::uint64_t round = 0; round < vtrain::testing::rounds(2000); ++round) {
    CAPTURE(round);
    TrainingLog log{.file = "run.log", .form = ArgumentForm::Block, .begins_amid = random.below(4) == 0};
    const std::uint64_t starts = 1 + random.below(3);
    const auto interval = static_cast<std::int64_t>(1 + random.below(4));
    const double jitter = random.below(3) == 0 ? 0 : random.uniform(0, 0.1);
    for (std::uint64_t start = 0; start < starts; ++start) {
      std::int64_t iteration = static_cast<std::int64_t>(random.below(100));
      for (std::uint64_t i = random.below(30) + (start == 0 ? 1 : 0); i > 0; --i) {
        iteration += interval;
        double value = std::exp(jitter * random.normal());
        if (random.below(6) == 0) value *= random.uniform(0.5, 4);
        log.steps.push_back({.iteration = iteration,
                             .value = value,
                             .line = static_cast<std::int64_t>(log.steps.size()) + 1,
                             .start = static_cast<std::size_t>(start)});
      }
    }
    const Twin twin = twin_of(log.steps, log.begins_amid);
    const auto time = steady_time(log, log.steps);
    const std::size_t steady = log.steps.size() - twin.warm_up - twin.slow - twin.fast;
    REQUIRE(time.has_value() == (steady >= kLeastSteadyLines));
    if (!time) continue;
    CHECK(time->median.count() == twin.median);
    CHECK(time->num_warm_up == twin.warm_up);
    CHECK(time->num_slow == twin.slow);
    CHECK(time->num_fast == twin.fast);
    CHECK(time->num_steady == steady);
    CHECK(time->first_quartile <= time->median);
    CHECK(time->median <= time->third_quartile);
  }
}
