#include "workloads/calibration.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu_profile.hpp"
#include "workloads/layer_cost.hpp"
#include "workloads/measured_case.hpp"

namespace vtrain {
namespace {

/// Rows of known parts: seconds of products, memory-bound kernels and communication.
struct Parts {
  double product;
  double memory;
  double communication;
  double time(const KernelFactors& factors) const {
    return product * factors.product + memory * factors.memory + communication * factors.communication;
  }
};

KernelFactors fit(const std::vector<Parts>& rows, const std::vector<double>& slowdowns,
                  const KernelFactors& truth) {
  std::vector<Seconds> measured;
  for (std::size_t i = 0; i < rows.size(); ++i)
    measured.emplace_back(rows[i].time(truth) * slowdowns[i]);
  return fit_factors(measured, [&](std::size_t row, const KernelFactors& factors) {
    return Seconds(rows[row].time(factors));
  });
}

TEST_CASE("calibration: many rows give the factors that made them") {
  std::vector<Parts> rows;
  for (int i = 0; i < 20; ++i) {
    rows.push_back({10.0 + i % 7, 1, 1});
    rows.push_back({1, 10.0 + i % 5, 1});
    rows.push_back({1, 1, 10.0 + i % 3});
  }
  const KernelFactors truth{1.03, 1.3, 0.8};
  const KernelFactors found = fit(rows, std::vector<double>(rows.size(), 1), truth);
  CHECK(found.product == doctest::Approx(truth.product).epsilon(0.01));
  CHECK(found.memory == doctest::Approx(truth.memory).epsilon(0.05));
  CHECK(found.communication == doctest::Approx(truth.communication).epsilon(0.05));
}

TEST_CASE("calibration: a few rows that are far too slow do not move the factors") {
  std::vector<Parts> rows(20, Parts{10, 2, 1});
  std::vector<double> slowdowns(rows.size(), 1);
  slowdowns[3] = 1.6;
  slowdowns[11] = 1.9;
  const KernelFactors found = fit(rows, slowdowns, {});
  CHECK(std::abs(found.product - 1) < 0.01);
}

TEST_CASE("calibration: one row moves the factors only part of the way") {
  const std::vector<Parts> rows = {{10, 2, 1}};
  const KernelFactors found = fit(rows, {1.06}, {});
  const double predicted = rows[0].time(found) / rows[0].time({});
  CHECK(predicted > 1.005);
  CHECK(predicted < 1.055);
  CHECK(fit({}, {}, {}) == KernelFactors{});
}

TEST_CASE("calibration: without rows the factors are the expected ones, and one row moves them a little") {
  const KernelFactors expected{0.9, 1.2, 1};
  const FactorPrediction none = [](std::size_t, const KernelFactors&) { return Seconds(1); };
  const KernelFactors kept = fit_factors({}, none, expected);
  CHECK(kept.product == doctest::Approx(expected.product));
  CHECK(kept.memory == doctest::Approx(expected.memory));
  CHECK(kept.communication == doctest::Approx(expected.communication));
  const Parts row{10, 2, 1};
  const std::vector<Seconds> measured = {Seconds(row.time(expected) * 1.05)};
  const KernelFactors moved = fit_factors(
      measured, [&](std::size_t, const KernelFactors& factors) { return Seconds(row.time(factors)); },
      expected);
  CHECK(moved.product > expected.product);
  CHECK(row.time(moved) > row.time(expected) * 1.005);
  CHECK(row.time(moved) < measured[0].count());
}

/// Iteration times of the public release's simulator, by GPUs, layers and micro-batches.
using SimulatedTimes = std::map<std::array<std::int64_t, 3>, double>;

/// Its forward and backward pass of a layer, in ms: on a number of GPUs the time is linear in layers, in
/// micro-batches and in their product.
std::optional<double> layer_time(const SimulatedTimes& times) {
  for (const auto& [low, time] : times) {
    for (const auto& [high, largest] : times) {
      if (high[0] != low[0] || high[1] <= low[1] || high[2] <= low[2]) continue;
      const auto more_layers = times.find({low[0], high[1], low[2]});
      const auto more_batches = times.find({low[0], low[1], high[2]});
      if (more_layers == times.end() || more_batches == times.end()) continue;
      return (largest - more_layers->second - more_batches->second + time) /
             static_cast<double>((high[1] - low[1]) * (high[2] - low[2]));
    }
  }
  return std::nullopt;
}

TEST_CASE("calibration: expected factors lie half way to what single kernels took") {
  const KernelFactors expected = expected_factors("megatron-2021", "a100");
  CHECK(expected_factors("megatron-2021", "h100") == KernelFactors{});
  CHECK(expected_factors("megatron-core", "a100") == KernelFactors{});
  const std::string file = VTRAIN_SHARED_DIR "/data/vtrain/ground_truth_single.csv";
  if (!std::filesystem::exists(file)) {
    MESSAGE("skipped: ", file, " absent");
    return;
  }
  // Hidden size 2048, data parallel only, micro-batches of 2 and 4 sequences: layers that the CPU does not
  // bound and of which the file has all four corners.
  const GpuProfile profile = load_gpu_profile("a100").value();
  const MeasuredCases cases = read_measured_cases(file).value();
  double sum = 0;
  for (const std::int64_t micro_batch : {2, 4}) {
    SimulatedTimes times;
    const MeasuredCase* any = nullptr;
    for (const MeasuredCase& row : cases.cases) {
      const ParallelPlan& plan = row.plan;
      if (plan.tensor * plan.pipeline != 1 || row.model.hidden_size != 2048 ||
          plan.micro_batch != micro_batch)
        continue;
      times[{plan.data, row.model.num_layers, plan.num_micro_batches()}] = 1e3 * row.measured.count();
      any = &row;
    }
    const auto layer = layer_time(times);
    REQUIRE(layer);
    const auto predicted = [&](double memory) {
      Stack stack = any->stack;
      stack.factors = {.product = expected.product, .memory = memory};
      const LayerCosts costs = layer_costs(any->model, layer_key(any->plan), profile, stack);
      const PassCosts& dense = costs.layers.front();
      double nanoseconds = 0;
      for (const std::vector<Operator>* pass : {&dense.forward, &dense.backward}) {
        for (const Operator& op : *pass)
          nanoseconds += op.duration.count() + op.gap.count();
      }
      return nanoseconds / 1e6;
    };
    // Linear in the factor: 1.38 and 1.31 are found.
    const double factor = 1 + (*layer - predicted(1)) / (predicted(2) - predicted(1));
    CAPTURE(factor);
    CHECK(factor > 1.25);
    CHECK(factor < 1.45);
    sum += std::log(factor) / 2;
  }
  CHECK(expected.memory == doctest::Approx(std::exp(sum / 2)).epsilon(0.01));
}

TEST_CASE("calibration: a file reads back as written") {
  Calibration calibration;
  calibration.stacks.push_back(
      {.stack = "megatron-core", .profile = "h100", .factors = {1.02, 0.9, 1.1}, .fitted_on = {"a", "b"}});
  const auto read = parse_calibration(calibration_json(calibration), "f.json");
  REQUIRE(read);
  CHECK(read->file == "f.json");
  CHECK(read->factors("megatron-core", "h100") == KernelFactors{1.02, 0.9, 1.1});
  CHECK(read->factors("megatron-core", "a100") == KernelFactors{});
  CHECK(read->stacks[0].fitted_on == std::vector<std::string>{"a", "b"});
}

TEST_CASE("calibration: the published one says what it was fitted on and how it does on the rest") {
  CHECK(read_calibration("").value().stacks.empty());
  const auto published = read_calibration(std::string(kPublishedCalibration));
  REQUIRE(published);
  CHECK(published->made_by.starts_with("vtrain profile calibrate "));
  CHECK(!published->stacks.empty());
  for (const CalibratedStack& stack : published->stacks) {
    CAPTURE(stack.stack);
    CHECK(find_stack(stack.stack));
    CHECK(load_gpu_profile(stack.profile));
    CHECK(stack.fitted_on.size() >= 3);
  }
}

TEST_CASE("calibration: malformed files name the field") {
  const auto field_of = [](const std::string& text) {
    const auto read = parse_calibration(text, "f.json");
    return read ? std::string("none") : read.error().field;
  };
  CHECK(field_of(R"({"schema": "other", "version": 1, "stacks": []})") == "schema");
  CHECK(field_of(R"({"schema": "vtrain-calibration", "version": 2, "stacks": []})") == "version");
  CHECK(field_of(R"({"schema": "vtrain-calibration", "version": 1})") == "stacks");
  CHECK(field_of(R"({"schema": "vtrain-calibration", "version": 1, "stacks": [{"stack": "x"}]})") ==
        "profile");
  CHECK(field_of(R"({"schema": "vtrain-calibration", "version": 1, "stacks": [
      {"stack": "x", "profile": "y", "product": 0, "memory": 1, "communication": 1}]})") == "product");
  CHECK(field_of(R"({"schema": "vtrain-calibration", "version": 1, "stacks": []})") == "none");
}

}  // namespace
}  // namespace vtrain
