#include "workloads/parallel_plan.hpp"

#include "workloads/size_checks.hpp"

namespace vtrain {
namespace {

/// Bounds far beyond every plan run so far. They keep memory bounded and integer products exact.
constexpr std::int64_t kMaxStages = 1024;
constexpr std::int64_t kMaxReplicas = std::int64_t{1} << 20;
constexpr std::int64_t kMaxBatch = 100'000'000;

}  // namespace

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

}  // namespace vtrain
