/// Parallel plans as JSON.
///
///     {"tensor": 8, "pipeline": 4, "virtual_stages": 2, "data": 16, "global_batch": 512, "micro_batch": 1,
///      "recompute": "selective", "sequence_parallel": true, "sharding": "optimizer", "precision": "bf16"}
///
/// | key | meaning | default |
/// |---|---|---|
/// | `global_batch`, `micro_batch` | sequences an iteration, and a micro-batch | required |
/// | `recompute` | `none`, `selective` or `full` | required |
/// | `tensor`, `context`, `pipeline`, `data`, `virtual_stages` | as in `ParallelPlan` | 1 |
/// | `expert`, `expert_tensor` | as in `ParallelPlan` | 1 |
/// | `num_gpus` | all GPUs; in place of `data`, or checked against it | |
/// | `sequence_length` | tokens a sequence in training, in place of the model's | the model's |
/// | `sequence_parallel` | whether norms are split over the tensor-parallel GPUs | `false` |
/// | `sharding` | `none`, `optimizer` (ZeRO-1), `gradients` (ZeRO-2) or `full` (FSDP, ZeRO-3) | `none` |
/// | `replicate` | sets of replicas that each hold all weights, where these are fully sharded | 1 |
/// | `schedule` | `1f1b` (interleaved with virtual stages), `zero-bubble` or `gpipe` | `1f1b` |
/// | `precision` | `fp32`, `fp16`, `bf16`, `fp8` or `fp4` | `bf16`; to `vtrain predict` that of the stack |
/// | `ends_count_as_layers` | embedding and output layer count as layers of the stages | `false` |
/// | `recomputed_layers` | with `full`, how many layers of each chunk run again, its first ones | all |
/// | `offloaded_layers` | layers of each stage whose activations wait in the CPU's memory | 0 |
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

/// A plan as `read_plan` reads it, all keys in the order of the table of degrees, batches and choices.
nlohmann::ordered_json plan_to_json(const ParallelPlan& plan);
/// The plan of what `plan_to_json` wrote: unlike `read_plan` it wants every key, and has no words for people.
/// Throws `nlohmann::json::exception` where one is missing or of another kind, and
/// `tl::bad_expected_access<Error>` where a name is unknown.
ParallelPlan plan_from_json(const nlohmann::json& object);

}  // namespace vtrain
