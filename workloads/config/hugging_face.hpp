/// Models as Hugging Face publishes them: the `config.json` beside the weights.
///
/// Read are the decoders of `model_type` `llama`, `mistral`, `mixtral`, `phi3`, `olmo2`, `olmo3`, `qwen2`,
/// `qwen2_moe`, `qwen3`, `qwen3_moe`, `deepseek_v2`, `deepseek_v3`, `kimi_k2`, `glm4_moe`, `gpt2`, `opt`,
/// `gpt_neox`, `gpt_oss`, `nemotron` and `nemotron_h`, and the encoder `bert`. Every key of the file is
/// accounted for: it is used, or is on a list of keys that change neither the shape nor the amount of the
/// computation (token ids, initialisation, scales of rotary positions, ...), or is named in a warning. What a
/// file lacks is as the family's class in transformers (configuration_*.py) has it, if it is not a size that
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

/// A model and what of its configuration is not modelled, one sentence each.
struct HuggingFaceModel {
  TransformerModel model;
  std::vector<std::string> warnings;
};

/// Whether an object looks like such a configuration: it has a `model_type`, `architectures` or
/// `text_config`.
bool is_hugging_face_config(const nlohmann::json& object);

/// Reads one. `sequence_length` is that of training, 0 for the longest that the model takes: training is
/// usually shorter, so that a warning says so. Errors name file, line and key: an unsupported `model_type`, a
/// missing size, a value that would mean another computation, those of `check_model`.
Result<HuggingFaceModel> read_hugging_face_config(const JsonDocument& document, const nlohmann::json& object,
                                                  std::int64_t sequence_length);

}  // namespace vtrain
