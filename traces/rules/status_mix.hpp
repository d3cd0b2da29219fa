/// Statuses of the jobs of a generated trace, by proportion.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Weight of one status in a mix.
struct StatusWeight {
  JobStatus status = JobStatus::Unknown;
  double weight = 0;

  friend bool operator==(const StatusWeight&, const StatusWeight&) = default;
};

/// Reads `completed=0.7,failed=0.3`, or `completed,failed`, which keeps only these statuses of `known`. An
/// error if `known` has none of them.
Result<std::vector<StatusWeight>> parse_status_mix(std::string_view text,
                                                   std::span<const StatusWeight> known);

/// Text for people: `completed 70.0 %, failed 30.0 %`.
std::string describe_status_mix(std::span<const StatusWeight> mix);

/// Draws every job's status from the mix, which is not empty, in proportion to the weights.
void draw_statuses(Workload& workload, std::span<const StatusWeight> mix, std::uint64_t seed);

}  // namespace vtrain
