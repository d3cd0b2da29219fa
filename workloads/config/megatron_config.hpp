/// Megatron-LM's arguments as a model and a plan.
///
/// Reads both spellings: options of a command line (`--tensor-model-parallel-size 4`, flags without value)
/// and what a run prints of its arguments (`tensor_model_parallel_size ...... 4`, with None, True and False).
/// Also reads the arguments of Megatron-DeepSpeed. Defaults are Megatron-LM's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/settings/named_setting.hpp"
#include "workloads/config/predict_config.hpp"

namespace vtrain {

/// Reads a model and a plan from arguments. The number of GPUs is `options.num_gpus`, else `world_size`, else
/// `nproc_per_node` x `nnodes`. The model is `options.model` if the arguments have none. `format` names the
/// kind of file for people.
///
/// The stack is `megatron-core`; `megatron-bridge` where its overlap and gradients are requested,
/// `megatron-2021` with options of that time, `deepspeed-megatron` with DeepSpeed's.
///
/// Errors name file, line and option: a missing size, a value that cannot be read, an option that cannot be
/// modelled, those of `check_plan`. Options without effect and unknown ones are in `PredictConfig::settings`.
Result<PredictConfig> megatron_config(std::span<const NamedSetting> settings, const std::string& file,
                                      const ConfigOptions& options = {},
                                      std::string format = "Megatron-LM's arguments");

/// An option of Megatron-LM that sets a member of the plan.
struct MegatronPlanOption {
  std::string_view name;     ///< name without dashes: `tensor-model-parallel-size`
  bool is_flag = false;      ///< the option has no value
  std::string_view meaning;  ///< meaning in one line
};

/// Options of Megatron-LM that describe a plan, in the order of help.
std::span<const MegatronPlanOption> megatron_plan_options();

/// The layers of `--moe-layer-freq`, 1 with experts, from a list in Python's notation: `[0]*3+[1]*58`,
/// `([1]*3+[0])*2`. At most 100,000 values; none if the text is no such list.
std::optional<std::vector<std::int64_t>> parse_layer_list(std::string_view text);

}  // namespace vtrain
