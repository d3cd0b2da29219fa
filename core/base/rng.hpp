/// Seeded random streams. The standard library's distributions differ between implementations; these do not,
/// so a seed gives the same workload everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace vtrain {

/// xoshiro256** (Blackman and Vigna 2018), seeded through SplitMix64. Not safe to share between threads.
class RandomStream {
 public:
  /// The stream `name` of `seed`. Streams of different names are independent, so that one more draw in one
  /// place changes nothing elsewhere.
  explicit RandomStream(std::uint64_t seed, std::string_view name = {});

  /// 64 random bits.
  std::uint64_t next();
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  /// Uniform in [low, high).
  double uniform(double low, double high);
  /// A whole number uniform in [0, bound); `bound` is at least 1.
  std::uint64_t below(std::uint64_t bound);
  /// Exponential with the given mean.
  double exponential(double mean);
  /// Normal with mean 0 and variance 1 (Box-Muller, one value per call).
  double normal();

 private:
  std::array<std::uint64_t, 4> state_;
};

/// Draws positions of a list in proportion to weights.
class WeightedChoice {
 public:
  /// Takes one or more weights; none is negative, and not all are 0.
  explicit WeightedChoice(std::span<const double> weights);

  /// One draw, O(log n).
  std::size_t draw(RandomStream& random) const;

 private:
  std::vector<double> cumulative_;
};

}  // namespace vtrain
