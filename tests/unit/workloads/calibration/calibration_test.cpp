#include "workloads/calibration/calibration.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "workloads/layers/layer_cost.hpp"

namespace vtrain {
namespace {

/// Parts of a row in seconds: products, memory-bound kernels and communication.
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
        "stacks[0].profile");
  CHECK(field_of(R"({"schema": "vtrain-calibration", "version": 1, "stacks": [
      {"stack": "x", "profile": "y", "product": 0, "memory": 1, "communication": 1}]})") ==
        "stacks[0].product");
  CHECK(field_of(R"({"schema": "vtrain-calibration", "version": 1, "stacks": []})") == "none");
  const std::string entry =
      R"({"stack": "x", "profile": "y", "product": 1, "memory": 1, "communication": 1})";
  CHECK(field_of(R"({"schema": "vtrain-calibration", "version": 1, "stacks": [)" + entry + "]}") == "none");
  CHECK(field_of(R"({"schema": "vtrain-calibration", "version": 1, "stacks": [)" + entry + "," + entry +
                 "]}") == "stacks[1].profile");
}

}  // namespace
}  // namespace vtrain
