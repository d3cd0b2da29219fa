/// Plans as text and JSON, shared by `plan` and `scale`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "workloads/calibration/prediction_interval.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/search/ranked_plan.hpp"

namespace vtrain {

struct Stack;

/// Training amount and price of a GPU-hour: turn iteration times into days and money.
struct TrainingTerms {
  double tokens_per_iteration = 0;           ///< tokens of one iteration
  std::optional<double> usd_per_gpu_hour{};  ///< price in dollars; none: costs are in GPU-hours
  std::optional<double> tokens{};            ///< tokens to train on

  /// Iterations needed for all tokens; `tokens` must be set.
  double iterations() const;
  /// Time to train on all tokens, seconds.
  double training_seconds(const RankedPlan& plan) const;
  /// Dollars per million tokens, or GPU-hours without a price.
  double cost_per_million_tokens(const RankedPlan& plan) const;
  /// Dollars, or GPU-hours without a price, for all tokens.
  double training_cost(const RankedPlan& plan) const;
};

/// Training speed of a plan.
struct TrainingSpeed {
  double tokens_per_s = 0;          ///< tokens a second on all GPUs
  double tokens_per_s_per_gpu = 0;  ///< tokens a second and GPU
  FlopsPerSecond per_gpu{0};        ///< `model_flops` without the masked half of attention
  double mfu = 0;                   ///< `per_gpu` over the peak rate
  double hfu = 0;                   ///< `hardware_flops` of a GPU over the peak rate
};

/// Speed of a plan with this iteration time. `peak_rate` is the peak of one GPU.
TrainingSpeed training_speed(const TransformerModel& model, const ParallelPlan& plan, const Stack& stack,
                             Nanoseconds iteration, FlopsPerSecond peak_rate);

/// `19,850 tokens/s   2,481 tokens/s/GPU   MFU 43 %   HFU 57 %   430 TFLOP/s/GPU`.
std::string speed_text(const TrainingSpeed& speed);

/// One row of a table of plans.
struct PlanRow {
  std::string label;  ///< first cell of the row
  RankedPlan plan;    ///< plan with its iteration time
};

/// Rows of plans in aligned columns. Columns in which every plan has the usual value are left out.
/// `with_gpus` adds the column of GPUs. Lines below explain two marks: the ends count as layers; the plan
/// does not fit into memory.
std::string plan_table(std::span<const PlanRow> rows, const TrainingTerms& terms, bool with_gpus);

/// Dimension whose collectives run inside the layers of a plan: `tensor`, `context`, `expert`, or `layer` for
/// several.
std::string_view layer_communication(const ParallelPlan& plan);

/// `none`, `selective`, `full` or `full of the first 3 layers`.
std::string recompute_text(const ParallelPlan& plan);

/// A plan in one line: `tensor 8, pipeline 35, data 12, micro-batch 1, recompute full`.
std::string describe_plan(const ParallelPlan& plan);

/// Values of a plan in the fields in which it differs from another: `recompute none, micro-batch 2`.
std::string describe_changes(const ParallelPlan& from, const ParallelPlan& to);

/// Reason that one plan is faster than another: the parts of the breakdown that differ most, as in `less
/// tensor communication (-0.41 s), larger bubble (+0.24 s)`.
std::string explain_difference(const RankedPlan& faster, const RankedPlan& slower);

/// Remarks on a plan, in lines. `mark` is the plan's name in its table.
std::string remarks_text(std::span<const std::string> remarks, std::string_view mark);

/// Extrapolation in a sentence that names the furthest kernel or message; empty if there is none: `outside
/// measured sizes: 3 kernels, the furthest logits_gemm, 128,256 columns, 1.57 times the largest measured`.
/// `where` is added to its subject, and `list` names the place of the whole list, or is empty.
std::string extrapolation_text(const Fallbacks& fallbacks, std::string_view where, std::string_view list);

/// Place of the list of extrapolated kernels for `extrapolation_text`: the file of `--extrapolated`, or the
/// option if no file is given.
std::string extrapolated_list(const std::string& file);

/// Sources of a plan's numbers other than measurements, in lines; one line covers all extrapolation (`list`:
/// see `extrapolation_text`).
std::string fallbacks_text(const Fallbacks& fallbacks, std::string_view mark, std::string_view list);

/// A plan with its time, breakdown, memory and costs. `uncertainty` is of predictions of its model.
nlohmann::ordered_json plan_to_json(const RankedPlan& plan, const TrainingTerms& terms,
                                    const Uncertainty& uncertainty);

/// The parts of an iteration's time, in seconds.
nlohmann::ordered_json breakdown_to_json(const Breakdown& breakdown);

/// Peak and capacity of the fullest GPU, in bytes, the interval of the peak, its stage, and whether it fits.
nlohmann::ordered_json memory_to_json(const MemoryEstimate& memory, const Interval& interval);

/// `low`, `high` and `coverage` of a predicted value.
nlohmann::ordered_json interval_to_json(double predicted, const Interval& interval);

/// `16.1 to 21.5 s (−2 … +31 %), 34 validated runs of megatron-core with dense models`. A remark of the
/// prediction says that no run validates it.
std::string uncertainty_text(Nanoseconds iteration, const Uncertainty& uncertainty, std::string_view stack,
                             const TransformerModel& model);

/// Line that names the plans that a prediction cannot tell from the first, `1 to 3 differ by ...`; empty if
/// it can tell them all. The plans are of one job, fastest first.
std::string equal_plans_text(std::span<const RankedPlan> plans);

/// A number of tokens: `300 billion tokens`.
std::string tokens_text(double tokens);

/// An amount of dollars, or GPU-hours when there is no price: `$0.61`, `0.1234`.
std::string cost_text(double cost, bool is_usd);

}  // namespace vtrain
