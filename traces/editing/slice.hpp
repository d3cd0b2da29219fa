/// Selects jobs of a trace and changes its load: `vtrain trace slice`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Selection and changes of jobs. The members are applied in this order; the default keeps everything.
struct SliceOptions {
  std::optional<SimTime> from{};       ///< earliest submission
  std::optional<SimTime> until{};      ///< end of submissions; a job at this instant is not kept
  std::vector<std::string> tenants{};  ///< kept tenants; empty: all
  std::vector<JobStatus> statuses{};   ///< kept statuses; empty: all
  GpuCount min_gpus{0};                ///< smallest number of GPUs
  GpuCount max_gpus{0};                ///< largest number of GPUs; 0: any number
  SimDuration max_duration{};          ///< longest duration; 0: any duration
  std::int64_t sample = 0;             ///< number of jobs drawn at random, all equally likely; 0: all
  std::uint64_t seed = 1;              ///< seed of the random draw
  std::int64_t max_jobs = 0;           ///< number of first jobs that are kept; 0: all
  /// Longer durations are reduced to this, and iterations in proportion, to at least one. 0: no limit.
  SimDuration clip{};
  bool shift_origin = false;  ///< the first submission becomes the origin of time
  /// Factor on the rate of submissions after the first one, and so on the offered load. Deadlines and
  /// recorded starts move with their job's submission.
  double load_factor = 1;
  /// Offered load on `cluster`, from which the factor is computed instead. 0: use the factor.
  double load = 0;
  GpuCount cluster{0};
};

/// Applies the options. Returns one sentence for each change. Errors: a tenant that the trace does not have,
/// statuses if no job has one, and no job left. Also a load for jobs that are all submitted at once, and
/// times beyond `kMaxTraceTime`. Fields of errors are named as the options of `vtrain trace slice`. O(jobs).
Result<std::vector<std::string>> slice_trace(Workload& workload, const SliceOptions& options);

/// Reads `completed,failed`: names of `status_names`.
Result<std::vector<JobStatus>> parse_statuses(std::string_view text);

}  // namespace vtrain
