#include <nlohmann/json.hpp>
#include <string>

#include "core/profile/gpu_profile.hpp"
#include "tools/serve/field_schema.hpp"
#include "tools/serve/predictions.hpp"
#include "workloads/model/plan_fields.hpp"

namespace vtrain::serve {
namespace {

using nlohmann::ordered_json;

ordered_json name_or_object(std::string_view description) {
  return {{"type", ordered_json::array({"string", "object"})}, {"description", description}};
}

ordered_json number(std::string_view description) {
  return {{"type", "number"}, {"description", description}};
}

}  // namespace

ordered_json predict_request_schema() {
  ordered_json plan = object_schema(plan_fields());
  plan["properties"]["sequence_length"] = {{"type", "integer"},
                                           {"description", "tokens of a sequence; the model's by default"}};
  ordered_json schema = {{"type", "object"}, {"additionalProperties", false}};
  schema["required"] = {"model", "plan"};
  schema["properties"] = {
      {"model", name_or_object("a name of `vtrain models`, or a model, also as Hugging Face describes it")},
      {"plan", std::move(plan)},
      {"stack", name_or_object("software stack")},
      {"profile",
       {{"type", "string"}, {"description", "GPU profile"}, {"examples", embedded_profile_names()}}}};
  return schema;
}

ordered_json predict_response_schema() {
  const ordered_json object = {{"type", "object"}};
  return {{"type", "object"},
          {"description", "as `vtrain predict --json` prints it"},
          {"properties",
           {{"iteration_time_s", number("time of one iteration in seconds")},
            {"iteration_time_interval_s", object},
            {"num_gpus", {{"type", "integer"}}},
            {"plan", object},
            {"breakdown", object},
            {"memory", {{"type", ordered_json::array({"object", "null"})}}},
            {"tokens_per_s", number("tokens a second of all GPUs")},
            {"mfu", number("model FLOPs utilization")},
            {"provenance", object}}}};
}

ordered_json plans_response_schema() {
  return {{"type", "object"},
          {"description", "as `vtrain plan --json` prints it"},
          {"properties",
           {{"best", {{"type", "object"}, {"description", "the best plan by the objective"}}},
            {"counts", {{"type", "array"}, {"description", "an answer for each number of GPUs"}}},
            {"spec", {{"type", "object"}, {"description", "the request, with all defaults"}}}}}};
}

}  // namespace vtrain::serve
