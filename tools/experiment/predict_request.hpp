/// Request and answer of `vtrain predict`.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/config/predict_config.hpp"
#include "workloads/model/model.hpp"
#include "workloads/predict.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

struct Calibration;
struct TrainingSpeed;

/// Predictor and target of a prediction, where the configuration does not choose them.
struct PredictionArguments {
  std::string semantics = "physical";   ///< a name of `Semantics`
  std::string profile{};                ///< GPU profile; empty: the configuration's, or a100
  std::string stack{};                  ///< software stack; empty: the configuration's, or the default
  std::string set_up = "own";           ///< a name of `SetUp`
  std::filesystem::path traces{};       ///< kernel traces of the release; empty: the configuration's
  std::filesystem::path collectives{};  ///< all-reduce tables of the release; empty: the configuration's
  bool strict = false;                  ///< missing and extrapolated numbers are errors
};

/// One configuration with its prediction.
struct PredictionAnswer {
  std::string config{};
  TransformerModel model{};
  std::string profile{};      ///< GPU type, in lower case
  std::string stack{};        ///< its name; the public vTrain release has none
  Stack rules{};              ///< its rules; for the public vTrain release: attention is not fused
  std::string calibration{};  ///< sentence on the calibration; empty without one
  Prediction prediction{};
  std::vector<std::string> warnings{};  ///< parts of the model's configuration that are not modelled
  std::vector<std::string> settings{};  ///< sentences on the settings of a training framework
  std::optional<SettingNotes> notes{};  ///< settings of a training framework that are ignored
};

/// Speed of training as predicted.
TrainingSpeed speed_of(const PredictionAnswer& answer);

/// Sources, remarks and warnings, a sentence each.
std::vector<std::string> sources_of(const PredictionAnswer& answer);

/// Lines on the settings of a training framework for people, a sentence each.
std::vector<std::string> describe_settings(const PredictConfig& config);

/// Predicts a configuration that was read from `name`. Errors name an option or a place in the configuration.
Result<PredictionAnswer> answer_prediction(const PredictConfig& config, const std::string& name,
                                           const PredictionArguments& arguments,
                                           const Calibration& calibration);

/// The answer as `vtrain predict --json` prints it.
nlohmann::ordered_json prediction_to_json(const PredictionAnswer& answer);

}  // namespace vtrain
