/// torchtitan's TOML as a model and a plan.
#pragma once

#include <span>
#include <string>

#include "core/base/result.hpp"
#include "workloads/settings/named_setting.hpp"
#include "workloads/config/predict_config.hpp"

namespace vtrain {

/// Reads a model and a plan from settings with names of torchtitan's TOML:
/// `parallelism.tensor_parallel_degree`, or `training.tensor_parallel_degree` as of 2024. Defaults are
/// torchtitan's. The model is `options.model`, or follows from `model.name` and `model.flavor`.
///
/// The stack follows from compilation: `torchtitan`, `torchtitan-2024` where the loss is not compiled,
/// `torchtitan-eager` without (changed where the loss alone is compiled), `torchtitan-rowwise` with that
/// recipe.
///
/// Errors name file, line and key; options without effect and unknown ones are in `PredictConfig::settings`.
Result<PredictConfig> torchtitan_config(std::span<const NamedSetting> settings, const std::string& file,
                                        const ConfigOptions& options = {});

}  // namespace vtrain
