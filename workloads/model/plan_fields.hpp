/// The table of the fields of a parallel plan.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/fields.hpp"
#include "workloads/model/parallel_plan.hpp"

namespace vtrain {

/// Bound of degrees of parallelism in input; `check_plan` has closer ones. The product of three such factors
/// fits 64 bits.
inline constexpr std::int64_t kMaxDegree = 1 << 20;
/// Bound of batches and lengths in input; `check_plan` has closer ones.
inline constexpr std::int64_t kMaxPlanSize = 1'000'000'000;

/// A row for each member of `ParallelPlan`, in the order of JSON. JSON input and output, `--beside`, tables
/// of plans and the plans in stored curves use it.
std::span<const Field<ParallelPlan>> plan_fields();

/// The row of a key, of a name in options, or of a short name (`tensor`, `micro-batch`, `tp`); null if there
/// is none.
const Field<ParallelPlan>* find_plan_field(std::string_view name);

}  // namespace vtrain
