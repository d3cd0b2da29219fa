/// Input of `vtrain predict`: a model with its training plan.
///
///     {"model": "llama3-8b",
///      "plan": {"data": 8, "global_batch": 128, "micro_batch": 1, "recompute": "none"},
///      "stack": "megatron-core", "profile": "h100"}
///
/// `model` is a name (`vtrain models`), the path of a model's file or of a Hugging Face `config.json`
/// (relative to this file), or such an object itself. `plan` is that of `plan_json.hpp`. `stack` (a name, or
/// a stack with changes: `stack_json.hpp`) and `profile` (a name) are optional.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/json_reader.hpp"
#include "workloads/settings/named_setting.hpp"
#include "workloads/config/plan_json.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/release/release_config.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

/// A model and a plan. Plans in our format have passed `check_plan`; one of the release may have a
/// micro-batch that does not divide the batch.
struct PredictConfig {
  JsonDocument document;  ///< its source, for later errors
  TransformerModel model;
  ParallelPlan plan;
  bool has_precision = false;            ///< it gives the plan's precision; else the stack's is used
  std::string stack;                     ///< name of a software stack; empty: not stated
  std::optional<Stack> changed_stack;    ///< the stack, where the file changes some of it
  std::string profile;                   ///< name of a GPU profile; empty: not stated
  std::vector<std::string> warnings;     ///< parts of the model's configuration that are not modelled
  std::optional<VtrainConfig> release;   ///< configuration of the public vTrain release, as that reads it
  std::optional<SettingNotes> settings;  ///< notes on the settings of a training framework; none: our JSON
};

/// Reads any kind of configuration; the name's end and the content tell which. JSON with a `model` or a
/// `plan` is in our format, JSON with DeepSpeed's keys a plan of DeepSpeed, every other JSON in the format of
/// the public vTrain release (`release_config.hpp`). For the latter, `plan` holds the micro-batch as the file
/// gives it. TOML is torchtitan's, YAML NeMo's, and a shell script or options alone are Megatron-LM's. Values
/// of `options` replace those of the file.
///
/// Errors name file, line and field: those of the readers, of `check_plan`, and a file that describes a model
/// alone, with an example of what is missing.
Result<PredictConfig> parse_predict_config(std::string text, const std::string& file,
                                           const ConfigOptions& options = {});

/// Reads a configuration in our format from a part of a document; `PredictConfig::document` stays empty. A
/// plan without micro-batch (`MicroBatch::Optional`) has not passed `check_plan`.
Result<PredictConfig> read_settings(const JsonDocument& document, const nlohmann::json& object,
                                    MicroBatch micro_batch = MicroBatch::Required);

/// Reads a configuration from a file.
Result<PredictConfig> read_predict_config(const std::filesystem::path& path,
                                          const ConfigOptions& options = {});

/// A configuration of a model (`options.model`) with the plan of the options alone.
Result<PredictConfig> config_of_options(const ConfigOptions& options);

/// Adds the configuration's file to a later error whose field is one of `plan` or of the whole. Adds the line
/// too if the configuration has the field.
Error place_in_config(const PredictConfig& config, Error error);

}  // namespace vtrain
