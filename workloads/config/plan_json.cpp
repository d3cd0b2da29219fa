#include "workloads/config/plan_json.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/io/json_reader.hpp"
#include "workloads/model/size_checks.hpp"

namespace vtrain {
namespace {

/// `check_plan` has closer bounds. Three such factors fit 64 bits.
constexpr std::int64_t kMaxDegree = 1 << 20;
constexpr std::int64_t kMaxPlanSize = 1'000'000'000;

constexpr std::array kPlanKeys = std::to_array<std::string_view>(
    {"tensor",         "context",          "pipeline",          "data",
     "virtual_stages", "expert",           "num_gpus",          "global_batch",
     "micro_batch",    "sequence_length",  "recompute",         "sequence_parallel",
     "sharding",       "schedule",         "precision",         "ends_count_as_layers",
     "expert_tensor",  "offloaded_layers", "recomputed_layers", "replicate"});

/// The value of an enumeration by its name, or `absent`.
template <class Value>
Value read_name(JsonFields& fields, std::string_view key, Result<Value> (*parse)(std::string_view),
                Value absent) {
  if (!fields.has(key) || fields.error()) return absent;
  const std::string name = fields.string(key);
  const auto value = parse(name);
  if (!value) fields.complain(key, value.error().message);
  return value.value_or(absent);
}

/// The data-parallel degree: given, or what is left of the GPUs.
std::int64_t read_data(JsonFields& fields, const ParallelPlan& plan) {
  const std::int64_t data = fields.integer_or("data", 1, kMaxDegree, 0);
  const std::int64_t num_gpus = fields.integer_or("num_gpus", 1, INT32_MAX, 0);
  if (num_gpus == 0 || fields.error()) return data > 0 ? data : 1;
  const std::int64_t others = plan.tensor * plan.context * plan.pipeline;
  if (num_gpus % others != 0 || (data > 0 && num_gpus / others != data)) {
    const std::optional<std::int64_t> all = product({others, data});
    const std::string expected = data > 0
                                     ? fmt::format("tensor x context x pipeline x data = {}",
                                                   all ? std::to_string(*all) : "beyond all clusters")
                                     : fmt::format("a multiple of tensor x context x pipeline = {}", others);
    fields.complain("num_gpus", expected_found(expected, std::to_string(num_gpus)));
  }
  return num_gpus / others;
}

}  // namespace

Result<PlanDescription> read_plan(const JsonDocument& document, const nlohmann::json& object) {
  JsonFields fields(document, object);
  fields.allow_only(kPlanKeys);
  PlanDescription description;
  ParallelPlan& plan = description.plan;
  plan.tensor = fields.integer_or("tensor", 1, kMaxDegree, 1);
  plan.context = fields.integer_or("context", 1, kMaxDegree, 1);
  plan.pipeline = fields.integer_or("pipeline", 1, kMaxDegree, 1);
  plan.virtual_stages = fields.integer_or("virtual_stages", 1, kMaxDegree, 1);
  plan.expert = fields.integer_or("expert", 1, kMaxDegree, 1);
  plan.data = read_data(fields, plan);
  plan.global_batch = fields.integer("global_batch", 1, kMaxPlanSize);
  plan.micro_batch = fields.integer("micro_batch", 1, kMaxPlanSize);
  description.sequence_length = fields.integer_or("sequence_length", 1, kMaxPlanSize, 0);
  if (!fields.has("recompute"))
    fields.complain("recompute", "missing: expected 'none', 'selective' or 'full'");
  plan.recompute = read_name(fields, "recompute", parse_recompute, Recompute::None);
  plan.sequence_parallel = fields.boolean_or("sequence_parallel", false);
  plan.sharding = read_name(fields, "sharding", parse_sharding, Sharding::None);
  plan.schedule = read_name(fields, "schedule", parse_schedule, Schedule::OneForwardOneBackward);
  description.has_precision = fields.has("precision");
  plan.precision = read_name(fields, "precision", parse_precision, Precision::Bf16);
  plan.ends_count_as_layers = fields.boolean_or("ends_count_as_layers", false);
  plan.expert_tensor = fields.integer_or("expert_tensor", 1, kMaxDegree, 1);
  plan.offloaded_layers = fields.integer_or("offloaded_layers", 0, kMaxDegree, 0);
  plan.recomputed_layers = fields.integer_or("recomputed_layers", 0, kMaxDegree, 0);
  plan.replicate = fields.integer_or("replicate", 1, kMaxDegree, 1);
  if (fields.error()) return fail(*fields.error());
  return description;
}

nlohmann::ordered_json plan_to_json(const ParallelPlan& plan) {
  // A new member of the plan does not compile here until it is written too.
  const auto& [tensor, data, pipeline, global_batch, micro_batch, recompute, sequence_parallel, context,
               virtual_stages, expert, sharding, schedule, precision, ends_count_as_layers, expert_tensor,
               offloaded_layers, recomputed_layers, replicate] = plan;
  return {{"tensor", tensor},
          {"context", context},
          {"expert", expert},
          {"expert_tensor", expert_tensor},
          {"pipeline", pipeline},
          {"virtual_stages", virtual_stages},
          {"data", data},
          {"global_batch", global_batch},
          {"micro_batch", micro_batch},
          {"recompute", name_of(recompute)},
          {"recomputed_layers", recomputed_layers},
          {"offloaded_layers", offloaded_layers},
          {"sequence_parallel", sequence_parallel},
          {"sharding", name_of(sharding)},
          {"replicate", replicate},
          {"ends_count_as_layers", ends_count_as_layers},
          {"schedule", name_of(schedule)},
          {"precision", name_of(precision)}};
}

ParallelPlan plan_from_json(const nlohmann::json& object) {
  ParallelPlan plan;
  // The same guard: a new member of the plan does not compile here until it is read too.
  auto& [tensor, data, pipeline, global_batch, micro_batch, recompute, sequence_parallel, context,
         virtual_stages, expert, sharding, schedule, precision, ends_count_as_layers, expert_tensor,
         offloaded_layers, recomputed_layers, replicate] = plan;
  const auto name = [&object](const char* key) { return object.at(key).get<std::string>(); };
  object.at("tensor").get_to(tensor);
  object.at("context").get_to(context);
  object.at("expert").get_to(expert);
  object.at("expert_tensor").get_to(expert_tensor);
  object.at("pipeline").get_to(pipeline);
  object.at("virtual_stages").get_to(virtual_stages);
  object.at("data").get_to(data);
  object.at("global_batch").get_to(global_batch);
  object.at("micro_batch").get_to(micro_batch);
  recompute = parse_recompute(name("recompute")).value();
  object.at("recomputed_layers").get_to(recomputed_layers);
  object.at("offloaded_layers").get_to(offloaded_layers);
  object.at("sequence_parallel").get_to(sequence_parallel);
  sharding = parse_sharding(name("sharding")).value();
  object.at("replicate").get_to(replicate);
  object.at("ends_count_as_layers").get_to(ends_count_as_layers);
  schedule = parse_schedule(name("schedule")).value();
  precision = parse_precision(name("precision")).value();
  return plan;
}

}  // namespace vtrain
