/// Parallel plans as JSON.
///
///     {"tensor": 8, "pipeline": 4, "virtual_stages": 2, "data": 16, "global_batch": 512, "micro_batch": 1,
///      "recompute": "selective", "sequence_parallel": true, "sharding": "optimizer", "precision": "bf16"}
///
/// Keys are those of `plan_fields`, with the defaults of `ParallelPlan`; `global_batch`, `micro_batch` and
/// `recompute` are required. `precision` is `bf16` unless given; `vtrain predict` then takes the stack's.
/// More keys: `num_gpus`, all GPUs, in place of `data` or checked against it; `sequence_length`, tokens of a
/// sequence in training, in place of the model's.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "core/base/result.hpp"
#include "workloads/model/parallel_plan.hpp"

namespace vtrain {

class JsonDocument;

/// A plan, and its values for the model.
struct PlanDescription {
  ParallelPlan plan;
  std::int64_t sequence_length = 0;  ///< tokens of a sequence in training; 0: the model's
  bool has_precision = false;        ///< the plan gives a precision
};

/// Whether a plan must give its micro-batch.
enum class MicroBatch : std::uint8_t { Required, Optional };

/// Reads a plan; `check_plan` checks that it divides a model. Errors name file, line and key: an unknown key
/// (with the nearest known one), a value of the wrong kind or out of range, GPUs that do not divide.
///
/// With `MicroBatch::Optional` a plan without `micro_batch` has 0 of it: the reader chooses.
Result<PlanDescription> read_plan(const JsonDocument& document, const nlohmann::json& object,
                                  MicroBatch micro_batch = MicroBatch::Required);

/// A plan as JSON that `read_plan` reads, its keys in the order of `plan_fields`.
nlohmann::ordered_json plan_to_json(const ParallelPlan& plan);
/// Reads a plan that `plan_to_json` wrote. Unlike `read_plan` it requires every key, and has no error
/// messages for users. Throws `nlohmann::json::exception` if a key is missing or of another kind, and
/// `tl::bad_expected_access<Error>` if a name is unknown.
ParallelPlan plan_from_json(const nlohmann::json& object);

}  // namespace vtrain
