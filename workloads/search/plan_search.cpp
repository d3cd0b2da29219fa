#include "workloads/search/plan_search.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/profile/gpu_profile.hpp"
#include "workloads/model/model.hpp"
#include "workloads/search/plan_timer.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

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
                                   const MemoryEstimate& least, double headroom) {
  return fail({.kind = ErrorKind::Failed,
               .field = "num_gpus",
               .message = fmt::format(
                   "model {} does not fit on {} GPU{}: the smallest plan needs {:.1f} GiB "
                   "per GPU, which has {:.1f} GiB{}",
                   describe(model), num_gpus.value, num_gpus.value == 1 ? "" : "s",
                   least.peak.value / kGibibyte, least.capacity.value / kGibibyte,
                   least.fits() ? fmt::format(" ({:.4g} % is left free: --headroom)", headroom * 100) : "")});
}

}  // namespace

PlanSearch::PlanSearch(TransformerModel model, const GpuProfile& profile, const Stack& stack)
    : timer_(std::make_unique<PlanTimer>(std::move(model), profile, stack)) {}

PlanSearch::~PlanSearch() = default;

const TransformerModel& PlanSearch::model() const {
  return timer_->model();
}

const GpuProfile& PlanSearch::profile() const {
  return timer_->profile();
}

const Stack& PlanSearch::stack() const {
  return timer_->stack();
}

Nanoseconds PlanSearch::iteration_of(const ParallelPlan& plan) {
  timer_->select(plan);
  return timer_->iteration();
}

MemoryEstimate PlanSearch::fewest_to_fit(ParallelPlan& plan, std::int64_t ParallelPlan::*layers,
                                         std::int64_t most, double headroom) const {
  const auto estimate = [&](std::int64_t number) {
    plan.*layers = number;
    return estimate_memory(model(), plan, profile(), stack().memory);
  };
  MemoryEstimate memory = estimate(most);
  if (!memory.fits(headroom)) return memory;
  std::int64_t too_few = 0;
  while (most - too_few > 1) {
    const std::int64_t middle = std::midpoint(too_few, most);
    (estimate(middle).fits(headroom) ? most : too_few) = middle;
  }
  return estimate(most);
}

void PlanSearch::offload_to_fit(ParallelPlan& plan, MemoryEstimate& memory, double headroom) const {
  if (!stack().choices.offload || plan.pipeline > 1 || plan.recompute != Recompute::None) return;
  // Megatron-Core keeps the last layer, whose backward pass comes at once.
  memory = fewest_to_fit(plan, &ParallelPlan::offloaded_layers, model().num_layers - 1, headroom);
}

void PlanSearch::recompute_to_fit(ParallelPlan& plan, MemoryEstimate& memory, double headroom) const {
  if (!stack().choices.partial_recompute || plan.recompute != Recompute::Full) return;
  ParallelPlan without = plan;
  without.recompute = Recompute::None;
  if (estimate_memory(model(), without, profile(), stack().memory).fits(headroom)) return;
  const std::int64_t all = chunk_size(model(), plan);
  memory = fewest_to_fit(plan, &ParallelPlan::recomputed_layers, all, headroom);
  if (plan.recomputed_layers == all) plan.recomputed_layers = 0;
}

void PlanSearch::time_in_full(const std::vector<ParallelPlan>& plans, std::vector<Candidate>& candidates) {
  for (Candidate& candidate : candidates) {
    timer_->select(plans[candidate.place]);
    candidate.iteration = timer_->iteration();
    candidate.breakdown = timer_->breakdown();
  }
}

std::int64_t PlanSearch::time_best(const std::vector<ParallelPlan>& plans, std::vector<Candidate>& candidates,
                                   std::size_t top) {
  for (Candidate& candidate : candidates) {
    timer_->select(plans[candidate.place]);
    candidate.bound = timer_->lower_bound();
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.bound, a.place) < std::tie(b.bound, b.place);
  });
  // Iterations of more than 104 days are rounded; bounds are not.
  constexpr double kRounding = 1 - 1e-9;
  std::vector<Nanoseconds> fastest;  // a heap of the `top` fastest so far, the slowest of them in front
  std::size_t timed = 0;
  for (; timed < candidates.size(); ++timed) {
    Candidate& candidate = candidates[timed];
    if (fastest.size() == top && candidate.bound * kRounding > fastest.front()) break;
    timer_->select(plans[candidate.place]);
    candidate.iteration = timer_->iteration();
    fastest.push_back(candidate.iteration);
    std::push_heap(fastest.begin(), fastest.end());
    if (fastest.size() <= top) continue;
    std::pop_heap(fastest.begin(), fastest.end());
    fastest.pop_back();
  }
  candidates.resize(timed);
  return static_cast<std::int64_t>(timed);
}

std::vector<ParallelPlan> PlanSearch::plans(GpuCount num_gpus, std::int64_t global_batch,
                                            const PlanSearchOptions& options) const {
  PlanChoices choices = stack().choices;
  if (options.zero_bubble && choices.zero_bubble) choices.schedules.push_back(Schedule::ZeroBubble);
  return enumerate_plans(model(), num_gpus, global_batch, profile(), choices, options.limits);
}

MemoryEstimate PlanSearch::fit(ParallelPlan& plan, const PlanSearchOptions& options) const {
  MemoryEstimate memory = estimate_memory(model(), plan, profile(), stack().memory);
  if (options.offload && !memory.fits(options.headroom)) offload_to_fit(plan, memory, options.headroom);
  if (options.partial_recompute && memory.fits(options.headroom))
    recompute_to_fit(plan, memory, options.headroom);
  return memory;
}

bool PlanSearch::any_fits(GpuCount num_gpus, std::int64_t global_batch,
                          const PlanSearchOptions& options) const {
  std::vector<ParallelPlan> plans = this->plans(num_gpus, global_batch, options);
  return std::any_of(plans.begin(), plans.end(),
                     [&](ParallelPlan& plan) { return fit(plan, options).fits(options.headroom); });
}

Result<PlanSearchResult> PlanSearch::find(GpuCount num_gpus, std::int64_t global_batch,
                                          const PlanSearchOptions& options) {
  if (auto checked = check_model(model()); !checked) return fail(checked.error());
  std::vector<ParallelPlan> plans = this->plans(num_gpus, global_batch, options);
  if (plans.empty()) return no_plan(model(), num_gpus, global_batch);

  PlanSearchResult result{.num_plans = std::ssize(plans)};
  std::vector<Candidate> candidates;
  MemoryEstimate least;
  for (std::size_t place = 0; place < plans.size(); ++place) {
    const MemoryEstimate memory = fit(plans[place], options);
    if (least.peak.value == 0 || memory.peak < least.peak) least = memory;
    if (memory.fits(options.headroom)) candidates.push_back({.place = place, .memory = memory});
  }
  result.num_fitting = std::ssize(candidates);
  if (candidates.empty()) return nothing_fits(model(), num_gpus, least, options.headroom);
  const bool all = options.top == 0 || candidates.size() <= options.top;
  if (all) {
    time_in_full(plans, candidates);
    result.num_timed = result.num_fitting;
  } else {
    result.num_timed = time_best(plans, candidates, options.top);
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.iteration, a.place) < std::tie(b.iteration, b.place);
  });
  if (!all) {
    candidates.resize(options.top);
    time_in_full(plans, candidates);
  }
  for (const Candidate& candidate : candidates)
    result.best.push_back(
        {plans[candidate.place], candidate.iteration, candidate.memory, candidate.breakdown});
  timer_->select(result.best.front().plan);
  result.best.front().has_fallbacks = timer_->has_fallbacks();
  return result;
}

}  // namespace vtrain
