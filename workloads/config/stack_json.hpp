/// Software stacks in JSON: a name, or an object that changes a named one.
///
///     "stack": "torchtitan"
///     "stack": {"base": "megatron-bridge", "dispatch": "all-to-all", "overlap": {"tensor": false}}
///
/// Keys are those of `Stack`: `attention`, `loss_bytes_per_logit`, `loss_conversion_bytes`, `graphs`,
/// `fuses_experts`, `fuses_router`, `gradient_bytes`, `dispatch` and `updates_weights`. Its parts are objects
/// with some of their keys: `overlap` (`data_parallel`, `tensor`), `data_parallel` (`contention`,
/// `memory_traffic`), `memory` (`gradient_bytes`, `selective`, `loss_bytes`, `loss_tokens`,
/// `offloads_expert_inputs`), `eager` (`activation`) and `wider` (all). A key that is left out is as in the
/// base.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

class JsonDocument;

/// Reads the stack under the key `stack` of `object`. A changed stack keeps the name of its base, and its
/// summary says what was changed. Errors name file, line and key: an unknown stack or key (with the nearest
/// known one), a value of the wrong kind or out of range.
Result<Stack> read_stack(const JsonDocument& document, const nlohmann::json& object);

/// A stack as JSON that `read_stack` reads: the name of the known one, with what differs from it.
nlohmann::ordered_json stack_to_json(const Stack& stack);

}  // namespace vtrain
