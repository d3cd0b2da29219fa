/// Input of `vtrain predict`: a model with its training plan.
///
///     {"model": "llama3-8b",
///      "plan": {"data": 8, "global_batch": 128, "micro_batch": 1, "recompute": "none"},
///      "stack": "megatron-core", "profile": "h100"}
///
/// `model` is a name (`vtrain models`), the path of a model's file or of a Hugging Face `config.json`
/// (relative to this file), or such an object itself. `plan` is that of `plan_json.hpp`. `stack` and
/// `profile` are optional names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/json_reader.hpp"
#include "workloads/config/named_setting.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/release/release_config.hpp"

namespace vtrain {

/// A model and a plan. Plans in our format have passed `check_plan`; one of the release may have a
/// micro-batch that does not divide the batch.
struct PredictConfig {
  JsonDocument document;  ///< its source, for later errors
  TransformerModel model;
  ParallelPlan plan;
  bool has_precision = false;            ///< it gives the plan's precision; else the stack's is used
  std::string stack;                     ///< name of a software stack; empty: not stated
  std::string profile;                   ///< name of a GPU profile; empty: not stated
  std::vector<std::string> warnings;     ///< parts of the model's configuration that are not modelled
  std::optional<VtrainConfig> release;   ///< configuration of the public vTrain release, as that reads it
  std::optional<SettingNotes> settings;  ///< notes on the settings of a training framework; none: our JSON
};

/// Reads either kind of configuration. A file with a `model` or a `plan` is in our format, every other one in
/// that of the public vTrain release (`release_config.hpp`). For the latter, `plan` holds the micro-batch as
/// the file gives it.
///
/// Errors name file, line and field: those of the readers, of `check_plan`, and a file that describes a model
/// alone, with an example of what is missing.
Result<PredictConfig> parse_predict_config(std::string text, const std::string& file);

/// Reads a configuration from a file.
Result<PredictConfig> read_predict_config(const std::filesystem::path& path);

/// Adds the configuration's file to a later error whose field is one of `plan` or of the whole. Adds the line
/// too if the configuration has the field.
Error place_in_config(const PredictConfig& config, Error error);

}  // namespace vtrain
