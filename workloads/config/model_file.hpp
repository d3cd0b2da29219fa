/// Models by name, from our own files or from those of Hugging Face.
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

/// A model with its source.
struct ModelDescription {
  TransformerModel model;
  /// Sequences per iteration in the known training of the model, 0 if unknown.
  std::int64_t global_batch = 0;
  bool batch_is_published = false;    ///< `global_batch` was published
  std::string source;                 ///< publication of a known model, else the file
  std::vector<std::string> warnings;  ///< parts of a configuration that are not modelled
};

/// True if `name` is the path of a model, not the name of a known one: it has a `/` or ends in `.json`.
bool is_model_path(const std::string& name);

/// A model by its name (`vtrain models`), or from a file of our own (`model_json.hpp`) or of Hugging Face
/// (`hugging_face.hpp`) when `name` is a path (`is_model_path`). A folder means its `config.json`. A relative
/// path starts at `folder`. `sequence_length` is that of training, 0 for the model's. A model without a name
/// gets the name of its file, or of the folder of a `config.json`.
Result<ModelDescription> load_model(const std::string& name, std::int64_t sequence_length = 0,
                                    const std::filesystem::path& folder = {});

/// Reads a model from a part of a document, in our own format or that of Hugging Face.
Result<ModelDescription> describe_model(const JsonDocument& document, const nlohmann::json& object,
                                        std::int64_t sequence_length = 0);

}  // namespace vtrain
