/// Well-known models by name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.hpp"
#include "workloads/model/model.hpp"

namespace vtrain {

/// A published model.
struct ZooModel {
  std::string_view family{};  ///< `GPT-3`, `Llama 3.1`, ...
  TransformerModel architecture{};
  /// Sequences an iteration, as published; where nothing is published, 4 Mi tokens.
  std::int64_t global_batch = 0;
  bool batch_is_published = false;  ///< whether `global_batch` is
  std::string_view source{};        ///< where sizes and batch are published

  /// Of `architecture`.
  std::string_view name() const { return architecture.name; }
  /// What the predictor is given.
  const TransformerModel& model() const { return architecture; }
};

/// All models, by family and size. The sequence length is that of (the longest part of) pre-training.
std::span<const ZooModel> model_zoo();

/// The model of a name. The error names the nearest known one.
Result<ZooModel> find_model(std::string_view name);

}  // namespace vtrain
