/// Well-known GPT models by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "workloads/model.hpp"

namespace vtrain {

/// A published model.
struct ZooModel {
  std::string_view name;  ///< `gpt3-`, `megatron-` or `mtnlg-`, and the size
  std::int64_t num_layers;
  std::int64_t hidden_size;
  std::int64_t num_heads;
  std::int64_t sequence_length;
  std::int64_t vocab_size;
  std::int64_t global_batch;  ///< sequences an iteration, as published
  std::string_view source;

  /// The model's sizes.
  TransformerModel model() const;
};

/// All models, by family and size.
std::span<const ZooModel> model_zoo();

/// The model of a name. The error names the nearest known one.
Result<ZooModel> find_model(std::string_view name);

}  // namespace vtrain
