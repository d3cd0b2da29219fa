/// Families of language models in Hugging Face's files, each read as its class computes it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "workloads/model/model.hpp"

namespace vtrain {

class ConfigReader;

/// Longest sequence that is assumed for training. The longest sequence of a file is often that of inference
/// after an extension of the context.
inline constexpr std::int64_t kUsualSequence = 8192;

/// Reader of the files of a `model_type`. Its reading was checked against the source of the class, which
/// docs/families.md repeats.
struct Family {
  std::string_view model_type;
  /// Reads a file. `sequence_length` is that of training; 0: the longest of the file, at most
  /// `kUsualSequence`.
  void (*read)(ConfigReader& config, std::int64_t sequence_length, TransformerModel& model);
  std::string_view class_name;  ///< start of the names of its classes: `Llama` of `LlamaForCausalLM`
  std::string_view source;      ///< checked source, below src/transformers/models of huggingface/transformers
  Dropout dropout{};            ///< dropout if the file has none (configuration_*.py of transformers)
};

/// All families, each `model_type` once.
std::span<const Family> families();

}  // namespace vtrain
