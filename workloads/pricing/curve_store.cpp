#include "workloads/pricing/curve_store.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "workloads/config/plan_json.hpp"
#include "workloads/model/model.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::string_view kCurveSchema = "vtrain-throughput-curve";

json ranked_to_json(const RankedPlan& ranked) {
  const Breakdown& parts = ranked.breakdown;
  return {{"plan", plan_to_json(ranked.plan)},
          {"iteration_ns", ranked.iteration.count()},
          {"breakdown_ns",
           {parts.compute.count(), parts.tensor_comm.count(), parts.pipeline_comm.count(),
            parts.data_comm.count(), parts.optimizer.count(), parts.bubble.count(), parts.products.count(),
            parts.attention.count(), parts.cpu_wait.count()}},
          {"memory_bytes", ranked.memory.peak.value},
          {"capacity_bytes", ranked.memory.capacity.value},
          {"fullest_stage", ranked.memory.stage},
          {"has_fallbacks", ranked.has_fallbacks}};
}

/// Throws what nlohmann_json and `plan_from_json` throw when the text is not a plan with its times.
RankedPlan ranked_from_json(const json& object) {
  const json& parts = object.at("breakdown_ns");
  const auto part = [&parts](std::size_t i) { return Nanoseconds(parts.at(i).get<double>()); };
  return {.plan = plan_from_json(object.at("plan")),
          .iteration = Nanoseconds(object.at("iteration_ns").get<double>()),
          .memory = {.peak = Bytes(object.at("memory_bytes").get<double>()),
                     .capacity = Bytes(object.at("capacity_bytes").get<double>()),
                     .stage = object.at("fullest_stage").get<std::int64_t>()},
          .breakdown = {.compute = part(0),
                        .tensor_comm = part(1),
                        .pipeline_comm = part(2),
                        .data_comm = part(3),
                        .optimizer = part(4),
                        .bubble = part(5),
                        .products = part(6),
                        .attention = part(7),
                        .cpu_wait = part(8)},
          .has_fallbacks = object.at("has_fallbacks").get<bool>()};
}

/// True if the plan can be the answer for this model, global batch and number of GPUs.
bool suits(const RankedPlan& ranked, const TransformerModel& model, std::int64_t global_batch,
           std::int32_t num_gpus) {
  const double time = ranked.iteration.count();
  return check_plan(model, ranked.plan) && ranked.plan.global_batch == global_batch &&
         ranked.plan.num_gpus().value == num_gpus && std::isfinite(time) && time > 0 && ranked.memory.fits();
}

json error_to_json(const Error& error) {
  return {{"failed", error.kind == ErrorKind::Failed}, {"field", error.field}, {"message", error.message}};
}

Error error_from_json(const json& object) {
  return {.kind = object.at("failed").get<bool>() ? ErrorKind::Failed : ErrorKind::InvalidInput,
          .field = object.at("field").get<std::string>(),
          .message = object.at("message").get<std::string>()};
}

}  // namespace

std::string format_curve_record(const std::string& key, const CurveRecord& record) {
  json points = json::array();
  for (const auto& [num_gpus, found] : record) {
    json point = {{"num_gpus", num_gpus}};
    if (found) {
      point["best"] = ranked_to_json(*found);
    } else {
      point["error"] = error_to_json(found.error());
    }
    points.push_back(std::move(point));
  }
  return json({{"schema", kCurveSchema}, {"key", key}, {"points", points}})
             .dump(1, ' ', false, json::error_handler_t::replace) +
         "\n";
}

std::optional<CurveRecord> parse_curve_record(const std::string& text, const std::string& key,
                                              const TransformerModel& model, std::int64_t global_batch) try {
  const json document = json::parse(text);
  if (document.at("schema") != kCurveSchema || document.at("key") != key) return std::nullopt;
  CurveRecord record;
  for (const json& point : document.at("points")) {
    const auto num_gpus = point.at("num_gpus").get<std::int32_t>();
    if (point.contains("error")) {
      record.emplace(num_gpus, fail(error_from_json(point.at("error"))));
      continue;
    }
    RankedPlan ranked = ranked_from_json(point.at("best"));
    if (!suits(ranked, model, global_batch, num_gpus)) return std::nullopt;
    record.emplace(num_gpus, std::move(ranked));
  }
  return record;
} catch (const json::exception&) {
  return std::nullopt;
} catch (const tl::bad_expected_access<Error>&) {
  return std::nullopt;
}

}  // namespace vtrain
