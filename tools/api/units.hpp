/// Quantities with their units, and the identifiers of jobs and GPU types.
///
/// Times of the simulator are whole nanoseconds: `SimDuration` is a length, `SimTime` an instant from the
/// origin of a trace. They are std::chrono types, so that `std::chrono::hours(3)` is a `SimDuration`;
/// `to_seconds` gives the seconds of one. The predictor computes with `Seconds`, `Nanoseconds`, `Bytes`,
/// `BytesPerSecond` and `Flops`-like doubles of their own types, which do not mix by accident; `.value` is
/// the bare number. `GpuCount` is a number of GPUs. `JobId` and `GpuTypeId` are positions in a `Workload`.
///
///     vtrain::SimDuration limit = std::chrono::minutes(90);
///     double seconds = vtrain::to_seconds(limit);   // 5400
///
/// Nothing here throws or allocates.
#pragma once

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
