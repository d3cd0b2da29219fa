#include "workloads/model.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "workloads/size_checks.hpp"

namespace vtrain {
namespace {

/// Bounds far beyond every model trained so far. They keep memory bounded and integer products exact.
constexpr std::int64_t kMaxLayers = 10'000;
constexpr std::int64_t kMaxHidden = std::int64_t{1} << 20;
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 16;
constexpr std::int64_t kMaxSequence = std::int64_t{1} << 24;
constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << 24;

}  // namespace

std::int64_t TransformerModel::num_parameters() const {
  const std::int64_t layer = 12 * hidden_size * hidden_size + 13 * hidden_size;
  return num_layers * layer + (vocab_size + sequence_length + 2) * hidden_size;
}

Result<void> check_model(const TransformerModel& model) {
  auto checked = first_error({check_range("num_layers", model.num_layers, kMaxLayers),
                              check_range("hidden_size", model.hidden_size, kMaxHidden),
                              check_range("num_heads", model.num_heads, kMaxHeads),
                              check_range("sequence_length", model.sequence_length, kMaxSequence),
                              check_range("vocab_size", model.vocab_size, kMaxVocabulary)});
  if (!checked) return checked;
  return check_divides("num_heads", model.num_heads, "hidden size", model.hidden_size);
}

Flops model_flops(const TransformerModel& model, std::int64_t global_batch) {
  const auto hidden = static_cast<double>(model.hidden_size);
  const auto layers = static_cast<double>(model.num_layers);
  const auto sequence = static_cast<double>(model.sequence_length);
  const auto vocabulary = static_cast<double>(model.vocab_size);
  const double tokens = static_cast<double>(global_batch) * sequence;
  return Flops(72 * tokens * layers * hidden * hidden *
               (1 + sequence / (6 * hidden) + vocabulary / (12 * layers * hidden)));
}

}  // namespace vtrain
