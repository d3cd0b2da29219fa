/// NeMo's YAML as a model and a plan.
#pragma once

#include <span>
#include <string>

#include "core/base/result.hpp"
#include "workloads/settings/named_setting.hpp"
#include "workloads/config/predict_config.hpp"

namespace vtrain {

/// Reads a model and a plan from settings with the names of NeMo's YAML: `model.tensor_model_parallel_size`,
/// `trainer.num_nodes`. Also reads recipes of NeMo 2 and of Megatron-Bridge, exported as YAML:
/// `trainer.strategy.tensor_model_parallel_size`, `train.global_batch_size`. NeMo trains with Megatron-Core,
/// so the settings become arguments of `megatron_config`, with its errors and stacks.
Result<PredictConfig> nemo_config(std::span<const NamedSetting> settings, const std::string& file,
                                  const ConfigOptions& options = {});

}  // namespace vtrain
