/// The earliest deadline with which a job would be admitted.
#pragma once

#include <optional>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/experiment/admission.hpp"

namespace vtrain {

/// Finds the earliest deadline that is a yes, in whole steps after the submission, and gives it to the job.
/// Returns `consider` with it; none if `latest` is a no. One step earlier is a no. Where a later deadline can
/// be a no although an earlier one is a yes, there may be an earlier one. O(log steps) simulations.
Result<std::optional<AdmissionAnswer>> find_earliest_deadline(const Admission& admission,
                                                              std::string_view name, Job& job,
                                                              SimDuration step, SimTime latest);

}  // namespace vtrain
