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

/// Options of the generator.
struct GeneratorOptions {
  /// Number of jobs. 0: determined by `span`.
  std::int64_t num_jobs = 1000;
  /// Time of submissions, used if `num_jobs` is 0. Jobs are drawn until their work is `load` x `cluster` x
  /// `span`; if `load` is 0, as many as are submitted in this time.
  SimDuration span{};
  /// The GPUs of the cluster that the load refers to. No job requests more. 0: no limit, only if `load` is 0.
  GpuCount cluster{128};
  /// Submitted work divided by the work that the cluster can do from the first submission to the last. Exact
  /// up to the rounding of submissions to whole milliseconds. 0: jobs are submitted at the rate of the
  /// shape's trace.
  double load = 0.9;
  std::uint64_t seed = 1;
  /// The source of gang sizes, durations and the day's rhythm.
  WorkloadShape shape = workload_shapes().front();
  Arrivals arrivals = Arrivals::Diurnal;
  /// Largest number of GPUs of a job. 0: the cluster's GPUs.
  GpuCount max_gpus{0};
  /// Longest duration that is drawn. 0: the longest of the shape.
  SimDuration max_duration{};
  /// Number of tenants. They submit unequal shares of the jobs, the i-th in proportion to i^-1.77. 0: the
  /// tenants of the shape.
  std::int32_t num_tenants = 8;
  /// Statuses of jobs. Empty: those of the shape, if it has any.
  std::vector<StatusWeight> statuses{};
  /// Models that jobs train.
  ModelMix models{.kind = ModelMix::Kind::Zoo};
  /// Rule for deadlines. None: all jobs are best-effort jobs.
  std::optional<DeadlineRule> deadlines = DeadlineRule{};
};

/// Options that generate a trace like the one that a shape was fitted to: with its number of jobs, its rate
/// and its tenants. It has nothing that the shape lacks (no cluster, no models, no deadlines).
GeneratorOptions options_like(const WorkloadShape& shape);

/// Generates jobs, ordered by submission. With a mix of models every job trains one of them
/// (`ModelAssigner`). Without a mix, or without iteration times in `models`, jobs are rigid: they have a
/// duration in whole seconds and no model. Equal options give equal jobs.
///
/// The first submission is at 0, and the last one at the end of the span. O(jobs).
Result<Workload> generate_trace(const GeneratorOptions& options, const ModelCatalog& models);

}  // namespace vtrain
