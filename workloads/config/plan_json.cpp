#include "workloads/config/plan_json.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/io/json_reader.hpp"
#include "workloads/config/field_json.hpp"
#include "workloads/model/plan_fields.hpp"
#include "workloads/model/size_checks.hpp"

namespace vtrain {
namespace {

/// Reads all GPUs, where they are given: they stand in place of the data-parallel degree or are checked
/// against it.
void read_num_gpus(JsonFields& fields, ParallelPlan& plan) {
  const std::int64_t num_gpus = fields.integer_or("num_gpus", 1, INT32_MAX, 0);
  if (num_gpus == 0 || fields.error()) return;
  const bool has_data = fields.has("data");
  const std::int64_t others = plan.tensor * plan.context * plan.pipeline;
  if (num_gpus % others != 0 || (has_data && num_gpus / others != plan.data)) {
    const std::optional<std::int64_t> all = product({others, plan.data});
    const std::string expected = has_data
                                     ? fmt::format("tensor x context x pipeline x data = {}",
                                                   all ? std::to_string(*all) : "beyond all clusters")
                                     : fmt::format("a multiple of tensor x context x pipeline = {}", others);
    fields.complain("num_gpus", expected_found(expected, std::to_string(num_gpus)));
  }
  plan.data = num_gpus / others;
}

}  // namespace

Result<PlanDescription> read_plan(const JsonDocument& document, const nlohmann::json& object,
                                  MicroBatch micro_batch) {
  JsonFields fields(document, object);
  std::vector<std::string_view> keys = keys_of(plan_fields());
  keys.insert(keys.end(), {"num_gpus", "sequence_length"});
  fields.allow_only(keys);
  PlanDescription description{.plan = {.precision = Precision::Bf16}};
  for (Field<ParallelPlan> field : plan_fields()) {
    if (field.key == "micro_batch") field.required = micro_batch == MicroBatch::Required;
    read_field(fields, field, description.plan);
  }
  read_num_gpus(fields, description.plan);
  description.sequence_length = fields.integer_or("sequence_length", 1, kMaxPlanSize, 0);
  description.has_precision = fields.has("precision");
  if (fields.error()) return fail(*fields.error());
  return description;
}

nlohmann::ordered_json plan_to_json(const ParallelPlan& plan) {
  return fields_to_json(plan_fields(), plan);
}

ParallelPlan plan_from_json(const nlohmann::json& object) {
  return fields_from_json(plan_fields(), object);
}

}  // namespace vtrain
