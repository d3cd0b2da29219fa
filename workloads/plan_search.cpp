#include "workloads/plan_search.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "workloads/memory_model.hpp"
#include "workloads/physical_semantics.hpp"

namespace vtrain {
namespace {

constexpr std::array<std::int64_t, 5> kMicroBatches = {1, 2, 4, 8, 16};

/// `megatron-39.1b` or, for a model without a name, its sizes.
std::string describe(const TransformerModel& model) {
  if (!model.name.empty()) return "'" + model.name + "'";
  return fmt::format("of {} layers and hidden size {}", model.num_layers, model.hidden_size);
}

tl::unexpected<Error> no_plan(const TransformerModel& model, GpuCount num_gpus, std::int64_t global_batch) {
  return fail(
      {.kind = ErrorKind::InvalidInput,
       .field = "num_gpus",
       .message = fmt::format("model {} with a global batch of {} cannot be divided over exactly {} GPUs",
                              describe(model), global_batch, num_gpus.value)});
}

tl::unexpected<Error> nothing_fits(const TransformerModel& model, GpuCount num_gpus,
                                   const MemoryEstimate& least) {
  constexpr double kGigabyte = 1e9;
  return fail(
      {.kind = ErrorKind::Failed,
       .field = "num_gpus",
       .message = fmt::format(
           "model {} does not fit on {} GPUs: the smallest plan needs {:.1f} GB per GPU, which has {:.1f} GB",
           describe(model), num_gpus.value, least.peak.value / kGigabyte, least.capacity.value / kGigabyte)});
}

}  // namespace

bool PlanLimits::allow(const ParallelPlan& plan) const {
  return plan.tensor == tensor.value_or(plan.tensor) && plan.context == context.value_or(plan.context) &&
         plan.pipeline == pipeline.value_or(plan.pipeline) && plan.data == data.value_or(plan.data);
}

std::vector<ParallelPlan> enumerate_plans(const TransformerModel& model, GpuCount num_gpus,
                                          std::int64_t global_batch, const GpuProfile& profile) {
  std::vector<ParallelPlan> plans;
  const std::int64_t gpus = num_gpus.value;
  for (std::int64_t tensor = 1; tensor <= std::min(profile.gpus_per_node, gpus); tensor *= 2) {
    if (gpus % tensor != 0) continue;
    for (std::int64_t pipeline = 1; pipeline <= std::min(model.num_layers, gpus / tensor); ++pipeline) {
      if (gpus / tensor % pipeline != 0) continue;
      for (const std::int64_t micro_batch : kMicroBatches) {
        for (const Recompute recompute : {Recompute::Full, Recompute::None}) {
          const ParallelPlan plan{.tensor = tensor,
                                  .data = gpus / tensor / pipeline,
                                  .pipeline = pipeline,
                                  .global_batch = global_batch,
                                  .micro_batch = micro_batch,
                                  .recompute = recompute};
          if (check_plan(model, plan)) plans.push_back(plan);
        }
      }
    }
  }
  return plans;
}

Result<PlanSearchResult> search_plans(const TransformerModel& model, GpuCount num_gpus,
                                      std::int64_t global_batch, const GpuProfile& profile,
                                      const PlanSearchOptions& options) {
  if (auto checked = check_model(model); !checked) return fail(checked.error());
  std::vector<ParallelPlan> plans = enumerate_plans(model, num_gpus, global_batch, profile);
  std::erase_if(plans, [&options](const ParallelPlan& plan) { return !options.limits.allow(plan); });
  if (plans.empty()) return no_plan(model, num_gpus, global_batch);

  PlanSearchResult result;
  result.num_plans = static_cast<std::int64_t>(plans.size());
  LayerCostCache costs(model, profile, default_stack());
  MemoryEstimate least;
  for (const ParallelPlan& plan : plans) {
    const MemoryEstimate memory = estimate_memory(model, plan, profile);
    if (least.peak.value == 0 || memory.peak < least.peak) least = memory;
    if (!memory.fits()) continue;
    const IterationTimes times = fast_iteration_times(costs.work(plan));
    result.best.push_back({plan, times.iteration, memory, times.breakdown});
  }
  result.num_fitting = static_cast<std::int64_t>(result.best.size());
  if (result.best.empty()) return nothing_fits(model, num_gpus, least);
  std::stable_sort(result.best.begin(), result.best.end(),
                   [](const RankedPlan& a, const RankedPlan& b) { return a.iteration < b.iteration; });
  if (options.top > 0 && result.best.size() > options.top) result.best.resize(options.top);
  return result;
}

}  // namespace vtrain
