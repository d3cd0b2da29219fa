/// Models by name or from files of either kind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/model/model.hpp"

namespace vtrain {

class JsonDocument;

/// A model with where it comes from.
struct ModelDescription {
  TransformerModel model;
  /// Sequences an iteration that it is known to be trained with, 0 if unknown.
  std::int64_t global_batch = 0;
  bool batch_is_published = false;    ///< whether `global_batch` is
  std::string source;                 ///< of a known model its publication, else the file
  std::vector<std::string> warnings;  ///< what of a configuration is not modelled
};

/// Whether `name` is the path of a model, not the name of a known one: it has a `/` or ends in `.json`.
bool is_model_path(const std::string& name);

/// A model by its name (`vtrain models`), or from a file of our own (`model_json.hpp`) or of Hugging Face
/// (`hugging_face.hpp`) when `name` is a path (`is_model_path`). A folder stands for its `config.json`. A
/// relative path starts at `folder`. `sequence_length` is that of training, 0 for the model's. A model
/// without a name is called after its file, or after the folder of a `config.json`.
Result<ModelDescription> load_model(const std::string& name, std::int64_t sequence_length = 0,
                                    const std::filesystem::path& folder = {});

/// The same from a part of a document that describes a model in either way.
Result<ModelDescription> describe_model(const JsonDocument& document, const nlohmann::json& object,
                                        std::int64_t sequence_length = 0);

}  // namespace vtrain
