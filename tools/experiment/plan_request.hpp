/// What `vtrain plan` is asked, and the answer.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// What is asked, once the arguments have been read.
struct PlanRequest {
  TransformerModel model;
  std::vector<std::string> warnings;  ///< of its file
  std::int64_t global_batch = 0;
  bool assumes_batch = false;  ///< nobody named it, and none is published of the model
  TrainingTarget target;
  std::vector<GpuCount> gpu_counts;
  Objective objective = Objective::Time;
  TrainingTerms terms;
  std::optional<double> deadline_s;
  PlanSearchOptions search;
  std::optional<ParallelPlan> beside;
  std::vector<SpecFile> files;  ///< that were read
};

/// The plans of one number of GPUs, or why there is none.
struct CountAnswer {
  GpuCount num_gpus;
  std::int64_t num_plans = 0;    ///< plans that were looked at
  std::int64_t num_fitting = 0;  ///< of these, plans that fit into memory
  Result<PlanSearchResult> found;
  std::optional<Result<RankedPlan>> beside;
};

/// What the search found.
struct PlanReport {
  std::vector<CountAnswer> counts;
  std::vector<RankedPlan> fastest;   ///< of each count that has any
  std::vector<std::size_t> front;    ///< positions in `fastest`, the best by the objective first
  Fallbacks fallbacks;               ///< of the best
  std::vector<std::string> remarks;  ///< likewise
  std::int64_t num_plans = 0;        ///< of all counts
  std::int64_t num_fitting = 0;      ///< likewise
  double wall_s = 0;
};

/// Reads the arguments. Errors name options, or file and line of the model. Adds to `warnings` those of the
/// model's file and of the target, also where it fails.
Result<PlanRequest> read_plan_request(const PlanSpec& spec, std::vector<std::string>& warnings);

/// Searches the plans. An error where no number of GPUs has any, or none is in time.
Result<PlanReport> make_plan_report(const PlanRequest& question);

}  // namespace vtrain
