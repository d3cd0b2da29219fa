/// DeepSpeed's JSON as a plan.
#pragma once

#include <span>
#include <string>

#include "core/base/result.hpp"
#include "workloads/settings/named_setting.hpp"
#include "workloads/config/predict_config.hpp"

namespace vtrain {

/// Reads a plan from settings with names of DeepSpeed's JSON: `zero_optimization.stage`. The file has no
/// model: `options.model` names it. `auto`, which Hugging Face's Trainer fills in, means that a setting is
/// absent.
///
/// The stack is `deepspeed-megatron` with the stages 0 and 1, where weights are not divided, and `fsdp-eager`
/// with 2 and 3.
///
/// Errors name file, line and key; options without effect and unknown ones are in `PredictConfig::settings`.
Result<PredictConfig> deepspeed_config(std::span<const NamedSetting> settings, const std::string& file,
                                       const ConfigOptions& options = {});

}  // namespace vtrain
