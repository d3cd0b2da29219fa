/// Our own description of a model, as JSON.
///
///     {"name": "my model", "num_layers": 32, "hidden_size": 4096, "num_heads": 32, "sequence_length": 8192,
///      "vocab_size": 128256, "num_kv_heads": 8, "ffn_size": 14336, "activation": "swiglu",
///      "normalization": "rms_norm", "positions": "rotary", "tied_embeddings": false, "has_bias": false}
///
/// Keys are those of `model_fields`, with the defaults of `TransformerModel`; `num_layers`, `hidden_size`,
/// `num_heads`, `sequence_length` and `vocab_size` are required. Parts (`kModelParts`) and `dropout` are
/// objects with their own keys. `"base": "llama3-8b"` starts from a known model (`vtrain models`) instead of
/// GPT-3's defaults; no key is required then.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.hpp"
#include "workloads/model/model.hpp"

namespace vtrain {

class JsonDocument;

/// Reads a model from a part of a document, and checks it. Errors name file, line and key: an unknown key
/// (with the nearest known one), a value of the wrong kind, those of `check_model`.
Result<TransformerModel> read_model(const JsonDocument& document, const nlohmann::json& object);

/// Reads a model from the text of a file.
Result<TransformerModel> parse_model(std::string text, const std::string& file);

/// The model as JSON that `read_model` reads.
nlohmann::ordered_json model_to_json(const TransformerModel& model);

}  // namespace vtrain
