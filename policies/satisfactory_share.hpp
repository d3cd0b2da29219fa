/// Minimum satisfactory share: the fewest GPUs with which a job meets its deadline on what others leave free.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/gpu_timeline.hpp"
#include "policies/slotted_policy.hpp"

namespace vtrain {

/// When a job holds how many GPUs, and what is left free.
struct SharePlan {
  GpuTimeline gpus;           ///< held from each step on, up to `end`
  WholeSeconds end = 0;       ///< when they are free again: a whole number of slots from now
  WholeSeconds finished = 0;  ///< when the work is done
  GpuTimeline free;           ///< what the plan leaves of the GPUs

  /// GPU-seconds of the plan: a step counts up to the next one, the last up to `end`.
  double gpu_seconds() const;
};

/// What a fill works with besides the job.
struct FillContext {
  WholeSeconds now = 0;
  WholeSeconds slot = 60;
  std::int64_t cluster_gpus = 0;
};

/// Plans one job by progressive filling (Gu et al., "ElasticFlow", ASPLOS'23, algorithm 1, with the choices
/// of its artifact, pkusys/ElasticFlow): of the levels in ascending order the first with which the job,
/// filled in from the deadline backwards, gets its work done on what is `free`. That level is held close to
/// the deadline and the level below it before. When no level suffices, the plan holds the largest from the
/// start and ends after the deadline. `forced` GPUs, if given, are held in the first step of `free`, whatever
/// the level.
///
/// `free` begins now and its steps are whole slots apart. The job has work left. O(levels x steps).
SharePlan fill_share(const SlottedJob& job, const FillContext& context, const GpuTimeline& free,
                     std::optional<std::int64_t> forced = std::nullopt);

}  // namespace vtrain
