/// The table of the fields of a parallel plan.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/fields.hpp"
#include "workloads/model/parallel_plan.hpp"

namespace vtrain {

/// Bound of degrees of parallelism in what is read; `check_plan` has closer ones. Three such factors fit 64
/// bits.
inline constexpr std::int64_t kMaxDegree = 1 << 20;
/// Bound of batches and lengths in what is read; `check_plan` has closer ones.
inline constexpr std::int64_t kMaxPlanSize = 1'000'000'000;

/// A row for each member of `ParallelPlan`, in the order in which JSON has them. JSON in and out, `--beside`,
/// tables of plans and the plans that curves keep derive from it.
std::span<const Field<ParallelPlan>> plan_fields();

}  // namespace vtrain
