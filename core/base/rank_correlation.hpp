/// Correlation of ranks.
#pragma once

#include <optional>
#include <span>

namespace vtrain {

/// Spearman's rank correlation of pairs, in [-1, 1]. Equal values share the mean of their ranks. None if all
/// values on one side are equal, and for no pairs. Both spans have one length. O(n log n).
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace vtrain
