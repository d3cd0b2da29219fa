#include "workloads/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_reader.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kSchema = "vtrain-calibration";

ordered_json accuracy_json(const Accuracy& accuracy) {
  return {{"n", accuracy.num_rows},
          {"mape_percent", accuracy.mape_percent},
          {"median_ape_percent", accuracy.median_ape_percent},
          {"bias_percent", accuracy.bias_percent}};
}

Result<CalibrationFactor> read_factor(const JsonDocument& document, const nlohmann::json& object) {
  constexpr double kLeast = 0.01;
  constexpr double kMost = 100;
  JsonFields fields(document, object);
  CalibrationFactor factor{.stack = fields.string("stack"),
                           .profile = fields.string("profile"),
                           .factor = fields.number("factor", kLeast, kMost)};
  if (fields.error()) return fail(*fields.error());
  const auto rows = object.find("fitted_on");
  if (rows != object.end() && rows->is_array()) {
    for (const nlohmann::json& row : *rows) {
      if (row.is_string()) factor.fitted_on.push_back(row.get<std::string>());
    }
  }
  return factor;
}

}  // namespace

double Calibration::factor(std::string_view stack, std::string_view profile) const {
  const auto found = std::find_if(factors.begin(), factors.end(), [&](const CalibrationFactor& f) {
    return f.stack == stack && f.profile == profile;
  });
  return found == factors.end() ? 1 : found->factor;
}

double shrunk_factor(std::span<const Outcome> rows) {
  if (rows.empty()) return 1;
  std::vector<double> ratios;
  for (const Outcome& row : rows)
    ratios.push_back(row.measured / row.predicted);
  const auto count = static_cast<double>(rows.size());
  return std::pow(quantile_of(std::move(ratios), 0.5), count / (count + 1));
}

Result<Calibration> parse_calibration(std::string text, const std::string& file) {
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  JsonFields top(*document, document->root());
  const std::string schema = top.string("schema");
  if (!top.error() && schema != kSchema) top.complain("schema", expected_found(kSchema, schema));
  top.integer("version", 1, 1);
  if (top.error()) return fail(*top.error());
  const auto list = document->root().find("factors");
  if (list == document->root().end() || !list->is_array())
    return fail(document->error_at("factors", expected_found("a list of factors", "none")));
  Calibration calibration{.file = file};
  for (const nlohmann::json& object : *list) {
    auto factor = read_factor(*document, object);
    if (!factor) return fail(factor.error());
    calibration.factors.push_back(std::move(*factor));
  }
  return calibration;
}

std::string calibration_json(const Calibration& calibration) {
  ordered_json list = ordered_json::array();
  for (const CalibrationFactor& factor : calibration.factors) {
    list.push_back({{"stack", factor.stack},
                    {"profile", factor.profile},
                    {"factor", factor.factor},
                    {"fitted_on", factor.fitted_on},
                    {"fitted", accuracy_json(factor.fitted)},
                    {"held_out", accuracy_json(factor.held_out)},
                    {"held_out_before", accuracy_json(factor.held_out_before)}});
  }
  const ordered_json root = {{"schema", kSchema}, {"version", 1}, {"factors", std::move(list)}};
  return root.dump(2) + "\n";
}

}  // namespace vtrain
