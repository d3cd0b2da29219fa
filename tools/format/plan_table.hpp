/// Plans as people and programs read them; what `plan` and `scale` share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/search/ranked_plan.hpp"

namespace vtrain {

/// What is to be trained and what a GPU-hour costs: turns iteration times into days and money.
struct TrainingTerms {
  double tokens_per_iteration = 0;
  std::optional<double> usd_per_gpu_hour{};
  std::optional<double> tokens{};  ///< to train on

  /// Iterations that the tokens take; `tokens` must be there.
  double iterations() const;
  /// Time to train on all tokens.
  double training_seconds(const RankedPlan& plan) const;
  /// Dollars per million tokens, or GPU-hours without a price.
  double cost_per_million_tokens(const RankedPlan& plan) const;
  /// Dollars, or GPU-hours without a price, for all tokens.
  double training_cost(const RankedPlan& plan) const;
};

/// How fast a plan trains.
struct TrainingSpeed {
  double tokens_per_s = 0;
  FlopsPerSecond per_gpu{0};  ///< `model_flops`
  double of_peak = 0;         ///< the same over the peak rate
  double masked_share = 0;    ///< of the model
};

/// That of a plan that takes so long for an iteration. `peak_rate` is that of one GPU.
TrainingSpeed training_speed(const TransformerModel& model, const ParallelPlan& plan, Nanoseconds iteration,
                             FlopsPerSecond peak_rate);

/// `19,850 tokens/s   430 TFLOP/s per GPU   43 % of peak`, and how much of it is masked attention if that is
/// much.
std::string speed_text(const TrainingSpeed& speed);

/// One row of a table of plans.
struct PlanRow {
  std::string label;
  RankedPlan plan;
};

/// Rows of plans in aligned columns. Columns in which every plan has the usual value are left out; that of
/// the GPUs is there when `with_gpus`. Lines below explain the marks of plans in which the ends count as
/// layers, and of those that do not fit into memory.
std::string plan_table(std::span<const PlanRow> rows, const TrainingTerms& terms, bool with_gpus);

/// Whose collectives run inside the layers of a plan: `tensor`, `context`, `expert`, or `layer` where those
/// of several do.
std::string_view layer_communication(const ParallelPlan& plan);

/// `none`, `selective`, `full` or `full of the first 3 layers`.
std::string recompute_text(const ParallelPlan& plan);

/// A plan in one line: `tensor 8, pipeline 35, data 12, micro-batch 1, recompute full`.
std::string describe_plan(const ParallelPlan& plan);

/// Why one plan is faster than another, by the parts of the breakdown that differ most: `less tensor
/// communication (-0.41 s), larger bubble (+0.24 s)`.
std::string explain_difference(const RankedPlan& faster, const RankedPlan& slower);

/// What a user should know of a plan, in lines. `mark` is how its table names it.
std::string remarks_text(std::span<const std::string> remarks, std::string_view mark);

/// What it rests on beside measurements, in lines; all that is extrapolated is one of them.
std::string fallbacks_text(const Fallbacks& fallbacks, std::string_view mark);

/// A plan with its time, breakdown, memory and costs.
nlohmann::ordered_json plan_to_json(const RankedPlan& plan, const TrainingTerms& terms);

/// The parts of an iteration's time, in seconds.
nlohmann::ordered_json breakdown_to_json(const Breakdown& breakdown);

/// Peak and capacity of the fullest GPU, in bytes, its stage, and whether it fits.
nlohmann::ordered_json memory_to_json(const MemoryEstimate& memory);

/// `300 billion tokens`.
std::string tokens_text(double tokens);

/// An amount of dollars, or GPU-hours when there is no price: `$0.61`, `0.1234`.
std::string cost_text(double cost, bool is_usd);

}  // namespace vtrain
