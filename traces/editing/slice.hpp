/// Parts of a trace, and the same jobs at another load: `vtrain trace slice`.
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

/// Which jobs stay, and what is changed about them. The members are applied in the order in which they stand
/// here; the default keeps everything.
struct SliceOptions {
  std::optional<SimTime> from{};       ///< submitted at this instant or later
  std::optional<SimTime> until{};      ///< submitted before this instant
  std::vector<std::string> tenants{};  ///< of these tenants; empty: of all
  std::vector<JobStatus> statuses{};   ///< that ended so; empty: however they ended
  GpuCount min_gpus{0};                ///< with at least so many GPUs
  GpuCount max_gpus{0};                ///< with at most so many GPUs; 0: any number
  SimDuration max_duration{};          ///< that run at most so long; 0: any time
  std::int64_t sample = 0;             ///< so many drawn at random, all equally likely; 0: all
  std::uint64_t seed = 1;              ///< of the draw
  std::int64_t max_jobs = 0;           ///< the first so many; 0: all
  /// Longer durations become this; iterations are reduced in proportion, to at least one. 0: none.
  SimDuration clip{};
  bool shift_origin = false;  ///< the first submission becomes the origin of time
  /// Submissions come so many times as fast, counted from the first one: the offered load is multiplied by
  /// this. Deadlines and recorded starts move along with their job's submission.
  double load_factor = 1;
  /// Instead of the factor: the one that gives this offered load on `cluster`. 0: none.
  double load = 0;
  GpuCount cluster{0};
};

/// Applies the options. Returns one sentence for everything that was done. Errors: a tenant that the trace
/// does not have, statuses where no job has one, no job left, a load of jobs that all come at once, and times
/// beyond `kMaxTraceTime`; their fields are named as the options of `vtrain trace slice`. O(jobs).
Result<std::vector<std::string>> slice_trace(Workload& workload, const SliceOptions& options);

/// Reads `completed,failed`: names of `status_names`.
Result<std::vector<JobStatus>> parse_statuses(std::string_view text);

}  // namespace vtrain
