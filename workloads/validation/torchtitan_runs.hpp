/// Which torchtitan ran, as far as records tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/stack/stack.hpp"

namespace vtrain {

/// What a record says of it.
struct TorchTitanRun {
  std::string name;  ///< its id and framework
  std::string page;  ///< title and path of its source, which may name a month
  std::string caveats;
  std::string precision;                  ///< as the record has it
  std::optional<bool> compiles{};         ///< where a key of the record says so
  std::optional<bool> is_asynchronous{};  ///< likewise, of tensor parallelism
};

/// The stack of a run. torchtitan compiles layers and pipelines collectives with products only where it is
/// told to (train_configs/llama3_8b.toml: compile = false; enable_async_tensor_parallel, a pass of the
/// compiler; its page compares it with "vanilla" runs), and its loss since April 2025; pages without a date
/// are older. Gathers of rows that are scaled one by one are not pipelined (pytorch/pytorch, issue 149990).
/// What nothing says is appended to `assumed`.
Stack torchtitan_stack(const TorchTitanRun& run, std::vector<std::string>& assumed);

}  // namespace vtrain
