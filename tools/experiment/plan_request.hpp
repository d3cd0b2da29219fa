/// Request and answer of `vtrain plan`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "tools/experiment/spec.hpp"
#include "tools/experiment/target.hpp"
#include "tools/format/plan_table.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/search/plan_search.hpp"
#include "workloads/search/ranked_plan.hpp"

namespace vtrain {

/// A request whose arguments have been read.
struct PlanRequest {
  TransformerModel model;                 ///< model to train
  std::vector<std::string> warnings;      ///< warnings about the model's file
  std::int64_t global_batch = 0;          ///< sequences an iteration
  bool assumes_batch = false;             ///< the batch is neither given nor published for the model
  TrainingTarget target;                  ///< GPUs and software to train on
  Uncertainty uncertainty;                ///< how sure the predictions are
  std::vector<GpuCount> gpu_counts;       ///< numbers of GPUs to search, ascending
  Objective objective = Objective::Time;  ///< quantity to minimise
  TrainingTerms terms;                    ///< tokens to train on, and price
  std::optional<double> deadline_s;       ///< time to train on all tokens, seconds; none: unlimited
  PlanSearchOptions search;               ///< options of the search
  std::optional<ParallelPlan> beside;     ///< another plan to predict; none: it is not given
  std::vector<SpecFile> files;            ///< files that were read
  /// Asked before each number of GPUs: true ends the search with an error; none: the search may take any
  /// time.
  std::function<bool()> is_late{};
};

/// Plans for one number of GPUs, or the reason that there is none.
struct CountAnswer {
  GpuCount num_gpus;                         ///< number of GPUs
  std::int64_t num_plans = 0;                ///< plans that were examined
  std::int64_t num_fitting = 0;              ///< examined plans that fit into memory
  Result<PlanSearchResult> found;            ///< best plans, or the reason that there is none
  std::optional<Result<RankedPlan>> beside;  ///< prediction of `PlanRequest::beside`; none: it is not given
};

/// Result of the search.
struct PlanReport {
  std::vector<CountAnswer> counts;   ///< answers, in the order of `PlanRequest::gpu_counts`
  std::vector<RankedPlan> fastest;   ///< fastest plan of each count that has any plan
  std::vector<std::size_t> front;    ///< positions in `fastest`, the best by the objective first
  Fallbacks fallbacks;               ///< fallbacks of the best plan
  std::vector<std::string> remarks;  ///< remarks on the best plan
  std::int64_t num_plans = 0;        ///< examined plans of all counts
  std::int64_t num_fitting = 0;      ///< fitting plans of all counts
  double wall_s = 0;                 ///< time for the search, seconds
};

/// Sequences of an iteration where neither the user nor a publication gives them: `kUsualBatchTokens`,
/// rounded to a multiple of the GPUs so that replicas get equally many. Many GPUs count by their largest
/// part, by powers of two, that is no more than a quarter of the batch. Several numbers of GPUs count by
/// their least common multiple. A unit of more than twice the batch changes nothing.
std::int64_t usual_batch(const TransformerModel& model, const std::vector<GpuCount>& gpu_counts);

/// Reads the arguments. Errors name options, or file and line of the model. Adds the warnings of the model's
/// file and of the target to `warnings`, also on failure.
Result<PlanRequest> read_plan_request(const PlanSpec& spec, std::vector<std::string>& warnings);

/// Searches the plans. Errors: no number of GPUs has a plan; no plan meets the deadline. If plans need more
/// memory, the error names a number of GPUs that has it. With `fills_lines` one number of GPUs gets as many
/// plans as fill the lines of a table (`fold_plans`), else `PlanSearchOptions::top`.
Result<PlanReport> make_plan_report(const PlanRequest& question, bool fills_lines = false);

/// Training speed of a plan of the answer.
TrainingSpeed speed_of(const PlanRequest& question, const RankedPlan& ranked);

/// The answer as `vtrain plan --json` prints it.
nlohmann::ordered_json plan_report_to_json(const PlanSpec& spec, const PlanRequest& question,
                                           const PlanReport& answer);

}  // namespace vtrain
