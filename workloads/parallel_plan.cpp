#include "workloads/parallel_plan.hpp"

#include <stdexcept>
#include <string_view>

#include "workloads/size_checks.hpp"

namespace vtrain {
namespace {

/// Bounds far beyond every plan run so far. They keep memory bounded and integer products exact.
constexpr std::int64_t kMaxStages = 1024;
constexpr std::int64_t kMaxReplicas = std::int64_t{1} << 20;
constexpr std::int64_t kMaxBatch = 100'000'000;

/// Layers to spread, the ends included where they count.
std::int64_t num_slots(const TransformerModel& model, const ParallelPlan& plan) {
  return model.num_layers + (plan.ends_count_as_layers ? 2 : 0);
}

Result<void> check_layers(const TransformerModel& model, const ParallelPlan& plan) {
  const std::string_view what = plan.ends_count_as_layers ? "layers, embedding and output layer" : "layers";
  const std::int64_t slots = num_slots(model, plan);
  if (auto checked = check_divides("pipeline", plan.pipeline, what, slots); !checked) return checked;
  return check_divides("virtual_stages", plan.virtual_stages, "layers of a stage", slots / plan.pipeline);
}

Result<void> check_experts(const TransformerModel& model, const ParallelPlan& plan) {
  if (!model.has_experts()) return check_range("expert", plan.expert, 1);
  return first_error(
      {check_divides("expert", plan.expert, "experts", model.experts.num_experts),
       check_divides("expert", plan.expert, "GPUs of a stage", plan.tensor * plan.context * plan.data)});
}

}  // namespace

LayerRange chunk_layers(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                        std::int64_t chunk) {
  const std::int64_t num_chunks = plan.pipeline * plan.virtual_stages;
  const std::int64_t size = num_slots(model, plan) / num_chunks;
  const std::int64_t place = chunk * plan.pipeline + stage;
  LayerRange range{.first = place * size, .count = size};
  if (!plan.ends_count_as_layers) return range;
  if (place > 0) --range.first;
  range.count -= (place == 0 ? 1 : 0) + (place == num_chunks - 1 ? 1 : 0);
  return range;
}

std::string_view name_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::None:
      return "none";
    case Recompute::Selective:
      return "selective";
    case Recompute::Full:
      return "full";
  }
  throw std::logic_error("unknown kind of recomputation");
}

std::string_view name_of(Sharding sharding) {
  switch (sharding) {
    case Sharding::None:
      return "none";
    case Sharding::Optimizer:
      return "optimizer";
    case Sharding::Full:
      return "full";
  }
  throw std::logic_error("unknown kind of sharding");
}

std::string_view name_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::OneForwardOneBackward:
      return "1f1b";
    case Schedule::ZeroBubble:
      return "zero-bubble";
  }
  throw std::logic_error("unknown schedule");
}

Result<void> check_plan(const TransformerModel& model, const ParallelPlan& plan) {
  auto checked = first_error({check_model(model), check_range("tensor", plan.tensor, kMaxStages),
                              check_range("pipeline", plan.pipeline, kMaxStages),
                              check_range("data", plan.data, kMaxReplicas),
                              check_range("context", plan.context, kMaxStages),
                              check_range("virtual_stages", plan.virtual_stages, kMaxStages),
                              check_range("expert", plan.expert, kMaxReplicas),
                              check_range("global_batch", plan.global_batch, kMaxBatch),
                              check_range("micro_batch", plan.micro_batch, kMaxBatch)});
  if (!checked) return checked;
  constexpr std::int64_t kMaxGpus = 1'000'000'000;
  return first_error({check_divides("tensor", plan.tensor, "heads", model.num_heads),
                      check_layers(model, plan), check_experts(model, plan),
                      check_divides("context", plan.context, "tokens of a sequence", model.sequence_length),
                      check_divides("data", plan.data, "sequences of the global batch", plan.global_batch),
                      check_divides("micro_batch", plan.micro_batch, "sequences of a replica",
                                    plan.global_batch / plan.data),
                      check_range("data", plan.tensor * plan.context * plan.pipeline * plan.data, kMaxGpus)});
}

}  // namespace vtrain
