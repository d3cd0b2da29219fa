/// Changes to the jobs of a trace: models, run times, deadlines, estimates, tenants, statuses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/experiment/arguments.hpp"
#include "traces/rules/deadlines.hpp"
#include "traces/rules/estimates.hpp"
#include "traces/rules/model_mix.hpp"
#include "traces/rules/tenants.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

class CurvesByType;

/// Whether each file of a trace is to be a tenant, which is done where files are read.
bool files_as_tenants(const TransformationArguments& arguments);

/// What the arguments say. As constructed: nothing is changed.
struct Transformations {
  std::vector<JobStatus> statuses{};  ///< of the jobs that stay; empty: any
  TenantRule tenants{};
  ModelMix models{};
  bool predicts_run_times = false;  ///< also of jobs that have one, if they say a model and iterations
  std::optional<DeadlineRule> deadlines{};
  bool deadlines_only_if_none = false;  ///< only where no job has one (`auto`)
  EstimateRule estimates{};
  std::uint64_t seed = 1;
};

/// Reads the arguments without any jobs, so that a misspelt one does not cost a long read.
Result<Transformations> read_transformations(const TransformationArguments& arguments);

/// The model of the zoo with this name.
Result<TrainableModel> find_trainable_model(std::string_view name);

/// The model zoo with iteration times on the first of the types that a job may use on which there is a plan.
/// The curves must outlive the result.
ModelCatalog model_catalog(const CurvesByType& curves);

/// Applies statuses, tenants, run times and models in this order, prices the jobs that have no duration yet,
/// if deadlines or estimates need it or `price` says so (`price_jobs`), then applies deadlines and estimates.
/// Returns one sentence for everything that was changed. Adds to `warnings` where a rule has no effect.
Result<std::vector<std::string>> transform(Workload& workload, const Transformations& transformations,
                                           const CurvesByType& curves, bool price,
                                           std::vector<std::string>& warnings);

}  // namespace vtrain
