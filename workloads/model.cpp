#include "workloads/model.hpp"

#include <fmt/format.h>

#include "core/text.hpp"

namespace vtrain {
namespace {

/// Bounds far beyond every model trained so far. They keep memory bounded and integer products exact.
constexpr std::int64_t kMaxLayers = 10'000;
constexpr std::int64_t kMaxHidden = std::int64_t{1} << 20;
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 16;
constexpr std::int64_t kMaxSequence = std::int64_t{1} << 24;
constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << 24;
constexpr std::int64_t kMaxStages = 1024;
constexpr std::int64_t kMaxReplicas = std::int64_t{1} << 20;
constexpr std::int64_t kMaxBatch = 100'000'000;

Result<void> check_range(std::string_view field, std::int64_t value, std::int64_t high) {
  if (value >= 1 && value <= high) return {};
  return fail(
      {.field = std::string(field),
       .message = expected_found(fmt::format("a whole number from 1 to {}", high), std::to_string(value))});
}

Result<void> check_divides(std::string_view field, std::int64_t divisor, std::string_view what,
                           std::int64_t value) {
  if (value % divisor == 0) return {};
  return fail({.field = std::string(field),
               .message = expected_found(fmt::format("a divisor of the {} {}", value, what),
                                         std::to_string(divisor))});
}

/// The first error of a list of checks.
Result<void> first_error(std::initializer_list<Result<void>> checks) {
  for (const Result<void>& check : checks) {
    if (!check) return check;
  }
  return {};
}

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

Result<void> check_plan(const TransformerModel& model, const ParallelPlan& plan) {
  auto checked = first_error({check_model(model), check_range("tensor", plan.tensor, kMaxStages),
                              check_range("pipeline", plan.pipeline, kMaxStages),
                              check_range("data", plan.data, kMaxReplicas),
                              check_range("global_batch", plan.global_batch, kMaxBatch),
                              check_range("micro_batch", plan.micro_batch, kMaxBatch)});
  if (!checked) return checked;
  constexpr std::int64_t kMaxGpus = 1'000'000'000;
  return first_error({check_divides("tensor", plan.tensor, "heads", model.num_heads),
                      check_divides("pipeline", plan.pipeline, "layers", model.num_layers),
                      check_divides("data", plan.data, "sequences of the global batch", plan.global_batch),
                      check_divides("micro_batch", plan.micro_batch, "sequences of a replica",
                                    plan.global_batch / plan.data),
                      check_range("data", plan.tensor * plan.pipeline * plan.data, kMaxGpus)});
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
