#include "tools/experiment/training_time.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/text/quantities.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "tools/experiment/plan_spec.hpp"
#include "tools/experiment/pricing.hpp"
#include "tools/experiment/target.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/predict.hpp"
#include "workloads/pricing/curves_by_type.hpp"
#include "workloads/pricing/plan_cache.hpp"

namespace vtrain {
namespace {

constexpr int kTrainingQuantiles = 41;

/// The number below which a standard normal variable is with probability `part`.
double normal_quantile(double part) {
  double low = -8;
  double high = 8;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < part ? low : high) = middle;
  }
  return low;
}

RunTimes spread_of(double seconds, const Interval& interval) {
  const double middle = (std::log(interval.low) + std::log(interval.high)) / 2;
  const double sigma =
      (std::log(interval.high) - std::log(interval.low)) / 2 / normal_quantile((1 + kCoverage) / 2);
  RunTimes times;
  for (int i = 0; i < kTrainingQuantiles; ++i) {
    const double part = (2 * i + 1) / (2.0 * kTrainingQuantiles);
    const double value =
        std::min(seconds * std::exp(middle + sigma * normal_quantile(part)), to_seconds(kHundredYears));
    times.values.push_back(std::max<SimDuration>(to_sim_duration(Seconds(value)), std::chrono::seconds(1)));
  }
  return times;
}

}  // namespace

struct TrainingTimes::Parts {
  /// A type of GPUs; none: nothing tells its constants.
  struct Type {
    std::string name{};
    PlanCache* curves = nullptr;
    std::optional<Target> target{};
    std::string problem{};
  };
  ClusterPricing pricing;
  std::vector<Type> types{};
  std::map<std::tuple<std::string, std::int64_t, std::string, std::int32_t, const Type*>,
           Result<std::pair<ParallelPlan, Nanoseconds>>>
      known{};

  using Timed = std::pair<ParallelPlan, Nanoseconds>;
  Result<Timed> time_of(const TrainingWork& work, const ZooModel& model, GpuCount num_gpus, Type& type);
};

SimDuration TrainingTime::total(std::int64_t iterations) const {
  const double seconds = Seconds(iteration).count() * static_cast<double>(iterations);
  return to_sim_duration(Seconds(std::min(seconds, to_seconds(kHundredYears))));
}

TrainingTimes::TrainingTimes(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
TrainingTimes::TrainingTimes(TrainingTimes&&) noexcept = default;
TrainingTimes::~TrainingTimes() = default;

Result<TrainingTimes> TrainingTimes::open(const PricingArguments& arguments, const ClusterSpec& cluster,
                                          std::vector<std::string>& warnings) {
  auto pricing = ClusterPricing::open(arguments, cluster, warnings);
  if (!pricing) return fail(std::move(pricing.error()));
  auto parts = std::make_unique<Parts>(Parts{.pricing = *std::move(pricing)});
  const Workload none;
  const CurvesByType curves = parts->pricing.on(cluster, none);
  const GpuTypes types(cluster, none.gpu_types);
  for (std::uint32_t i = 0; i < types.names().size(); ++i) {
    NodeGroup largest;
    for (const NodeGroup& group : cluster.groups) {
      if (types.number_of(group) == i && group.gpus_per_node > largest.gpus_per_node) largest = group;
    }
    auto target = resolve_target({.profile = arguments.profile,
                                  .gpu_type = largest.gpu_type,
                                  .nodes = node_shape(largest),
                                  .stack = arguments.stack,
                                  .calibration = arguments.calibration});
    Parts::Type type{.name = lower_case(largest.gpu_type), .curves = curves.types()[i].curves};
    if (target && (!arguments.profile.empty() || !largest.gpu_type.empty()))
      type.target = *std::move(target);
    else
      type.problem = largest.gpu_type.empty()
                         ? "the type of the GPUs is not known (--profile NAME tells it)"
                         : fmt::format("no profile of GPUs '{}' (--profile NAME uses another)",
                                       printable(largest.gpu_type));
    parts->types.push_back(std::move(type));
  }
  return TrainingTimes(std::move(parts));
}

Result<TrainingTimes::Parts::Timed> TrainingTimes::Parts::time_of(const TrainingWork& work,
                                                                  const ZooModel& model, GpuCount num_gpus,
                                                                  Type& type) {
  if (work.plan.empty()) {
    const auto best = type.curves->best_plan(work.model, work.global_batch, num_gpus);
    if (!best) return fail({.message = best.error().message});
    return Timed{best->plan, best->iteration};
  }
  const PlanChoices& choices = type.target->stack.choices;
  auto plan = parse_plan_spec(
      work.plan, {.global_batch = work.global_batch, .micro_batch = 1, .precision = choices.precision});
  if (!plan) return fail({.message = plan.error().message});
  plan->sequence_parallel = choices.sequence_parallel && plan->tensor > 1;
  const auto whole = on_gpus(*plan, num_gpus);
  if (!whole) return fail({.message = whole.error().message});
  if (auto checked = check_plan(model.model(), *whole); !checked)
    return fail({.message = checked.error().message});
  const auto predicted = vtrain::predict(model.model(), *whole, *type.target);
  if (!predicted) return fail({.message = predicted.error().message});
  if (predicted->memory && !predicted->memory->fits())
    return fail({.message = "the plan needs more memory than the GPUs have"});
  return Timed{*whole, predicted->times.iteration};
}

Result<TrainingTime> TrainingTimes::predict(const TrainingWork& asked, GpuCount num_gpus,
                                            std::string_view gpu_type) {
  const std::string name = lower_case(gpu_type);
  const auto type =
      name.empty() ? parts_->types.begin() : std::ranges::find(parts_->types, name, &Parts::Type::name);
  if (type == parts_->types.end())
    return fail({.message = fmt::format("the cluster has no GPUs '{}'", printable(gpu_type))});
  if (!type->target) return fail({.message = type->problem});
  const auto model = find_model(asked.model);
  if (!model) return fail({.message = model.error().message});
  TrainingWork work = asked;
  if (work.global_batch == 0) work.global_batch = model->global_batch;
  const std::tuple key(work.model, work.global_batch, work.plan, num_gpus.value, &*type);
  auto known = parts_->known.find(key);
  if (known == parts_->known.end())
    known = parts_->known.emplace(key, parts_->time_of(work, *model, num_gpus, *type)).first;
  if (!known->second)
    return fail({.message = fmt::format("{} on {} GPUs: {}", work.model, num_gpus.value,
                                        known->second.error().message)});
  TrainingTime time{.plan = known->second->first,
                    .iteration = known->second->second,
                    .interval = uncertainty_of(model->model(), *type->target).time};
  time.times = spread_of(to_seconds(time.total(work.iterations)), time.interval);
  return time;
}

std::string TrainingTimes::describe() const {
  return parts_->pricing.describe();
}

}  // namespace vtrain
