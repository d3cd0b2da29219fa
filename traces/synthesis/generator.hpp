/// Makes seeded synthetic workloads: LLM training jobs, or rigid jobs with durations only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "traces/rules/deadlines.hpp"
#include "traces/rules/model_mix.hpp"
#include "traces/rules/status_mix.hpp"
#include "traces/synthesis/workload_shape.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Offered loads that can be generated.
inline constexpr double kLeastLoad = 0.001;
inline constexpr double kMostLoad = 1000;

/// What to generate.
struct GeneratorOptions {
  /// Number of jobs. 0: as many as `span` asks for.
  std::int64_t num_jobs = 1000;
  /// With `num_jobs` 0: jobs are drawn until their work is `load` x `cluster` x this, or as many as come in
  /// it.
  SimDuration span{};
  /// The GPUs of the cluster that the load refers to. No job asks for more. 0: no limit, where `load` is 0.
  GpuCount cluster{128};
  /// Work submitted over work that the cluster could do from the first submission to the last. The generated
  /// workload has this load to within the rounding of submissions to whole milliseconds. 0: jobs come at the
  /// rate of the shape's own trace.
  double load = 0.9;
  std::uint64_t seed = 1;
  /// Where gang sizes, durations and the day's rhythm come from.
  WorkloadShape shape = workload_shapes().front();
  Arrivals arrivals = Arrivals::Diurnal;
  /// Jobs above this many GPUs are not drawn. 0: the cluster is the limit.
  GpuCount max_gpus{0};
  /// Durations are drawn from those of the shape up to this. 0: all of them.
  SimDuration max_duration{};
  /// Tenants submit unequal shares of the jobs, the i-th in proportion to i^-1.77. 0: those of the shape.
  std::int32_t num_tenants = 8;
  /// How jobs end. Empty: as the shape says, if it does.
  std::vector<StatusWeight> statuses{};
  /// What jobs train.
  ModelMix models{.kind = ModelMix::Kind::Zoo};
  /// How deadlines are set. None: best-effort jobs.
  std::optional<DeadlineRule> deadlines = DeadlineRule{};
};

/// What gives as many jobs as the trace that a shape was fitted to has, in its place: at its rate, with its
/// tenants, and with nothing that it does not say (no cluster, no models, no deadlines).
GeneratorOptions options_like(const WorkloadShape& shape);

/// Generates jobs, ordered by submission from 0 on; the last submission is at the end of the span. With a mix
/// of models every job trains one of them (`ModelAssigner`). Without a mix, or without iteration times in
/// `models`, jobs are rigid: a duration in whole seconds and no model. Equal options give equal jobs.
///
/// One job comes at the start and one at the end. O(jobs).
Result<Workload> generate_trace(const GeneratorOptions& options, const ModelCatalog& models);

}  // namespace vtrain
