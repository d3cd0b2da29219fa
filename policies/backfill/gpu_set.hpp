/// Sets of virtual GPUs for policies that reserve particular ones.
///
/// Virtual GPUs are numbered 0 .. GPUs - 1 and have no place on nodes: the placement in use chooses the real
/// GPUs of a gang.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {

/// The GPUs `first` .. `first + count - 1`.
struct GpuRange {
  std::int32_t first = 0;
  std::int32_t count = 0;

  friend bool operator==(const GpuRange&, const GpuRange&) = default;
};

/// GPUs of one gang, as few ranges as possible in ascending order.
using GpuRanges = std::vector<GpuRange>;

/// A set of the GPUs 0 .. num_gpus - 1, one bit each, that knows its size.
class GpuSet {
 public:
  /// Makes an empty set.
  GpuSet() = default;
  /// Makes the set of all GPUs of a cluster.
  explicit GpuSet(GpuCount num_gpus);

  /// Number of GPUs in the set.
  GpuCount size() const { return GpuCount(size_); }
  /// Number of GPUs of a range that are in the set. O(GPUs of the range / 64).
  GpuCount size_in(GpuRange range) const;
  /// True if the set has all GPUs of `other`, a set over the same cluster.
  bool includes(const GpuSet& other) const;
  /// Adds GPUs that are not in the set. O(GPUs / 64).
  void insert(const GpuRanges& gpus);
  /// Removes GPUs that are in the set. O(GPUs / 64).
  void erase(const GpuRanges& gpus);
  /// Removes those of `gpus` that are in the set. O(GPUs / 64).
  void subtract(const GpuRanges& gpus);
  /// Keeps only the GPUs that are also in `other`, a set over the same cluster.
  void intersect(const GpuSet& other);
  /// Returns the `num_gpus` lowest GPUs of the set, which has at least as many.
  GpuRanges lowest(GpuCount num_gpus) const;
  /// Returns the `num_gpus` lowest GPUs of the set within a range.
  GpuRanges lowest(GpuCount num_gpus, GpuRange range) const;

  friend bool operator==(const GpuSet&, const GpuSet&) = default;

 private:
  std::int32_t size_ = 0;
  std::vector<std::uint64_t> words_;  ///< GPU g is bit g % 64 of word g / 64
};

}  // namespace vtrain
