/// Models as Hugging Face publishes them: the `config.json` next to the weights.
///
/// Supports the families of `families.hpp`, and the language model of some models that take images as well.
/// Every key of the file is used, listed as irrelevant, or named in a warning. Irrelevant keys change neither
/// the shape nor the amount of computation (token ids, initialisation, scales of rotary positions, ...).
/// Absent keys have the values of the family's class in transformers (configuration_*.py), except sizes that
/// every published file gives.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/model/model.hpp"

namespace vtrain {

class JsonDocument;

/// A model and the parts of its configuration that are not modelled, one sentence each.
struct HuggingFaceModel {
  TransformerModel model;
  std::vector<std::string> warnings;
};

/// True if an object looks like such a configuration: it has a `model_type`, `architectures` or
/// `text_config`.
bool is_hugging_face_config(const nlohmann::json& object);

/// Reads such a configuration. `sequence_length` is that of training; 0: the model's longest, at most
/// `kUsualSequence`, and a warning says so. Errors name file, line and key: a `model_type` or class that is
/// not known, one that is known and not modelled, a missing size, a value that means another computation,
/// those of `check_model`.
Result<HuggingFaceModel> read_hugging_face_config(const JsonDocument& document, const nlohmann::json& object,
                                                  std::int64_t sequence_length);

}  // namespace vtrain
