#include "workloads/memory_model.hpp"

#include <algorithm>

namespace vtrain {
namespace {

/// Bytes of mixed-precision Adam per parameter.
constexpr double kModelStateBytes = 16;

}  // namespace

double stage_parameters(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage) {
  const auto hidden = static_cast<double>(model.hidden_size);
  const auto tensor = static_cast<double>(plan.tensor);
  const auto layers = static_cast<double>(model.num_layers / plan.pipeline);
  const double word_embedding = static_cast<double>(model.vocab_size) * hidden / tensor;
  double parameters = (12 * hidden * hidden + 13 * hidden) * layers / tensor;
  if (stage == 0) parameters += word_embedding + static_cast<double>(model.sequence_length) * hidden;
  if (stage == plan.pipeline - 1 && stage > 0) parameters += word_embedding;
  return parameters;
}

StageMemory stage_memory(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                         const GpuProfile& profile) {
  const auto tensor = static_cast<double>(plan.tensor);
  const auto heads = static_cast<double>(model.num_heads);
  const auto sequence = static_cast<double>(model.sequence_length);
  const auto layers = static_cast<double>(model.num_layers / plan.pipeline);
  const auto in_flight = static_cast<double>(std::min(plan.pipeline - stage, plan.num_micro_batches()));
  const double tokens = static_cast<double>(plan.micro_batch) * sequence;
  const double elements = tokens * static_cast<double>(model.hidden_size);  // s b h
  const double scores = 5 * heads * sequence * tokens / tensor;             // s b h x 5 a s / (h t)
  const double full_layer = elements * (10 + 24 / tensor) + scores;
  const bool full_recompute = plan.recompute == Recompute::Full;

  double kept = layers * (full_recompute ? 2 * elements : full_layer);
  if (stage == 0) kept += elements;
  double working_set = full_recompute ? full_layer : 0;
  if (stage == plan.pipeline - 1) {
    const double head = 4 * elements + 8 * tokens * static_cast<double>(model.vocab_size) / tensor;
    working_set = std::max(working_set, head);
  }
  return {.model_state = Bytes(kModelStateBytes * stage_parameters(model, plan, stage)),
          .activations = Bytes(kept * in_flight),
          .working_set = Bytes(working_set),
          .reserve = profile.memory_reserve};
}

MemoryEstimate estimate_memory(const TransformerModel& model, const ParallelPlan& plan,
                               const GpuProfile& profile) {
  MemoryEstimate estimate{.capacity = profile.memory_capacity};
  // The stages between the first and the last differ only in the micro-batches in flight, of which the second
  // has most.
  for (const std::int64_t stage : {std::int64_t{0}, std::int64_t{1}, plan.pipeline - 1}) {
    if (stage >= plan.pipeline) continue;
    const Bytes total = stage_memory(model, plan, stage, profile).total();
    if (total > estimate.peak) {
      estimate.peak = total;
      estimate.stage = stage;
    }
  }
  return estimate;
}

}  // namespace vtrain
