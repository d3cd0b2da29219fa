/// A generator's shape as a JSON file, written by `vtrain trace fit` and read by `vtrain trace generate
/// --from`.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "traces/synthesis/workload_shape.hpp"

namespace vtrain {

/// The shape as JSON, with one table entry per line and numbers as short as possible without loss:
///
///     {
///       "vtrain_generator": 1,
///       "name": "...", "summary": "...", "jobs": 69351,
///       "arrivals": {"process": "bursty", "mean_gap_s": 74.6, "gap_sigma": 1.96, "day_amplitude": 0.244,
///                    "day_peak_s": 6300, "gap_seconds": [0, ...]},
///       "gpus": [{"num_gpus": 1, "jobs": 57682}, ...],
///       "duration_fractions": [0, 0.1, ...],
///       "durations": [{"most_gpus": 1, "seconds": [600, ...], "statuses": [[...], ...]},
///                     {"most_gpus": 64, "size_exponent": 0.2, "seconds": [...]}, ...],
///       "tenants": [51258, ...],
///       "tenant_sizes": [[...], ...],
///       "statuses": {"completed": 0.604, ...}
///     }
///
/// `statuses` of `durations` has a list for each quarter of the run times, with one number per status.
/// `tenant_sizes` has a list for each tenant, with its jobs by entry of `durations`; the last list is for all
/// other tenants.
std::string shape_to_json(const WorkloadShape& shape);

/// Reads a shape from JSON. All keys but `summary`, `gap_seconds`, `size_exponent`, `tenants`, `tenant_sizes`
/// and both `statuses` are required; unknown keys are errors. Sizes ascend. Durations do not descend; they
/// are above 0 and at most 100 years (on one GPU, if there is an exponent). There are at most 10,000 sizes
/// and tenants.
Result<WorkloadShape> parse_shape(std::string text, const std::string& file);

/// Reads a shape from a file of at most 64 MB, plain or packed.
Result<WorkloadShape> read_shape(const std::string& path);

}  // namespace vtrain
