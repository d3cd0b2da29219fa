/// Well-known models by name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.hpp"
#include "workloads/model/model.hpp"

namespace vtrain {

/// Tokens of an iteration where no batch is published.
inline constexpr std::int64_t kUsualBatchTokens = std::int64_t{4} << 20;

/// A published model.
struct ZooModel {
  std::string_view family{};        ///< `GPT-3`, `Llama 3.1`, ...
  TransformerModel architecture{};  ///< model with its published sizes
  /// Sequences per iteration, as published; `kUsualBatchTokens` if nothing is published.
  std::int64_t global_batch = 0;
  bool batch_is_published = false;  ///< `global_batch` was published
  std::string_view source{};        ///< publication of sizes and batch

  /// Name of `architecture`.
  std::string_view name() const { return architecture.name; }
  /// Model that the predictor receives.
  const TransformerModel& model() const { return architecture; }
};

/// All models, by family and size. The sequence length is that of (the longest part of) pre-training.
std::span<const ZooModel> model_zoo();

/// Looks up a model by name. The error names the nearest known one.
Result<ZooModel> find_model(std::string_view name);

}  // namespace vtrain
