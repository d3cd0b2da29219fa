/// Options of `vtrain predict` for a model, its GPUs and its plan.
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "core/base/result.hpp"
#include "workloads/config/predict_config.hpp"
#include "workloads/settings/named_setting.hpp"

namespace CLI {
class App;
}

namespace vtrain {

/// The options as given.
struct PredictPlanArguments {
  std::int64_t num_gpus = 0;  ///< 0: those of the file
  std::string model;          ///< empty: that of the file
  std::string plan;           ///< `tp=8,pp=4`; empty: that of the file
  /// Options of Megatron-LM; the list keeps their addresses.
  struct Option {
    std::string name;
    std::string value;
    bool is_given = false;
  };
  std::list<Option> megatron;
};

/// Adds `--gpus`, `--model`, `--plan` and the options of Megatron-LM that describe a plan.
void add_predict_plan_options(CLI::App& command, PredictPlanArguments& arguments);

/// The options as `read_predict_config` takes them. Errors name the option.
Result<ConfigOptions> read_predict_plan(const PredictPlanArguments& arguments);

/// Reads a configuration: a file, or the name of a model with a plan in the options.
Result<PredictConfig> read_predict_input(const std::string& input, const ConfigOptions& options);

/// Settings without effect and unknown ones, in one line; empty without any.
std::string describe_ignored_settings(const SettingNotes& notes);

}  // namespace vtrain
