#include "workloads/calibration/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"

namespace vtrain {
namespace embedded {
extern const std::string_view published_calibration;
}  // namespace embedded

namespace {

using nlohmann::ordered_json;

constexpr std::string_view kCalibrationSchema = "vtrain-calibration";

/// Logarithms of the factors, in the order of `KernelFactors`.
using LogFactors = std::array<double, 3>;

KernelFactors factors_of(const LogFactors& logs) {
  return {.product = std::exp(logs[0]), .memory = std::exp(logs[1]), .communication = std::exp(logs[2])};
}

/// Function that a fit minimises. `common` is the logarithm of a factor on everything, without a prior.
double objective(const LogFactors& logs, double common, std::span<const Seconds> measured,
                 const FactorPrediction& predict) {
  constexpr double kErrorScale = 0.04;
  constexpr LogFactors kWidths = {0.02, 0.05, 0.1};
  LogFactors all = logs;
  for (double& log : all)
    log += common;
  const KernelFactors factors = factors_of(all);
  double sum = 0;
  for (std::size_t row = 0; row < measured.size(); ++row) {
    const double error = std::log(predict(row, factors) / measured[row]) / kErrorScale;
    sum += std::log1p(error * error);
  }
  for (std::size_t i = 0; i < logs.size(); ++i)
    sum += 0.5 * std::pow(logs[i] / kWidths[i], 2);
  return sum;
}

/// The least value of a function of N numbers by compass search from 0, to a thousandth.
template <std::size_t N, class Function>
std::array<double, N> search_least(const Function& function) {
  constexpr double kFirstStep = 0.08;
  constexpr double kLastStep = 0.001;
  std::array<double, N> best{};
  double least = function(best);
  for (double step = kFirstStep; step >= kLastStep; step /= 2) {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < best.size(); ++i) {
        for (const double direction : {step, -step}) {
          std::array<double, N> next = best;
          next[i] += direction;
          const double value = function(next);
          if (value >= least) continue;
          least = value;
          best = next;
          moved = true;
          break;
        }
      }
    }
  }
  return best;
}

/// Reads what `accuracy_json` writes, as far as it is there.
Accuracy read_accuracy(const nlohmann::json& object, std::string_view key) {
  Accuracy accuracy;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return accuracy;
  const auto number = [&](std::string_view name) {
    const auto value = found->find(name);
    return value != found->end() && value->is_number() ? value->get<double>() : 0;
  };
  constexpr double kMostRows = 1e9;
  accuracy.num_rows = static_cast<std::int64_t>(std::clamp(number("n"), 0.0, kMostRows));
  accuracy.mape_percent = number("mape_percent");
  accuracy.median_ape_percent = number("median_ape_percent");
  accuracy.bias_percent = number("bias_percent");
  return accuracy;
}

ordered_json accuracy_json(const Accuracy& accuracy) {
  return {{"n", accuracy.num_rows},
          {"mape_percent", accuracy.mape_percent},
          {"median_ape_percent", accuracy.median_ape_percent},
          {"bias_percent", accuracy.bias_percent}};
}

Result<CalibratedStack> read_stack(const JsonDocument& document, const nlohmann::json& object) {
  constexpr double kLeast = 0.01;
  constexpr double kMost = 100;
  JsonFields fields(document, object);
  CalibratedStack stack{.stack = fields.string("stack"),
                        .profile = fields.string("profile"),
                        .factors = {.product = fields.number("product", kLeast, kMost),
                                    .memory = fields.number("memory", kLeast, kMost),
                                    .communication = fields.number("communication", kLeast, kMost)}};
  if (fields.error()) return fail(*fields.error());
  stack.fitted = read_accuracy(object, "fitted");
  stack.held_out = read_accuracy(object, "held_out");
  stack.held_out_before = read_accuracy(object, "held_out_before");
  if (const auto ratios = object.find("left_out_log_ratios"); ratios != object.end()) {
    if (!ratios->is_array())
      return fail(document.error_at(object, "left_out_log_ratios", "expected a list of numbers"));
    for (const nlohmann::json& ratio : *ratios) {
      if (!ratio.is_number() || std::abs(ratio.get<double>()) > std::log(kMost))
        return fail(document.error_at(object, "left_out_log_ratios", "expected numbers from -4.6 to 4.6"));
      stack.left_out.push_back(ratio.get<double>());
    }
  }
  const auto rows = object.find("fitted_on");
  if (rows != object.end() && rows->is_array()) {
    for (const nlohmann::json& row : *rows) {
      if (row.is_string()) stack.fitted_on.push_back(row.get<std::string>());
    }
  }
  return stack;
}

}  // namespace

KernelFactors Calibration::factors(std::string_view stack, std::string_view profile) const {
  const auto found = std::find_if(stacks.begin(), stacks.end(), [&](const CalibratedStack& calibrated) {
    return calibrated.stack == stack && calibrated.profile == profile;
  });
  return found == stacks.end() ? KernelFactors{} : found->factors;
}

KernelFactors fit_factors(std::span<const Seconds> measured, const FactorPrediction& predict) {
  return factors_of(
      search_least<3>([&](const LogFactors& logs) { return objective(logs, 0, measured, predict); }));
}

KernelFactors fit_own_factors(std::span<const Seconds> measured, const FactorPrediction& predict) {
  const auto best = search_least<4>([&](const std::array<double, 4>& logs) {
    return objective({logs[1], logs[2], logs[3]}, logs[0], measured, predict);
  });
  return factors_of({best[0] + best[1], best[0] + best[2], best[0] + best[3]});
}

Result<Calibration> parse_calibration(std::string text, const std::string& file) {
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  JsonFields top(*document, document->root());
  const std::string schema = top.string("schema");
  if (!top.error() && schema != kCalibrationSchema)
    top.complain("schema", expected_found(kCalibrationSchema, schema));
  top.integer("version", 1, 1);
  if (top.error()) return fail(*top.error());
  const auto list = document->root().find("stacks");
  if (list == document->root().end() || !list->is_array())
    return fail(document->error_at(document->root(), "stacks",
                                   expected_found("a list of calibrated stacks", "none")));
  Calibration calibration{.file = file, .made_by = top.string_or("made_by", "")};
  if (top.error()) return fail(*top.error());
  std::set<std::pair<std::string, std::string>> seen;
  for (const nlohmann::json& object : *list) {
    auto stack = read_stack(*document, object);
    if (!stack) return fail(stack.error());
    if (!seen.emplace(stack->stack, stack->profile).second) {
      return fail(document->error_at(object, "profile",
                                     fmt::format("stack '{}' on '{}' is given twice", printable(stack->stack),
                                                 printable(stack->profile))));
    }
    calibration.stacks.push_back(std::move(*stack));
  }
  return calibration;
}

Result<Calibration> read_calibration(const std::string& path) {
  if (path.empty()) return Calibration{};
  if (path == kPublishedCalibration)
    return parse_calibration(std::string(embedded::published_calibration), path);
  auto text = read_file(path, InputKind::Calibration);
  if (!text) return fail(text.error());
  return parse_calibration(std::move(*text), path);
}

std::string calibration_json(const Calibration& calibration) {
  ordered_json list = ordered_json::array();
  for (const CalibratedStack& stack : calibration.stacks) {
    list.push_back({{"stack", stack.stack},
                    {"profile", stack.profile},
                    {"product", stack.factors.product},
                    {"memory", stack.factors.memory},
                    {"communication", stack.factors.communication},
                    {"fitted_on", stack.fitted_on},
                    {"fitted", accuracy_json(stack.fitted)},
                    {"held_out", accuracy_json(stack.held_out)},
                    {"held_out_before", accuracy_json(stack.held_out_before)}});
    if (!stack.left_out.empty()) list.back()["left_out_log_ratios"] = stack.left_out;
  }
  const ordered_json root = {{"schema", kCalibrationSchema},
                             {"version", 1},
                             {"made_by", calibration.made_by},
                             {"stacks", std::move(list)}};
  return root.dump(2) + "\n";
}

}  // namespace vtrain
