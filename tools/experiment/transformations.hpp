/// Changes to the jobs of a trace: models, run times, deadlines, estimates, tenants, statuses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/experiment/arguments.hpp"
#include "traces/editing/resample.hpp"
#include "traces/rules/deadlines.hpp"
#include "traces/rules/estimates.hpp"
#include "traces/rules/model_mix.hpp"
#include "traces/rules/tenants.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

class CurvesByType;

/// True if each file of a trace is to be a tenant. Readers of files then assign the tenants.
bool files_as_tenants(const TransformationArguments& arguments);

/// Parsed transformations. By default nothing is changed.
struct Transformations {
  std::vector<JobStatus> statuses{};  ///< statuses of the jobs to keep; empty: any
  Blocks resample = Blocks::None;
  TenantRule tenants{};
  ModelMix models{};
  bool predicts_run_times =
      false;  ///< predict run times also for jobs that have one, if model and iterations are known
  std::optional<DeadlineRule> deadlines{};
  bool deadlines_only_if_none = false;  ///< make deadlines only if no job has one (`auto`)
  EstimateRule estimates{};
  std::uint64_t seed = 1;
};

/// Reads the arguments before any jobs, so that a misspelt one fails at once.
Result<Transformations> read_transformations(const TransformationArguments& arguments);

/// The model of the zoo with this name.
Result<TrainableModel> find_trainable_model(std::string_view name);

/// The model zoo with iteration times on the first type that a job may use and that has a plan. The curves
/// must outlive the result.
ModelCatalog model_catalog(const CurvesByType& curves);

/// Applies statuses, resampling, tenants, run times and models in this order, then deadlines and estimates.
/// In between it prices jobs without a duration (`price_jobs`), if `price` is set or a later rule needs it.
/// Returns one sentence for each change. Warns of rules without effect.
Result<std::vector<std::string>> transform(Workload& workload, const Transformations& transformations,
                                           const CurvesByType& curves, bool price,
                                           std::vector<std::string>& warnings);

}  // namespace vtrain
