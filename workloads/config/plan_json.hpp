/// Parallel plans as JSON.
///
///     {"tensor": 8, "pipeline": 4, "virtual_stages": 2, "data": 16, "global_batch": 512, "micro_batch": 1,
///      "recompute": "selective", "sequence_parallel": true, "sharding": "optimizer", "precision": "bf16"}
///
/// Keys are those of `plan_fields`, with the defaults of `ParallelPlan`; `global_batch`, `micro_batch` and
/// `recompute` are required. `precision` is `bf16` unless given, and to `vtrain predict` the stack's. More
/// keys: `num_gpus`, all GPUs, in place of `data` or checked against it; `sequence_length`, tokens of a
/// sequence in training, in place of the model's.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "core/base/result.hpp"
#include "workloads/model/parallel_plan.hpp"

namespace vtrain {

class JsonDocument;

/// A plan and what it says of the model.
struct PlanDescription {
  ParallelPlan plan;
  std::int64_t sequence_length = 0;  ///< of training; 0: the model's
  bool has_precision = false;        ///< whether it says one
};

/// Reads a plan; whether it divides a model is for `check_plan` to say. Errors name file, line and key: an
/// unknown key (with the nearest known one), a value of the wrong kind or out of range, GPUs that do not
/// divide.
Result<PlanDescription> read_plan(const JsonDocument& document, const nlohmann::json& object);

/// A plan as `read_plan` reads it, its keys in the order of `plan_fields`.
nlohmann::ordered_json plan_to_json(const ParallelPlan& plan);
/// The plan of what `plan_to_json` wrote: unlike `read_plan` it wants every key, and has no words for people.
/// Throws `nlohmann::json::exception` where one is missing or of another kind, and
/// `tl::bad_expected_access<Error>` where a name is unknown.
ParallelPlan plan_from_json(const nlohmann::json& object);

}  // namespace vtrain
