/// Jobs as the scheduler sees them: what a trace says of each, whichever trace it was.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "workloads/name_table.hpp"

namespace vtrain {

/// One training job: a gang of GPUs that is held as a whole from start to end (or to a preemption).
struct Job {
  std::string_view name;  ///< the trace's own job id; the text lives in the `Workload`
  TenantId tenant;        ///< who submitted it
  ModelId model;          ///< what it trains, if the trace says so
  SimTime submit{};
  /// Run time on `num_gpus` GPUs, at least 1 ns. 0 in a workload whose jobs are given by model and iterations
  /// and that has not been priced by the predictor yet.
  SimDuration duration{};
  /// The time limit that the user asked for, which is what backfilling may know; a job is ended there. 0:
  /// none was given, and `duration` is taken as known.
  SimDuration requested_time{};
  /// The instant by which the job should end; `kNoDeadline` for a best-effort job.
  SimTime deadline = kNoDeadline;
  GpuCount num_gpus{1};
  std::int32_t global_batch = 0;  ///< sequences an iteration, 0 when unknown
  std::int64_t iterations = 0;    ///< work to do, 0 when the trace gives a duration instead

  static constexpr SimTime kNoDeadline = SimTime::max();

  bool has_deadline() const { return deadline != kNoDeadline; }
  /// What a scheduler that trusts the user may assume of the run time.
  SimDuration walltime() const { return requested_time.count() > 0 ? requested_time : duration; }
};

/// The jobs of one trace, ordered by submission (ties in the order of the file), with the names they refer
/// to.
struct Workload {
  std::vector<Job> jobs;
  NameTable tenants;
  NameTable models;

  /// Keeps a copy of `text` as long as the workload lives.
  std::string_view keep(std::string_view text);
  /// The id of a tenant, added when new.
  TenantId tenant(std::string_view name_of_tenant) { return TenantId(tenants.add(name_of_tenant)); }
  /// The id of a model, added when new.
  ModelId model(std::string_view name_of_model) { return ModelId(models.add(name_of_model)); }
  /// Orders `jobs` by submission, keeping the order of equal ones.
  void sort_by_submission();

 private:
  std::unique_ptr<std::pmr::monotonic_buffer_resource> text_;
};

}  // namespace vtrain
