/// How the jobs of a generated trace end, in what proportions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// How many jobs end so.
struct StatusWeight {
  JobStatus status = JobStatus::Unknown;
  double weight = 0;

  friend bool operator==(const StatusWeight&, const StatusWeight&) = default;
};

/// Reads `completed=0.7,failed=0.3`, or `completed,failed`, which leaves those of `known`. An error where
/// `known` has none of them.
Result<std::vector<StatusWeight>> parse_status_mix(std::string_view text,
                                                   std::span<const StatusWeight> known);

/// For people: `completed 70.0 %, failed 30.0 %`.
std::string describe_status_mix(std::span<const StatusWeight> mix);

/// Every job's status becomes one of the mix, which is not empty, drawn in proportion to the weights.
void draw_statuses(Workload& workload, std::span<const StatusWeight> mix, std::uint64_t seed);

}  // namespace vtrain
