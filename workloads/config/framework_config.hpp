/// Steps that the readers of all training frameworks share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "workloads/settings/named_setting.hpp"
#include "workloads/config/predict_config.hpp"

namespace vtrain {

/// A model by its name or from a file (`load_model`). The error names the option `--model`.
Result<TransformerModel> load_named_model(const std::string& name, std::int64_t sequence_length);

/// Sets the data-parallel degree so that the plan has `options.num_gpus` GPUs or, if that is 0, `of_file`.
/// Complains if both are 0, or if the degrees do not divide them; remarks if they differ.
void set_gpus(SettingReader& settings, ParallelPlan& plan, std::int64_t of_file,
              const ConfigOptions& options);

/// Sets the fields of a plan that `options.plan` gives, but for the data-parallel degree. Complains about
/// unknown names and values that cannot be read.
void apply_plan_options(SettingReader& settings, ParallelPlan& plan, const ConfigOptions& options);

/// True if the options give a field of the plan.
bool has_plan_option(const ConfigOptions& options, std::string_view key);

/// Checks a configuration that was read from settings, and moves the notes into it. Errors name the setting
/// that gave the field its value.
Result<PredictConfig> finish_config(SettingReader& settings, PredictConfig config,
                                    const ConfigOptions& options);

/// Adds file, line and setting to an error whose field is one of plan or model.
Error place_in_settings(const SettingNotes& notes, Error error);

}  // namespace vtrain
