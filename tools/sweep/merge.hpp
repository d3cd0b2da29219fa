/// Joins the results of the parts of a sweep.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "core/base/result.hpp"

namespace vtrain {

/// Sizes of joined results.
struct MergedResults {
  std::int64_t grid_runs = 0;  ///< runs of the whole grid
  std::int64_t runs = 0;       ///< finished ones
  std::int64_t failed = 0;     ///< those that failed
};

/// Joins files of results of one sweep in a new file, which appears when it is complete. A run that several
/// files have must be the same in all; one that failed in some counts as finished if it did not in others.
/// `replace` allows a file that exists. Errors: a file of another kind, version, spec or program; runs that
/// contradict each other; `out` exists, or is one of the parts.
Result<MergedResults> merge_results(const std::filesystem::path& out,
                                    std::span<const std::filesystem::path> parts, bool replace);

}  // namespace vtrain
